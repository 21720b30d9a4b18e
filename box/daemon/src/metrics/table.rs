//! The table of metrics in the manual.

use std::fmt::Write;

use windlass_engine::{Counters, Histograms};
use windlass_io::{FrameStats, SideStats, XdpCounters};
use windlass_metric::{Kind, Metric};
use windlass_record::RecorderStats;

use super::names::Name;
use super::{BoxFigures, EventFigures, GuardFigures, PluginFigures};
use crate::command::WorkerHistograms;

/// A title, the part in names, the label of its figures, and the figures.
type Part = (
    &'static str,
    &'static str,
    Option<&'static str>,
    &'static [Metric],
);

const PARTS: [Part; 11] = [
    ("The box", "", None, BoxFigures::METRICS),
    ("Engines", "engine", None, Counters::METRICS),
    ("Distributions", "engine", None, Histograms::METRICS),
    ("Workers", "worker", None, WorkerHistograms::METRICS),
    ("Packet memory", "driver", None, FrameStats::METRICS),
    ("Interfaces", "driver", Some("side"), SideStats::METRICS),
    ("XDP program", "xdp", None, XdpCounters::METRICS),
    ("Flight recorder", "recorder", None, RecorderStats::METRICS),
    ("Plugins", "plugin", Some("plugin"), PluginFigures::METRICS),
    ("Events", "event", Some("kind"), EventFigures::METRICS),
    ("Guard", "guard", Some("rule"), GuardFigures::METRICS),
];

/// All metrics in Markdown, a table for each part.
pub fn table() -> String {
    let mut text = String::new();
    for (title, part, label, metrics) in PARTS {
        let _ = write!(
            text,
            "\n### {title}\n\n| metric | kind | labels | meaning |\n| --- | --- | --- | --- |\n"
        );
        for metric in metrics {
            let name = Name::of(part, metric).full(metric.kind == Kind::Counter);
            let reason = (!metric.labels.is_empty()).then_some("reason");
            let labels: Vec<&str> = label.into_iter().chain(reason).collect();
            let (kind, help) = (metric.kind.name(), metric.help.trim());
            let labels = labels.join(", ");
            let _ = writeln!(text, "| `{name}` | {kind} | {labels} | {help} |");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
    const BEGIN: &str = "<!-- the table of metrics begins -->\n";
    const END: &str = "<!-- the table of metrics ends -->\n";

    /// `WINDLASS_WRITE_DOCS=1` writes it.
    #[test]
    fn the_manual_has_the_table() {
        let page = std::fs::read_to_string(PAGE).expect("docs/metrics.md");
        let (before, rest) = page.split_once(BEGIN).expect("the table begins");
        let (written, after) = rest.split_once(END).expect("the table ends");
        let table = table() + "\n";
        if std::env::var_os("WINDLASS_WRITE_DOCS").is_some() {
            let page = format!("{before}{BEGIN}{table}{END}{after}");
            std::fs::write(PAGE, page).expect("docs/metrics.md");
        } else {
            let how = "stale: WINDLASS_WRITE_DOCS=1 cargo test -p windlass-daemon the_manual";
            assert!(written == table, "docs/metrics.md is {how}");
        }
    }

    /// A metrics system shows each help alone: it must not point to the one before.
    #[test]
    fn each_help_can_be_read_alone() {
        let pointing = [
            "Of these",
            "Such",
            "The others",
            "The same",
            "Those",
            "They",
            "Times it",
        ];
        for (_, _, _, metrics) in PARTS {
            for metric in metrics {
                let help = metric.help.trim();
                let found = pointing.iter().find(|words| help.starts_with(**words));
                assert_eq!(found, None, "{}: {help}", metric.name);
            }
        }
    }
}
