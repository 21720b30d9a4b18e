//! What the algorithms whose law is a window have in common: the window itself, slow start up to a
//! threshold, the timeout, idling and the way back from a mistake.
//!
//! The threshold after a reduction is taken from the window, not from FlightSize (as Linux does
//! it; RFC 5681 eq. (4) has FlightSize): with growth tied to `cwnd_limited` the two are the same
//! for a busy flow, and a flow short of data keeps what it has earned.

pub(crate) mod additive_increase;
pub(crate) mod prr;
pub(crate) mod slow_start;
pub(crate) mod windowed;

use core::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::window::additive_increase::AdditiveIncrease;
use crate::window::slow_start::{Growth, SlowStart};
use crate::{
    AckEvent, Beginning, ByteRate, Control, MILLISECOND, Nanos, Path, Phase, SECOND, Spare,
};

/// Initial window, segments (RFC 6928; Linux `TCP_INIT_CWND`).
pub const INITIAL_WINDOW_SEGMENTS: u64 = 10;
/// No window grows beyond this many bytes.
pub const MAX_CWND_BYTES: u64 = 1 << 40;
/// The least that a reduction leaves, segments (RFC 5681 eq. (4)), unless a law says otherwise.
pub const LEAST_SEGMENTS: u8 = 2;
/// Least and first retransmission timeout, for the measure of idle time (Linux `TCP_RTO_MIN`).
const MIN_RTO: Nanos = 200 * MILLISECOND;
/// A count of delivered bytes that is never reached.
const NEVER: u64 = u64::MAX;

/// Segment size in bytes, never zero.
pub(crate) fn mss(path: &Path) -> u64 {
    u64::from(path.mss.max(1))
}

/// What Linux' integers leave of a window: its whole segments, in bytes.
pub(crate) fn whole_segments(bytes: u64, path: &Path) -> u64 {
    bytes - bytes % mss(path)
}

/// Initial window in bytes.
pub(crate) fn initial_window(path: &Path) -> u64 {
    INITIAL_WINDOW_SEGMENTS * mss(path)
}

/// The window of a flow that moves here from another algorithm: what is in flight or what the
/// path holds, but no more than one round of slow start could have made of the flight. A flow that is
/// still starting keeps at least the initial window.
pub(crate) fn inherited_window(beginning: &Beginning<'_>) -> u64 {
    let path = beginning.path;
    let one_round = path
        .inflight
        .max(initial_window(path))
        .saturating_mul(2)
        .min(MAX_CWND_BYTES);
    let least = match beginning.starting {
        true => initial_window(path),
        false => u64::from(LEAST_SEGMENTS) * mss(path),
    };
    path.inflight.max(path.bdp()).clamp(least, one_round)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Saved {
    cwnd: NonZeroU64,
    ssthresh: u64,
}

/// What reductions have left. A window that has never been reduced has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Taken {
    /// What the last reduction took away.
    saved: Option<Saved>,
    /// `path.delivered` at the last timeout, to know a repeated one; [`NEVER`] before.
    timeout_at: u64,
}

impl Default for Taken {
    fn default() -> Self {
        Taken {
            saved: None,
            timeout_at: NEVER,
        }
    }
}

/// A congestion window with its threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Bytes that may be in flight.
    pub(crate) cwnd: u64,
    /// Slow-start threshold, bytes.
    pub(crate) ssthresh: u64,
    pub(crate) slow_start: SlowStart,
    /// The least that a reduction leaves, segments.
    pub(crate) least_segments: u8,
    increase: AdditiveIncrease,
    taken: Spare<Taken>,
    /// Recovering by slow start after a timeout: the window grows although recovery is open.
    after_timeout: bool,
    /// A reduction has happened whose recovery is still open.
    reduced: bool,
}

impl Window {
    pub(crate) fn new(
        beginning: &Beginning<'_>,
        slow_start: SlowStart,
        least_segments: u8,
    ) -> Self {
        let path = beginning.path;
        let cwnd = match path.max_bw {
            0 => initial_window(path),
            _ => inherited_window(beginning),
        };
        let ssthresh = if beginning.knows_path() {
            cwnd
        } else {
            u64::MAX
        };
        Window {
            cwnd,
            ssthresh,
            slow_start,
            least_segments,
            increase: AdditiveIncrease::default(),
            taken: Spare::default(),
            after_timeout: false,
            reduced: false,
        }
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Takes an ACK through slow start. The answer is what is left of its bytes for congestion
    /// avoidance, `None` if the window may not grow by this ACK: it was not the limit, or a
    /// recovery other than that after a timeout is open.
    pub(crate) fn on_ack(&mut self, event: &AckEvent, path: &Path) -> Option<u64> {
        let may_grow = event.cwnd_limited && (!event.in_recovery || self.after_timeout);
        let mut left = event.delivered;
        if self.in_slow_start() {
            match self.slow_start.on_ack(event, path, self.cwnd) {
                Growth::Exit => self.ssthresh = self.cwnd,
                Growth::By(bytes) if may_grow => left = self.grow(bytes).min(left),
                Growth::By(_) => {}
            }
        }
        may_grow.then_some(left)
    }

    /// Slow start by `bytes`, up to the threshold; what is left goes to congestion avoidance.
    fn grow(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.ssthresh - self.cwnd);
        self.set(self.cwnd.saturating_add(taken));
        bytes - taken
    }

    /// Leaves slow start at the present window.
    pub(crate) fn leave_slow_start(&mut self) {
        self.ssthresh = self.ssthresh.min(self.cwnd);
        self.slow_start.finish();
    }

    /// The window in segments.
    pub(crate) fn segments(&self, path: &Path) -> f64 {
        self.cwnd as f64 / mss(path) as f64
    }

    /// One segment for every `price` of the `bytes` delivered.
    pub(crate) fn add_segments(&mut self, price: u64, bytes: u64, path: &Path) {
        let segments = self.increase.segments(price, bytes);
        self.set(self.cwnd.saturating_add(segments.saturating_mul(mss(path))));
    }

    /// Sets the window, within bounds.
    pub(crate) fn set(&mut self, cwnd: u64) {
        self.cwnd = cwnd.min(MAX_CWND_BYTES);
    }

    /// Multiplicative decrease to `target`.
    pub(crate) fn reduce(&mut self, target: u64, path: &Path) {
        self.save();
        self.slow_start.finish();
        self.ssthresh = target.max(self.least(path));
        self.cwnd = self.cwnd.min(self.ssthresh);
        self.increase.clear();
        self.after_timeout = false;
        self.reduced = true;
    }

    /// A timeout now would find the window charged already: the same data timed out before (RFC
    /// 5681 §3.1), or recovery is open (Linux).
    pub(crate) fn is_charged(&self, path: &Path) -> bool {
        self.reduced || self.taken.read().timeout_at == path.delivered
    }

    fn least(&self, path: &Path) -> u64 {
        u64::from(self.least_segments) * mss(path)
    }

    /// Timeout: one segment. The threshold falls to `target` unless the window is charged.
    pub(crate) fn collapse(&mut self, target: u64, path: &Path) {
        if !self.is_charged(path) {
            self.save();
            self.ssthresh = target.max(self.least(path));
        }
        self.slow_start.finish();
        self.taken.edit().timeout_at = path.delivered;
        self.after_timeout = true;
        self.reduced = false;
        self.cwnd = mss(path);
        self.increase.clear();
    }

    /// The recovery episode is over.
    pub(crate) fn recovered(&mut self) {
        self.after_timeout = false;
        self.reduced = false;
    }

    /// Gives back what the last reduction took; true if there was any.
    pub(crate) fn undo(&mut self) -> bool {
        self.recovered();
        let saved = self.taken.read().saved;
        self.taken.clear();
        let Some(saved) = saved else {
            return false;
        };
        let before = saved.cwnd.get();
        let lower = self.cwnd < before;
        self.cwnd = self.cwnd.max(before);
        self.ssthresh = self.ssthresh.max(saved.ssthresh);
        lower
    }

    /// Halves the window for every timeout of idle time, down to the initial one (RFC 2861; Linux
    /// `tcp_cwnd_restart`). The threshold remembers three quarters of it. True if it shrank.
    pub(crate) fn idle(&mut self, idle: Nanos, path: &Path) -> bool {
        let rto = if path.srtt == 0 {
            SECOND
        } else {
            path.srtt
                .saturating_add(path.rttvar.saturating_mul(4).max(MIN_RTO))
        };
        let periods = idle / rto.max(1);
        if periods == 0 {
            return false;
        }
        self.ssthresh = self.ssthresh.max(self.cwnd / 4 * 3);
        let before = self.cwnd;
        let floor = initial_window(path).min(before);
        self.cwnd = (before >> periods.min(63)).max(floor);
        self.increase.clear();
        self.cwnd < before
    }

    /// The window as an answer.
    pub(crate) fn control(&self, pacing_rate: Option<ByteRate>) -> Control {
        let phase = match (self.in_slow_start(), self.slow_start.is_conservative()) {
            (true, false) => Phase::SlowStart,
            (true, true) => Phase::ConservativeSlowStart,
            (false, _) => Phase::Avoidance,
        };
        Control {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            pacing_rate,
            phase,
        }
    }

    fn save(&mut self) {
        self.taken.edit().saved = NonZeroU64::new(self.cwnd).map(|cwnd| Saved {
            cwnd,
            ssthresh: self.ssthresh,
        });
    }
}
