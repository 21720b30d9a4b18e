//! What Windlass itself says of flows: the lines of its trace file.

use anyhow::{Context, Result, bail};
use windlass_daemon::{FlowReport, TraceLine};

/// The samples of a trace: one JSON object a line. Other lines, and a last one that was cut off,
/// are skipped.
pub fn samples(text: &str) -> impl Iterator<Item = TraceLine> + '_ {
    text.lines().filter_map(|l| serde_json::from_str(l).ok())
}

/// Those of the flow to `port`.
pub fn of_port(text: &str, port: u16) -> Vec<TraceLine> {
    let to = format!(":{port}");
    samples(text)
        .filter(|s| s.flow.flow.ends_with(&to))
        .collect()
}

/// Whether the box does what it says of the flow, and does not only watch.
pub fn is_governed(flow: &FlowReport) -> bool {
    flow.mode == "enforce"
}

/// Whether the flow was governed at all, and is to its end.
///
/// # Errors
/// When it was not: the measurement would tell of the server, not of Windlass.
pub fn check_governed(samples: &[TraceLine]) -> Result<()> {
    let last = samples.last().context("Windlass never saw the flow")?;
    if let Some(reason) = &last.flow.passed {
        bail!("Windlass let the flow pass: {reason}");
    }
    if !is_governed(&last.flow) {
        bail!("Windlass did not govern the flow: mode {}", last.flow.mode);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(flow: &str, mode: &str, passed: Option<&str>) -> TraceLine {
        TraceLine {
            time_ns: 5_250_000_000,
            flow: FlowReport {
                flow: flow.to_owned(),
                mode: mode.to_owned(),
                passed: passed.map(str::to_owned),
                ..FlowReport::default()
            },
        }
    }

    #[test]
    fn lines_that_are_samples_and_lines_that_are_not() {
        let ours = sample("198.18.0.1:80>198.18.1.1:4567", "enforce", None);
        let other = sample("198.18.0.1:80>198.18.1.1:4568", "enforce", None);
        let [line, other] = [&ours, &other].map(|s| serde_json::to_string(s).expect("JSON"));
        let cut = &line[..40];
        let text = format!("{line}\n{{\"event\":1}}\n\n{other}\n{line}\n{cut}");
        assert_eq!(of_port(&text, 4567), [ours.clone(), ours]);
    }

    #[test]
    fn a_flow_that_is_not_governed_is_an_error() {
        let governed = sample("a>b", "enforce", None);
        let passed = sample("a>b", "enforce", Some("mptcp"));
        let observed = sample("a>b", "observe", None);
        assert!(check_governed(std::slice::from_ref(&governed)).is_ok());
        assert!(check_governed(&[governed, passed]).is_err());
        assert!(check_governed(&[observed]).is_err());
        assert!(check_governed(&[]).is_err());
    }
}
