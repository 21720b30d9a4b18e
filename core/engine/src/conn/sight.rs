//! What becomes of a connection whose packets have gone by unseen for a while: the worker stood still,
//! and the kernel forwarded them.
//!
//! Nothing is believed until a segment of either end agrees with one of the other: each acknowledges
//! what the other has sent, and echoes no time that is newer. From there the box follows the connection again.

use serde::{Deserialize, Serialize};
use windlass_cc::Nanos;
use windlass_wire::{Flags, Segment};

use super::Conn;
use super::gate::Gate;
use crate::context::Context;
use crate::{Fate, PassReason, Pkt, Pool, Side, seq};

/// The furthest that numbers may have gone on meanwhile, bytes.
const UNSEEN_MAX_BYTES: u32 = 1 << 28;
/// The most that may be in flight between two segments that agree, bytes.
const FLIGHT_MAX_BYTES: u32 = 1 << 26;

/// `new` is not before `old`, nor further on than so much.
fn goes_on(old: u32, new: u32, most: u32) -> bool {
    new.wrapping_sub(old) <= most
}

/// What a segment says of the end that has sent it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Known {
    /// One past its highest sequence number.
    pub nxt: u32,
    /// What it acknowledges, and how far it takes more.
    pub acked: u32,
    pub edge: u32,
    /// The furthest that has reached it: what it acknowledges, or what it SACKs beyond that.
    pub reached: u32,
    /// Its timestamps, if they are in use.
    pub tsval: Option<u32>,
    pub tsecr: Option<u32>,
}

impl Known {
    /// What is known of an end once a segment says this, if it can have been sent after `before` was
    /// known. It may be a retransmission.
    pub(super) fn after(mut self, before: &Known) -> Option<Known> {
        let clock_goes_on = self.is_no_older(before);
        if goes_on(self.nxt, before.nxt, FLIGHT_MAX_BYTES) {
            self.nxt = before.nxt;
        }
        // An older window that comes late takes nothing back.
        if seq::later(before.edge, self.edge) {
            self.edge = before.edge;
        }
        let plausible = clock_goes_on
            && goes_on(before.nxt, self.nxt, UNSEEN_MAX_BYTES)
            && goes_on(before.acked, self.acked, UNSEEN_MAX_BYTES);
        plausible.then_some(self)
    }

    /// Its clock goes on from there.
    fn is_no_older(&self, before: &Known) -> bool {
        match (before.tsval, self.tsval) {
            (Some(before), Some(now)) => !seq::later(before, now),
            (Some(_), None) => false,
            (None, _) => true,
        }
    }
}

/// What has been seen of each end since.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Sight {
    /// By side: the newest segment that is plausible.
    newest: [Option<Known>; 2],
    /// The connection is forgotten if this passes first.
    pub until: Nanos,
    /// What both have agreed on once, by side. Where nothing is known of how far they have got, who guesses must not be believed
    /// at once: both must say as much again by themselves.
    #[serde(skip)]
    first: Option<[Known; 2]>,
}

impl Sight {
    /// Nothing has been seen since, and nothing needs to be before then.
    pub(super) fn lost(until: Nanos) -> Sight {
        Sight {
            newest: [None, None],
            until,
            first: None,
        }
    }

    /// What both have agreed on once.
    pub(super) fn first(&self) -> Option<[Known; 2]> {
        self.first
    }

    pub(super) fn restore_first(&mut self, first: Option<[Known; 2]>) {
        self.first = first;
    }

    /// The end at `side` has said this: what does not go on from the first agreement ends it.
    fn compare(&mut self, side: Side, said: &Known) {
        self.first = self
            .first
            .filter(|first| said.after(&first[side.index()]).is_some());
    }

    /// They agree, and have agreed before. What they said then counts for nothing any more.
    fn agreed_again(&mut self) -> Option<[Known; 2]> {
        let agreed = self.agreed()?;
        if self.first.is_none() {
            *self = Sight {
                first: Some(agreed),
                ..Sight::lost(self.until)
            };
            return None;
        }
        Some(agreed)
    }

    /// Both have been seen, and each acknowledges what the other has sent. What has been seen of one may be a
    /// retransmission: it has sent as much as the other SACKs.
    fn agreed(&self) -> Option<[Known; 2]> {
        let [Some(inside), Some(outside)] = self.newest else {
            return None;
        };
        let acks = |by: &Known, of: &Known| goes_on(by.acked, of.nxt, FLIGHT_MAX_BYTES);
        let sent = |of: Known, to: &Known| match goes_on(of.nxt, to.reached, FLIGHT_MAX_BYTES) {
            true => Known {
                nxt: to.reached,
                ..of
            },
            false => of,
        };
        // An echo of a newer time says that what is known of the other end is old.
        let echoes = |by: &Known, of: &Known| {
            let stamps = by.tsecr.zip(of.tsval);
            stamps.is_none_or(|(echo, newest)| !seq::later(echo, newest))
        };
        let agree = |by, of| acks(by, of) && echoes(by, of);
        (agree(&inside, &outside) && agree(&outside, &inside))
            .then(|| [sent(inside, &outside), sent(outside, &inside)])
    }
}

impl Conn {
    /// From now on, until the ends have been seen again, everything passes. Nothing is held any more:
    /// both ends have what was not acknowledged.
    pub(crate) fn lose_sight<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        let governed = self.flows.iter().flatten().any(|f| f.passing().is_none());
        // What is only introduced is out of sight, and stays known for longer.
        if !governed || !self.open || self.closed || self.is_only_introduced() {
            return;
        }
        for flow in self.flows.iter_mut().flatten() {
            flow.lose_sight(ctx);
        }
        if let Some(peer) = &mut self.peer {
            peer.stop();
        }
        ctx.counters.sight_lost += u64::from(self.sight.is_none());
        let until = ctx.now + ctx.limits.handshake_timeout;
        self.sight = Some(Box::new(Sight::lost(until)));
    }

    /// A packet of a connection that is out of sight goes on, without what boxes say to each other.
    pub(super) fn pass_out_of_sight<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        from: Side,
        segment: &Segment,
        pkt: Pkt,
    ) {
        let mut segment = *segment;
        if let Some(peer) = &mut self.peer {
            match peer.cleanses(ctx, from, &segment, pkt, false) {
                Some(clean) => segment = clean,
                None => return ctx.swallow(pkt, Fate::Report),
            }
        }
        ctx.pass_on(PassReason::OutOfSight, from.other(), &segment, pkt);
    }

    /// It is followed again, and what went by unseen may not be known in full.
    pub(super) fn is_resumed(&self) -> bool {
        let governed = self.flows.iter().flatten().any(|f| f.passing().is_none());
        governed && self.gate.as_deref().is_some_and(Gate::is_unsure)
    }

    /// A segment acknowledges data that no flow has seen: a later packet of its sender, without data, has told of it.
    pub(super) fn acks_what_is_unseen(&self, from: Side, segment: &Segment) -> bool {
        let flow = self.flows[from.other().index()].as_ref();
        flow.is_some_and(|flow| segment.flags.has(Flags::ACK) && flow.has_not_seen(segment.ack))
    }

    /// The same of what no packet has told of: it was sent while nobody looked.
    pub(super) fn acks_what_went_by(&self, from: Side, segment: &Segment) -> bool {
        let gate = self.gate.as_deref();
        self.is_resumed() && gate.is_some_and(|gate| gate.acks_beyond(from, segment))
    }

    /// Of those that are followed again, three refused segments in a row of one end say that something was missed.
    pub(super) fn doubts_sight(&self, from: Side) -> bool {
        self.is_resumed() && self.gate.as_ref().is_some_and(|gate| gate.is_at_odds(from))
    }

    /// A SYN says that its sender has given this connection up, if the other end answers it. True: that has come.
    fn begins_anew(&mut self, from: Side, segment: &Segment) -> bool {
        if !segment.flags.has(Flags::ACK) {
            self.note_new_syn(from, segment, false);
            return false;
        }
        let answered = self.answered_new_syn(from, segment).is_some();
        if answered {
            self.sight = None;
        }
        answered
    }

    /// A segment while the connection is out of sight. True if it is to be judged as usual again.
    pub(super) fn look<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        from: Side,
        segment: &Segment,
    ) -> bool {
        if segment.flags.has(Flags::SYN) {
            return self.begins_anew(from, segment);
        }
        let resting = self.is_resting();
        let (Some(sight), Some(gate)) = (&mut self.sight, &mut self.gate) else {
            return true;
        };
        let says_something = segment.flags.has(Flags::ACK) && !segment.flags.has(Flags::RST);
        if !says_something || gate.is_signed_unasked(segment) {
            return false;
        }
        let newest = sight.newest[from.index()];
        let before = newest.unwrap_or_else(|| gate.known(from));
        let said = gate.known_by(from, segment);
        // How far the ends have gone on in a bypass, nobody knows.
        let anew = (resting && said.is_no_older(&before)).then_some(said);
        let goes_on = said.after(&before).filter(|_| !resting || newest.is_some());
        let Some(known) = goes_on.or(anew) else {
            return false;
        };
        sight.compare(from, &said);
        sight.newest[from.index()] = Some(known);
        let agreed = match resting {
            true => sight.agreed_again(),
            false => sight.agreed(),
        };
        let Some(agreed) = agreed else {
            return false;
        };
        if resting {
            gate.forget_before(&agreed);
            self.pass = None;
        }
        gate.resume(ctx.now, agreed);
        self.sight = None;
        for side in [Side::Inside, Side::Outside] {
            let (sender, receiver) = (agreed[side.index()], agreed[side.other().index()]);
            if let Some(flow) = &mut self.flows[side.index()] {
                flow.resume(&sender, &receiver);
            }
        }
        self.tell_shown_edges();
        ctx.counters.sight_regained += 1;
        if self.standby.is_introduced {
            ctx.counters.adopted += 1;
            ctx.counters.flows_governed += self.flows.iter().flatten().count() as u64;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(nxt: u32, acked: u32) -> Known {
        Known {
            nxt,
            acked,
            edge: acked.wrapping_add(1000),
            reached: acked,
            tsval: None,
            tsecr: None,
        }
    }

    #[test]
    fn ends_agree_if_each_acknowledges_what_the_other_has_sent() {
        let agreed = |inside, outside| {
            let newest = [Some(inside), Some(outside)];
            Sight {
                newest,
                ..Sight::lost(0)
            }
            .agreed()
            .is_some()
        };
        assert!(agreed(known(5000, 70), known(70, 5000)));
        assert!(agreed(known(5000, 60), known(70, 4000)));
        assert!(!agreed(known(5000, 71), known(70, 5000)), "not sent yet");
        assert!(!agreed(known(5000, 70), known(70, 5001)));
        assert!(agreed(known(10, 70), known(70, 10_u32.wrapping_sub(3000))));
        let far = 5000_u32.wrapping_sub(FLIGHT_MAX_BYTES + 1);
        assert!(!agreed(known(5000, 70), known(70, far)));
        let alone = [Some(known(5000, 70)), None];
        assert!(
            Sight {
                newest: alone,
                ..Sight::lost(0)
            }
            .agreed()
            .is_none()
        );
    }

    #[test]
    fn an_echo_of_what_is_newer_says_that_the_other_is_old() {
        let stamped = |known, val, ecr| Known {
            tsval: Some(val),
            tsecr: Some(ecr),
            ..known
        };
        let agreed = |echo| {
            let inside = stamped(known(5000, 70), 10, echo);
            let newest = [Some(inside), Some(stamped(known(70, 4000), 200, 9))];
            Sight {
                newest,
                ..Sight::lost(0)
            }
            .agreed()
            .is_some()
        };
        assert!(agreed(200) && agreed(150));
        assert!(!agreed(201));
    }

    #[test]
    fn a_retransmission_does_not_hide_what_was_sent_before_it() {
        let receiver = Known {
            reached: 9000,
            ..known(70, 4000)
        };
        let newest = [Some(known(5000, 70)), Some(receiver)];
        let [sender, _] = Sight {
            newest,
            ..Sight::lost(0)
        }
        .agreed()
        .expect("they agree");
        assert_eq!(sender.nxt, 9000);
    }

    #[test]
    fn an_end_goes_on_from_where_it_was() {
        let before = known(5000, 70);
        assert_eq!(known(9000, 80).after(&before), Some(known(9000, 80)));
        let again = known(4000, 80).after(&before).expect("a retransmission");
        assert_eq!((again.nxt, again.acked), (5000, 80));
        assert_eq!(known(9000, 69).after(&before), None, "an older ACK");
        assert_eq!(known(5000 + UNSEEN_MAX_BYTES + 1, 70).after(&before), None);
        let stamped = |tsval| Known {
            tsval,
            ..known(6000, 70)
        };
        let before = stamped(Some(100));
        assert!(stamped(Some(100)).after(&before).is_some());
        assert!(stamped(Some(99)).after(&before).is_none());
        assert!(stamped(None).after(&before).is_none());
    }
}
