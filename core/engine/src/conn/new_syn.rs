//! A SYN of a connection that has not begun, in the name of one that there is: what becomes of it when it is answered.

use serde::{Deserialize, Serialize};
use windlass_wire::{Flags, Segment};

use super::syn::Syn;
use super::{Conn, is_syn};
use crate::context::Context;
use crate::{PassReason, Pool, Side};

/// A SYN that begins a connection if it is answered.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct NewSyn {
    pub from: Side,
    pub syn: Syn,
    /// It is between the same ends the other way round: each on the side of the other.
    #[serde(skip)]
    pub is_turned: bool,
    /// It has come after another that the same answer may be for.
    #[serde(skip)]
    pub is_ambiguous: bool,
}

impl NewSyn {
    /// What answers one of them may answer the other: the numbers of one that carries data reach to others.
    fn is_mistaken_for(&self, other: &NewSyn) -> bool {
        if self.syn.iss == other.syn.iss {
            return !self.syn.offers_the_same(&other.syn);
        }
        self.syn.payload_len > 0 || other.syn.payload_len > 0
    }
}

impl Conn {
    /// A SYN of another connection, if somebody answers it.
    pub(super) fn note_new_syn(&mut self, from: Side, segment: &Segment, is_turned: bool) {
        let mut new = NewSyn {
            from,
            syn: Syn::read(segment),
            is_turned,
            is_ambiguous: false,
        };
        // Even one of the other side may have taken the place of such a SYN.
        let before = self.new_syn.as_deref();
        new.is_ambiguous =
            before.is_some_and(|known| known.is_ambiguous || known.is_mistaken_for(&new));
        self.new_syn = Some(Box::new(new));
    }

    /// The SYN of another connection that `segment`, a SYN of `from`, answers.
    pub(super) fn answered_new_syn(&self, from: Side, segment: &Segment) -> Option<NewSyn> {
        let answers = segment.flags.has(Flags::SYN.with(Flags::ACK));
        let same_ends = segment.key == self.key_from(from);
        // It has answered the SYN of this one before.
        let again = self.gate.is_some()
            && self.ends[from.index()]
                .syn
                .is_some_and(|syn| syn.iss == segment.seq);
        let new = self.new_syn.as_deref().filter(|new| {
            let to_it = new.from == from.other() && new.syn.is_answered_by(segment).is_ok();
            same_ends && answers && !again && to_it && !new.is_turned
        });
        new.copied()
    }

    /// A SYN-ACK that may answer the SYN of a connection, or another that carries data up to where that begins: they may have
    /// other options. Or two that have come since.
    pub(super) fn answers_one_of_two(&self, from: Side, segment: &Segment) -> bool {
        let open = self.gate.is_none();
        let known = self.ends[from.other().index()].syn.filter(|_| open);
        let known = known.filter(|known| known.is_acked_by(segment.ack));
        self.answered_new_syn(from, segment).is_some_and(|new| {
            new.is_ambiguous || known.is_some_and(|known| known.iss != new.syn.iss)
        })
    }

    /// A SYN with the ends the other way round, or the answer to one. Until a SYN has been answered, either may be nobody's:
    /// whoever guesses the name can send the first. True: it is answered, and the connection is between those ends.
    pub(super) fn turns<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        from: Side,
        segment: &Segment,
    ) -> bool {
        let answered = self.gate.is_some() || self.open;
        if answered || !is_syn(segment) {
            return false;
        }
        if !segment.flags.has(Flags::ACK) {
            self.note_new_syn(from, segment, true);
            return false;
        }
        let turned = self.new_syn.as_deref().filter(|new| new.is_turned);
        let Some(new) = turned.copied() else {
            return false;
        };
        if new.from != from.other() || new.syn.is_answered_by(segment).is_err() {
            return false;
        }
        self.begin_anew(ctx);
        self.first_end = self.first_end.other();
        self.ends[new.from.index()].syn = Some(new.syn);
        if new.is_ambiguous {
            self.let_go(ctx, PassReason::AmbiguousSyn);
        }
        true
    }
}
