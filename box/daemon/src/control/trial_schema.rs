//! What has come of a trial, as OpenAPI has it. It is made where nobody knows of OpenAPI (`windlass_auto`); a test holds
//! both beside each other.
#![allow(dead_code)]

use utoipa::ToSchema;

/// What came of a trial so far.
#[derive(ToSchema)]
pub(crate) struct TrialReport {
    /// Flows of each algorithm, in their order.
    flows: Vec<u64>,
    /// By algorithm and class of sizes, where there is any transfer.
    arms: Vec<TrialArm>,
    /// Every algorithm against the first: its number, and either `NotEnough` (so many transfers are `missing`) or `Ratio`
    /// (`ratio` of the time, with 95 % confidence between `low` and `high`).
    findings: Vec<serde_json::Value>,
}

/// What came of an algorithm, for one class of sizes.
#[derive(ToSchema)]
pub(crate) struct TrialArm {
    /// Number of the algorithm, from 0.
    arm: usize,
    /// The class: `small` (up to 100 kB), `medium` (up to 2 MB), `large`.
    sizes: String,
    /// Transfers.
    transfers: u64,
    /// Median and tail of the completion times.
    quantiles: Vec<TrialQuantile>,
}

/// A completion time that a share of transfers do not exceed, with 95 % confidence between the bounds.
#[derive(ToSchema)]
pub(crate) struct TrialQuantile {
    /// Which share.
    q: f64,
    /// The time, s.
    s: f64,
    /// Lower bound, s.
    low_s: f64,
    /// Upper bound, s.
    high_s: f64,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde::Serialize;
    use serde_json::Value;
    use utoipa::PartialSchema;
    use utoipa::openapi::RefOr;
    use utoipa::openapi::schema::Schema;

    use super::*;

    fn same<T: PartialSchema>(made: impl Serialize) {
        let RefOr::T(Schema::Object(described)) = T::schema() else {
            panic!("an object");
        };
        let Ok(Value::Object(made)) = serde_json::to_value(made) else {
            panic!("an object");
        };
        let described: BTreeSet<&String> = described.properties.keys().collect();
        assert_eq!(described, made.keys().collect());
    }

    #[test]
    fn what_is_described_is_what_is_told() {
        let quantile = windlass_auto::Quantile {
            q: 0.5,
            s: 1.0,
            low_s: 0.9,
            high_s: 1.1,
        };
        same::<TrialQuantile>(quantile);
        same::<TrialArm>(windlass_auto::ArmReport {
            arm: 0,
            sizes: "small".to_owned(),
            transfers: 1,
            quantiles: vec![quantile],
        });
        same::<TrialReport>(windlass_auto::Trial::new(2, 0.1).report());
    }
}
