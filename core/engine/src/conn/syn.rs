//! What a SYN says, and what two of them agree on.

use serde::{Deserialize, Serialize};
use windlass_wire::{Flags, Segment};

use super::gate::is_echo;
use crate::PassReason;

/// RFC 9293 §3.7.1: the segment size of an end that names none.
const DEFAULT_MSS: u16 = 536;
/// An end that names a smaller one is taken to have named this.
const MSS_LEAST: u16 = 64;
/// RFC 7323 §2.3.
const MAX_WINDOW_SCALE: u8 = 14;

/// What a SYN said.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Syn {
    pub iss: u32,
    /// What it acknowledges, if it answers a SYN.
    pub acks: Option<u32>,
    pub window: u16,
    pub mss: u16,
    pub scale: Option<u8>,
    pub sack: bool,
    pub tsval: Option<u32>,
    /// That of the first, if it was sent again, and whether that answered a SYN.
    pub first_tsval: Option<u32>,
    pub listened: bool,
    pub mptcp: bool,
    pub signed: bool,
    pub flags: Flags,
    pub payload_len: u32,
}

impl Syn {
    /// The options that both ends must agree on are the same.
    pub(super) fn offers_the_same(&self, other: &Syn) -> bool {
        let offer = |syn: &Syn| (syn.scale, syn.sack, syn.tsval.is_some());
        offer(self) == offer(other)
    }

    /// `ack` acknowledges it: with Fast Open, what it carries as well (RFC 7413 §4.1), or a part of
    /// that.
    pub(super) fn is_acked_by(&self, ack: u32) -> bool {
        let first = self.iss.wrapping_add(1);
        ack.wrapping_sub(first) <= self.payload_len
    }

    /// An answer that echoes this timestamp is one to the newest of them: there is but one, or the timestamp says so.
    pub(super) fn is_the_one_echoed(&self, echoed: Option<u32>) -> bool {
        self.tsval == self.first_tsval || self.tsval == echoed
    }

    /// `segment` begins where it ends.
    pub(super) fn goes_on_with(&self, segment: &Segment) -> bool {
        self.is_acked_by(segment.seq)
    }

    /// Whether `segment`, a SYN-ACK, is one that the sender of this SYN takes (RFC 9293 §3.10.7.3, RFC
    /// 7323 §3.2). No end answers with an option that it was not offered (RFC 2018 §2, RFC 7323 §2.2 and §3.2): it has answered
    /// another SYN.
    pub(super) fn is_answered_by(&self, segment: &Segment) -> Result<(), PassReason> {
        if !self.is_acked_by(segment.ack) {
            return Err(PassReason::UnacceptableAck);
        }
        let options = &segment.options;
        let unasked = (options.timestamps.is_some() && self.tsval.is_none())
            || (options.window_scale.is_some() && self.scale.is_none())
            || (options.sack_permitted && !self.sack);
        if unasked {
            return Err(PassReason::UnexpectedSyn);
        }
        match (segment.options.timestamps, self.first_tsval, self.tsval) {
            (Some(stamps), Some(first), Some(last)) if !is_echo(stamps.ecr, (first, last)) => {
                Err(PassReason::Paws)
            }
            _ => Ok(()),
        }
    }

    /// As one that was read here could be.
    pub(super) fn is_sound(&self) -> bool {
        self.mss >= MSS_LEAST && self.scale.is_none_or(|scale| scale <= MAX_WINDOW_SCALE)
    }

    pub(super) fn read(segment: &Segment) -> Syn {
        let options = &segment.options;
        Syn {
            iss: segment.seq,
            acks: segment.flags.has(Flags::ACK).then_some(segment.ack),
            window: segment.window,
            mss: options.mss.unwrap_or(DEFAULT_MSS).max(MSS_LEAST),
            scale: options.window_scale.map(|s| s.min(MAX_WINDOW_SCALE)),
            sack: options.sack_permitted,
            tsval: options.timestamps.map(|stamps| stamps.val),
            first_tsval: options.timestamps.map(|stamps| stamps.val),
            listened: segment.flags.has(Flags::ACK),
            mptcp: options.mptcp,
            signed: options.ao || options.md5,
            flags: segment.flags,
            payload_len: segment.payload_len,
        }
    }
}

/// RFC 3168 §6.1.1, in either order of opening.
pub(super) fn classic_ecn(a: &Syn, b: &Syn) -> bool {
    let asks =
        |s: &Syn| s.flags.has(Flags::ECE) && s.flags.has(Flags::CWR) && !s.flags.has(Flags::ACK);
    let agrees =
        |s: &Syn| s.flags.has(Flags::ACK) && s.flags.has(Flags::ECE) && !s.flags.has(Flags::CWR);
    (asks(a) && agrees(b)) || (asks(b) && agrees(a))
}

/// RFC 9768 §3.1.1: asked for with AE, CWR and ECE; any answer but classic ECN or none accepts it.
pub(super) fn accurate_ecn(a: &Syn, b: &Syn) -> bool {
    let asks = |s: &Syn| {
        s.flags.has(Flags::AE.with(Flags::CWR).with(Flags::ECE)) && !s.flags.has(Flags::ACK)
    };
    let accepts =
        |s: &Syn| s.flags.has(Flags::ACK) && (s.flags.has(Flags::AE) || s.flags.has(Flags::CWR));
    (asks(a) && accepts(b)) || (asks(b) && accepts(a))
}
