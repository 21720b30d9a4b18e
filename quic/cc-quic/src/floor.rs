//! The smallest window.
//!
//! RFC 9000 §13.2.2 wants an ACK for every second packet, but receivers wait for four or ten (and
//! 25 ms at most). A sender that may have fewer in flight waits for the receiver, which waits for
//! the sender: on a path of 100 µs such a window delivers 250 times less than the path. So
//! the floor rises while that is seen to happen: the window was full, and its ACK was held back
//! longer than the path takes.

/// RFC 9002 §7.2, `kMinimumWindow`, datagrams.
const LEAST: u64 = 2;
/// As many as may leave at the start (RFC 9002 §7.2), datagrams.
const MOST: u64 = 10;

/// Datagrams that may always be in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Floor(u64);

impl Default for Floor {
    fn default() -> Self {
        Floor(LEAST)
    }
}

impl Floor {
    /// A full window was not enough for an ACK.
    pub(crate) fn raise(&mut self) {
        self.0 = (self.0 + 1).min(MOST);
    }

    pub(crate) fn datagrams(self) -> u64 {
        self.0
    }
}
