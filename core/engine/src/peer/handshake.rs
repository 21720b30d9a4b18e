//! How two boxes find each other: an option on the SYN, and one on the SYN-ACK.

use windlass_wire::{Flags, PeerOption, Segment};

use super::{Peer, Stage, stamp};
use crate::context::Context;
use crate::{Counters, Pkt, Pool};

/// Somebody on the path may drop SYNs with options that he does not know: so many carry ours, the
/// others are as the guest made them.
const HELLOS_MAX: u8 = 2;

impl Peer {
    /// A SYN or SYN-ACK of the guest leaves. True if it carries our hello.
    pub(super) fn greet<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &mut Segment,
        pkt: Pkt,
    ) -> bool {
        let answers = segment.flags.has(Flags::ACK);
        let wanted = match self.stage {
            Stage::Silent => !answers,
            Stage::Offered => !answers && self.hellos < HELLOS_MAX,
            Stage::Answered | Stage::There => answers && self.hellos < HELLOS_MAX,
            Stage::Gone => false,
        };
        if !wanted {
            return false;
        }
        let Some(longer) = stamp::with_option(ctx, segment, pkt, PeerOption::Hello) else {
            // An answer that cannot be given is none: the other box will know as much.
            self.gone(&mut ctx.counters.peers_without_room);
            return false;
        };
        *segment = longer;
        self.hellos += 1;
        if !answers {
            self.stage = Stage::Offered;
        }
        true
    }

    /// A SYN or SYN-ACK has come from outside, with a hello or without.
    pub(super) fn meet(&mut self, counters: &mut Counters, segment: &Segment, hello: bool) {
        let answers = segment.flags.has(Flags::ACK);
        match (self.stage, answers, hello) {
            (Stage::Silent, false, true) => self.stage = Stage::Answered,
            (Stage::Offered, true, true) => {
                counters.peers_found += 1;
                self.stage = Stage::There;
            }
            (Stage::Offered, true, false) | (Stage::Silent, false, false) => {
                self.gone(&mut counters.peers_absent);
            }
            // The other box has given up offering.
            (Stage::Answered, false, false) => self.gone(&mut counters.peers_absent),
            // Both ends open at once, or a repetition.
            _ => {}
        }
    }
}
