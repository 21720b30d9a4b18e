//! The table on the terminal.

use crate::demo::{Case, Summary};

/// One line of the table.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Who.
    pub case: Case,
    /// In words.
    pub title: String,
    /// Median, s.
    pub median: String,
    /// Shortest and longest, s.
    pub range: String,
    /// Median over that of the server's own BBR.
    pub ratio: String,
    /// Whole files of all.
    pub whole: String,
}

/// The heads of [`Row`]'s columns.
pub const HEADS: [&str; 5] = ["", "median s", "min–max s", "vs own BBR", "SHA-256 ok"];

/// A row for each case.
pub fn rows(summary: &Summary) -> Vec<Row> {
    let row = |&case: &Case| {
        let runs = || summary.measured.iter().filter(|m| m.run.case == case);
        let spread = summary.seconds(case);
        let none = || "–".to_owned();
        Row {
            case,
            title: case.title(&summary.options.algorithm),
            median: spread.map_or_else(none, |s| format!("{:.2}", s.median)),
            range: spread.map_or_else(none, |s| format!("{:.2}–{:.2}", s.min, s.max)),
            ratio: match summary.ratio_to_native_bbr(case) {
                Some(ratio) => format!("{ratio:.2}×"),
                None => none(),
            },
            whole: format!(
                "{}/{}",
                runs().filter(|m| m.run.sha256_ok).count(),
                runs().count()
            ),
        }
    };
    summary.options.cases.iter().map(row).collect()
}

/// The table as text.
pub fn text(summary: &Summary) -> String {
    let rows = rows(summary);
    let width = rows
        .iter()
        .map(|r| r.title.chars().count())
        .max()
        .unwrap_or(0);
    let line = |cells: [&str; 5]| {
        let [title, median, range, ratio, whole] = cells;
        format!("{title:width$}  {median:>9}  {range:>13}  {ratio:>10}  {whole:>10}\n")
    };
    let body: String = rows
        .iter()
        .map(|r| line([&r.title, &r.median, &r.range, &r.ratio, &r.whole]))
        .collect();
    format!("{}\n{}{body}", conditions(summary), line(HEADS))
}

/// What was downloaded, over what, how often.
pub fn conditions(summary: &Summary) -> String {
    let o = &summary.options;
    format!(
        "{} MB over {} Mbit/s, {} ms, {} % loss, queue {} kB; {} runs each",
        o.bytes as f64 / 1e6,
        o.rate_mbit,
        o.rtt_ms,
        o.loss_percent,
        o.path().queue_bytes() / 1_000,
        o.runs
    )
}
