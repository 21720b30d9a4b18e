//! What each action does.

use super::action::{Action, Who};
use super::end::State;
use super::path::Road;
use super::{World, third};

impl World {
    fn road(&mut self, number: u8) -> &mut Road {
        let count = self.roads.len();
        &mut self.roads[usize::from(number) % count]
    }

    pub(super) fn act(&mut self, action: &Action) {
        let now = self.now;
        match *action {
            Action::Send {
                who,
                segments,
                size,
            } => self.ends[who as usize].send(now, segments % 64, size),
            Action::Resend { who, place, cut } => self.ends[who as usize].resend(now, place, cut),
            Action::Acknowledge { who } => self.ends[who as usize].acknowledge(now),
            Action::Read { who, stops } => self.ends[who as usize].read(now, stops),
            Action::KeepAlive { who } => self.ends[who as usize].keep_alive(now),
            Action::Probe { who } => self.ends[who as usize].probe(now),
            Action::Finish { who } => self.ends[who as usize].finish(now),
            Action::Reset { who } => self.ends[who as usize].reset(now),
            Action::Lose { road, which, count } => self.road(road).lose(which, count % 16),
            Action::Overtake { road, which } => {
                self.orderly = false;
                self.road(road).overtake(which);
            }
            Action::Double { road, which } => self.road(road).double(which),
            Action::Mark { road, which } => self.road(road).mark(which),
            Action::Damage {
                road,
                which,
                at,
                how,
            } => self.road(road).damage(which, at, how),
            Action::Forge(forgery) => {
                let (from, to) = (forgery.from, forgery.from.other());
                let ends = &self.ends;
                let frame = third::forge(&forgery, &ends[from as usize], &ends[to as usize], now);
                self.inject(from, frame);
            }
            Action::Repeat { which, times } => {
                self.orderly = false;
                self.repeat(which, times % 8);
            }
            Action::Wait { exponent, more } => {
                let span = (1 << (exponent % 25)) + u64::from(more) * 16;
                self.run_until(now + span * 1000);
            }
            Action::Reload {
                algorithm,
                features,
            } => {
                self.reloaded_early |= self.ends.iter().any(|end| end.state != State::Open);
                for middle in &mut self.boxes {
                    middle.reload(now, algorithm, features);
                }
            }
            Action::Bypass { really } => self.bypass(really),
            Action::Kill { really } => self.kill(really),
        }
    }

    /// A frame of the third party's comes in where those of `from` do.
    fn inject(&mut self, from: Who, frame: Vec<u8>) {
        let node = match from {
            Who::Server => 1,
            Who::Client => self.boxes.len(),
        };
        self.enter(node, from.other(), &frame, true);
    }

    fn repeat(&mut self, which: u8, times: u8) {
        if self.seen.is_empty() {
            return;
        }
        let (from, frame) = self.seen[usize::from(which) % self.seen.len()].clone();
        for _ in 0..times {
            self.inject(from, frame.clone());
        }
    }

    /// Rarely, or nothing would be governed for long.
    fn bypass(&mut self, really: u8) {
        if really.is_multiple_of(8) {
            self.bypassed = true;
            for index in 0..self.boxes.len() {
                let out = self.boxes[index].bypass(self.now);
                self.leave(index + 1, out);
            }
        }
    }

    fn kill(&mut self, really: u8) {
        if really.is_multiple_of(8) {
            self.bypassed = true;
            let count = self.boxes.len();
            self.boxes[usize::from(really / 8) % count].kill();
        }
    }
}
