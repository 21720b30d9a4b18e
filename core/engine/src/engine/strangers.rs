//! Connections in mid-flow, of which nobody has told: after a crash, a change of the route, or a bypass.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use windlass_wire::{FlowKey, Segment};

use super::Engine;
use crate::conn::{Insight, Stranger};
use crate::{Nanos, Pool, Side, Tx};

/// The number by which the packets of strangers are known where they are missed. No connection has it, so nothing is lost by
/// that; the largest of all means that nobody knows whose they were.
const NO_NUMBER: u32 = u32::MAX - 1;
/// Between two looks for those that have been watched for too long, ns.
const LOOK_EVERY: Nanos = 1_000_000_000;

/// Those that are watched.
pub(super) struct Strangers {
    all: HashMap<FlowKey, Stranger, FixedState>,
    looked_at: Nanos,
}

impl Engine {
    /// From now on connections whose SYN has not been seen are watched, and governed once it is beyond doubt what the SYNs
    /// have settled. [`Engine::take_follows`] says whose packets are wanted for that.
    pub fn watch_strangers(&mut self, watch: bool) {
        let new = || {
            Box::new(Strangers {
                all: HashMap::with_hasher(FixedState::with_seed(self.seed)),
                looked_at: 0,
            })
        };
        self.strangers = watch.then(new);
    }

    /// A segment of a connection that is not in the table. It goes on as it is in any case.
    pub(super) fn watch_stranger<P: Pool>(
        &mut self,
        now: Nanos,
        (key, swapped): (FlowKey, bool),
        from: Side,
        segment: &Segment,
        pool: &mut P,
        out: &mut Vec<Tx>,
    ) {
        let Some(strangers) = &mut self.strangers else {
            return;
        };
        let full = strangers.all.len() >= self.limits.strangers;
        if !strangers.all.contains_key(&key) {
            if full || self.told.memory_full {
                return;
            }
            self.counters.strangers += 1;
            self.news.follows.push((key, Some(NO_NUMBER)));
        }
        let first_end = if swapped { from.other() } else { from };
        let stranger = strangers.all.entry(key);
        let stranger = stranger.or_insert_with(|| Stranger::new(key, first_end, now));
        match stranger.watch(now, from, segment) {
            Insight::Watch => {}
            Insight::Never => self.stop_watching(&key),
            Insight::Known => {
                let introduced = stranger.introduced();
                // Its packets are wanted still, for another reason.
                strangers.all.remove(&key);
                self.counters.strangers_understood += 1;
                if let Some(introduced) = introduced {
                    self.introduced(now, &introduced, pool, out);
                }
                if self.whole(&key).is_none() {
                    self.news.follows.push((key, None));
                }
            }
        }
    }

    fn stop_watching(&mut self, key: &FlowKey) {
        let watched = self.strangers.as_mut().and_then(|all| all.all.remove(key));
        if watched.is_some() {
            self.news.follows.push((*key, None));
        }
    }

    /// Who has been watched for long enough makes room for others.
    pub(super) fn forget_strangers(&mut self, now: Nanos) {
        let Some(strangers) = &mut self.strangers else {
            return;
        };
        if now < strangers.looked_at + LOOK_EVERY {
            return;
        }
        strangers.looked_at = now;
        let (follows, limit) = (&mut self.news.follows, self.limits.stranger_timeout);
        strangers.all.retain(|key, stranger| {
            let stays = now < stranger.since + limit;
            if !stays {
                follows.push((*key, None));
            }
            stays
        });
    }
}
