//! What a worker tells another box of its connections, a part in each turn: one that looked at 20,000 at once would let
//! packets wait.

use std::sync::mpsc::Sender;

use windlass_engine::{Engine, Introduction, Nanos};
use windlass_wire::FlowKey;

/// Connections looked at in one turn: about as much work as a batch of packets.
const CONNECTIONS_PER_TURN: usize = 256;
/// Ends that nobody has asked for yet, and that are kept: further ones the other box finds out by its own time.
const ENDED_MAX: usize = 65_536;

/// What has happened since it was last told.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub introductions: Vec<Introduction>,
    pub ended: Vec<FlowKey>,
}

/// Who is told, and how far that is.
#[derive(Debug, Default)]
pub(crate) struct Introducing {
    asked: Option<Asked>,
    /// Somebody has asked before: from then on ends are kept.
    is_wanted: bool,
    ended: Vec<FlowKey>,
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
        self.is_wanted = true;
        self.asked = Some(Asked {
            listener,
            answer,
            told: Told::default(),
            next: 0,
        });
    }

    /// The packets of a connection are not wanted any more.
    pub(crate) fn end(&mut self, key: FlowKey) {
        if self.is_wanted && self.ended.len() < ENDED_MAX {
            self.ended.push(key);
        }
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
            let ended = std::mem::take(&mut self.ended);
            // Whoever asked may have gone: an answer that nobody takes is no error.
            let _ = asked.answer.send(Told {
                ended,
                ..asked.told
            });
        }
        false
    }
}
