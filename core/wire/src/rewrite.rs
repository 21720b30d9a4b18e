//! Rewrites as data: a flow decides what is to be said otherwise, and these write it.

use crate::{Editor, Flags, Segment, Timestamps};

/// What a sender is to read in an acknowledgement of its receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckRewrite {
    /// Window field, unscaled.
    pub window: u16,
    /// What becomes of the SACK blocks.
    pub sack: SackRewrite,
    /// ECE is taken out.
    pub hide_ece: bool,
    /// TSval in place of the receiver's; `None`: that stays. It changes nothing where there are no timestamps.
    pub tsval: Option<u32>,
    /// TSecr in place of the receiver's; `None`: that stays.
    pub tsecr: Option<u32>,
}

/// What becomes of the SACK option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SackRewrite {
    /// It stays.
    Keep,
    /// NOPs take its place.
    Blank,
    /// One block, as sequence numbers, takes the place of all.
    Only((u32, u32)),
}

impl AckRewrite {
    /// The window alone is another one.
    pub const fn window(window: u16) -> AckRewrite {
        AckRewrite {
            window,
            sack: SackRewrite::Keep,
            hide_ece: false,
            tsval: None,
            tsecr: None,
        }
    }

    /// Writes it into `head`, the first bytes of the frame that `segment` was read from. Checksums follow.
    pub fn apply(&self, head: &mut [u8], segment: &Segment) {
        let mut editor = Editor::new(head, segment);
        editor.set_window(self.window);
        match self.sack {
            SackRewrite::Keep => {}
            SackRewrite::Blank => editor.blank_sack(),
            SackRewrite::Only(block) => {
                editor.keep_sack(block);
            }
        }
        if self.hide_ece {
            editor.set_flags(segment.flags.without(Flags::ECE));
        }
        let changes = self.tsval.is_some() || self.tsecr.is_some();
        if let Some(stamps) = segment.options.timestamps.filter(|_| changes) {
            editor.set_timestamps(Timestamps {
                val: self.tsval.unwrap_or(stamps.val),
                ecr: self.tsecr.unwrap_or(stamps.ecr),
            });
        }
    }
}

/// What a receiver is to read in data that leave later than they came, as a retransmission of their sender would carry it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DataRewrite {
    /// ACK number and window field of the sender's newest packet; SACK blocks of the old one go with it.
    pub ack: Option<(u32, u16)>,
    /// Timestamps; they change nothing where there are none.
    pub timestamps: Option<Timestamps>,
    /// CWR is set, or cleared.
    pub cwr: Option<bool>,
}

impl DataRewrite {
    /// Writes it into `head`, the first bytes of the frame that `segment` was read from. Checksums follow.
    pub fn apply(&self, head: &mut [u8], segment: &Segment) {
        let mut editor = Editor::new(head, segment);
        if let Some((ack, window)) = self.ack {
            editor.set_ack(ack);
            editor.set_window(window);
            editor.blank_sack();
        }
        if let Some(stamps) = self.timestamps {
            editor.set_timestamps(stamps);
        }
        match self.cwr {
            Some(true) => editor.set_flags(segment.flags.with(Flags::CWR)),
            Some(false) => editor.set_flags(segment.flags.without(Flags::CWR)),
            None => {}
        }
    }
}
