//! All flows, told a part at a time: a worker that told 20,000 at once would let packets wait.

use std::collections::VecDeque;
use std::sync::mpsc::Sender;

use windlass_engine::Engine;

use crate::command::Flows;
use crate::view::Wanted;

/// Connections in one turn: about as much work as a batch of packets.
const CONNECTIONS_PER_TURN: usize = 128;

/// Those who have asked, in their order.
#[derive(Debug, Default)]
pub(crate) struct Telling(VecDeque<Asked>);

#[derive(Debug)]
struct Asked {
    wanted: Wanted,
    most: usize,
    answer: Sender<Flows>,
    flows: Flows,
    /// Place in the table from which on nothing has been told.
    next: usize,
}

impl Telling {
    /// Somebody wants to know about so many of these flows at most. Further ones are counted.
    pub(crate) fn ask(&mut self, wanted: Wanted, most: usize, answer: Sender<Flows>) {
        self.0.push_back(Asked {
            wanted,
            most,
            answer,
            flows: Flows::default(),
            next: 0,
        });
    }

    /// A part for the first who has asked; true: there is more to tell.
    pub(crate) fn tell(&mut self, engine: &Engine) -> bool {
        let over = self.0.front_mut().is_some_and(|first| first.tell(engine));
        if over && let Some(asked) = self.0.pop_front() {
            // Whoever asked may have gone: an answer that nobody takes is no error.
            let _ = asked.answer.send(asked.flows);
        }
        !self.0.is_empty()
    }
}

impl Asked {
    /// True: that was all.
    fn tell(&mut self, engine: &Engine) -> bool {
        for (count, (place, infos)) in engine.flows_from(self.next).enumerate() {
            if count == CONNECTIONS_PER_TURN {
                return false;
            }
            for info in infos.filter(|info| self.wanted.wants(info)) {
                match self.flows.flows.len() < self.most {
                    true => self.flows.flows.push(info),
                    false => self.flows.omitted += 1,
                }
            }
            self.next = place + 1;
        }
        true
    }
}
