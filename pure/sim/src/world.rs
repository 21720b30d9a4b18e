//! Server, links, box and client in virtual time.

use windlass_cc::{Nanos, SECOND};
use windlass_engine::Side;
use windlass_wire::{Ecn, Editor, FlowKey, parse};

use crate::invariant::Monitor;
use crate::link::{Link, LinkConfig, LinkStats};
use crate::names::{SERVER_PORT, server_key};
use crate::node::Middlebox;
use crate::scenario::{ConnectionOutcome, Outcome, Scenario};
use crate::tcp::{Close, Content, Endpoint, Outgoing, Role};

/// After the last connection has ended, the box has this long to let go of every packet.
const LINGER: Nanos = 5 * SECOND;
/// Steps without progress of time after which something is calling for itself for ever.
const MAX_STEPS_AT_ONE_TIME: u32 = 100_000;
const FIRST_CLIENT_PORT: u16 = 40_000;

struct Pair {
    server: Endpoint,
    client: Endpoint,
    monitor: Monitor,
    start: Nanos,
    opened: bool,
}

impl Pair {
    fn end(&mut self, side: Side) -> &mut Endpoint {
        match side {
            Side::Inside => &mut self.server,
            Side::Outside => &mut self.client,
        }
    }

    fn finished(&self) -> bool {
        self.opened && self.server.finished() && self.client.finished()
    }
}

/// A run under way.
pub struct World {
    now: Nanos,
    pairs: Vec<Pair>,
    /// Toward the box, by the side that they come from.
    to_box: [Link<Vec<u8>>; 2],
    /// From the box, by the side that they lead to.
    from_box: [Link<Vec<u8>>; 2],
    scenario: Scenario,
    violations: Vec<String>,
    outgoing: Vec<Outgoing>,
    boxed: Vec<(Side, Vec<u8>)>,
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
        let link = |config: &LinkConfig, stream| {
            Link::new(config.clone(), scenario.seed.wrapping_mul(16) + stream)
        };
        let count = scenario.connections.len();
        World {
            now: 0,
            pairs: (0..count).map(|i| pair(scenario, i)).collect(),
            to_box: [link(&scenario.inside, 1), link(&scenario.up, 2)],
            from_box: [link(&scenario.inside, 3), link(&scenario.down, 4)],
            scenario: scenario.clone(),
            violations: Vec::new(),
            outgoing: Vec::new(),
            boxed: Vec::new(),
        }
    }

    /// Virtual time.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Every connection has ended.
    pub fn finished(&self) -> bool {
        self.pairs.iter().all(Pair::finished)
    }

    /// The two ends of connection `index`: server and client.
    pub fn ends(&self, index: usize) -> (&Endpoint, &Endpoint) {
        (&self.pairs[index].server, &self.pairs[index].client)
    }

    /// Changes the links outside the box: toward the client, and from it.
    pub fn set_outside(&mut self, down: LinkConfig, up: LinkConfig) {
        self.from_box[Side::Outside.index()].set_config(self.now, down);
        self.to_box[Side::Outside.index()].set_config(self.now, up);
    }

    /// Runs until `until`, or until all has ended and the box has let go. May be called again, with
    /// another box if the first has been killed.
    pub fn run_until(&mut self, until: Nanos, middlebox: &mut dyn Middlebox) {
        let mut stop = until;
        let mut steps = 0;
        while let Some(next) = self.next_event(middlebox).filter(|&at| at <= stop) {
            steps = if next > self.now { 0 } else { steps + 1 };
            if steps > MAX_STEPS_AT_ONE_TIME {
                self.violations
                    .push(format!("time stands still at {next} ns"));
                return;
            }
            self.now = self.now.max(next);
            self.step(middlebox);
            if stop == until && self.finished() {
                stop = until.min(self.now + LINGER);
            }
            if stop != until && middlebox.held_packets() == 0 {
                return;
            }
        }
    }

    fn next_event(&self, middlebox: &dyn Middlebox) -> Option<Nanos> {
        let links = self.to_box.iter().chain(&self.from_box);
        let ends = self.pairs.iter().flat_map(|p| {
            let opening = (!p.opened).then_some(p.start);
            [p.server.poll_at(), p.client.poll_at(), opening]
        });
        links
            .map(Link::poll_at)
            .chain(ends)
            .chain([middlebox.poll_at()])
            .flatten()
            .min()
    }

    fn step(&mut self, middlebox: &mut dyn Middlebox) {
        let now = self.now;
        // The server's packets first: the box's idea of what was sent must not lag its ACKs.
        for side in [Side::Inside, Side::Outside] {
            while let Some(delivery) = self.to_box[side.index()].receive(now) {
                let frame = marked(delivery.item, delivery.marked_ce);
                if let Some((pair, segment)) = self.find(&frame) {
                    self.pairs[pair].monitor.into_box(side, &segment);
                }
                middlebox.on_frame(now, side, frame, &mut self.boxed);
                self.forward();
            }
        }
        if middlebox.poll_at().is_some_and(|at| at <= now) {
            middlebox.on_timer(now, &mut self.boxed);
            self.forward();
        }
        for side in [Side::Inside, Side::Outside] {
            while let Some(delivery) = self.from_box[side.index()].receive(now) {
                let frame = marked(delivery.item, delivery.marked_ce);
                if let Some((pair, _)) = self.find(&frame) {
                    self.pairs[pair].end(side).on_frame(now, &frame);
                    self.drain(pair, side);
                }
            }
        }
        for pair in 0..self.pairs.len() {
            self.run_timers(pair);
        }
    }

    fn run_timers(&mut self, pair: usize) {
        let now = self.now;
        let p = &mut self.pairs[pair];
        if !p.opened && p.start <= now {
            p.opened = true;
            p.client.open(now);
        }
        for side in [Side::Inside, Side::Outside] {
            let end = self.pairs[pair].end(side);
            if end.poll_at().is_some_and(|at| at <= now) {
                end.on_timer(now);
                self.drain(pair, side);
            }
        }
    }

    /// What an end has to say goes onto its link toward the box.
    fn drain(&mut self, pair: usize, side: Side) {
        let now = self.now;
        self.pairs[pair].end(side).drain(now, &mut self.outgoing);
        for Outgoing { frame, ect } in self.outgoing.drain(..) {
            self.to_box[side.index()].send(now, frame.len() as u32, ect, frame);
        }
    }

    /// What the box has put out is checked and goes onto its link.
    fn forward(&mut self) {
        let now = self.now;
        let mut boxed = std::mem::take(&mut self.boxed);
        for (side, frame) in boxed.drain(..) {
            let Some((pair, segment)) = self.find(&frame) else {
                self.violations.push("a frame of no connection".into());
                continue;
            };
            let monitor = &mut self.pairs[pair].monitor;
            monitor.out_of_box(now, side, &segment, &frame);
            let ect = segment.ecn != Ecn::NotEct;
            self.from_box[side.index()].send(now, frame.len() as u32, ect, frame);
        }
        self.boxed = boxed;
    }

    fn find(&self, frame: &[u8]) -> Option<(usize, windlass_wire::Segment)> {
        let segment = parse(frame, frame.len() as u32).ok()?;
        let FlowKey {
            src_port, dst_port, ..
        } = segment.key;
        let port = if src_port == SERVER_PORT {
            dst_port
        } else {
            src_port
        };
        let index = usize::from(port.checked_sub(FIRST_CLIENT_PORT)?);
        (index < self.pairs.len()).then_some((index, segment))
    }

    /// What has come of it so far.
    pub fn outcome(&self, middlebox: &dyn Middlebox) -> Outcome {
        let mut violations = self.violations.clone();
        for (index, pair) in self.pairs.iter().enumerate() {
            violations.extend(self.judge(index, pair));
        }
        let held_packets = middlebox.held_packets();
        if self.finished() && held_packets > 0 {
            violations.push(format!("the box still holds {held_packets} packets"));
        }
        let connections: Vec<_> = self.pairs.iter().map(connection_outcome).collect();
        let start = self.pairs.iter().map(|p| p.start).min().unwrap_or(0);
        let end = self.pairs.iter().map(last_data).max().unwrap_or(0);
        Outcome {
            seconds: end.saturating_sub(start) as f64 / SECOND as f64,
            intact: violations.is_empty(),
            violations,
            connections,
            down: self.link_stats().0,
            up: self.link_stats().1,
            counters: middlebox.counters(),
            held_packets,
        }
    }

    /// Counts of the links outside the box: toward the client, and from it.
    pub fn link_stats(&self) -> (LinkStats, LinkStats) {
        let outside = Side::Outside.index();
        (self.from_box[outside].stats(), self.to_box[outside].stats())
    }

    fn judge(&self, index: usize, pair: &Pair) -> Vec<String> {
        let mut wrong = pair.monitor.violations().to_vec();
        let plan = &self.scenario.connections[index];
        let planned_reset = [&plan.server, &plan.client]
            .iter()
            .any(|app| matches!(app.close, Close::Reset { .. }));
        if !pair.finished() {
            wrong.push(format!("not finished at {} ns", self.now));
        }
        if !planned_reset && (pair.server.reset() || pair.client.reset()) {
            wrong.push("reset".into());
        }
        for (name, end, peer) in [
            ("client", &pair.client, &plan.server),
            ("server", &pair.server, &plan.client),
        ] {
            let (got, sent) = (end.received_bytes(), peer.total_bytes());
            if got != sent && !planned_reset {
                wrong.push(format!("the {name} received {got} of {sent} bytes"));
            }
            if let Some(at) = end.corrupt_at() {
                wrong.push(format!("the {name} received a wrong byte at offset {at}"));
            }
            if end.stats().acks_of_unsent > 0 {
                wrong.push(format!("the {name} received ACKs of what it never sent"));
            }
            if end.stats().bad_frames > 0 {
                wrong.push(format!("the {name} received damaged frames"));
            }
        }
        wrong
            .into_iter()
            .map(|what| format!("connection {index}: {what}"))
            .collect()
    }
}

fn last_data(pair: &Pair) -> Nanos {
    let ends = [pair.server.last_data_at(), pair.client.last_data_at()];
    ends.into_iter().flatten().max().unwrap_or(pair.start)
}

fn connection_outcome(pair: &Pair) -> ConnectionOutcome {
    ConnectionOutcome {
        seconds: (last_data(pair) - pair.start) as f64 / SECOND as f64,
        finished: pair.finished(),
        reset: pair.server.reset() || pair.client.reset(),
        server: pair.server.stats(),
        client: pair.client.stats(),
    }
}

fn marked(mut frame: Vec<u8>, ce: bool) -> Vec<u8> {
    if ce && let Ok(segment) = parse(&frame, frame.len() as u32) {
        Editor::new(&mut frame, &segment).set_ecn(Ecn::Ce);
    }
    frame
}

fn pair(scenario: &Scenario, index: usize) -> Pair {
    let key = server_key(scenario.v6, FIRST_CLIENT_PORT + index as u16);
    let stream = scenario.seed ^ (index as u64) << 32;
    let content = [Content::new(stream), Content::new(!stream)];
    let plan = &scenario.connections[index];
    let shifted = |isn: u32| isn.wrapping_add((index as u32).wrapping_mul(0x0100_0193));
    let mut ends = [scenario.server.clone(), scenario.client.clone()];
    for end in &mut ends {
        end.isn = shifted(end.isn);
    }
    let [server, client] = ends;
    Pair {
        server: Endpoint::new(
            Role::Server,
            server,
            plan.server.clone(),
            key,
            content[0],
            content[1],
        ),
        client: Endpoint::new(
            Role::Client,
            client,
            plan.client.clone(),
            key.reversed(),
            content[1],
            content[0],
        ),
        monitor: Monitor::new(key, content),
        start: plan.start,
        opened: false,
    }
}
