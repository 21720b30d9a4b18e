//! All bottlenecks of a setup, hop by hop, in whatever time the caller counts.
//!
//! A packet that leaves one link enters the next at the time of its arrival there, however late the
//! caller asks. The n-th packet of the flows at a link meets the fate that the seed, the link and n
//! decide; cross traffic has chances of its own, so that contestants meet the same losses with it
//! and without.

use std::collections::{BTreeMap, VecDeque};

use windlass_cc::Nanos;

use crate::cross_traffic::Generator;
use crate::damage::Damage;
use crate::link::{Delivery, Fate, Link, LinkConfig, LinkStats};
use crate::network_spec::{Change, NetworkSpec, ProbeStats, Way};
use crate::probes::Probes;
use crate::rng::Rng;

/// Streams of the seed from here on are those of the links.
const LINK_STREAMS: u64 = 0x1000;

/// Which way a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Toward {
    /// From a server to a client.
    Clients,
    /// From a client to a server.
    Servers,
}

impl Toward {
    const BOTH: [Toward; 2] = [Toward::Clients, Toward::Servers];
}

/// A packet that has crossed every link of its way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrival<T> {
    /// When it arrived.
    pub due: Nanos,
    /// Index of the pair whose packet it is.
    pub pair: usize,
    /// Which way it went.
    pub toward: Toward,
    /// What was sent.
    pub item: T,
    /// A link marked it: congestion experienced.
    pub marked_ce: bool,
    /// A link has flipped a bit of it.
    pub damaged: bool,
}

/// A packet on its way.
#[derive(Clone)]
struct Transit<T> {
    pair: usize,
    toward: Toward,
    /// Links behind it.
    hops: usize,
    bytes: u32,
    ect: bool,
    marked_ce: bool,
    damaged: bool,
    item: T,
}

/// What crosses a link.
#[derive(Clone)]
enum Cargo<T> {
    Packet(Transit<T>),
    /// A probe that left its server then.
    Probe(Transit<Nanos>),
    /// Cross traffic, which nobody receives.
    Cross,
}

/// What happens next inside.
#[derive(Clone, Copy)]
enum Event {
    Change,
    Cross(usize),
    Probe(usize),
    Arrival(Toward, usize),
}

/// The seed of one direction of the link with this index.
pub fn link_seed(seed: u64, index: usize, toward: Toward) -> u64 {
    let stream = LINK_STREAMS + 2 * index as u64 + toward as u64;
    Rng::new(seed, stream).bits()
}

/// A change that is to come.
#[derive(Clone)]
struct Pending {
    /// Index of the bottleneck.
    bottleneck: usize,
    change: Change,
    /// After how long it comes again, ns; 0: never.
    repeat: Nanos,
}

/// The links between the box and the clients, at work.
pub struct Network<T> {
    /// By pair of ends.
    ways: Vec<Way>,
    /// By direction ([`Toward`]), then by bottleneck.
    links: [Vec<Link<Cargo<T>>>; 2],
    /// In order of time.
    changes: VecDeque<Pending>,
    cross: Vec<Generator>,
    probes: Probes,
    /// Probes on the links.
    probes_under_way: u64,
    started: Option<Nanos>,
    now: Nanos,
    /// What has left its last link, by the time at which it arrives and the order.
    arrived: BTreeMap<(Nanos, u64), Arrival<T>>,
    order: u64,
}

impl<T: Clone + Damage> Network<T> {
    /// The links of `spec`, empty. Its indices must be valid, its changes in order of time.
    pub fn new(spec: &NetworkSpec) -> Self {
        let link =
            |config, index: usize, toward| Link::new(config, link_seed(spec.seed, index, toward));
        let links = |toward| {
            let each = spec.bottlenecks.iter().enumerate();
            each.map(|(index, bottleneck)| match toward {
                Toward::Clients => link(bottleneck.down.clone(), index, toward),
                Toward::Servers => link(bottleneck.up.clone(), index, toward),
            })
            .collect()
        };
        let mut changes: Vec<Pending> = Vec::new();
        for (index, bottleneck) in spec.bottlenecks.iter().enumerate() {
            changes.extend(bottleneck.changes.iter().map(|change| Pending {
                bottleneck: index,
                change: change.clone(),
                repeat: bottleneck.repeat,
            }));
        }
        changes.sort_by_key(|pending| pending.change.at);
        let links = Toward::BOTH.map(links);
        let mut network = Network::of(spec.ways.clone(), links);
        network.changes = changes.into();
        network.cross = spec.cross_traffic.iter().map(Generator::new).collect();
        network.probes = Probes::new(&spec.probes, spec.measure_from);
        network
    }

    /// One pair and one link each way, with the seeds of their chances.
    pub(crate) fn line(down: (LinkConfig, u64), up: (LinkConfig, u64)) -> Self {
        let way = Way {
            route: vec![0],
            extra_delay: 0,
        };
        let links = [down, up].map(|(config, seed)| vec![Link::new(config, seed)]);
        Network::of(vec![way], links)
    }

    fn of(ways: Vec<Way>, links: [Vec<Link<Cargo<T>>>; 2]) -> Self {
        Network {
            ways,
            links,
            changes: VecDeque::new(),
            cross: Vec::new(),
            probes: Probes::default(),
            probes_under_way: 0,
            started: None,
            now: 0,
            arrived: BTreeMap::new(),
            order: 0,
        }
    }

    /// The run begins: changes and cross traffic count from now. Without it there are none.
    pub fn start(&mut self, now: Nanos) {
        self.advance(now);
        self.started = Some(now);
        for link in self.links.iter_mut().flatten() {
            link.start(now);
        }
        for generator in &mut self.cross {
            generator.start(now);
        }
        self.probes.start(now);
    }

    /// A packet of `bytes` of the pair with this index enters. `ect`: it may be marked. `now` must
    /// not go back.
    pub fn send(
        &mut self,
        now: Nanos,
        pair: usize,
        toward: Toward,
        bytes: u32,
        ect: bool,
        item: T,
    ) {
        self.advance(now);
        let packet = Transit {
            pair,
            toward,
            hops: 0,
            bytes,
            ect,
            marked_ce: false,
            damaged: false,
            item,
        };
        self.pass_on(self.now, Cargo::Packet(packet));
    }

    /// When [`Network::receive`] wants to be called next, if nothing else is sent.
    pub fn poll_at(&self) -> Option<Nanos> {
        let arrived = self.arrived.first_key_value().map(|((due, _), _)| *due);
        let inside = self.next_event().map(|(at, _)| at);
        arrived.into_iter().chain(inside).min()
    }

    /// A packet that has arrived by `now`, in the order of arrival. Call until `None`.
    pub fn receive(&mut self, now: Nanos) -> Option<Arrival<T>> {
        self.advance(now);
        let next = self.arrived.first_entry()?;
        (next.key().0 <= self.now).then(|| next.remove())
    }

    /// Counts of the links toward the clients and toward the servers, by bottleneck, cross traffic
    /// left out.
    pub fn observed(&self) -> (Vec<LinkStats>, Vec<LinkStats>) {
        let count = |links: &[Link<_>]| links.iter().map(Link::stats).collect();
        let [down, up] = &self.links;
        (count(down), count(up))
    }

    /// Counts of the cross traffic, by bottleneck.
    pub fn cross_observed(&self) -> Vec<LinkStats> {
        let [down, _] = &self.links;
        down.iter().map(Link::cross_stats).collect()
    }

    /// What the probes have measured; `None` if there are none, or none has come back.
    pub fn probes_observed(&self) -> Option<ProbeStats> {
        self.probes.observed(self.probes_under_way)
    }

    /// Counts of one direction of a bottleneck, cross traffic left out.
    pub(crate) fn link_stats(&self, bottleneck: usize, toward: Toward) -> LinkStats {
        self.links[toward as usize][bottleneck].stats()
    }

    /// Changes a bottleneck now.
    pub(crate) fn set_links(
        &mut self,
        now: Nanos,
        bottleneck: usize,
        down: LinkConfig,
        up: LinkConfig,
    ) {
        self.advance(now);
        self.configure(bottleneck, down, up);
    }

    /// Everything inside that happens by `now`, in its order.
    fn advance(&mut self, now: Nanos) {
        while let Some((at, event)) = self.next_event().filter(|(at, _)| *at <= now) {
            self.now = self.now.max(at);
            match event {
                Event::Change => self.change(),
                Event::Cross(index) => {
                    let (bottleneck, bytes) = self.cross[index].emit();
                    let link = &mut self.links[Toward::Clients as usize][bottleneck];
                    link.send_cross(self.now, bytes, Cargo::Cross);
                }
                Event::Probe(index) => self.send_probe(index),
                Event::Arrival(toward, index) => {
                    let delivery = self.links[toward as usize][index].receive(self.now);
                    if let Some(delivery) = delivery {
                        self.leave_link(delivery);
                    }
                }
            }
        }
        self.now = self.now.max(now);
    }

    /// What a link has done to a packet shows, and it goes on.
    fn leave_link(&mut self, delivery: Delivery<Cargo<T>>) {
        let at = delivery.at;
        match Cargo::over(delivery) {
            Some(cargo) => self.pass_on(at, cargo),
            None => self.probes_under_way = self.probes_under_way.saturating_sub(1),
        }
    }

    /// Of events at one time changes come first, then cross traffic, probes, arrivals.
    fn next_event(&self) -> Option<(Nanos, Event)> {
        let mut next: Option<(Nanos, Event)> = None;
        let mut consider = |at: Option<Nanos>, event| {
            if let Some(at) = at
                && next.is_none_or(|(earliest, _)| at < earliest)
            {
                next = Some((at, event));
            }
        };
        if let (Some(next), Some(start)) = (self.changes.front(), self.started) {
            consider(Some(start + next.change.at), Event::Change);
        }
        for (index, generator) in self.cross.iter().enumerate() {
            consider(generator.next_at(), Event::Cross(index));
        }
        if let Some((at, index)) = self.probes.next_at() {
            consider(Some(at), Event::Probe(index));
        }
        for toward in Toward::BOTH {
            for (index, link) in self.links[toward as usize].iter().enumerate() {
                consider(link.poll_at(), Event::Arrival(toward, index));
            }
        }
        next
    }

    fn change(&mut self) {
        let Some(next) = self.changes.pop_front() else {
            return;
        };
        let Pending {
            bottleneck,
            change,
            repeat,
        } = next.clone();
        self.configure(bottleneck, change.down, change.up);
        if repeat > 0 {
            let at = change.at + repeat;
            let behind = self.changes.partition_point(|p| p.change.at <= at);
            let again = Pending {
                change: Change { at, ..next.change },
                ..next
            };
            self.changes.insert(behind, again);
        }
    }

    fn configure(&mut self, bottleneck: usize, down: LinkConfig, up: LinkConfig) {
        let [downs, ups] = &mut self.links;
        downs[bottleneck].set_config(self.now, down);
        ups[bottleneck].set_config(self.now, up);
    }

    /// A probe leaves its server.
    fn send_probe(&mut self, index: usize) {
        let probe = self.probes.emit(index, self.now);
        self.probes_under_way += 1;
        let packet = Transit {
            pair: probe.pair,
            toward: Toward::Clients,
            hops: 0,
            bytes: probe.packet_bytes,
            // A switch that marks must not drop it.
            ect: true,
            marked_ce: false,
            damaged: false,
            item: self.now,
        };
        self.pass_on(self.now, Cargo::Probe(packet));
    }

    /// Puts what has arrived somewhere at `at` onto the next link of its way.
    fn pass_on(&mut self, at: Nanos, cargo: Cargo<T>) {
        let Some((pair, toward, hops, bytes, ect)) = cargo.way() else {
            return;
        };
        let way = &self.ways[pair];
        let left = way.route.len() - hops;
        if left > 0 {
            let index = match toward {
                Toward::Clients => way.route[hops],
                Toward::Servers => way.route[left - 1],
            };
            let link = &mut self.links[toward as usize][index];
            if matches!(cargo, Cargo::Packet(_)) {
                link.send(at, bytes, ect, cargo);
            } else if link.send_probe(at, bytes, cargo) != Fate::Queued {
                self.probes_under_way = self.probes_under_way.saturating_sub(1);
            }
            return;
        }
        let due = at + way.extra_delay;
        match cargo {
            Cargo::Packet(packet) => self.arrive(due, packet),
            Cargo::Probe(packet) => self.turn_probe(due, packet),
            Cargo::Cross => {}
        }
    }

    /// Half of a probe's way is done, or all of it.
    fn turn_probe(&mut self, at: Nanos, packet: Transit<Nanos>) {
        if packet.toward == Toward::Clients {
            let back = Transit {
                toward: Toward::Servers,
                hops: 0,
                ..packet
            };
            return self.pass_on(at, Cargo::Probe(back));
        }
        self.probes_under_way = self.probes_under_way.saturating_sub(1);
        self.probes.take(packet.item, at);
    }

    fn arrive(&mut self, due: Nanos, packet: Transit<T>) {
        self.order += 1;
        let arrival = Arrival {
            due,
            pair: packet.pair,
            toward: packet.toward,
            item: packet.item,
            marked_ce: packet.marked_ce,
            damaged: packet.damaged,
        };
        self.arrived.insert((due, self.order), arrival);
    }
}

impl<T> Cargo<T> {
    /// Pair, direction, links behind it, size, and whether it may be marked.
    fn way(&self) -> Option<(usize, Toward, usize, u32, bool)> {
        match self {
            Cargo::Packet(p) => Some((p.pair, p.toward, p.hops, p.bytes, p.ect)),
            Cargo::Probe(p) => Some((p.pair, p.toward, p.hops, p.bytes, p.ect)),
            Cargo::Cross => None,
        }
    }
}

impl<T: Damage> Cargo<T> {
    /// With one link more behind it. `None`: a damaged probe, which whoever sent it would not know again.
    fn over(delivery: Delivery<Self>) -> Option<Self> {
        match delivery.item {
            Cargo::Packet(mut packet) => {
                packet.hops += 1;
                packet.marked_ce |= delivery.marked_ce;
                if let Some(choice) = delivery.damage {
                    packet.damaged = true;
                    packet.item.damage(choice);
                }
                Some(Cargo::Packet(packet))
            }
            Cargo::Probe(mut packet) => {
                packet.hops += 1;
                delivery.damage.is_none().then_some(Cargo::Probe(packet))
            }
            Cargo::Cross => Some(Cargo::Cross),
        }
    }
}

#[cfg(test)]
mod tests;
