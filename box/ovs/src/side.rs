//! The two sides of the box.

use std::fmt;

/// A side of the box.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// Where the governed senders are.
    Inside,
    /// Where the network is.
    Outside,
}

impl Side {
    /// Both.
    pub const BOTH: [Side; 2] = [Side::Inside, Side::Outside];

    /// The other one.
    #[must_use]
    pub fn other(self) -> Side {
        match self {
            Side::Inside => Side::Outside,
            Side::Outside => Side::Inside,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Inside => "inside",
            Side::Outside => "outside",
        })
    }
}
