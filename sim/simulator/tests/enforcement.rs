//! What no sender may do, however it behaves: go beyond its edge, or faster than its caps and those of
//! its tenant allow.

use windlass_cc::AlgorithmId;
use windlass_engine::{Bounds, Decide, Limits, Side, Tenant, TenantId, Verdict};
use windlass_sim::tcp::{EndConfig, ServerAlgorithm};
use windlass_sim::{Connection, EngineBox, Outcome, Scenario, World, run};
use windlass_wire::FlowKey;

const SECOND: u64 = 1_000_000_000;
const MB: u64 = 1_000_000;
/// Bytes per second of a link of 50 Mbit/s.
const LINK: u64 = 6_250_000;

fn enforce(algorithm: &str) -> Verdict {
    let id: AlgorithmId = algorithm.parse().expect("a registered algorithm");
    Verdict::enforce(id)
}

fn a_box(policy: impl Decide + 'static) -> EngineBox {
    EngineBox::new(Box::new(policy), Limits::default(), 1)
}

/// A server that takes no notice of windows, and whose congestion window is beyond all bounds.
fn cheat() -> EndConfig {
    EndConfig {
        goes_beyond_edge: 8 * MB,
        initial_cwnd_packets: 6_000,
        algorithm: ServerAlgorithm::Cubic { hystart: false },
        ..EndConfig::default()
    }
}

/// Several downloads over 50 Mbit/s and 20 ms.
fn downloads(count: usize, bytes: u64) -> Scenario {
    let mut scenario = Scenario::download(bytes, 50.0, 20.0);
    scenario.connections = vec![Connection::download(bytes); count];
    scenario
}

/// Without policing the box holds what a cheat sends too much of; with it, that is dropped, and the
/// cheat, which has to send it again, is no faster than an honest server.
#[test]
fn data_beyond_the_edge_is_dropped() {
    let mut scenario = downloads(1, 10 * MB);
    let honest = run(&scenario, &mut a_box(enforce("cubic")));
    scenario.server = cheat();
    let mut lenient = a_box(enforce("cubic"));
    let held = run(&scenario, &mut lenient);
    held.assert_intact(&scenario);
    assert_eq!(held.counter("policed"), 0);

    let verdict = Verdict {
        police_tolerance: Some(3_000),
        ..enforce("cubic")
    };
    let mut strict = a_box(verdict);
    let mut world = World::new(&scenario);
    world.run_until(SECOND, &mut strict);
    let info = strict.engine().flows().next().expect("one flow");
    assert!(
        info.figures.held_bytes < 3 * MB,
        "{} bytes held",
        info.figures.held_bytes
    );
    assert!(
        info.figures.policed_bytes > MB,
        "{} bytes dropped",
        info.figures.policed_bytes
    );
    world.run_until(scenario.limit, &mut strict);
    let outcome = world.outcome(&strict);
    outcome.assert_intact(&scenario);
    assert_eq!(
        outcome.counter("policed"),
        strict.engine().counters().policed
    );
    let (cheated, fair) = (outcome.seconds, honest.seconds);
    assert!(cheated > 0.95 * fair, "{cheated} s, honest {fair} s");
    let (dropped, then) = (outcome.down.dropped, honest.down.dropped);
    assert!(
        dropped <= then,
        "the network dropped {dropped}, of an honest server {then}"
    );
}

/// An honest server is never dropped from, whatever the network does to it.
#[test]
fn honest_senders_are_not_dropped_from() {
    let verdict = Verdict {
        police_tolerance: Some(3_000),
        ..enforce("cubic")
    };
    for seed in 1..=100 {
        let mut scenario = Scenario::adverse(seed);
        scenario.limit = 24 * 3600 * SECOND;
        // Upstream of the box nothing is lost: it is beside the guests.
        scenario.inside = Scenario::download(1, 50.0, 20.0).inside;
        let mut middle = a_box(verdict);
        let outcome = run(&scenario, &mut middle);
        assert_eq!(outcome.counter("policed"), 0, "seed {seed}");
    }
}

/// Who cheats gets his share, and his neighbour keeps his.
#[test]
fn a_neighbour_keeps_its_share() {
    let verdict = Verdict {
        police_tolerance: Some(3_000),
        ..enforce("bbr")
    };
    let mut scenario = downloads(2, 20 * MB);
    let fair = run(&scenario, &mut a_box(verdict));
    scenario.other_servers.insert(0, cheat());
    let outcome = run(&scenario, &mut a_box(verdict));
    outcome.assert_intact(&scenario);
    let seconds = |outcome: &Outcome, index: usize| outcome.connections[index].seconds;
    let (cheated, neighbour) = (seconds(&outcome, 0), seconds(&outcome, 1));
    let (first, second) = (seconds(&fair, 0), seconds(&fair, 1));
    assert!(cheated > 0.95 * first, "{cheated} s, honest {first} s");
    assert!(
        neighbour < 1.02 * second,
        "{neighbour} s, beside an honest one {second} s"
    );
}

#[test]
fn a_flow_keeps_to_its_cap() {
    for (cap, algorithm) in [(1_250_000, "bbr"), (125_000, "cubic"), (12_500, "dctcp")] {
        let verdict = Verdict {
            cap: Some(cap),
            ..enforce(algorithm)
        };
        let bytes = cap * 8;
        let scenario = downloads(1, bytes);
        let outcome = run(&scenario, &mut a_box(verdict));
        outcome.assert_intact(&scenario);
        // The first window of ten segments leaves at once where a round trip is short.
        let rate = bytes as f64 / outcome.seconds;
        let wanted = cap as f64;
        assert!(
            (0.9 * wanted..1.1 * wanted).contains(&rate),
            "{algorithm} at {cap}: {rate}"
        );
    }
}

/// Two tenants, blue with three flows and a cap, green with one and none.
struct Tenants {
    blue_cap: u64,
    /// Of the flows of blue.
    priorities: [u8; 3],
    algorithm: &'static str,
}

impl Decide for Tenants {
    fn classify(&self, flow: &FlowKey, sender: Side, _: u64) -> Option<Verdict> {
        let number = usize::from(flow.dst_port % 4);
        let verdict = Verdict {
            tenant: Some(TenantId(u16::from(number == 3))),
            priority: self.priorities.get(number).copied().unwrap_or(1),
            ..enforce(self.algorithm)
        };
        (sender == Side::Inside).then_some(verdict)
    }

    fn tenants(&self) -> Vec<Tenant> {
        let tenant = |name: &str, cap| Tenant {
            name: name.to_owned(),
            cap,
            senders: Vec::new(),
            bounds: Bounds::default(),
        };
        vec![tenant("blue", Some(self.blue_cap)), tenant("green", None)]
    }
}

/// Bytes a second of each of the flows of blue and of green's, over ten seconds.
fn rates_of_tenants(
    blue_cap: u64,
    priorities: [u8; 3],
    algorithm: &'static str,
) -> ([f64; 4], EngineBox) {
    let scenario = downloads(4, 100 * MB);
    let tenants = Tenants {
        blue_cap,
        priorities,
        algorithm,
    };
    let mut middle = a_box(tenants);
    let mut world = World::new(&scenario);
    world.run_until(2 * SECOND, &mut middle);
    let received = |world: &World| [0, 1, 2, 3].map(|i| world.ends(i).1.received_bytes());
    let before = received(&world);
    world.run_until(12 * SECOND, &mut middle);
    let after = received(&world);
    let rates = [0, 1, 2, 3].map(|i| (after[i] - before[i]) as f64 / 10.0);
    (rates, middle)
}

#[test]
fn the_flows_of_a_tenant_share_its_cap() {
    let blue_cap = 750_000;
    let (rates, middle) = rates_of_tenants(blue_cap, [1, 1, 1], "bbr");
    let (rates, green) = (&rates[..3], rates[3]);
    let blue: f64 = rates.iter().sum();
    let cap = blue_cap as f64;
    assert!(
        (0.95 * cap..1.02 * cap).contains(&blue),
        "{rates:?} of {cap}"
    );
    for rate in rates {
        assert!(
            (0.9 * cap / 3.0..1.1 * cap / 3.0).contains(rate),
            "{rates:?}"
        );
    }
    assert!(green > 0.8 * (LINK - blue_cap) as f64, "green has {green}");
    let infos: Vec<_> = middle.engine().tenants().collect();
    assert_eq!(infos[0].name, "blue");
    let sent = infos[0].bytes_sent as f64;
    assert!(sent >= blue * 10.0, "{sent} of {blue}");
}

/// Shares of the cap are as the priorities, and nothing of it is left unused. BBR, which sends less than
/// it may in some round trips, leaves a tenth (0.89 to 0.93 are used, as the phases of its flows happen to fall together), and
/// so do the larger shares among its flows.
#[test]
fn priorities_share_out_the_cap_of_a_tenant() {
    let cap = 1_250_000.0;
    for (algorithm, used, share) in [
        ("cubic", 0.98..1.01, 0.97..1.03),
        ("bbr", 0.88..1.01, 0.8..1.4),
    ] {
        for priorities in [[1, 2, 4], [1, 1, 8], [10, 3, 3]] {
            let (rates, _) = rates_of_tenants(cap as u64, priorities, algorithm);
            let all: f64 = priorities.iter().map(|p| f64::from(*p)).sum();
            let fair = priorities.map(|priority| cap * f64::from(priority) / all);
            let parts = [0, 1, 2].map(|i| rates[i] / fair[i]);
            let sum = rates[..3].iter().sum::<f64>() / cap;
            eprintln!(
                "{algorithm} {priorities:?}: {parts:.2?} of their shares, {sum:.2} of the cap"
            );
            assert!(used.contains(&sum), "{rates:?}");
            assert!(parts.iter().all(|part| share.contains(part)), "{rates:?}");
        }
    }
}
