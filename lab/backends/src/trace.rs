//! What Windlass itself says of flows: the lines of its trace file.

use windlass_daemon::{FlowReport, TraceLine};

/// The samples of a trace: one JSON object a line. Other lines, and a last one that was cut off,
/// are skipped.
pub(crate) fn samples(text: &str) -> impl Iterator<Item = TraceLine> + '_ {
    text.lines().filter_map(|l| serde_json::from_str(l).ok())
}

/// Whether the box does what it says of the flow, and does not only watch.
pub(crate) fn is_governed(flow: &FlowReport) -> bool {
    flow.mode == "enforce"
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
        let theirs = other.clone();
        let [line, other] = [&ours, &other].map(|s| serde_json::to_string(s).expect("JSON"));
        let cut = &line[..40];
        let text = format!("{line}\n{{\"event\":1}}\n\n{other}\n{line}\n{cut}");
        assert!(samples(&text).eq([ours.clone(), theirs, ours]));
    }
}
