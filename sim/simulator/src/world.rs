//! Servers, a box, the network and clients in virtual time.

use windlass_cc::{Nanos, SECOND};
use windlass_engine::Side;
use windlass_wire::{Ecn, Editor, FlowKey, Segment, parse};

use crate::damage::Damage;
use crate::ends::Ends;
use crate::link::{Delivery, Link, LinkConfig, LinkStats};
use crate::names::{FIRST_CLIENT_PORT, SERVER_PORT};
use crate::network::{Arrival, Network, Toward};
use crate::node::Middlebox;
use crate::scenario::{Outcome, Scenario};
use crate::tcp::{Endpoint, Outgoing};
use crate::timers::Timers;
use crate::too_big::{self, TooBig};

mod damaged;
mod far;

use damaged::Damaged;
use far::{FarBox, says_what_boxes_say};

/// After the last connection has ended, the box has this long to let go of every packet.
const LINGER: Nanos = 5 * SECOND;
/// Steps without progress of time after which something is calling for itself for ever.
const MAX_STEPS_AT_ONE_TIME: u32 = 100_000;

/// Violations that are written down.
const MAX_REPORTED: usize = 20;

/// Who has timers, of each connection.
const OPENING: usize = 0;
const SERVER: usize = 1;
const CLIENT: usize = 2;
const SLEEPERS: usize = 3;

/// A run under way.
pub struct World {
    now: Nanos,
    connections: Vec<Ends>,
    timers: Timers,
    /// Between the servers and the box: toward it, and from it.
    inside: [Link<Vec<u8>>; 2],
    network: Network<Vec<u8>>,
    violations: Vec<String>,
    over: Vec<usize>,
    outgoing: Vec<Outgoing>,
    boxed: Vec<(Side, Vec<u8>)>,
    far: Option<FarBox>,
    damaged: Damaged,
    due: Vec<usize>,
    /// Clients that have got something at this time and have not answered.
    merged: Vec<usize>,
}

/// Runs a scenario to its end.
pub fn run(scenario: &Scenario, middlebox: &mut dyn Middlebox) -> Outcome {
    let mut world = World::new(scenario);
    world.run_until(scenario.limit, middlebox);
    world.outcome(middlebox)
}

impl World {
    /// Before the first packet.
    pub fn new(scenario: &Scenario) -> Self {
        let seed = |stream| scenario.seed.wrapping_mul(16) + stream;
        let inside = [1, 3].map(|stream| Link::new(scenario.inside.clone(), seed(stream)));
        let network = Network::line(
            (scenario.down.clone(), seed(4)),
            (scenario.up.clone(), seed(2)),
        );
        let plans = scenario.connections.iter().enumerate();
        let ends = plans.map(|(index, plan)| Ends::of_scenario(scenario, index, plan));
        World::of(ends.collect(), inside, network)
    }

    /// Connections over one inside link and a network.
    pub fn of(
        connections: Vec<Ends>,
        mut inside: [Link<Vec<u8>>; 2],
        mut network: Network<Vec<u8>>,
    ) -> Self {
        let mut timers = Timers::new(connections.len() * SLEEPERS);
        for (index, ends) in connections.iter().enumerate() {
            let start = Some(ends.plan.start).filter(|at| *at < Nanos::MAX);
            timers.set(index * SLEEPERS + OPENING, start);
        }
        network.start(0);
        inside.iter_mut().for_each(|link| link.start(0));
        World {
            now: 0,
            connections,
            timers,
            inside,
            network,
            violations: Vec::new(),
            over: Vec::new(),
            outgoing: Vec::new(),
            boxed: Vec::new(),
            far: None,
            damaged: Damaged::default(),
            due: Vec::new(),
            merged: Vec::new(),
        }
    }

    /// Virtual time.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Every connection has ended.
    pub fn finished(&self) -> bool {
        self.connections.iter().all(Ends::finished)
    }

    /// The two ends of connection `index`: server and client.
    pub fn ends(&self, index: usize) -> (&Endpoint, &Endpoint) {
        let ends = &self.connections[index];
        (&ends.server, &ends.client)
    }

    /// All connections, by index.
    pub fn connections(&self) -> &[Ends] {
        &self.connections
    }

    /// The links outside.
    pub fn network(&self) -> &Network<Vec<u8>> {
        &self.network
    }

    /// Frames that links have damaged, as often as each has come out of one.
    pub fn damaged_frames(&self) -> u64 {
        self.damaged.count()
    }

    /// The rules that a box has broken.
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// A connection whose client has got all it asked for, or never will. Each is named once; call
    /// until `None`.
    pub fn take_over(&mut self) -> Option<usize> {
        self.over.pop()
    }

    /// The connection with this index, which was to begin at `Nanos::MAX`, begins now.
    pub fn begin(&mut self, index: usize) {
        self.connections[index].plan.start = self.now;
        let opening = index * SLEEPERS + OPENING;
        self.timers.set(opening, Some(self.now));
    }

    /// Changes the links outside the box: toward the client, and from it.
    pub fn set_outside(&mut self, down: LinkConfig, up: LinkConfig) {
        self.network.set_links(self.now, 0, down, up);
    }

    /// Counts of the links outside the box: toward the client, and from it.
    pub fn link_stats(&self) -> (LinkStats, LinkStats) {
        let stats = |toward| self.network.link_stats(0, toward);
        (stats(Toward::Clients), stats(Toward::Servers))
    }

    /// Counts of the links between the servers and the box: toward it, and from it.
    pub fn inside_stats(&self) -> (LinkStats, LinkStats) {
        let [to_box, from_box] = &self.inside;
        (to_box.stats(), from_box.stats())
    }

    /// Runs until `until`, or until all has ended and the box has let go. May be called again, with
    /// another box if the first has been killed.
    pub fn run_until(&mut self, until: Nanos, middlebox: &mut dyn Middlebox) {
        let mut stop = until;
        while self.advance(stop, middlebox) {
            if stop == until && self.finished() {
                stop = until.min(self.now + LINGER);
            }
            let held = middlebox.held_packets() + self.held_by_far_box();
            if stop != until && held == 0 {
                return;
            }
        }
    }

    /// Everything that happens at the next time at which something does. False if that is later
    /// than `until`, or never.
    pub fn advance(&mut self, until: Nanos, middlebox: &mut dyn Middlebox) -> bool {
        let mut steps = 0;
        loop {
            let Some(next) = self.next_event(middlebox).filter(|at| *at <= until) else {
                return steps > 0;
            };
            if steps > 0 && next > self.now {
                return true;
            }
            steps += 1;
            if steps > MAX_STEPS_AT_ONE_TIME {
                let what = format!("time stands still at {next} ns");
                self.violations.push(what);
                return false;
            }
            self.now = self.now.max(next);
            self.step(middlebox);
        }
    }

    fn next_event(&self, middlebox: &dyn Middlebox) -> Option<Nanos> {
        let [to_box, from_box] = &self.inside;
        let all = [
            to_box.poll_at(),
            from_box.poll_at(),
            self.network.poll_at(),
            middlebox.poll_at(),
            self.far.as_ref().and_then(|far| far.middlebox.poll_at()),
            self.timers.poll_at(),
        ];
        all.into_iter().flatten().min()
    }

    fn step(&mut self, middlebox: &mut dyn Middlebox) {
        let now = self.now;
        // The servers' packets first: the box's idea of what was sent must not lag its ACKs.
        while let Some(delivery) = self.inside[0].receive(now) {
            let frame = self.off_inside(delivery, true);
            self.enter_box(Side::Inside, frame, middlebox);
        }
        while let Some(arrival) = self.network.receive(now) {
            let toward = arrival.toward;
            let frame = self.off_network(arrival);
            match (toward, &mut self.far) {
                (Toward::Servers, _) => self.enter_box(Side::Outside, frame, middlebox),
                (Toward::Clients, Some(far)) => far.to_do.push_back((Side::Outside, frame)),
                (Toward::Clients, None) => self.reach_client(frame),
            }
        }
        self.answer_merged();
        if middlebox.poll_at().is_some_and(|at| at <= now) {
            middlebox.on_timer(now, &mut self.boxed);
            self.leave_box(middlebox);
        }
        while let Some(delivery) = self.inside[1].receive(now) {
            let frame = self.off_inside(delivery, false);
            self.reach_end(Side::Inside, frame);
        }
        self.run_timers();
        self.run_far_box();
    }

    fn violated(&mut self, what: &str) {
        if self.violations.len() < MAX_REPORTED {
            self.violations.push(format!("{} ns: {what}", self.now));
        }
    }

    /// A frame with all that its link has done to it.
    fn off_inside(&mut self, delivery: Delivery<Vec<u8>>, to_box: bool) -> Vec<u8> {
        let mut frame = delivery.item;
        if let Some(choice) = delivery.damage {
            frame.damage(choice);
        }
        let frame = marked(frame, delivery.marked_ce);
        if delivery.damage.is_some() {
            self.damaged.note(&frame, to_box, self.far.is_some());
        }
        frame
    }

    /// The same of the network.
    fn off_network(&mut self, arrival: Arrival<Vec<u8>>) -> Vec<u8> {
        let frame = marked(arrival.item, arrival.marked_ce);
        if arrival.damaged {
            let to_box = arrival.toward == Toward::Servers || self.far.is_some();
            self.damaged.note(&frame, to_box, self.far.is_some());
        }
        frame
    }

    fn enter_box(&mut self, from: Side, frame: Vec<u8>, middlebox: &mut dyn Middlebox) {
        // By somebody on the other side of the network, around the other box.
        let forged = self.far.is_some() && middlebox.is_forged(&frame);
        let believed = !forged && !self.damaged.has(&frame);
        if let Some((index, segment)) = self.find(&frame).filter(|_| believed)
            && let Some(monitor) = &mut self.connections[index].monitor
        {
            monitor.into_box(from, &segment);
        }
        middlebox.on_frame(self.now, from, frame, &mut self.boxed);
        self.leave_box(middlebox);
    }

    /// What the box has put out is checked and goes onto its way.
    fn leave_box(&mut self, middlebox: &dyn Middlebox) {
        let now = self.now;
        let mut boxed = std::mem::take(&mut self.boxed);
        for (side, frame) in boxed.drain(..) {
            let added = middlebox.is_added(&frame) || self.damaged.has(&frame);
            // A stranger's SYN with the option of the boxes is his, and goes on as it is.
            let told = self.far.is_some() && side == Side::Inside && says_what_boxes_say(&frame);
            if told && !added && !middlebox.is_forged(&frame) {
                self.violated("a server sees what boxes say");
            }
            let found = self.find(&frame);
            let Some(index) = found.map(|f| f.0).or_else(|| self.find_too_big(&frame)) else {
                if !added {
                    self.violations.push("a frame of no connection".into());
                }
                continue;
            };
            let ends = &mut self.connections[index];
            if let (Some((_, segment)), Some(monitor)) = (&found, &mut ends.monitor)
                && !added
            {
                monitor.out_of_box(now, side, segment, &frame);
            }
            let (pair, len) = (ends.pair, frame.len() as u32);
            let ect = found.is_some_and(|(_, segment)| segment.ecn != Ecn::NotEct);
            match side {
                Side::Inside => {
                    self.inside[1].send(now, len, ect, frame);
                }
                Side::Outside => self
                    .network
                    .send(now, pair, Toward::Clients, len, ect, frame),
            }
        }
        self.boxed = boxed;
    }

    fn reach_end(&mut self, side: Side, frame: Vec<u8>) {
        if let Some((index, _)) = self.find(&frame) {
            let ends = &mut self.connections[index];
            ends.end(side).on_frame(self.now, &frame);
            self.drain(index, side);
        } else if let Some((index, message)) = self.read_too_big(&frame) {
            let ends = &mut self.connections[index];
            ends.end(side).on_too_big(&message);
            self.drain(index, side);
        }
    }

    /// What arrives together is one packet to a client, and answered once (Linux GRO, `net/core/gro.c` 6.12).
    fn reach_client(&mut self, frame: Vec<u8>) {
        let Some((index, _)) = self.find(&frame) else {
            return self.reach_end(Side::Outside, frame);
        };
        let ends = &mut self.connections[index];
        ends.end(Side::Outside).on_frame(self.now, &frame);
        if self.merged.last() != Some(&index) {
            self.merged.push(index);
        }
    }

    fn answer_merged(&mut self) {
        let mut merged = std::mem::take(&mut self.merged);
        for index in merged.drain(..) {
            self.drain(index, Side::Outside);
        }
        self.merged = merged;
    }

    fn run_timers(&mut self) {
        let now = self.now;
        let mut due = std::mem::take(&mut self.due);
        due.extend(std::iter::from_fn(|| self.timers.take(now)));
        for sleeper in due.drain(..) {
            let ends = &mut self.connections[sleeper / SLEEPERS];
            let side = match sleeper % SLEEPERS {
                SERVER => Side::Inside,
                _ => Side::Outside,
            };
            if sleeper % SLEEPERS == OPENING {
                ends.open(now);
            }
            ends.end(side).on_timer(now);
            self.drain(sleeper / SLEEPERS, side);
        }
        self.due = due;
    }

    /// What an end has to say goes onto its link toward the box.
    fn drain(&mut self, index: usize, side: Side) {
        let now = self.now;
        let ends = &mut self.connections[index];
        let pair = ends.pair;
        ends.end(side).drain(now, &mut self.outgoing);
        let poll_at = ends.end(side).poll_at();
        let sleeper = match side {
            Side::Inside => SERVER,
            Side::Outside => CLIENT,
        };
        self.timers.set(index * SLEEPERS + sleeper, poll_at);
        if ends.note_end(now) {
            self.over.push(index);
        }
        for Outgoing { frame, ect } in self.outgoing.drain(..) {
            let len = frame.len() as u32;
            match side {
                Side::Inside => {
                    self.inside[0].send(now, len, ect, frame);
                }
                Side::Outside => match &mut self.far {
                    Some(far) => far.to_do.push_back((Side::Inside, frame)),
                    None => self
                        .network
                        .send(now, pair, Toward::Servers, len, ect, frame),
                },
            }
        }
    }

    fn find(&self, frame: &[u8]) -> Option<(usize, Segment)> {
        let segment = parse(frame, frame.len() as u32).ok()?;
        Some((self.index_of(&segment.key)?, segment))
    }

    /// The connection of a segment that a router has not let through.
    fn find_too_big(&self, frame: &[u8]) -> Option<usize> {
        self.read_too_big(frame).map(|(index, _)| index)
    }

    fn read_too_big(&self, frame: &[u8]) -> Option<(usize, TooBig)> {
        let message = too_big::read(frame)?;
        Some((self.index_of(&message.key)?, message))
    }

    fn index_of(&self, key: &FlowKey) -> Option<usize> {
        let FlowKey {
            src_port, dst_port, ..
        } = *key;
        let port = if src_port == SERVER_PORT {
            dst_port
        } else {
            src_port
        };
        let index = usize::from(port.checked_sub(FIRST_CLIENT_PORT)?);
        (index < self.connections.len()).then_some(index)
    }
}

fn marked(mut frame: Vec<u8>, ce: bool) -> Vec<u8> {
    if ce && let Ok(segment) = parse(&frame, frame.len() as u32) {
        Editor::new(&mut frame, &segment).set_ecn(Ecn::Ce);
    }
    frame
}
