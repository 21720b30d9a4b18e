//! The charts over time.

use std::fmt::Write;

use super::chart::{Chart, Line, escape};
use super::series::{class, queue, srtt, throughput, typical, windows};
use crate::demo::{Measured, Summary};

/// The common charts end this many times the shortest median after the start: a slow contestant
/// would else press the others against the axis.
const COMMON_SPAN: f64 = 3.0;

/// The run of each case that is shown.
fn shown(summary: &Summary) -> impl Iterator<Item = &Measured> {
    let cases = summary.options.cases.iter();
    cases.filter_map(|&case| typical(summary, case))
}

/// What all cases are compared by: over the time of the faster ones.
pub(super) fn common_charts(summary: &Summary) -> String {
    let times = || shown(summary).map(|m| m.run.seconds);
    let (shortest, longest) = (
        times().fold(f64::MAX, f64::min),
        times().fold(0.0, f64::max),
    );
    let span = longest.min(shortest * COMMON_SPAN) * 1.03;
    let chart = |y_label: &str, points: fn(&Measured, f64) -> Vec<(f64, f64)>| {
        let lines = shown(summary).map(|m| Line {
            label: m.run.case.title(&summary.options.algorithm),
            class: class(m.run.case),
            points: points(m, m.run.seconds),
        });
        Chart {
            x_label: "time, s".to_owned(),
            y_label: y_label.to_owned(),
            x_max: span,
            lines: lines.collect(),
        }
        .html()
    };
    let rest = match longest > span {
        true => format!(" The slowest goes on until {longest:.1} s."),
        false => String::new(),
    };
    format!(
        "<h2>Throughput</h2><p class=\"soft\">What the link hands to the client, in the run nearest \
         to each median.{rest}</p><section class=\"card\">{}</section>\n\
         <h2>Queue and round-trip time</h2><p class=\"soft\">Bytes waiting before the link, and the \
         RTT as the server sees it.</p>\
         <section class=\"card\">{}</section>\n<section class=\"card\">{}</section>\n",
        chart("Mbit/s", throughput),
        chart("queue, kB", queue),
        chart("srtt, ms", srtt),
    )
}

/// A chart for each case, over its own time.
pub(super) fn window_charts(summary: &Summary) -> String {
    let mut out = String::from(
        "<h2>Windows</h2><p class=\"soft\">What each sender allows itself to have in flight. Behind \
         Windlass the server's own window only has to stay out of the way: the edge it is shown, \
         and the box's pacing, set the speed.</p>\n",
    );
    for m in shown(summary) {
        let chart = Chart {
            x_label: "time, s".to_owned(),
            y_label: "kB".to_owned(),
            x_max: m.run.seconds,
            lines: windows(m),
        };
        let title = escape(&m.run.case.title(&summary.options.algorithm));
        let _ = writeln!(
            out,
            "<section class=\"card\"><b>{title}</b>{}</section>",
            chart.html()
        );
    }
    out
}
