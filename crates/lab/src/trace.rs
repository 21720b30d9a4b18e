//! What Windlass itself says of the flow: the lines of its trace file.

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// A governed flow at one moment. Field names are those of the trace.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
pub struct TraceSample {
    /// `CLOCK_MONOTONIC`, ns.
    pub time_ns: u64,
    /// Both ends, the sender first.
    pub flow: String,
    /// `observe`, `advise` or `enforce`.
    pub mode: String,
    /// The algorithm's window.
    pub cwnd_bytes: u64,
    /// Window edge shown to the server, beyond what is acknowledged.
    pub edge_bytes: u64,
    /// In flight, as the box sees it.
    pub inflight_bytes: u64,
    /// Segments that the box has sent again.
    pub repaired_segments: u64,
    /// Second copies sent.
    pub copied_segments: u64,
    /// Times handed back to the server.
    pub handed_back: u64,
    /// Why it passes untouched, if it does.
    pub passed: Option<String>,
}

/// The samples in a trace of the flow to `port`: one JSON object a line. Other lines, and a last
/// one that was cut off, are skipped.
pub fn parse(text: &str, port: u16) -> Vec<TraceSample> {
    let to = format!(":{port}");
    let samples = text
        .lines()
        .filter_map(|l| serde_json::from_str::<TraceSample>(l).ok());
    samples.filter(|s| s.flow.ends_with(&to)).collect()
}

/// Whether the flow was governed at all, and is to its end.
///
/// # Errors
/// When it was not: the measurement would tell of the server, not of Windlass.
pub fn check_governed(samples: &[TraceSample]) -> Result<()> {
    let last = samples.last().context("Windlass never saw the flow")?;
    if let Some(reason) = &last.passed {
        bail!("Windlass let the flow pass: {reason}");
    }
    if last.mode != "enforce" {
        bail!("Windlass did not govern the flow: mode {}", last.mode);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"time_ns":5250000000,"flow":"198.18.0.1:80>198.18.0.2:4567","sender":"inside",
        "mode":"enforce","cwnd_bytes":14480,"edge_bytes":20000,"inflight_bytes":9,
        "repaired_segments":3,"copied_segments":2,"handed_back":1,"passed":null,"phase":"startup"}"#;

    #[test]
    fn lines_that_are_samples_and_lines_that_are_not() {
        let line = LINE.replace('\n', "");
        let other = line.replace("4567", "4568");
        let text = format!(
            "{line}\n{{\"event\":1}}\n\n{other}\n{line}\n{}",
            &line[..40]
        );
        let samples = parse(&text, 4567);
        assert_eq!(samples.len(), 2);
        assert_eq!(
            (samples[0].time_ns, samples[0].cwnd_bytes),
            (5_250_000_000, 14_480)
        );
        assert_eq!(
            (samples[1].repaired_segments, samples[1].handed_back),
            (3, 1)
        );
    }

    #[test]
    fn a_flow_that_is_not_governed_is_an_error() {
        let governed = TraceSample {
            mode: "enforce".to_owned(),
            ..TraceSample::default()
        };
        let passed = TraceSample {
            passed: Some("mptcp".to_owned()),
            ..governed.clone()
        };
        let observed = TraceSample {
            mode: "observe".to_owned(),
            ..TraceSample::default()
        };
        assert!(check_governed(std::slice::from_ref(&governed)).is_ok());
        assert!(check_governed(&[governed, passed]).is_err());
        assert!(check_governed(&[observed]).is_err());
        assert!(check_governed(&[]).is_err());
    }
}
