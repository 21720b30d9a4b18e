//! How far the windows of two contestants are apart.

use crate::metric::is_chosen;
use crate::rows::Row;

/// So many points of a transfer are compared.
const POINTS: u64 = 400;

/// The difference of two windows as a part of the second one, in the mean over the course of a
/// transfer, percent.
///
/// The windows are compared where the same number of bytes had been acknowledged, and not at the
/// same time: contestants lose the same packets by their number, so that a law that is followed to
/// the letter gives the same window there, and one that is a little slower has not drifted away.
fn error_percent(ours: &[(u64, f64)], theirs: &[(u64, f64)]) -> Option<f64> {
    let most = ours.last()?.0.min(theirs.last()?.0);
    let points = (1..=POINTS).map(|n| most / POINTS * n);
    let errors: Option<Vec<f64>> = points
        .map(|bytes| Some((at(ours, bytes)? / at(theirs, bytes)? - 1.0).abs()))
        .collect();
    let errors = errors.filter(|_| most >= POINTS)?;
    Some(errors.iter().sum::<f64>() / errors.len() as f64 * 100.0)
}

/// The window when this much had been acknowledged.
fn at(window: &[(u64, f64)], bytes: u64) -> Option<f64> {
    let next = window.partition_point(|(acked, _)| *acked < bytes);
    let (_, packets) = window.get(next).or(window.last())?;
    (*packets > 0.0).then_some(*packets)
}

/// One for each flow that both have, of the same repetition and the same losses.
pub(crate) fn errors(ours: &[&Row], theirs: &[&Row], flows: &[String]) -> Vec<f64> {
    let of = |row: &&&Row| is_chosen(row, flows) && !row.failed();
    let key = |row: &Row| (row.repetition, row.flow.clone(), row.index);
    let pair = |row: &&Row| {
        let other = theirs.iter().filter(of).find(|r| key(r) == key(row))?;
        error_percent(&row.window, &other.window)
    };
    ours.iter().filter(of).filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A saw between two windows, with this many bytes a tooth.
    fn saw(least: f64, most: f64, tooth: u64) -> Vec<(u64, f64)> {
        let bytes = (0..1000).map(|i| i * 1000);
        let part = |b: u64| (b % tooth) as f64 / tooth as f64;
        bytes
            .map(|b| (b, least + (most - least) * part(b)))
            .collect()
    }

    #[test]
    fn equal_windows_are_not_apart_and_half_of_one_is_by_half() {
        let window = saw(50.0, 100.0, 100_000);
        assert_eq!(error_percent(&window, &window), Some(0.0));
        let half: Vec<_> = window.iter().map(|(b, w)| (*b, w / 2.0)).collect();
        let error = error_percent(&half, &window).expect("comparable");
        assert!((error - 50.0).abs() < 1e-9, "{error}");
    }

    #[test]
    fn the_shorter_one_is_what_is_compared() {
        let window = saw(50.0, 100.0, 100_000);
        assert_eq!(error_percent(&window[..400], &window), Some(0.0));
        // Out of step by half a tooth, which is 25 packets of 50 to 100.
        let late: Vec<_> = window.iter().map(|(b, w)| (b + 50_000, *w)).collect();
        let error = error_percent(&late, &window).expect("comparable");
        assert!((30.0..45.0).contains(&error), "{error}");
    }

    #[test]
    fn without_windows_nothing_is_said() {
        let window = saw(50.0, 100.0, 100_000);
        assert_eq!(error_percent(&[], &window), None);
        assert_eq!(error_percent(&window, &[(0, 10.0)]), None);
        assert_eq!(error_percent(&[(0, 0.0), (9_000, 0.0)], &window), None);
    }
}
