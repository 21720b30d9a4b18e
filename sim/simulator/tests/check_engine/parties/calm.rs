//! What must come of it when nobody interferes any more.

use windlass_sim::Nanos;

use super::World;
use super::end::{End, State};

/// So long at most, in so many events.
const SPAN: Nanos = 600_000_000_000;
const STEP: Nanos = 1_000_000_000;
const EVENTS: usize = 30_000;

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
        while self.is_peaceful() && !self.is_settled() && self.now < until {
            self.run_until(self.now + STEP);
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

    fn is_settled(&self) -> bool {
        let [server, client] = &self.ends;
        let settled = |end: &End, other: &End| {
            end.is_open() && end.una == end.nxt && other.rcv_nxt == end.nxt
        };
        settled(server, client) && settled(client, server)
    }
}
