//! How Prometheus calls a figure: `windlass_`, the part, the name without its unit, the base unit.

use prometheus_client::registry::Unit as BaseUnit;
use windlass_metric::{Metric, Unit};

/// What a figure is called and how it is counted.
pub(super) struct Name {
    /// Without the base unit, which the encoder adds, as it does `_total`.
    pub name: String,
    pub unit: Option<BaseUnit>,
    /// So many of the figure's units are one base unit.
    pub divisor: u64,
}

impl Name {
    /// That of a figure of a part of Windlass.
    pub(super) fn of(part: &str, metric: &Metric) -> Name {
        let per_second = |of: &str| BaseUnit::Other(format!("{of}_per_second"));
        let (word, unit, divisor) = match metric.unit {
            Unit::One => ("", None, 1),
            Unit::Bytes => ("bytes", Some(BaseUnit::Bytes), 1),
            Unit::BytesPerSecond => ("", Some(per_second("bytes")), 1),
            Unit::BitsPerSecond => ("bps", Some(per_second("bytes")), 8),
            Unit::Seconds => ("s", Some(BaseUnit::Seconds), 1),
            Unit::Microseconds => ("us", Some(BaseUnit::Seconds), 1_000_000),
            Unit::Nanoseconds => ("ns", Some(BaseUnit::Seconds), 1_000_000_000),
            Unit::Permille => ("permille", Some(BaseUnit::Ratios), 1000),
        };
        let words = metric.name.split('_').filter(|w| *w != word);
        let words = ["windlass", part].into_iter().chain(words);
        let words: Vec<&str> = words.filter(|w| !w.is_empty()).collect();
        Name {
            name: words.join("_"),
            unit,
            divisor,
        }
    }

    /// The figure in base units.
    pub(super) fn base(&self, number: u64) -> f64 {
        number as f64 / self.divisor as f64
    }

    /// The whole name, as it stands in the Prometheus format.
    pub(super) fn full(&self, counter: bool) -> String {
        let unit = self.unit.as_ref().map(|unit| format!("_{}", unit.as_str()));
        let total = if counter { "_total" } else { "" };
        format!("{}{}{total}", self.name, unit.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use windlass_metric::Kind;

    use super::*;

    #[test]
    fn names_end_in_their_base_unit() {
        let name = |name, unit, counter| {
            let kind = Kind::Counter;
            let (help, labels) = ("", &[][..]);
            let metric = Metric {
                name,
                kind,
                unit,
                help,
                labels,
            };
            Name::of("engine", &metric).full(counter)
        };
        let cases = [
            (
                name("bytes_sent", Unit::Bytes, true),
                "windlass_engine_sent_bytes_total",
            ),
            (
                name("rtt_ns", Unit::Nanoseconds, false),
                "windlass_engine_rtt_seconds",
            ),
            (
                name("rate_bps", Unit::BitsPerSecond, false),
                "windlass_engine_rate_bytes_per_second",
            ),
            (name("lost", Unit::One, true), "windlass_engine_lost_total"),
        ];
        for (made, expected) in cases {
            assert_eq!(made, expected);
        }
    }
}
