//! All flows, told a part at a time: a worker that told 20,000 at once would let packets wait.

use std::collections::VecDeque;
use std::sync::mpsc::Sender;

use windlass_engine::Engine;

use crate::command::Flows;

/// Connections in one turn: about as much work as a batch of packets.
const CONNECTIONS_PER_TURN: usize = 128;

/// Those who have asked, in their order.
#[derive(Debug, Default)]
pub(crate) struct Telling(VecDeque<Asked>);

#[derive(Debug)]
struct Asked {
    most: usize,
    answer: Sender<Flows>,
    flows: Flows,
    /// Place in the table from which on nothing has been told.
    next: usize,
    /// Connections that have been told.
    told: usize,
}

impl Telling {
    /// Somebody wants to know about the flows of so many connections at most, about.
    pub(crate) fn ask(&mut self, most: usize, answer: Sender<Flows>) {
        self.0.push_back(Asked {
            most,
            answer,
            flows: Flows::default(),
            next: 0,
            told: 0,
        });
    }

    /// A part for the first who has asked; true: there is more to tell.
    pub(crate) fn tell(&mut self, engine: &Engine) -> bool {
        let over = self.0.front_mut().is_some_and(|first| first.tell(engine));
        if over && let Some(asked) = self.0.pop_front() {
            let omitted = engine.connections().saturating_sub(asked.told);
            let flows = Flows {
                omitted,
                ..asked.flows
            };
            // Whoever asked may have gone: an answer that nobody takes is no error.
            let _ = asked.answer.send(flows);
        }
        !self.0.is_empty()
    }
}

impl Asked {
    /// True: that was all.
    fn tell(&mut self, engine: &Engine) -> bool {
        for (count, (place, infos)) in engine.flows_from(self.next).enumerate() {
            if self.flows.flows.len() >= self.most {
                return true;
            }
            if count == CONNECTIONS_PER_TURN {
                return false;
            }
            self.flows.flows.extend(infos);
            self.next = place + 1;
            self.told += 1;
        }
        true
    }
}
