//! Watching a connection: the newest state for people, a series for files.

use std::sync::{Mutex, MutexGuard, PoisonError};

use windlass_cc::{MILLISECOND, Nanos};
use windlass_cc_s2n_quic::{Observer, Report};

use crate::outcome::PathFigures;

/// Between two entries of a series, unless the phase changes.
const SERIES_EVERY: Nanos = 10 * MILLISECOND;
/// Entries that wait to be written. They are taken several times a second.
const MOST_WAITING: usize = 100_000;

/// Takes in what an algorithm reports.
#[derive(Debug, Default)]
pub(crate) struct Monitor(Mutex<Watched>);

#[derive(Debug, Default)]
struct Watched {
    newest: Option<Report>,
    series: Vec<Report>,
    last_kept: Option<Report>,
    max_window: u64,
    max_rtt: Nanos,
}

impl Watched {
    fn is_worth_keeping(&self, report: &Report) -> bool {
        self.last_kept.is_none_or(|last| {
            report.at >= last.at + SERIES_EVERY
                || (report.phase, report.in_recovery) != (last.phase, last.in_recovery)
        })
    }
}

impl Observer for Monitor {
    fn observe(&self, report: &Report) {
        let mut watched = self.lock();
        watched.newest = Some(*report);
        watched.max_window = watched.max_window.max(report.window);
        watched.max_rtt = watched.max_rtt.max(report.latest_rtt);
        if watched.series.len() < MOST_WAITING && watched.is_worth_keeping(report) {
            watched.last_kept = Some(*report);
            watched.series.push(*report);
        }
    }
}

impl Monitor {
    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state after the last event.
    pub(crate) fn newest(&self) -> Option<Report> {
        self.lock().newest
    }

    /// The series since it was last taken.
    pub(crate) fn take_series(&self) -> Vec<Report> {
        std::mem::take(&mut self.lock().series)
    }

    /// All that is to be said at the end.
    pub(crate) fn figures(&self) -> PathFigures {
        let watched = self.lock();
        let Some(last) = watched.newest else {
            return PathFigures::default();
        };
        let ms = |nanos: Nanos| nanos as f64 / MILLISECOND as f64;
        let sent = (last.delivered + last.lost).max(1);
        PathFigures {
            min_rtt_ms: ms(last.min_rtt),
            srtt_ms: ms(last.srtt),
            max_rtt_ms: ms(watched.max_rtt),
            window_bytes: last.window,
            max_window_bytes: watched.max_window,
            lost_bytes: last.lost,
            lost_percent: 100.0 * last.lost as f64 / sent as f64,
            marked_bytes: last.marked,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use windlass_cc::Phase;

    pub(crate) fn report(at: Nanos, window: u64, phase: Phase) -> Report {
        Report {
            at,
            window,
            ssthresh: u64::MAX,
            inflight: 10_000,
            pacing_rate: Some(1_250_000),
            srtt: 50 * MILLISECOND,
            latest_rtt: 45 * MILLISECOND,
            min_rtt: 40 * MILLISECOND,
            delivery_rate: 1_000_000,
            delivered: 99_000,
            lost: 1_000,
            marked: 0,
            phase,
            in_recovery: false,
        }
    }

    #[test]
    fn a_series_is_thinned_but_for_changes_of_phase() {
        let monitor = Monitor::default();
        for ms in 0..100 {
            let phase = if ms < 55 {
                Phase::Startup
            } else {
                Phase::Drain
            };
            monitor.observe(&report(ms * MILLISECOND, 20_000 + ms, phase));
        }
        let series = monitor.take_series();
        let at: Vec<Nanos> = series.iter().map(|r| r.at / MILLISECOND).collect();
        assert_eq!(at, [0, 10, 20, 30, 40, 50, 55, 65, 75, 85, 95]);
        assert!(monitor.take_series().is_empty());
        let figures = monitor.figures();
        assert_eq!(figures.max_window_bytes, 20_099);
        assert_eq!((figures.min_rtt_ms, figures.max_rtt_ms), (40.0, 45.0));
        assert_eq!(figures.lost_percent, 1.0);
    }
}
