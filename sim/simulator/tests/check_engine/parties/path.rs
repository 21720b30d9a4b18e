//! The roads between ends and boxes: frames under way, in order unless somebody interferes.

use std::collections::VecDeque;

use windlass_sim::Nanos;
use windlass_wire::{Ecn, parse};

use super::action::Who;

/// A frame on its way.
#[derive(Clone, Debug)]
pub struct Travelling {
    pub at: Nanos,
    pub frame: Vec<u8>,
    /// No end has sent it like this.
    pub foreign: bool,
}

/// One direction between two neighbours.
#[derive(Debug)]
pub struct Road {
    pub toward: Who,
    /// Where it leads to: the ends are 0 and the last.
    pub node: usize,
    delay: Nanos,
    pub frames: VecDeque<Travelling>,
}

impl Road {
    pub fn new(toward: Who, node: usize, delay: Nanos) -> Road {
        Road {
            toward,
            node,
            delay,
            frames: VecDeque::new(),
        }
    }

    pub fn put(&mut self, now: Nanos, frame: Vec<u8>, foreign: bool) {
        let last = self.frames.back().map_or(0, |f| f.at);
        let at = last.max(now + self.delay);
        self.frames.push_back(Travelling { at, frame, foreign });
    }

    pub fn poll_at(&self) -> Option<Nanos> {
        self.frames.front().map(|f| f.at)
    }

    fn place(&self, which: u8) -> Option<usize> {
        let len = self.frames.len();
        (len > 0).then(|| usize::from(which) % len)
    }

    pub fn lose(&mut self, which: u8, count: u8) {
        for _ in 0..count {
            let Some(place) = self.place(which) else {
                return;
            };
            self.frames.remove(place);
        }
    }

    /// The frame behind it comes first.
    pub fn overtake(&mut self, which: u8) {
        let Some(place) = self.place(which) else {
            return;
        };
        let Some(mut late) = self.frames.remove(place) else {
            return;
        };
        let last = self.frames.back().map_or(late.at, |f| f.at);
        late.at = late.at.max(last) + 1_000_000;
        self.frames.push_back(late);
    }

    pub fn double(&mut self, which: u8) {
        if let Some(place) = self.place(which) {
            let again = self.frames[place].clone();
            self.frames.insert(place, again);
        }
    }

    /// A router marks what may be marked.
    pub fn mark(&mut self, which: u8) {
        let Some(place) = self.place(which) else {
            return;
        };
        let frame = &mut self.frames[place].frame;
        let Ok(segment) = parse(frame, frame.len() as u32) else {
            return;
        };
        if segment.ecn != Ecn::NotEct {
            windlass_wire::Editor::new(frame, &segment).set_ecn(Ecn::Ce);
        }
    }

    /// A bit is flipped behind the Ethernet header, or the frame is cut or padded.
    pub fn damage(&mut self, which: u8, at: u16, how: u8) {
        let Some(place) = self.place(which) else {
            return;
        };
        let travelling = &mut self.frames[place];
        let len = travelling.frame.len();
        let at = 14 + usize::from(at) % (len - 14).max(1);
        match how {
            0..16 => travelling.frame.truncate(at),
            16..32 => travelling.frame.resize(len + usize::from(how), 0),
            _ if at < len => travelling.frame[at] ^= 1 << (how & 7),
            _ => {}
        }
        travelling.foreign = true;
    }
}
