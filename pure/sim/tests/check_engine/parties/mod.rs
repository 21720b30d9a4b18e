//! Two ends that do what ends do, and a third party that does what it likes, around one box or two.
//!
//! `action` is what an input says, `end` (with `offer`, `send`, `receive`, `reassemble`) an end, `third` the
//! third party, `path` what lies between, `middle` the boxes, `said` what may be shown to whom, `shown` what has
//! been, `calm` what must come of it.

mod action;
mod calm;
mod end;
mod middle;
mod offer;
mod path;
mod reassemble;
mod receive;
mod said;
mod send;
mod shown;
mod third;

use windlass_sim::{Nanos, Side};
use windlass_wire::{Addr, FlowKey, parse};

use action::{Action, Plan, Setup, Who};
use end::{End, State};
use middle::Middle;
use offer::Offer;
use path::{Road, Travelling};
use receive::Verdict;
use said::Said;
use shown::Shown;

/// Events of one run at most.
const EVENTS: usize = 6_000;
/// What a handshake takes over the longest path.
const HANDSHAKE: Nanos = 500_000_000;
/// Between a box and the end beside it.
const NEAR: Nanos = 50_000;
/// What an action takes by itself.
const STEP: Nanos = 10_000;
/// True frames that the third party remembers.
const REMEMBERED: usize = 64;

struct World {
    now: Nanos,
    ends: [End; 2],
    boxes: Vec<Middle>,
    roads: Vec<Road>,
    /// By side of the speaker.
    said: [Said; 2],
    shown: [Shown; 2],
    /// Everything has come in the order in which it was said.
    orderly: bool,
    seen: Vec<(Who, Vec<u8>)>,
    events: usize,
    most_events: usize,
    bypassed: bool,
    aloud: bool,
}

/// Runs what `data` says. How many frames went through boxes.
///
/// # Panics
/// When something does not hold.
pub fn check(data: &[u8]) -> u64 {
    play(data, false)
}

/// The same, every step told if it is to be.
pub fn play(data: &[u8], aloud: bool) -> u64 {
    let Ok(plan) = Plan::read(data) else {
        return 0;
    };
    let mut world = World::new(&plan.setup);
    world.aloud = aloud;
    world.tell(|| format!("{:?}", plan.setup));
    world.ends[Who::Client as usize].connect(world.now);
    if plan.setup.numbers & 4 == 0 {
        world.run_until(world.now + HANDSHAKE);
    }
    for action in &plan.actions {
        world.tell(|| format!("{action:?}"));
        world.act(action);
        world.run_until(world.now + STEP);
    }
    world.calm_down();
    world.stop();
    world.boxes.iter().map(|middle| middle.frames).sum()
}

impl Who {
    fn other(self) -> Who {
        match self {
            Who::Server => Who::Client,
            Who::Client => Who::Server,
        }
    }
}

impl World {
    fn new(setup: &Setup) -> World {
        let two = setup.features >> 6 & 1 != 0;
        let boxes = (0..1 + usize::from(two))
            .map(|_| Middle::new(setup, two))
            .collect();
        let far: Nanos = 1_000_000 << (setup.delay % 8);
        let delays = match two {
            true => vec![NEAR, far, NEAR],
            false => vec![NEAR, far],
        };
        let roads = delays.iter().enumerate().flat_map(|(link, &delay)| {
            let down = Road::new(Who::Client, link + 1, delay);
            [down, Road::new(Who::Server, link, delay)]
        });
        World {
            now: 1_000_000_000,
            ends: [Who::Server, Who::Client].map(|who| an_end(who, setup)),
            boxes,
            roads: roads.collect(),
            said: [Said::new(two), Said::new(two)],
            seen: Vec::new(),
            shown: Default::default(),
            orderly: true,
            events: 0,
            most_events: EVENTS,
            bypassed: false,
            aloud: false,
        }
    }

    fn tell(&self, what: impl FnOnce() -> String) {
        if self.aloud {
            println!("{:10.3} ms {}", self.now as f64 / 1e6 - 1000.0, what());
        }
    }

    fn tell_frame(&self, place: &str, frame: &[u8]) {
        self.tell(|| match parse(frame, frame.len() as u32) {
            Ok(s) => format!(
                "  {place} :{} {}+{} ack {} win {} flags {:#x} ts {:?} sack {:?} {:?}",
                s.key.src_port,
                s.seq,
                s.payload_len,
                s.ack,
                s.window,
                s.flags.0,
                s.options.timestamps.map(|t| (t.val, t.ecr)),
                s.options.sack.iter().collect::<Vec<_>>(),
                s.ecn,
            ),
            Err(why) => format!("  {place} {why:?}"),
        });
    }

    fn road(&mut self, number: u8) -> &mut Road {
        let count = self.roads.len();
        &mut self.roads[usize::from(number) % count]
    }

    fn act(&mut self, action: &Action) {
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

    /// Everything that happens until then.
    fn run_until(&mut self, until: Nanos) {
        self.depart();
        while self.events < self.most_events {
            let at = self.next_event().filter(|at| *at <= until);
            let Some(at) = at else { break };
            self.now = self.now.max(at);
            self.events += 1;
            self.happen();
            self.depart();
        }
        self.now = self.now.max(until);
    }

    fn next_event(&self) -> Option<Nanos> {
        let roads = self.roads.iter().filter_map(Road::poll_at);
        let boxes = self.boxes.iter().filter_map(Middle::poll_at);
        let ends = self.ends.iter().filter_map(End::poll_at);
        roads.chain(boxes).chain(ends).min()
    }

    fn happen(&mut self) {
        let now = self.now;
        let due = |at: Option<Nanos>| at.is_some_and(|at| at <= now);
        if let Some(road) = self.roads.iter_mut().find(|road| due(road.poll_at())) {
            let (node, toward) = (road.node, road.toward);
            if let Some(Travelling { frame, foreign, .. }) = road.frames.pop_front() {
                self.enter(node, toward, &frame, foreign);
            }
            return;
        }
        if let Some(index) = self.boxes.iter().position(|b| due(b.poll_at())) {
            let out = self.boxes[index].on_timer(now);
            return self.leave(index + 1, out);
        }
        if let Some(end) = self.ends.iter_mut().find(|end| due(end.poll_at())) {
            end.on_timer(now);
        }
    }

    /// What the ends have said gets on its way.
    fn depart(&mut self) {
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

    fn remember(&mut self, who: Who, frame: &[u8]) {
        let place = self.seen.len();
        if place == REMEMBERED {
            self.seen.swap_remove(self.events % REMEMBERED);
        }
        self.seen.push((who, frame.to_vec()));
    }

    /// A frame comes to a box or to an end.
    fn enter(&mut self, node: usize, toward: Who, frame: &[u8], foreign: bool) {
        if node == 0 || node == self.roads.len() / 2 {
            return self.arrive(toward, frame, foreign);
        }
        let from = toward.other();
        // What a first box has refused, a second may believe a little later.
        let said = &self.said[from as usize];
        if said.is_strange(frame) || (foreign && !said.has_come(frame)) {
            let end = &self.ends[toward as usize];
            let read = parse(frame, frame.len() as u32);
            let believed = read.is_ok_and(|segment| end.may_take(&segment, frame));
            self.said[from as usize].note_foreign(frame, believed, end.agreed.others_scale);
        }
        let side = side_of(node, from);
        self.tell_frame("into a box", frame);
        let out = self.boxes[node - 1].take(self.now, side, frame);
        self.leave(node, out);
    }

    fn leave(&mut self, node: usize, out: Vec<(Side, Vec<u8>)>) {
        for (side, frame) in out {
            let toward = match side == side_of(node, Who::Server) {
                true => Who::Server,
                false => Who::Client,
            };
            let (road, last) = match toward {
                Who::Server => (2 * node - 1, node == 1),
                Who::Client => (2 * node, node == self.boxes.len()),
            };
            self.tell_frame("out of it ", &frame);
            if last {
                self.check_shown(toward, &frame);
            }
            self.roads[road].put(self.now, frame, false);
        }
    }

    fn check_shown(&mut self, toward: Who, frame: &[u8]) {
        let (own, said) = (
            &self.said[toward as usize],
            &self.said[toward.other() as usize],
        );
        // A box that has been bypassed, or has seen the end of the connection, takes nothing out.
        let over = |end: &End| end.state == State::Over;
        let gone = self.bypassed || self.ends.iter().any(over) || said.by_others || own.by_others;
        if gone && said::is_report(frame) {
            return said.check_report(frame);
        }
        let cut = said::without_peers_words(frame).filter(|_| gone);
        let frame = cut.as_deref().unwrap_or(frame);
        let to = &self.ends[toward as usize];
        said.check(frame, to, own);
        let Ok(segment) = parse(frame, frame.len() as u32) else {
            return;
        };
        let changed = !said.has_come(frame);
        let truthful = !self.said.iter().any(|said| said.by_others);
        if truthful && !said.is_strange(frame) && to.judge(&segment, frame) == Verdict::Take {
            let must_hold = changed && self.orderly && !self.bypassed;
            self.shown[toward as usize].note(&segment, to, must_hold);
        }
    }

    fn arrive(&mut self, who: Who, frame: &[u8], foreign: bool) {
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
    fn stop(&mut self) {
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

fn an_end(who: Who, setup: &Setup) -> End {
    let v6 = setup.features >> 7 != 0;
    let addresses: [Addr; 2] = match v6 {
        false => [[192, 0, 2, 1], [198, 51, 100, 2]].map(|a| std::net::Ipv4Addr::from(a).into()),
        true => [1, 2].map(|n| Addr((0x2001_0db8 << 96) + n)),
    };
    let key = FlowKey {
        src: addresses[0],
        dst: addresses[1],
        src_port: 443,
        dst_port: 40_000,
        ..FlowKey::default()
    };
    let index = who as usize;
    let offer = Offer::new(setup.offers[index], setup.scales[index]);
    let numbers = [
        [1_000, 3_000_000_000],
        [u32::MAX - 5_000, u32::MAX - 90],
        [0, 1 << 31],
        [1_000_000, 1_000_000],
    ];
    let key = match who {
        Who::Server => key,
        Who::Client => key.reversed(),
    };
    let numbers = numbers[usize::from(setup.numbers & 3)];
    End::new(who, key, offer, [numbers[index], numbers[1 - index]])
}
