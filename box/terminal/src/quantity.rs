//! Quantities as people write and read them.

/// `1500`, `10k`, `500M`, `1G`, `2T`: powers of 1000.
///
/// # Errors
/// It is written otherwise, or is none: what to write.
pub fn byte_count(text: &str) -> Result<u64, String> {
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
pub fn rate(bps: u64) -> String {
    scaled(
        bps,
        1000.0,
        &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"],
    )
}

/// Bytes in powers of 1024.
pub fn bytes(count: u64) -> String {
    scaled(count, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"])
}

/// Microseconds as milliseconds.
pub fn millis(us: u64) -> String {
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
