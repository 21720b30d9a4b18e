//! What has come of a scenario, and whether that is as it must be.

use windlass_cc::{Nanos, SECOND};

use crate::ends::Ends;
use crate::node::Middlebox;
use crate::scenario::{ConnectionOutcome, Outcome};
use crate::tcp::{Close, Endpoint};
use crate::world::World;

impl World {
    /// What has come of it so far.
    pub fn outcome(&self, middlebox: &dyn Middlebox) -> Outcome {
        let connections = self.connections();
        let mut violations = self.violations().to_vec();
        // Links may damage, boxes may not: there are no more bad frames than have come out of links.
        let bad: u64 = connections.iter().map(bad_frames).sum();
        let excused = bad <= self.damaged_frames();
        for (index, ends) in connections.iter().enumerate() {
            violations.extend(judge(index, ends, self.now(), excused));
        }
        let held_packets = middlebox.held_packets();
        if self.finished() && held_packets > 0 {
            violations.push(format!("the box still holds {held_packets} packets"));
        }
        let held_by_far_box = self.held_by_far_box();
        if self.finished() && held_by_far_box > 0 {
            let what = format!("the box beside the clients still holds {held_by_far_box} packets");
            violations.push(what);
        }
        let start = connections.iter().map(|c| c.plan.start).min();
        let end = connections.iter().map(last_data).max().unwrap_or(0);
        Outcome {
            seconds: end.saturating_sub(start.unwrap_or(0)) as f64 / SECOND as f64,
            intact: violations.is_empty(),
            violations,
            connections: connections.iter().map(connection_outcome).collect(),
            down: self.link_stats().0,
            up: self.link_stats().1,
            counters: middlebox.counters(),
            held_packets,
        }
    }
}

fn bad_frames(ends: &Ends) -> u64 {
    let bad = |end: &Endpoint| end.stats().refused.bad_frames;
    bad(&ends.server) + bad(&ends.client)
}

/// `excused`: bad frames are the links' doing.
fn judge(index: usize, ends: &Ends, now: Nanos, excused: bool) -> Vec<String> {
    let mut wrong = ends.violations().to_vec();
    let plan = &ends.plan;
    let planned_reset = [&plan.server, &plan.client]
        .iter()
        .any(|app| matches!(app.close, Close::Reset { .. }));
    if !ends.finished() {
        wrong.push(format!("not finished at {now} ns"));
    }
    if !planned_reset && (ends.server.reset() || ends.client.reset()) {
        wrong.push("reset".into());
    }
    for (name, end, peer) in [
        ("client", &ends.client, &plan.server),
        ("server", &ends.server, &plan.client),
    ] {
        let (got, sent) = (end.received_bytes(), peer.total_bytes());
        if got != sent && !planned_reset {
            wrong.push(format!("the {name} received {got} of {sent} bytes"));
        }
        if let Some(at) = end.corrupt_at() {
            wrong.push(format!("the {name} received a wrong byte at offset {at}"));
        }
        if end.stats().refused.acks_of_unsent > 0 {
            wrong.push(format!("the {name} received ACKs of what it never sent"));
        }
        if end.stats().refused.bad_frames > 0 && !excused {
            wrong.push(format!("the {name} received damaged frames"));
        }
    }
    wrong
        .into_iter()
        .map(|what| format!("connection {index}: {what}"))
        .collect()
}

fn last_data(ends: &Ends) -> Nanos {
    let times = [ends.server.last_data_at(), ends.client.last_data_at()];
    times.into_iter().flatten().max().unwrap_or(ends.plan.start)
}

fn connection_outcome(ends: &Ends) -> ConnectionOutcome {
    ConnectionOutcome {
        seconds: (last_data(ends) - ends.plan.start) as f64 / SECOND as f64,
        finished: ends.finished(),
        reset: ends.server.reset() || ends.client.reset(),
        server: ends.server.stats(),
        client: ends.client.stats(),
    }
}
