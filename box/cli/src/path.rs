//! `--path rtt=80ms,loss=1%`: a path, as conditions ask about it.

use windlass_engine::{LivePath, Nanos};

const UNITS: [(&str, f64); 4] = [("us", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9)];
const FACTORS: [(&str, f64); 5] = [("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];
const BITS_PER_BYTE: f64 = 8.0;
/// How long a path has been in use of which nothing is said: long enough for every dwell.
const AGE_DEFAULT: Nanos = 3_600_000_000_000;

/// Reads a path; what it does not name is zero, and the smallest RTT that of `rtt`.
///
/// # Errors
/// What is wrong, and how it would be right.
pub(crate) fn parse(text: &str) -> Result<LivePath, String> {
    let mut path = LivePath {
        age: AGE_DEFAULT,
        ..LivePath::default()
    };
    let mut min_rtt = None;
    for part in text.split(',') {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        match name.trim() {
            "rtt" => path.rtt = duration(value)?,
            "min_rtt" => min_rtt = Some(duration(value)?),
            "rtt_var" => path.rtt_var = duration(value)?,
            "loss" | "loss_ratio" => path.loss_ratio = share(value)?,
            "ce" | "ce_ratio" => path.ce_ratio = share(value)?,
            "delivery_rate" => {
                path.delivery_rate = (scaled(value, &FACTORS, "50M")? / BITS_PER_BYTE) as u64;
            }
            "bytes_acked" => path.bytes_acked = scaled(value, &FACTORS, "3M")? as u64,
            "age" => path.age = duration(value)?,
            "app_limited" => {
                path.app_limited = value.parse().map_err(|_| "write app_limited=true")?;
            }
            other => {
                return Err(format!(
                    "\"{other}\" is not known of a path: rtt, min_rtt, rtt_var, loss, ce, \
                     delivery_rate, bytes_acked, age, app_limited are"
                ));
            }
        }
    }
    path.min_rtt = min_rtt.unwrap_or(path.rtt);
    Ok(path)
}

fn duration(text: &str) -> Result<Nanos, String> {
    Ok(scaled(text, &UNITS, "80ms")? as Nanos)
}

/// `1%`, `0.01`.
fn share(text: &str) -> Result<f64, String> {
    let (number, whole) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let share = number.parse().ok().map(|n: f64| n / whole);
    let share = share.filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("\"{text}\" is no share: write 1% or 0.01"))
}

fn scaled(text: &str, units: &[(&str, f64)], example: &str) -> Result<f64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = units
        .iter()
        .find(|(name, _)| *name == &text[digits.len()..]);
    let number: Option<f64> = digits.parse().ok().filter(|n: &f64| *n >= 0.0);
    let value = number
        .zip(unit)
        .map(|(number, (_, factor))| number * factor);
    value.ok_or_else(|| format!("\"{text}\" is not understood: write for example {example}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let path = parse("rtt=80ms,loss=1%,delivery_rate=50M,age=1.5s,app_limited=true").unwrap();
        let expected = LivePath {
            rtt: 80_000_000,
            min_rtt: 80_000_000,
            loss_ratio: 0.01,
            delivery_rate: 6_250_000,
            age: 1_500_000_000,
            app_limited: true,
            ..LivePath::default()
        };
        assert_eq!(path, expected);
        assert_eq!(parse("min_rtt=5us,ce_ratio=0.5").unwrap().min_rtt, 5000);
        for wrong in [
            "", "rtt", "rtt=80", "loss=2", "loss=-1%", "speed=3", "age=1h", "rtt=-1ms",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
