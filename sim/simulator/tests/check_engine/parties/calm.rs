//! What must come of it when nobody interferes any more.

use windlass_sim::Nanos;

use super::World;
use super::end::{End, State};

/// So long at most.
const SPAN: Nanos = 600_000_000_000;
const STEP: Nanos = 1_000_000_000;
/// In so many events something gets across: thousands of segments of one byte take many times that.
const EVENTS: usize = 30_000;
/// Nobody waits for more than so many times that.
const ROUNDS: usize = 10;

impl World {
    /// Two ends that have been told nothing but the truth get everything across.
    pub fn calm_down(&mut self) {
        self.tell(|| "calm".to_owned());
        self.events = 0;
        self.most_events = EVENTS;
        let now = self.now;
        for end in &mut self.ends {
            end.read(now, false);
            end.hope(now);
        }
        let until = now + SPAN;
        let (mut rounds, mut before) = (0, self.acknowledged());
        while self.is_peaceful() && !self.is_settled() && self.now < until {
            self.run_until(self.now + STEP);
            if self.events >= self.most_events && self.acknowledged() != before {
                (self.events, before) = (0, self.acknowledged());
                rounds += 1;
                if rounds == ROUNDS {
                    return;
                }
            }
        }
        assert!(
            !self.is_peaceful() || self.is_settled(),
            "{:?} do not get through",
            self.ends.each_ref().map(End::progress)
        );
    }

    /// Nobody has been misled, or has given up.
    fn is_peaceful(&self) -> bool {
        let over = |end: &End| end.misled || end.state == State::Over;
        !self.ends.iter().any(over) && !self.said.iter().any(|said| said.by_others)
    }

    fn acknowledged(&self) -> [u32; 2] {
        self.ends.each_ref().map(|end| end.una)
    }

    fn is_settled(&self) -> bool {
        let [server, client] = &self.ends;
        let settled = |end: &End, other: &End| {
            end.is_open() && end.una == end.nxt && other.rcv_nxt == end.nxt
        };
        settled(server, client) && settled(client, server)
    }
}
