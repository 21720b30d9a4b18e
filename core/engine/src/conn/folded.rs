//! A connection of which only SYNs have been seen, in little memory: a flood makes many of them.
//!
//! It is unfolded for each packet, and folded again if nothing has happened that only a whole connection has room for.

use windlass_cc::Nanos;
use windlass_wire::{Addr, Flags, FlowKey};

use super::gate::Gate;
use super::syn::Syn;
use super::{Books, Conn, End};
use crate::Side;
use crate::admission::Bucket;
use crate::decide::Drawn;

/// Bits of a SYN.
mod syn_bit {
    pub const SAID: u8 = 1;
    /// It acknowledges the other SYN,
    pub const ACKS: u8 = 2;
    /// with the data in that.
    pub const ACKS_DATA: u8 = 4;
    pub const SACK: u8 = 8;
    pub const STAMPS: u8 = 16;
    pub const LISTENED: u8 = 32;
    pub const MPTCP: u8 = 64;
    pub const SIGNED: u8 = 128;
}

/// Bits of an end.
mod end_bit {
    /// It has sent its SYN once, and waits for the answer.
    pub const ASKED: u8 = 1;
    /// How long the answer took is known.
    pub const TIMED: u8 = 2;
    pub const NO_ROOM: u8 = 4;
    pub const DRAWN: u8 = 8;
    pub const HELD_OUT: u8 = 16;
}

/// No window scale (RFC 7323 §2.3: 14 is the largest).
const NO_SCALE: u8 = 0xff;
/// The SYNs have not settled anything.
const NOT_SETTLED: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct FoldedSyn {
    iss: u32,
    tsval: u32,
    window: u16,
    mss: u16,
    payload_len: u16,
    flags: u16,
    scale: u8,
    bits: u8,
}

/// The connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Folded {
    addresses: [u64; 4],
    began: Nanos,
    seed: u64,
    /// When both SYNs were known: ns after it began.
    settled_after: u32,
    syns: [FoldedSyn; 2],
    /// Ports, and VLANs.
    numbers: [u16; 4],
    /// Rule and share of what the ends have drawn.
    drawn: [(u16, u16); 2],
    pub bucket: Bucket,
    end_bits: [u8; 2],
    pub followed: bool,
    first_end: Side,
}

/// The place in a list of them has eight bytes more.
const _: () = assert!(size_of::<Folded>() <= 120);

impl Folded {
    /// Canonical name.
    pub(crate) fn key(&self) -> FlowKey {
        let addr = |high: u64, low: u64| Addr(u128::from(high) << 64 | u128::from(low));
        let [a, b, c, d] = self.addresses;
        let [src_port, dst_port, vlan, inner_vlan] = self.numbers;
        FlowKey {
            src: addr(a, b),
            dst: addr(c, d),
            src_port,
            dst_port,
            vlan,
            inner_vlan,
        }
    }

    pub(crate) fn began(&self) -> Nanos {
        self.began
    }

    /// The rules of another policy have other numbers.
    pub(crate) fn forget_drawn(&mut self) {
        for bits in &mut self.end_bits {
            *bits &= !(end_bit::DRAWN | end_bit::HELD_OUT);
        }
    }

    fn settled_at(&self) -> Option<Nanos> {
        let settled = self.settled_after != NOT_SETTLED;
        settled.then(|| self.began + u64::from(self.settled_after))
    }

    fn syn(&self, side: Side) -> Option<Syn> {
        let (syn, other) = (&self.syns[side.index()], &self.syns[side.other().index()]);
        let has = |bit: u8| syn.bits & bit != 0;
        let data = match has(syn_bit::ACKS_DATA) {
            true => u32::from(other.payload_len),
            false => 0,
        };
        let tsval = has(syn_bit::STAMPS).then_some(syn.tsval);
        has(syn_bit::SAID).then(|| Syn {
            iss: syn.iss,
            acks: has(syn_bit::ACKS).then(|| other.iss.wrapping_add(1).wrapping_add(data)),
            window: syn.window,
            mss: syn.mss,
            scale: (syn.scale != NO_SCALE).then_some(syn.scale),
            sack: has(syn_bit::SACK),
            tsval,
            first_tsval: tsval,
            listened: has(syn_bit::LISTENED),
            mptcp: has(syn_bit::MPTCP),
            signed: has(syn_bit::SIGNED),
            flags: Flags(syn.flags),
            payload_len: u32::from(syn.payload_len),
        })
    }

    fn end(&self, side: Side) -> End {
        let syn = self.syn(side);
        let has = |bit: u8| self.end_bits[side.index()] & bit != 0;
        let answers = syn.is_some_and(|syn| syn.acks.is_some());
        let asked_at = match answers {
            true => self.settled_at(),
            false => Some(self.began),
        };
        let (rule, share) = self.drawn[side.index()];
        End {
            syn,
            syn_at: asked_at.filter(|_| has(end_bit::ASKED)).into(),
            handshake_rtt: has(end_bit::TIMED)
                .then_some(u64::from(self.settled_after))
                .into(),
            no_room: has(end_bit::NO_ROOM),
            fin: false,
            whole_checksums: 0,
            drawn: has(end_bit::DRAWN).then_some(Drawn {
                rule,
                share,
                held_out: has(end_bit::HELD_OUT),
            }),
        }
    }

    /// It unfolds into this connection.
    fn stands_for(&self, conn: &Conn) -> bool {
        let ends = [self.end(Side::Inside), self.end(Side::Outside)];
        let gate_is_right = match (&conn.gate, self.settled_at(), ends[0].syn, ends[1].syn) {
            (Some(gate), Some(at), Some(inside), Some(outside)) => {
                gate.is_new([&inside, &outside], at)
            }
            (gate, at, ..) => gate.is_none() && at.is_none(),
        };
        gate_is_right && ends == conn.ends
    }

    /// The whole connection.
    pub(crate) fn unfold(&self) -> Conn {
        let ends = [self.end(Side::Inside), self.end(Side::Outside)];
        let settled_at = self.settled_at();
        let gate = match (settled_at, ends[0].syn, ends[1].syn) {
            (Some(at), Some(inside), Some(outside)) => {
                Some(Box::new(Gate::new([&inside, &outside], at)))
            }
            _ => None,
        };
        Conn {
            ends,
            gate,
            settled_at: settled_at.into(),
            books: Books {
                bucket: self.bucket,
                half_open: true,
                followed: self.followed,
            },
            ..Conn::new(
                self.key(),
                self.first_end,
                self.bucket,
                self.began,
                self.seed,
            )
        }
    }
}

impl Conn {
    /// In little memory, if nothing of it needs more.
    pub(crate) fn fold(&self) -> Option<Folded> {
        if !self.is_only_begun() {
            return None;
        }
        let after = |at: Nanos| u32::try_from(at.checked_sub(self.began)?).ok();
        let settled_after = match self.settled_at.get() {
            Some(at) => after(at).filter(|after| *after != NOT_SETTLED)?,
            None => NOT_SETTLED,
        };
        let half = |number: u128| [(number >> 64) as u64, number as u64];
        let ([a, b], [c, d]) = (half(self.key.src.0), half(self.key.dst.0));
        let key = &self.key;
        let mut folded = Folded {
            addresses: [a, b, c, d],
            began: self.began,
            seed: self.seed,
            settled_after,
            syns: [FoldedSyn::default(); 2],
            numbers: [key.src_port, key.dst_port, key.vlan, key.inner_vlan],
            drawn: [(0, 0); 2],
            bucket: self.books.bucket,
            end_bits: [0; 2],
            followed: self.books.followed,
            first_end: self.first_end,
        };
        for side in [Side::Inside, Side::Outside].map(Side::index) {
            let end = &self.ends[side];
            let other = self.ends[1 - side].syn;
            if let Some(syn) = &end.syn {
                folded.syns[side] = FoldedSyn::of(syn, other.as_ref())?;
            }
            let drawn = end.drawn.map(|drawn| (drawn.rule, drawn.share));
            folded.drawn[side] = drawn.unwrap_or_default();
            folded.end_bits[side] = bits_of(end);
        }
        // What was left out is what follows from the rest.
        folded.stands_for(self).then_some(folded)
    }

    /// Nothing but SYNs has come, and nothing is held or planned for it.
    fn is_only_begun(&self) -> bool {
        let alone = self.flows.iter().all(Option::is_none)
            && self.sight.is_none()
            && self.new_syn.is_none()
            && self.syn_copy.is_none()
            && self.peer.is_none();
        let passes = self.pass.is_some() || self.bound.is_some();
        let over = self.closed || self.open || !self.books.half_open;
        alone && !passes && !over && self.standby.is_unused()
    }
}

fn bits_of(end: &End) -> u8 {
    let held_out = end.drawn.is_some_and(|drawn| drawn.held_out);
    let bits = [
        (end_bit::ASKED, end.syn_at.is_some()),
        (end_bit::TIMED, end.handshake_rtt.is_some()),
        (end_bit::NO_ROOM, end.no_room),
        (end_bit::DRAWN, end.drawn.is_some()),
        (end_bit::HELD_OUT, held_out),
    ];
    let set = bits.iter().filter(|(_, set)| *set);
    set.fold(0, |all, (bit, _)| all | bit)
}

impl FoldedSyn {
    /// `None`: it says something that there is no room for.
    fn of(syn: &Syn, other: Option<&Syn>) -> Option<FoldedSyn> {
        let acked = match (syn.acks, other) {
            (Some(acks), Some(other)) => acks.wrapping_sub(other.iss.wrapping_add(1)),
            (Some(_), None) => return None,
            (None, _) => 0,
        };
        let bits = [
            (syn_bit::SAID, true),
            (syn_bit::ACKS, syn.acks.is_some()),
            (syn_bit::ACKS_DATA, acked > 0),
            (syn_bit::SACK, syn.sack),
            (syn_bit::STAMPS, syn.tsval.is_some()),
            (syn_bit::LISTENED, syn.listened),
            (syn_bit::MPTCP, syn.mptcp),
            (syn_bit::SIGNED, syn.signed),
        ];
        let set = bits.iter().filter(|(_, set)| *set);
        Some(FoldedSyn {
            iss: syn.iss,
            tsval: syn.tsval.unwrap_or(0),
            window: syn.window,
            mss: syn.mss,
            payload_len: u16::try_from(syn.payload_len).ok()?,
            flags: syn.flags.0,
            scale: syn.scale.unwrap_or(NO_SCALE),
            bits: set.fold(0, |all, (bit, _)| all | bit),
        })
    }
}
