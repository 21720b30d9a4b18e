//! The two ends of a connection.

use windlass_cc::Nanos;
use windlass_engine::Side;
use windlass_wire::FlowKey;

use crate::invariant::Monitor;
use crate::names::{FIRST_CLIENT_PORT, server_key};
use crate::scenario::{Connection, Scenario};
use crate::tcp::{Content, EndConfig, Endpoint, Role};

/// The two ends of one connection.
pub struct Ends {
    /// The server.
    pub server: Endpoint,
    /// The client.
    pub client: Endpoint,
    /// Index of its pair in the network.
    pub pair: usize,
    /// What their applications do.
    pub plan: Connection,
    /// When the client had all that it asked for.
    pub complete_at: Option<Nanos>,
    /// Who judges the box between them.
    pub monitor: Option<Monitor>,
    opened: bool,
    /// Complete, or never going to be.
    over: bool,
}

impl Ends {
    /// Both ends of the connection `key` (the server's address first). `monitor`: whether what a
    /// box does to it is watched. An end whose peer's algorithm counts marks echoes each.
    pub fn new(
        key: FlowKey,
        pair: usize,
        stream: u64,
        [mut server, mut client]: [EndConfig; 2],
        plan: Connection,
        monitor: bool,
    ) -> Self {
        let [down, up] = [Content::new(stream), Content::new(!stream)];
        let end =
            |role, config, app, key, own, other| Endpoint::new(role, config, app, key, own, other);
        let reversed = key.reversed();
        client.echoes_each_mark |= server.algorithm.counts_marks();
        server.echoes_each_mark |= client.algorithm.counts_marks();
        Ends {
            server: end(Role::Server, server, plan.server.clone(), key, down, up),
            client: end(
                Role::Client,
                client,
                plan.client.clone(),
                reversed,
                up,
                down,
            ),
            monitor: monitor.then(|| Monitor::new(key, [down, up])),
            pair,
            plan,
            complete_at: None,
            opened: false,
            over: false,
        }
    }

    /// Connection number `index` of a scenario.
    pub fn of_scenario(scenario: &Scenario, index: usize, plan: &Connection) -> Self {
        let key = server_key(scenario.v6, FIRST_CLIENT_PORT + index as u16);
        let stream = scenario.seed ^ (index as u64) << 32;
        let shifted = |end: &EndConfig| EndConfig {
            isn: end
                .isn
                .wrapping_add((index as u32).wrapping_mul(0x0100_0193)),
            ..end.clone()
        };
        let server = scenario.other_servers.get(&index);
        let server = server.unwrap_or(&scenario.server);
        let configs = [shifted(server), shifted(&scenario.client)];
        Ends::new(key, 0, stream, configs, plan.clone(), true)
    }

    /// What the box did that it must not do.
    pub fn violations(&self) -> &[String] {
        self.monitor.as_ref().map_or(&[], Monitor::violations)
    }

    /// Both have said and heard everything.
    pub fn finished(&self) -> bool {
        self.opened && self.server.finished() && self.client.finished()
    }

    /// The end on this side of the box.
    pub fn end(&mut self, side: Side) -> &mut Endpoint {
        match side {
            Side::Inside => &mut self.server,
            Side::Outside => &mut self.client,
        }
    }

    /// The client connects.
    pub fn open(&mut self, now: Nanos) {
        self.opened = true;
        self.client.open(now);
    }

    /// Notices that the client has all now, or that no more will come.
    pub fn note_end(&mut self, now: Nanos) -> bool {
        let all = self.client.received_bytes() >= self.plan.server.total_bytes();
        if self.over || !(all || self.client.reset() || self.server.reset()) {
            return false;
        }
        self.complete_at = all.then_some(now);
        self.over = true;
        true
    }
}
