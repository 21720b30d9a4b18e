//! The window that a flow usually has: on short paths it decides how far a sender may be ahead of it.
//!
//! What waits in the box adds to the round trip that the sender measures. Beside a window of few segments, two that wait
//! are much. Where so many flows share a link that each has a window of two or three segments, it is their waiting that
//! keeps all of them from growing at once, and they keep it.

use windlass_cc::{MILLISECOND, Nanos};

use super::Flow;
use crate::Feedback;

/// Weight of the newest window in the mean, as a part: some twenty round trips of a window of six segments.
const WEIGHT_PARTS: i32 = 32;
/// A segment in the units of the mean.
const UNITS: u64 = 256;
/// The mean knows no larger windows, segments.
const KNOWN_MAX_SEGMENTS: u64 = 16;
const _: () = assert!(KNOWN_MAX_SEGMENTS * UNITS <= u16::MAX as u64);
/// From this mean on a flow is not one of a crowd: three and a half segments.
const NO_CROWD: u16 = (7 * UNITS / 2) as u16;
/// From so many segments on, two more are not much.
const FEW_SEGMENTS: u64 = 12;
/// From this round trip on the least that a sender may be ahead is more than two segments, ns.
const SHORT_RTT: Nanos = 3 * MILLISECOND / 8;

/// A running mean over ACKs, in 1/256 of a segment. It begins at 0: until it has grown, the flow counts as one of a crowd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UsualWindow(u16);

impl UsualWindow {
    fn note(&mut self, cwnd: u64, mss: u64) {
        let most = KNOWN_MAX_SEGMENTS * UNITS;
        let now = (cwnd.saturating_mul(UNITS) / mss.max(1)).min(most) as i32;
        let mean = i32::from(self.0);
        self.0 = (mean + (now - mean) / WEIGHT_PARTS) as u16;
        debug_assert!(
            u64::from(self.0) <= most,
            "a mean is no larger than what it is of"
        );
    }

    fn is_of_a_crowd(self) -> bool {
        self.0 < NO_CROWD
    }
}

impl Flow {
    /// An ACK has come.
    pub(super) fn note_usual_window(&mut self) {
        if self.verdict.feedback == Feedback::Boxes {
            let (cwnd, mss) = (self.host.control().cwnd, self.host.path().mss);
            self.pacing.usual_window.note(cwnd, u64::from(mss));
        }
    }

    /// A short path, and a window of few segments that are not large. In a crowd none counts as such.
    pub(super) fn has_few_segments(&self) -> bool {
        let path = self.host.path();
        self.host.control().cwnd / u64::from(path.mss.max(1)) < FEW_SEGMENTS
            && !self.pacing.usual_window.is_of_a_crowd()
            && !path.has_large_segments()
            && self.round_trip() < SHORT_RTT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    #[test]
    fn a_flow_is_of_a_crowd_until_its_windows_have_been_larger_for_a_while() {
        let mut usual = UsualWindow::default();
        assert!(usual.is_of_a_crowd());
        for _ in 0..20 {
            usual.note(6 * MSS, MSS);
        }
        assert!(usual.is_of_a_crowd(), "{usual:?}: seven round trips");
        for _ in 0..20 {
            usual.note(6 * MSS, MSS);
        }
        assert!(!usual.is_of_a_crowd(), "{usual:?}");
        usual.note(MSS, MSS);
        assert!(
            !usual.is_of_a_crowd(),
            "one small window says nothing: {usual:?}"
        );
    }

    #[test]
    fn windows_around_two_segments_are_those_of_a_crowd() {
        let mut usual = UsualWindow::default();
        for n in 0..1000 {
            usual.note([MSS, 3 * MSS, 4 * MSS, 2 * MSS][n % 4], MSS);
        }
        assert!(usual.is_of_a_crowd(), "{usual:?}");
    }

    #[test]
    fn it_stays_within_its_units_whatever_the_window() {
        let mut usual = UsualWindow::default();
        for cwnd in [u64::MAX, 0, 1 << 40, MSS] {
            for mss in [0, 1, MSS] {
                (0..300).for_each(|_| usual.note(cwnd, mss));
                assert!(u64::from(usual.0) <= KNOWN_MAX_SEGMENTS * UNITS);
            }
        }
    }
}
