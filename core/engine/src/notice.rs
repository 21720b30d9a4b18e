//! What happened to single flows, for people: a short list that whoever feeds the engine empties after each call.

use windlass_cc::{AlgorithmId, Nanos};
use windlass_metric::labels;
use windlass_wire::FlowKey;

use crate::conn::Conn;
use crate::{Edition, Side};

/// Most notices between two calls of [`crate::Engine::take_notices`]; further ones are only counted.
pub(crate) const NOTICES_MAX: usize = 256;

labels! {
    /// Why a flow was handed back to its sender.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum HandBack {
        /// Its sender has run into a time-out, or repeats what lies behind the hole.
        SenderTimedOut = "sender_timed_out",
        /// Its sender has repeated a segment that the box had sent eight times in vain.
        SenderRepeats = "sender_repeats",
        /// Its sender cuts its segments anew, because the path's MTU has become smaller.
        Resegmented = "resegmented",
        /// What had to be repaired was not held in the box.
        NotHeld = "not_held",
        /// More was lost before the box than the sender can fill while the flow stays governed.
        Gap = "gap",
        /// Guesses of the box about the bottleneck held it back and were wrong: for good.
        WrongGuess = "wrong_guess",
        /// The box was too late too often: for good.
        LateWorker = "late_worker",
        /// The box had no room to hold its data: for good.
        NoRoom = "no_room",
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happened {
    /// Its sender repairs from here on.
    HandedBack {
        /// Why.
        why: HandBack,
        /// Sent, and not acknowledged.
        outstanding_bytes: u64,
        /// Smoothed RTT, ns; 0: unknown.
        srtt: Nanos,
        /// Segments of the flow that were marked lost so far.
        lost_segments: u64,
    },
    /// The box repairs again.
    TakenOver,
    /// A condition on the path has brought another algorithm.
    Switched {
        /// The one before.
        from: AlgorithmId,
        /// The one from now on.
        to: AlgorithmId,
        /// The list of conditions, by its number in the policy.
        list: u16,
        /// The condition in force, by its number in the list; `None`: none any more.
        condition: Option<u8>,
    },
}

/// Something that happened to a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Notice {
    /// From the sender of the data to its receiver.
    pub key: FlowKey,
    /// The policy in which rule and conditions have their numbers.
    pub edition: Edition,
    /// The rule that governs it, by number.
    pub rule: Option<u16>,
    /// What happened.
    pub happened: Happened,
}

/// Those that nobody has taken yet.
#[derive(Debug)]
pub(crate) struct Notices {
    /// A flow does not know its name: until its connection is known, it is that of the first end.
    unnamed: Vec<(Side, Happened)>,
    named: Vec<Notice>,
    /// Of the policy in charge.
    edition: Edition,
    lost: u64,
}

impl Default for Notices {
    fn default() -> Notices {
        Notices::new()
    }
}

impl Notices {
    /// Has all the memory that it will ever have.
    pub(crate) fn new() -> Notices {
        Notices {
            unnamed: Vec::with_capacity(NOTICES_MAX),
            named: Vec::with_capacity(NOTICES_MAX),
            edition: Edition::default(),
            lost: 0,
        }
    }

    /// The policy of this edition is in charge of what happens from now on.
    pub(crate) fn take_up(&mut self, edition: Edition) {
        debug_assert!(self.unnamed.is_empty());
        self.edition = edition;
    }

    /// It happened to the flow whose sender is on this side, of the connection that is worked on.
    pub(crate) fn add(&mut self, sender: Side, happened: Happened) {
        if self.unnamed.len() + self.named.len() < NOTICES_MAX {
            self.unnamed.push((sender, happened));
        } else {
            self.lost += 1;
        }
    }

    /// The connection that was worked on.
    #[inline]
    pub(crate) fn name(&mut self, conn: &Conn) {
        if self.unnamed.is_empty() {
            return;
        }
        let edition = self.edition;
        let named = |(sender, happened)| Notice {
            edition,
            key: conn.key_from(sender),
            rule: conn.rule_of(sender),
            happened,
        };
        self.named.extend(self.unnamed.drain(..).map(named));
    }

    /// All, and how many more there were. The list is empty then.
    pub(crate) fn take(&mut self, each: impl FnMut(Notice)) -> u64 {
        self.named.drain(..).for_each(each);
        std::mem::take(&mut self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Admission;

    #[test]
    fn a_list_that_is_full_counts() {
        let key: FlowKey = "10.0.0.1:443>192.0.2.7:5555".parse().expect("a flow");
        let bucket = Admission::new(1).bucket(key.src);
        let conn = Conn::new(key, Side::Inside, bucket, 0, 1);
        let mut notices = Notices::new();
        notices.add(Side::Outside, Happened::TakenOver);
        notices.name(&conn);
        for _ in 0..NOTICES_MAX + 5 {
            notices.add(Side::Inside, Happened::TakenOver);
        }
        notices.name(&conn);
        let mut keys = Vec::new();
        assert_eq!(notices.take(|notice| keys.push(notice.key)), 6);
        assert_eq!(keys.len(), NOTICES_MAX);
        assert_eq!((keys[0], keys[1]), (key.reversed(), key));
        assert_eq!(notices.take(|_| panic!("it is empty")), 0);
        assert_eq!(notices.named.capacity(), NOTICES_MAX);
    }
}
