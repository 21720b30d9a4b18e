//! Values of flags.

use std::time::Duration;

use clap::Command;
use clap::builder::{PossibleValuesParser, TypedValueParser, ValueParser};
use windlass_cc::{AlgorithmId, Catalog};
use windlass_engine::{LimitedBy, Redundancy, Side};
use windlass_policy::{Extent, IoMode, MODES, REDUNDANCIES};

/// The command, with the algorithms of the catalog wherever it takes the name of one.
pub(crate) fn with_algorithms(command: Command, catalog: &Catalog) -> Command {
    let algorithm = ValueParser::new(algorithm(catalog));
    let takes = |arg: &clap::Arg| arg.get_value_parser().type_id() == algorithm.type_id();
    let command = command.mut_args(|arg| match takes(&arg) {
        true => arg.value_parser(algorithm.clone()),
        false => arg,
    });
    command.mut_subcommands(|below| with_algorithms(below, catalog))
}

fn algorithm(catalog: &Catalog) -> impl TypedValueParser<Value = AlgorithmId> {
    let all = catalog.algorithms();
    let names: Vec<&str> = all.iter().map(|id| id.name()).collect();
    PossibleValuesParser::new(names).try_map(move |name| {
        let found = all.iter().find(|id| id.name() == name);
        found.copied().ok_or("not one of them")
    })
}

/// A mode by its name.
pub(crate) fn mode() -> impl TypedValueParser<Value = Extent> {
    one_of(&MODES)
}

/// A degree of redundancy by its name.
pub(crate) fn redundancy() -> impl TypedValueParser<Value = Redundancy> {
    one_of(&REDUNDANCIES)
}

/// A way to obtain packets by its name.
pub(crate) fn io_mode() -> impl TypedValueParser<Value = IoMode> {
    one_of(&[
        ("auto", IoMode::Auto),
        ("native", IoMode::Native),
        ("generic", IoMode::Generic),
        ("packet", IoMode::Packet),
    ])
}

/// A side by its name.
pub(crate) fn side() -> impl TypedValueParser<Value = Side> {
    one_of(&[("inside", Side::Inside), ("outside", Side::Outside)])
}

/// What limits a flow, by its name.
pub(crate) fn limited_by() -> impl TypedValueParser<Value = LimitedBy> {
    one_of(&[
        ("sender", LimitedBy::Sender),
        ("cwnd", LimitedBy::Cwnd),
        ("pacing", LimitedBy::Pacing),
        ("tenant", LimitedBy::Tenant),
        ("receiver", LimitedBy::Receiver),
        ("guess", LimitedBy::Guess),
    ])
}

/// `500kbit`, `1mbit`, `2gbit`: bits per second.
pub(crate) fn bits_per_second(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "bit" => Some(1),
        "kbit" => Some(1_000),
        "mbit" => Some(1_000_000),
        "gbit" => Some(1_000_000_000),
        _ => None,
    };
    let number: Option<u64> = digits.parse().ok();
    let rate = number
        .zip(factor)
        .and_then(|(n, factor)| n.checked_mul(factor));
    rate.ok_or_else(|| "write a whole number and bit, kbit, mbit or gbit: 1mbit".to_owned())
}

fn one_of<T: Copy + Send + Sync + 'static>(
    named: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(named.iter().map(|(name, _)| *name)).try_map(move |name| {
        let found = named.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value).ok_or("not one of them")
    })
}

/// `20ms`, `1s`: at least a millisecond, at most an hour.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: Option<u64> = digits.parse().ok();
    let millis = match (number, &text[digits.len()..]) {
        (Some(n), "ms") => Some(n),
        (Some(n), "s") => n.checked_mul(1000),
        _ => None,
    };
    millis
        .filter(|ms| (1..=3_600_000).contains(ms))
        .map(Duration::from_millis)
        .ok_or_else(|| "write for example 20ms or 1s (1ms to 3600s)".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates() {
        assert_eq!(bits_per_second("1mbit"), Ok(1_000_000));
        assert_eq!(bits_per_second("500kbit"), Ok(500_000));
        for wrong in ["", "1", "mbit", "1.5mbit", "1MB", "99999999999gbit"] {
            assert!(bits_per_second(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn intervals() {
        assert_eq!(interval("20ms"), Ok(Duration::from_millis(20)));
        assert_eq!(interval("2s"), Ok(Duration::from_secs(2)));
        for wrong in [
            "",
            "20",
            "0ms",
            "-1ms",
            "1h",
            "ms",
            "1.5s",
            "99999999999999999999s",
            "3601s",
        ] {
            assert!(interval(wrong).is_err(), "{wrong}");
        }
    }
}
