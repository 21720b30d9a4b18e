//! How far HighSpeed TCP goes up and down at a window (RFC 3649 §5), and the table that its
//! appendix B makes of it.

use std::sync::LazyLock;

/// Up to here, segments, it is Reno (`Low_Window`).
const LOW_WINDOW: f64 = 38.0;
/// Where the decrease is 0.1 (`High_Window`, `High_Decrease`).
const HIGH_WINDOW: f64 = 83_000.0;
const HIGH_DECREASE: f64 = 0.1;
/// Last window of the RFC's table: the decrease falls no further.
const LAST_WINDOW: f64 = 94_717.0;
/// Rows of table 12.
const ROWS: usize = 73;
/// Linux leaves the last row out.
const LINUX_ROWS: usize = ROWS - 1;

/// b(w): the share of a window of `w` segments that a loss takes.
pub(super) fn decrease(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 0.5;
    }
    let share = (libm::log(w.min(LAST_WINDOW)) - libm::log(LOW_WINDOW))
        / (libm::log(HIGH_WINDOW) - libm::log(LOW_WINDOW));
    (HIGH_DECREASE - 0.5) * share + 0.5
}

/// The formula for a(w), with p(w) = 1 / (12.8 w^1.2) as appendix B has it (§5 says 0.078).
fn formula(w: f64) -> f64 {
    let b = decrease(w);
    w * w * 2.0 * b / ((2.0 - b) * libm::pow(w, 1.2) * 12.8)
}

/// a(w): segments that a window of `w` grows by in a round trip, one at least.
pub(super) fn increase(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 1.0;
    }
    formula(w).max(1.0)
}

/// A row of table 12.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    /// Smallest window that grows by the row's number, segments.
    pub(super) window: u64,
    /// b there, in 256ths, rounded down.
    pub(super) decrease: u64,
}

/// Appendix B goes up from window 38 and begins a row where a(w) is more than one above what it
/// was at the row before.
static TABLE: LazyLock<[Row; ROWS]> = LazyLock::new(|| {
    let mut table = [Row::default(); ROWS];
    let (mut window, mut above) = (LOW_WINDOW as u64, 1.0);
    for row in &mut table {
        *row = Row {
            window,
            decrease: (256.0 * decrease(window as f64)) as u64,
        };
        window = first_above(above + 1.0, window);
        above = formula(window as f64);
    }
    table
});

/// The smallest window beyond `from` whose a(w) exceeds `increase`; a(w) rises with w.
fn first_above(increase: f64, from: u64) -> u64 {
    let (mut below, mut above) = (from, 2 * LAST_WINDOW as u64);
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if formula(middle as f64) > increase {
            above = middle;
        } else {
            below = middle;
        }
    }
    above
}

/// The row that Linux takes for a window of `segments`: the first that is not below it. Its growth
/// is its number, counted from 1.
pub(super) fn linux_row_at(segments: u64) -> u8 {
    let rows = &TABLE[..LINUX_ROWS];
    let row = rows.partition_point(|row| row.window < segments);
    row.min(LINUX_ROWS - 1) as u8
}

/// The row with the number `row`, counted from 0.
pub(super) fn linux_row(row: u8) -> Row {
    TABLE[usize::from(row).min(LINUX_ROWS - 1)]
}

#[cfg(test)]
pub(super) fn table() -> &'static [Row] {
    &*TABLE
}
