//! How contestants compare with the reference, cell by cell.

use windlass_experiment::check::Grouped;
use windlass_experiment::metric::Metric;

use crate::Results;

/// By how much a ratio is off 1, in steps that can be told apart by colour: negative is better.
pub(crate) fn step(ratio: f64, more_is_better: bool) -> i32 {
    let worse = if more_is_better { 1.0 / ratio } else { ratio };
    let steps = [0.02, 0.08, 0.25, 0.7];
    let off = worse.ln();
    let size = steps.iter().filter(|limit| off.abs() > **limit).count() as i32;
    if off < 0.0 { -size } else { size }
}

/// Class of the style sheet for a ratio.
pub(crate) fn class(ratio: f64, metric: Metric) -> &'static str {
    match step(ratio, metric.more_is_better()) {
        -4 => "b4",
        -3 => "b3",
        -2 => "b2",
        -1 => "b1",
        1 => "w1",
        2 => "w2",
        3 => "w3",
        4 => "w4",
        _ => "even",
    }
}

/// Median of a contestant by that of the reference, in a cell.
pub(crate) fn to_reference(
    results: &Results<'_>,
    rows: &Grouped<'_>,
    cell: usize,
    contestant: usize,
    metric: Metric,
) -> Option<f64> {
    let reference = results
        .experiment
        .charts
        .reference
        .filter(|r| *r != contestant)?;
    let of = |contestant| rows.median(cell, contestant, metric, &[]);
    let reference = of(reference).filter(|median| *median > 0.0)?;
    Some(of(contestant)? / reference)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_is_negative_whichever_way_it_counts() {
        assert_eq!(step(1.0, false), 0);
        assert_eq!(step(1.01, false), 0);
        assert_eq!(step(1.05, false), 1);
        assert_eq!(step(0.95, false), -1);
        assert_eq!(step(0.4, false), -4);
        assert_eq!(step(0.4, true), 4);
        assert_eq!(class(1.5, Metric::GoodputMbitS), "b3");
        assert_eq!(class(1.5, Metric::Seconds), "w3");
    }
}
