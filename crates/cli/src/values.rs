//! Values of flags, and values for people.

use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use windlass_engine::{AlgorithmId, Redundancy, Side};
use windlass_policy::{Extent, IoMode, MODES, REDUNDANCIES};

/// An algorithm by its name.
pub(crate) fn algorithm() -> impl TypedValueParser<Value = AlgorithmId> {
    let names = AlgorithmId::known().into_iter().map(AlgorithmId::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<AlgorithmId>())
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

/// `1500`, `10k`, `500M`, `1G`, `2T`: powers of 1000.
pub(crate) fn byte_count(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" => Some(1),
        "k" => Some(1_000),
        "M" => Some(1_000_000),
        "G" => Some(1_000_000_000),
        "T" => Some(1_000_000_000_000),
        _ => None,
    };
    let number: Option<u64> = digits.parse().ok();
    number
        .zip(factor)
        .and_then(|(number, factor): (u64, u64)| number.checked_mul(factor))
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "write for example 1500, 10k, 500M or 1G".to_owned())
}

/// Bits per second as `ss` and `tc` show them.
pub(crate) fn rate(bps: u64) -> String {
    scaled(
        bps,
        1000.0,
        &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"],
    )
}

/// Bytes in powers of 1024.
pub(crate) fn bytes(count: u64) -> String {
    scaled(count, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"])
}

/// Microseconds as milliseconds.
pub(crate) fn millis(us: u64) -> String {
    format!("{}ms", us as f64 / 1000.0)
}

fn scaled(value: u64, step: f64, units: &[&str]) -> String {
    let mut scaled = value as f64;
    let mut unit = 0;
    while scaled >= step && unit + 1 < units.len() {
        scaled /= step;
        unit += 1;
    }
    match unit {
        0 => format!("{value}{}", units[0]),
        _ => format!("{scaled:.1}{}", units[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn byte_counts() {
        assert_eq!(byte_count("1500"), Ok(1500));
        assert_eq!(byte_count("10k"), Ok(10_000));
        assert_eq!(byte_count("1G"), Ok(1_000_000_000));
        for wrong in ["", "0", "k", "1K", "1.5M", "-1", "99999999T"] {
            assert!(byte_count(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_for_people() {
        assert_eq!(rate(999), "999bit/s");
        assert_eq!(rate(12_340_000), "12.3Mbit/s");
        assert_eq!(bytes(1536), "1.5KiB");
        assert_eq!(bytes(u64::MAX), "16777216.0TiB");
        assert_eq!(millis(25_500), "25.5ms");
    }
}
