//! What came of an experiment, on a terminal.

use windlass_experiment::check::{Grouped, Limit, Verdict};
use windlass_experiment::paper::figures;
use windlass_experiment::{Experiment, Row};

/// More lines than this nobody reads on a terminal.
const LINES_MAX: usize = 60;

/// Medians of what flows are judged by, of each cell, a column for each contestant.
pub(crate) fn medians(experiment: &Experiment, rows: &[Row]) -> String {
    let grouped = Grouped::new(rows);
    let metric = experiment.main_metric();
    let run: Vec<usize> = (0..experiment.contestants.len())
        .filter(|c| experiment.runs.iter().any(|r| r.contestant == *c))
        .collect();
    let cells: Vec<usize> = (0..experiment.cells.len())
        .filter(|cell| run.iter().any(|c| !grouped.of(*cell, *c).is_empty()))
        .collect();
    let mut lines = vec![vec![format!("median {}", metric.name())]];
    lines[0].extend(run.iter().map(|c| experiment.contestants[*c].clone()));
    for cell in cells.iter().take(LINES_MAX) {
        let mut line = vec![experiment.describe(*cell)];
        line.extend(run.iter().map(|contestant| {
            let median = grouped.median(*cell, *contestant, metric, &[]);
            median.map_or("–".to_owned(), figures)
        }));
        lines.push(line);
    }
    let mut text = aligned(&lines);
    if let Some(more) = cells.len().checked_sub(LINES_MAX).filter(|n| *n > 0) {
        text.push_str(&format!("… and {more} more cells: see the report\n"));
    }
    text
}

/// The first column to the left, the others to the right.
pub(crate) fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            match column {
                0 => text.push_str(&format!("{cell:width$}")),
                _ => text.push_str(&format!("  {cell:>width$}")),
            }
        }
        text.push('\n');
    }
    text
}

/// A line for each check, and a second one for why it fails.
pub(crate) fn checks(verdicts: &[Verdict]) -> String {
    let mut text = String::new();
    for verdict in verdicts {
        let word = if verdict.pass { "pass" } else { "FAIL" };
        let value = verdict.value.map_or("–".to_owned(), figures);
        let sign = match verdict.limit {
            Limit::AtMost(_) => "≤",
            Limit::AtLeast(_) => "≥",
        };
        let (name, limit) = (&verdict.name, verdict.limit.number());
        text.push_str(&format!("{word}  {name}: {value} ({sign} {limit})\n"));
        let why = verdict.reason.iter().cloned();
        let worst = verdict.worst.iter().map(|w| format!("worst: {w}"));
        let why: Vec<String> = why.chain(worst).collect();
        if !verdict.pass && !why.is_empty() {
            text.push_str(&format!("      {}\n", why.join("; ")));
        }
    }
    text
}
