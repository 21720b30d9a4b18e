//! The way of a frame, from one end over boxes to the other, and what is looked at on it.

use windlass_sim::Side;
use windlass_wire::{Flags, Segment, parse};

use super::action::Who;
use super::end::{End, State, later_of};
use super::receive::Verdict;
use super::said::acks_what_another_has_sent;
use super::{World, alike};

/// True frames that the third party remembers.
const REMEMBERED: usize = 64;

impl World {
    /// What the ends have said gets on its way.
    pub(super) fn depart(&mut self) {
        for who in [Who::Server, Who::Client] {
            let end = &mut self.ends[who as usize];
            let scale = end.agreed.own_scale;
            for frame in std::mem::take(&mut end.out) {
                self.said[who as usize].note_own(&frame, scale);
                self.remember(who, &frame);
                let road = match who {
                    Who::Server => 0,
                    Who::Client => self.roads.len() - 1,
                };
                self.roads[road].put(self.now, frame, false);
            }
        }
    }

    pub(super) fn remember(&mut self, who: Who, frame: &[u8]) {
        let place = self.seen.len();
        if place == REMEMBERED {
            self.seen.swap_remove(self.events % REMEMBERED);
        }
        self.seen.push((who, frame.to_vec()));
    }

    /// A frame comes to a box or to an end.
    pub(super) fn enter(&mut self, node: usize, toward: Who, frame: &[u8], foreign: bool) {
        if node == 0 || node == self.roads.len() / 2 {
            return self.arrive(toward, frame, foreign);
        }
        let from = toward.other();
        // What a first box has refused, a second may believe a little later.
        let said_by = &self.said[from as usize];
        if said_by.is_strange(frame) || (foreign && !said_by.has_come(frame)) {
            self.note_foreign(node, from, frame);
        }
        self.hear(node, from, frame);
        let side = side_of(node, from);
        self.tell_frame(&format!("into box {node}"), frame);
        let before = self.aloud.then(|| self.boxes[node - 1].counted());
        let out = self.boxes[node - 1].take(self.now, side, frame);
        if let Some(before) = before {
            let counts = self.boxes[node - 1].counted();
            let changed = counts.into_iter().filter(|count| !before.contains(count));
            let names: Vec<String> = changed.map(|(name, _)| name).collect();
            self.tell(|| format!("  box {node} counts {}", names.join(" ")));
        }
        self.leave(node, out);
    }

    /// Somebody else's frame comes to a box: whom it misleads.
    fn note_foreign(&mut self, node: usize, from: Who, frame: &[u8]) {
        let toward = from.other();
        let (end, own) = (&self.ends[toward as usize], &self.said[toward as usize]);
        let said_by = &self.said[from as usize];
        let (mut believed, mut by_box, mut syn) = (false, None, None);
        if let Ok(segment) = parse(frame, frame.len() as u32) {
            // A box lets what it holds leave with a TSval as new as what has left before.
            let said = segment.options.timestamps.map(|stamps| stamps.val);
            let raised = said.filter(|tsval| said_by.has_said(*tsval));
            let raised = raised.map_or(segment, |_| end.with_newest_tsval(&segment));
            believed = self.may_take(node, toward, &raised, frame);
            let heard = self.heard_at(node, toward);
            // It may lie in a window of which somebody else has told.
            let told = own.others_edge;
            let within = |edge: u32| end.may_take_within(&raised, frame, heard, edge);
            let misleads =
                told.is_some_and(within) || acks_what_another_has_sent(&segment, end, own);
            by_box = (!believed && misleads).then_some(segment);
            syn = Some(segment);
        }
        let scale = end.agreed.others_scale;
        // A box may have forgotten what is over.
        let ended = |end: &End| end.got_fin.is_some() || end.state == State::Over;
        let over = self.ends.iter().all(ended);
        let said = &mut self.said[from as usize];
        said.note_foreign(frame, believed, scale);
        if let Some(segment) = syn.filter(|_| over) {
            said.note_opening(&segment);
        }
        if let Some(segment) = by_box {
            said.note_believed_by_box(&segment, frame, scale);
        }
    }

    /// Whether an end may take what comes to a box, by all that the box can know.
    fn may_take(&self, node: usize, who: Who, segment: &Segment, frame: &[u8]) -> bool {
        let roundings = self.said[who as usize].roundings();
        let heard = self.heard_at(node, who);
        self.ends[who as usize].may_take(segment, frame, heard, roundings)
    }

    /// The newest acknowledgement of an end that has come to a box.
    fn heard_at(&self, node: usize, who: Who) -> u32 {
        let heard = self.heard[node - 1][who as usize];
        heard.unwrap_or(self.ends[who as usize].irs)
    }

    /// What an end acknowledges in its own words, and its peer takes, comes to a box.
    fn hear(&mut self, node: usize, from: Who, frame: &[u8]) {
        let Ok(segment) = parse(frame, frame.len() as u32) else {
            return;
        };
        let taken = self.may_take(node, from.other(), &segment, frame);
        if taken && segment.flags.has(Flags::ACK) && !self.said[from as usize].is_strange(frame) {
            let heard = &mut self.heard[node - 1][from as usize];
            *heard = Some(later_of(heard.unwrap_or(segment.ack), segment.ack));
        }
    }

    pub(super) fn leave(&mut self, node: usize, out: Vec<(Side, Vec<u8>)>) {
        for (side, frame) in out {
            let toward = match side == side_of(node, Who::Server) {
                true => Who::Server,
                false => Who::Client,
            };
            let (road, last) = match toward {
                Who::Server => (2 * node - 1, node == 1),
                Who::Client => (2 * node, node == self.boxes.len()),
            };
            self.tell_frame(&format!("out of {node}  "), &frame);
            if last {
                self.check_shown(toward, &frame);
            }
            self.roads[road].put(self.now, frame, false);
        }
    }

    pub(super) fn check_shown(&mut self, toward: Who, frame: &[u8]) {
        let (own, said) = (
            &self.said[toward as usize],
            &self.said[toward.other() as usize],
        );
        // A box that has been bypassed, or has seen the end of the connection, takes nothing out. Nor does one whose
        // policy did not look for another box when the connection began.
        let over = |end: &End| end.state == State::Over;
        let others = said.by_others || own.by_others;
        let gone = self.bypassed || self.reloaded_early || self.ends.iter().any(over) || others;
        if gone && alike::is_report(frame) {
            return said.check_report(frame);
        }
        let cut = alike::without_peers_words(frame).filter(|_| gone);
        let frame = cut.as_deref().unwrap_or(frame);
        let to = &self.ends[toward as usize];
        said.check(frame, to, own);
        let Ok(segment) = parse(frame, frame.len() as u32) else {
            return;
        };
        let changed = !said.has_come(frame);
        // An acknowledgement behind a number beyond the window, far ahead of what a box has seen: it goes on as it is, and
        // its receiver, whose window has moved meanwhile, takes it.
        let beyond = self.ends[toward.other() as usize].went_beyond;
        let passed = !changed && beyond && segment.payload_len == 0;
        let truthful = !self.said.iter().any(|said| said.by_others);
        if truthful
            && !passed
            && !said.is_strange(frame)
            && to.judge(&segment, frame) == Verdict::Take
        {
            let must_hold = changed && self.orderly && !self.bypassed;
            self.shown[toward as usize].note(&segment, to, must_hold);
        }
    }

    pub(super) fn arrive(&mut self, who: Who, frame: &[u8], foreign: bool) {
        let Ok(segment) = parse(frame, frame.len() as u32) else {
            return;
        };
        self.tell_frame("to an end ", frame);
        let strange = foreign || self.said[who.other() as usize].is_strange(frame);
        let end = &mut self.ends[who as usize];
        end.misled |= strange && end.judge(&segment, frame) == Verdict::Take;
        end.receive(self.now, &segment, frame);
        self.depart();
    }

    /// The boxes let go of everything.
    pub(super) fn stop(&mut self) {
        for index in 0..self.boxes.len() {
            let out = self.boxes[index].stop(self.now);
            self.leave(index + 1, out);
        }
    }
}

/// On which side of a box its neighbour in the direction of `who` is: the inside is that of the end nearby.
fn side_of(node: usize, who: Who) -> Side {
    match (node, who) {
        (1, Who::Server) | (2, Who::Client) => Side::Inside,
        _ => Side::Outside,
    }
}
