//! What a worker tells another box of its connections, a part in each turn: one that looked at 20,000 at once would let
//! packets wait.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use windlass_engine::{Engine, Introduced, Introduction, Nanos};
use windlass_wire::FlowKey;

/// Connections looked at in one turn: about as much work as a batch of packets.
const CONNECTIONS_PER_TURN: usize = 256;
/// What has happened since it was last told.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub introductions: Vec<Introduction>,
    pub ended: Vec<FlowKey>,
}

/// What another box has told, in parts that one turn takes.
#[derive(Debug)]
pub(crate) enum Heard {
    Introduced(Arc<Vec<Introduced>>),
    /// These have ended where the other box has seen them.
    Ended(Arc<Vec<FlowKey>>),
}

/// Who is told, and how far that is.
#[derive(Debug, Default)]
pub(crate) struct Introducing {
    asked: Option<Asked>,
    /// Ends of which nobody has taken the answer.
    untold: Vec<FlowKey>,
}

#[derive(Debug)]
struct Asked {
    listener: u32,
    answer: Sender<Told>,
    told: Told,
    /// Place in the table from which on nothing has been looked at.
    next: usize,
}

impl Introducing {
    /// Somebody wants to know of all connections that are news to this listener.
    pub(crate) fn ask(&mut self, listener: u32, answer: Sender<Told>) {
        self.asked = Some(Asked {
            listener,
            answer,
            told: Told::default(),
            next: 0,
        });
    }

    /// Looks at a part; true: there is more to look at.
    pub(crate) fn tell(&mut self, engine: &mut Engine, now: Nanos) -> bool {
        let Some(asked) = &mut self.asked else {
            return false;
        };
        let part = (asked.next, CONNECTIONS_PER_TURN);
        let introductions = &mut asked.told.introductions;
        asked.next = engine.introduce(now, asked.listener, part, |each| introductions.push(each));
        if asked.next != 0 {
            return true;
        }
        if let Some(asked) = self.asked.take() {
            let mut ended = std::mem::take(&mut self.untold);
            engine.take_ended(|key| ended.push(key));
            let told = Told {
                ended,
                ..asked.told
            };
            // Whoever asked may have gone: the next one hears of the ends.
            if let Err(untaken) = asked.answer.send(told) {
                self.untold = untaken.0.ended;
            }
        }
        false
    }
}
