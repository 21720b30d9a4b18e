//! The share of bytes that were marked, window of data by window of data (RFC 8257 §3.3), for DCTCP
//! and Prague.
//!
//! The ACK that ends a window is counted in it. One that also brings a signal of congestion is told
//! as a signal first: then its bytes are counted as marked there and then, and set right when the
//! ACK itself is told.

use serde::{Deserialize, Serialize};

use crate::{AckEvent, Path};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MarkedShare {
    acked: u64,
    marked: u64,
    /// `path.delivered` at which all that was outstanding at the start of the window has arrived.
    window_end: u64,
    /// `path.delivered` at the last ACK.
    seen: u64,
    /// Bytes of the coming ACK that its signal has counted already.
    ahead: u64,
    /// A mark was signalled, and no count of marked bytes has come since.
    uncounted: bool,
}

/// What a window of data showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Observed {
    pub(crate) acked: u64,
    pub(crate) marked: u64,
}

impl MarkedShare {
    pub(crate) fn new(path: &Path) -> Self {
        MarkedShare {
            acked: 0,
            marked: 0,
            window_end: path.delivered,
            seen: path.delivered,
            ahead: 0,
            uncounted: false,
        }
    }

    /// Takes every ACK in.
    pub(crate) fn on_ack(&mut self, event: &AckEvent, path: &Path) {
        self.uncounted &= event.ce_bytes == 0;
        let ahead = core::mem::take(&mut self.ahead);
        // What the signal took for marked and was not, unless its window is over.
        let too_many = ahead.saturating_sub(event.ce_bytes);
        self.marked = self.marked.saturating_sub(too_many);
        self.count(
            event.delivered.saturating_sub(ahead),
            event.ce_bytes.saturating_sub(ahead),
        );
        self.seen = path.delivered;
    }

    /// The first mark of a window is signalled. False if the last signal was not followed by any
    /// count of marks: feedback as of RFC 3168, of which no share can be taken.
    pub(crate) fn on_signal(&mut self, path: &Path) -> bool {
        let is_counted = !core::mem::replace(&mut self.uncounted, true);
        if is_counted {
            self.ahead = path.delivered.saturating_sub(self.seen);
            self.seen = path.delivered;
            self.count(self.ahead, self.ahead);
        }
        is_counted
    }

    fn count(&mut self, acked: u64, marked: u64) {
        self.acked = self.acked.saturating_add(acked);
        self.marked = self.marked.saturating_add(marked).min(self.acked);
    }

    /// Ends the window if something sent after its start has arrived, or with `at_once` as soon as
    /// nothing of it is outstanding.
    pub(crate) fn end_window(&mut self, path: &Path, at_once: bool) -> Option<Observed> {
        let beyond = self.window_end.saturating_add(u64::from(!at_once));
        if self.acked == 0 || path.delivered < beyond {
            return None;
        }
        let observed = Observed {
            acked: self.acked,
            marked: self.marked,
        };
        self.window_end = path.delivered.saturating_add(path.inflight);
        (self.acked, self.marked) = (0, 0);
        Some(observed)
    }
}
