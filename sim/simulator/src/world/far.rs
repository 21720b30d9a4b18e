//! A box beside the clients.

use std::collections::VecDeque;

use windlass_engine::Side;
use windlass_wire::{Ecn, parse, verify_ip, verify_tcp};

use super::World;
use crate::network::Toward;
use crate::node::Middlebox;

/// A box beside the clients, with no way between: they are on its inside.
pub(super) struct FarBox {
    pub middlebox: Box<dyn Middlebox>,
    /// What the clients have sent, and what the network has brought.
    pub to_do: VecDeque<(Side, Vec<u8>)>,
    pub out: Vec<(Side, Vec<u8>)>,
}

impl World {
    /// With another box, beside the clients.
    pub fn with_far_box(mut self, middlebox: Box<dyn Middlebox>) -> Self {
        self.far = Some(FarBox {
            middlebox,
            to_do: VecDeque::new(),
            out: Vec::new(),
        });
        self
    }

    /// The box beside the clients.
    pub fn far_box(&self) -> Option<&dyn Middlebox> {
        self.far.as_ref().map(|far| &*far.middlebox)
    }

    /// Packets that the box beside the clients holds.
    pub fn held_by_far_box(&self) -> usize {
        self.far_box().map_or(0, Middlebox::held_packets)
    }

    /// Everything that the box beside the clients has to do now.
    pub(super) fn run_far_box(&mut self) {
        let now = self.now;
        loop {
            let Some(far) = &mut self.far else { return };
            if let Some((from, frame)) = far.to_do.pop_front() {
                far.middlebox.on_frame(now, from, frame, &mut far.out);
            } else if far.middlebox.poll_at().is_some_and(|at| at <= now) {
                far.middlebox.on_timer(now, &mut far.out);
            } else {
                return;
            }
            let mut out = std::mem::take(&mut far.out);
            for (side, frame) in out.drain(..) {
                match side {
                    Side::Inside => self.leave_far_box(frame),
                    Side::Outside => self.toward_servers(frame),
                }
            }
            if let Some(far) = &mut self.far {
                far.out = out;
            }
        }
    }

    /// To the client. Whatever two boxes say to each other must not reach it.
    fn leave_far_box(&mut self, frame: Vec<u8>) {
        if says_what_boxes_say(&frame) {
            self.violated("a client sees what boxes say");
        }
        self.reach_end(Side::Outside, frame);
    }

    fn toward_servers(&mut self, frame: Vec<u8>) {
        let found = self.find(&frame);
        let ect = found.is_some_and(|(_, segment)| segment.ecn != Ecn::NotEct);
        if let Some(index) = found.map(|f| f.0).or_else(|| self.find_too_big(&frame)) {
            let (pair, len) = (self.connections[index].pair, frame.len() as u32);
            self.network
                .send(self.now, pair, Toward::Servers, len, ect, frame);
        }
    }
}

/// It would reach an end: what is damaged does not.
pub(super) fn says_what_boxes_say(frame: &[u8]) -> bool {
    parse(frame, frame.len() as u32).is_ok_and(|segment| {
        segment.at.peer != 0 && verify_ip(frame, &segment) && verify_tcp(frame, &segment)
    })
}
