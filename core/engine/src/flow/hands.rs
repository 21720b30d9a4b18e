//! In whose hands a flow is.

use serde::{Deserialize, Serialize};
use windlass_cc::Spare;

use crate::PassReason;
use crate::maybe::Maybe;

/// In whose hands the flow is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Hands {
    /// It only passes packets.
    pub(super) pass: Option<PassReason>,
    /// Until there is some, the flow is in the hands of the box, and every count is zero.
    pub(super) trouble: Spare<Trouble>,
}

/// What the sender has done that the box should have done, and what the box has failed to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trouble {
    /// Its sender repairs until this has been acknowledged.
    pub back_until: Maybe,
    /// Retransmissions of the segment at `una` by the sender that were absorbed.
    pub sender_tries: u8,
    /// Where the sender retransmitted last, if that was not at `una`.
    pub beyond_una: Maybe,
    /// Why it is let go of as soon as its sender has repaired what is open.
    pub leaving: Option<PassReason>,
    /// Time of the transfer that was lost in the box, ms.
    pub lost_ms: u16,
    /// Segments in a row that there was no room to hold.
    pub unheld: u8,
    /// Until this has been acknowledged, its sender fills gaps, and sees what it needs for that.
    pub gap_until: u64,
    /// Data from here on was dropped, because the sender was not allowed to send it yet.
    pub policed_at: Maybe,
}

impl Hands {
    /// Its sender repairs until this has been acknowledged; `None`: the box does.
    #[inline]
    pub(super) fn back_until(&self) -> Option<u64> {
        self.trouble.get()?.back_until.get()
    }

    /// Its sender repairs.
    #[inline]
    pub(super) fn are_senders(&self) -> bool {
        self.back_until().is_some()
    }

    /// Until this has been acknowledged, its sender fills gaps; 0: there has been none.
    #[inline]
    pub(super) fn gap_until(&self) -> u64 {
        self.trouble.get().map_or(0, |trouble| trouble.gap_until)
    }

    /// The receiver has acknowledged something new: the sender's attempts before it say nothing any more.
    #[inline]
    pub(super) fn note_progress(&mut self) {
        if let Some(trouble) = self.trouble.edit_known() {
            (trouble.sender_tries, trouble.beyond_una) = (0, Maybe::NONE);
        }
    }
}
