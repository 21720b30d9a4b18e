//! What an algorithm says of itself.

/// For people: `windlass algorithm list` and `show`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// What it is and where it comes from, in one line.
    pub summary: &'static str,
    /// The document or program that is followed, with its revision.
    pub source: &'static str,
    /// When to use it and when not, a paragraph.
    pub advice: &'static str,
    /// What makes it slow down.
    pub signals: Signals,
}

/// Signals of congestion that make an algorithm reduce its window or rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signals {
    /// Every loss.
    pub loss: bool,
    /// ECN marks.
    pub ecn: bool,
    /// A rise of the round-trip time.
    pub delay: bool,
}

impl Signals {
    /// Loss, and a mark like a loss.
    pub const LOSS: Signals = Signals {
        loss: true,
        ecn: true,
        delay: false,
    };
    /// Loss, marks and delay.
    pub const LOSS_AND_DELAY: Signals = Signals {
        delay: true,
        ..Signals::LOSS
    };
}
