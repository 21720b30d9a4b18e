//! Two boxes at the ends of the network: its marks work for ends that have never heard of ECN, and no
//! end sees what the boxes say to each other (the world of the simulator looks at every frame).
#![allow(clippy::disallowed_methods)]

use windlass_cc::{AlgorithmId, Catalog};
use windlass_engine::{Feedback, Limits, Verdict};
use windlass_policy::Config;
use windlass_sim::stalls::{StallConfig, Stalls};
use windlass_sim::tcp::{App, Close, ServerAlgorithm};
use windlass_sim::{Connection, EngineBox, NoBox, Outcome, Scenario, World, run};

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1000 * MILLISECOND;
/// From here on a link of 50 Mbit/s marks: 1 ms, and three packets in its device.
const MARK_BYTES: u64 = 6_250 + 3 * 1_500;

fn id(name: &str) -> AlgorithmId {
    name.parse().expect("a registered algorithm")
}

fn a_box(algorithm: &str, seed: u64) -> EngineBox {
    let verdict = Verdict {
        feedback: Feedback::Boxes,
        ..Verdict::enforce(id(algorithm))
    };
    EngineBox::new(Box::new(verdict), Limits::default(), seed)
}

/// With windows down to one segment, as AC/DC TCP has them.
fn acdc_box(seed: u64) -> EngineBox {
    let text = "version = 1\n[default]\nalgorithm = { name = \"dctcp\", preset = \"acdc\" }\nfeedback = \"boxes\"\n";
    let config = Config::parse(text, "w.toml", &Catalog::new()).expect("a policy");
    EngineBox::new(Box::new(config.policy()), Limits::default(), seed)
}

/// A download over 50 Mbit/s and 10 ms, between ends without ECN.
fn marked_path(bytes: u64) -> Scenario {
    let mut scenario = Scenario::download(bytes, 50.0, 10.0);
    scenario.down.queue_bytes = 1_500_000;
    scenario.down.ecn_mark_bytes = Some(MARK_BYTES);
    scenario
}

fn run_with_two(scenario: &Scenario, algorithm: &str) -> (Outcome, u64) {
    let mut near = a_box(algorithm, 1);
    let mut world = World::new(scenario).with_far_box(Box::new(a_box(algorithm, 2)));
    world.run_until(scenario.limit, &mut near);
    let far = world.far_box().expect("it was put there").counters();
    let alone = far.iter().find(|(name, _)| name == "reports_carried");
    (world.outcome(&near), alone.map_or(0, |(_, count)| *count))
}

#[test]
fn dctcp_between_boxes_is_dctcp_between_ends() {
    let scenario = marked_path(50_000_000);
    let (boxed, reports) = run_with_two(&scenario, "dctcp");
    boxed.assert_intact(&scenario);
    assert!(boxed.down.marked > 100, "{} marked", boxed.down.marked);
    assert_eq!(
        boxed.server().marks.ce_received + boxed.client().marks.ce_received,
        0
    );
    assert!(reports > 1000, "{reports} reports");
    assert_eq!(boxed.counter("reports_heard"), reports);
    assert_eq!(boxed.counter("peers_found"), 1);
    assert_eq!(boxed.down.dropped, 0);

    let mut between_ends = scenario.clone();
    between_ends.server.algorithm = ServerAlgorithm::Native(id("dctcp").into());
    (between_ends.server.ecn, between_ends.client.ecn) = (true, true);
    let native = run(&between_ends, &mut NoBox::default());
    assert!(
        boxed.seconds < 1.02 * native.seconds,
        "{} s, between ends {} s",
        boxed.seconds,
        native.seconds
    );
    let queues = (boxed.down.max_queue_bytes, native.down.max_queue_bytes);
    assert!(
        queues.0 < queues.1 + 1_514,
        "longest queue, bytes: {queues:?}"
    );
}

/// One box alone finds none, and the flow is as with the feedback of the ends.
#[test]
fn a_box_alone_falls_back() {
    let scenario = marked_path(5_000_000);
    let mut near = a_box("dctcp", 1);
    let outcome = run(&scenario, &mut near);
    outcome.assert_intact(&scenario);
    assert_eq!(outcome.counter("peers_found"), 0);
    assert_eq!(outcome.counter("ect_set"), 0, "nobody would report marks");
    assert_eq!(outcome.down.marked, 0);
}

/// The box beside the client dies in mid-transfer: nothing is marked any more, and nothing is lost.
#[test]
fn a_box_that_dies_is_not_waited_for() {
    let scenario = marked_path(50_000_000);
    let mut near = a_box("dctcp", 1);
    let mut world = World::new(&scenario).with_far_box(Box::new(a_box("dctcp", 2)));
    world.run_until(2 * SECOND, &mut near);
    let mut world = world.with_far_box(Box::new(NoBox::default()));
    world.run_until(3 * SECOND, &mut near);
    let marked = world.link_stats().0.marked;
    world.run_until(scenario.limit, &mut near);
    let outcome = world.outcome(&near);
    // Reports that had been on their way are seen by nobody but the box.
    outcome.assert_intact(&scenario);
    assert_eq!(outcome.counter("peers_lost"), 1);
    assert_eq!(outcome.down.marked, marked);
}

/// Data both ways at once: ACKs ride on full segments, so that reports need packets of their own.
#[test]
fn both_ways_at_once() {
    let mut scenario = marked_path(20_000_000);
    scenario.up.rate_bytes_per_s = scenario.down.rate_bytes_per_s;
    scenario.up.queue_bytes = 1_500_000;
    scenario.up.ecn_mark_bytes = Some(MARK_BYTES);
    scenario.connections[0] = Connection {
        server: App {
            close: Close::AfterWrites,
            ..App::request(20_000_000)
        },
        client: App::request(20_000_000),
        start: 0,
    };
    let (outcome, _) = run_with_two(&scenario, "dctcp");
    outcome.assert_intact(&scenario);
    assert!(
        outcome.counter("reports_alone") > 100,
        "{:?}",
        outcome.counters
    );
    assert!(outcome.down.marked > 50 && outcome.up.marked > 50);
    assert_eq!((outcome.down.dropped, outcome.up.dropped), (0, 0));
}

/// 47 servers begin at once over 1 Gbit/s and 0.1 ms. Their first windows fill the switch for 5 ms, and the first time-outs come after
/// one. As long as nothing is acknowledged that was sent once, nobody knows how long an answer takes: a time-out that is not
/// doubled until then comes too early for ever, and the link carries little but repairs of what was not lost.
#[test]
fn many_that_begin_at_once_on_a_short_path_do_not_collapse() {
    let bytes = 1_000_000;
    let mut scenario = Scenario::download(bytes, 1000.0, 0.1);
    scenario.down.queue_bytes = 1_514_000;
    scenario.down.ecn_mark_bytes = Some(98_410);
    scenario.connections = vec![Connection::download(bytes); 47];
    let (outcome, _) = run_with_two(&scenario, "dctcp");
    outcome.assert_intact(&scenario);
    let least = 47.0 * bytes as f64 * 8.0 / 1e9;
    assert!(outcome.seconds < 1.25 * least, "{} s", outcome.seconds);
    let sent = outcome.counter("bytes_sent");
    let again = outcome.counter("bytes_resent");
    assert!(again < sent / 20, "{again} of {sent} bytes sent again");
}

/// 16 servers share 1 Gbit/s of a path of 0.1 ms in segments of 9 kB: each window is one or two of them, and pacing parts them by as
/// long as the time-out is. The receiver acknowledges two at once. Once the first windows are through, nothing is lost, and
/// nothing is sent twice.
#[test]
fn paced_segments_are_not_taken_for_lost() {
    let mut scenario = Scenario::download(3_000_000, 1000.0, 0.1);
    scenario.inside.delay = 5_000;
    scenario.down.queue_bytes = 1_514_000;
    scenario.down.ecn_mark_bytes = Some(98_410);
    (scenario.server.mss, scenario.client.mss) = (8_960, 8_960);
    scenario.connections = vec![Connection::download(3_000_000); 16];
    let mut near = acdc_box(1);
    let mut world = World::new(&scenario).with_far_box(Box::new(acdc_box(2)));
    world.run_until(100 * MILLISECOND, &mut near);
    let before = world.outcome(&near);
    world.run_until(scenario.limit, &mut near);
    let after = world.outcome(&near);
    after.assert_intact(&scenario);
    let since = |name: &str| after.counter(name) - before.counter(name);
    assert!(since("bytes_sent") > 30_000_000);
    assert_eq!((since("timeouts"), since("bytes_resent")), (0, 0));
}

/// 16 servers share 1 Gbit/s of a path of 0.1 ms in segments of 1,448 bytes: windows are four to eight of them. When a mark has reduced
/// one, what waits in the box leaves all the same. It would else wait for a round trip of the full queue, 0.8 ms, and its sender would
/// measure twice the round trip.
#[test]
fn what_waits_beside_a_window_of_few_segments_leaves_though_a_mark_reduces_it() {
    let mut scenario = Scenario::download(6_000_000, 1000.0, 0.09);
    scenario.inside.delay = 5_000;
    scenario.down.queue_bytes = 1_514_000;
    scenario.down.ecn_mark_bytes = Some(98_410);
    scenario.connections = vec![Connection::download(6_000_000); 16];
    let mut near = acdc_box(1);
    let mut world = World::new(&scenario).with_far_box(Box::new(acdc_box(2)));
    let held = |near: &EngineBox| {
        let holds = &near.engine().histograms().hold_time_ns;
        let longer = holds.buckets().filter(|(bound, _)| *bound > MILLISECOND);
        (longer.map(|(_, count)| count).sum::<u64>(), holds.count())
    };
    world.run_until(250 * MILLISECOND, &mut near);
    let before = held(&near);
    world.run_until(700 * MILLISECOND, &mut near);
    let after = held(&near);
    let (long, all) = (after.0 - before.0, after.1 - before.1);
    assert!(all > 20_000, "{all}");
    assert!(
        long * 500 < all,
        "{long} of {all} segments waited for more than a millisecond"
    );
}

/// A box that the kernel lets run every few milliseconds only, as on a machine whose processors are all busy. It is late for two fifths
/// of the time, but the queue at the bottleneck lasts for as long as it is late. So the path misses little, and the flows stay governed.
#[test]
fn a_box_whose_lateness_the_queue_covers_keeps_its_flows() {
    let mut scenario = Scenario::download(10_000_000, 200.0, 1.0);
    scenario.inside.delay = 5_000;
    scenario.down.queue_bytes = 1_514_000;
    scenario.down.ecn_mark_bytes = Some(98_410);
    scenario.connections = vec![Connection::download(10_000_000); 5];
    let least = 5.0 * 10e6 * 8.0 / 200e6;
    for (every, shortest, longest) in [(6, 2_000, 2_900), (8, 3_000, 3_900)] {
        let config = StallConfig {
            every: every * MILLISECOND,
            least: shortest * 1_000,
            most: longest * 1_000,
        };
        let mut near = acdc_box(1).stalling(Stalls::new(config, 1, 0));
        let mut world = World::new(&scenario).with_far_box(Box::new(acdc_box(2)));
        world.run_until(scenario.limit, &mut near);
        let outcome = world.outcome(&near);
        outcome.assert_intact(&scenario);
        assert_eq!(outcome.counter("harmed_by_lateness"), 0, "{config:?}");
        assert!(outcome.seconds < 1.2 * least, "{} s", outcome.seconds);
        let queue = outcome.down.max_queue_bytes;
        assert!(queue < 250_000, "{queue} bytes: somebody fills the queue");
    }
}

/// Any network, any algorithm, with marks on every way: whatever is lost, doubled or overtaken, what
/// arrives is what was sent.
#[test]
fn adverse_networks() {
    let mut failed = Vec::new();
    let mut found = 0;
    for seed in 1..=150 {
        let mut scenario = Scenario::adverse(seed);
        scenario.limit = 24 * 3600 * SECOND;
        scenario.down.ecn_mark_bytes.get_or_insert(15_000);
        let algorithms = AlgorithmId::ALL;
        let algorithm = algorithms[(seed % algorithms.len() as u64) as usize];
        let (outcome, _) = run_with_two(&scenario, algorithm.name());
        found += u64::from(outcome.counter("peers_found") > 0);
        if !outcome.intact && run(&scenario, &mut NoBox::default()).intact {
            println!("seed {seed}: {:?}", outcome.violations.first());
            failed.push(seed);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
    assert!(found > 100, "only {found} pairs of boxes found each other");
}
