//! Networks against arithmetic.

use windlass_cc::{MILLISECOND, SECOND};

use super::*;
use crate::link::Loss;
use crate::network_spec::{Bottleneck, CrossTraffic, Probe};

impl Damage for u32 {
    fn damage(&mut self, choice: u64) {
        *self ^= 1 << (choice % 32);
    }
}

/// 1000 bytes per millisecond and 10 ms.
fn direction() -> LinkConfig {
    LinkConfig {
        rate_bytes_per_s: Some(1_000_000),
        delay: 10 * MILLISECOND,
        queue_bytes: 1_000_000,
        ..LinkConfig::WIRE
    }
}

fn bottleneck() -> Bottleneck {
    Bottleneck {
        down: direction(),
        up: direction(),
        changes: Vec::new(),
        repeat: 0,
    }
}

fn setup(bottlenecks: Vec<Bottleneck>, routes: &[&[usize]]) -> NetworkSpec {
    let way = |(index, route): (usize, &&[usize])| Way {
        route: route.to_vec(),
        extra_delay: index as u64 * MILLISECOND,
    };
    NetworkSpec {
        seed: 7,
        bottlenecks,
        ways: routes.iter().enumerate().map(way).collect(),
        ..NetworkSpec::default()
    }
}

/// Everything that arrives: when (µs), of which pair, what.
fn drain(network: &mut Network<u32>, until: Nanos) -> Vec<(u64, usize, u32)> {
    let mut arrived = Vec::new();
    while let Some(at) = network.poll_at().filter(|at| *at <= until) {
        while let Some(a) = network.receive(at) {
            arrived.push((a.due / 1000, a.pair, a.item));
        }
    }
    arrived
}

#[test]
fn two_hops_take_both_times_however_late_the_caller_is() {
    let two = || Network::new(&setup(vec![bottleneck(), bottleneck()], &[&[0, 1]]));
    let mut exact: Network<u32> = two();
    let mut late: Network<u32> = two();
    for network in [&mut exact, &mut late] {
        for item in 0..3 {
            network.send(0, 0, Toward::Clients, 1000, false, item);
        }
    }
    // 1 ms and 10 ms, twice; the second link is free when the next packet comes.
    let expected = [(22_000, 0, 0), (23_000, 0, 1), (24_000, 0, 2)];
    assert_eq!(drain(&mut exact, SECOND), expected);
    let at_once: Vec<_> = std::iter::from_fn(|| late.receive(SECOND)).collect();
    let at_once: Vec<_> = at_once
        .iter()
        .map(|a| (a.due / 1000, a.pair, a.item))
        .collect();
    assert_eq!(at_once, expected);
    let (down, up) = exact.observed();
    assert_eq!((down[0].delivered, down[1].delivered_bytes), (3, 3000));
    assert_eq!(up[0].offered, 0);
}

#[test]
fn in_a_parking_lot_one_pair_crosses_all_and_the_others_one_each() {
    let three = vec![bottleneck(), bottleneck(), bottleneck()];
    let routes: [&[usize]; 4] = [&[0, 1, 2], &[0], &[1], &[2]];
    let mut network = Network::new(&setup(three, &routes));
    for pair in 0..4 {
        network.send(0, pair, Toward::Clients, 1000, false, pair as u32);
    }
    // Pair 1 waits behind pair 0 at the first link only; pair n has n ms of its own.
    let expected = [
        (13_000, 2, 2),
        (13_000, 1, 1),
        (14_000, 3, 3),
        (33_000, 0, 0),
    ];
    assert_eq!(drain(&mut network, SECOND), expected);
}

#[test]
fn the_way_back_is_the_same_way() {
    let mut slow = bottleneck();
    slow.up.delay = 30 * MILLISECOND;
    slow.up.rate_bytes_per_s = Some(10_000_000);
    slow.up.ecn_mark_bytes = Some(0);
    let mut network = Network::new(&setup(vec![slow, bottleneck()], &[&[0, 1]]));
    network.send(0, 0, Toward::Servers, 1000, true, 1);
    let back = network.receive(SECOND).expect("arrived");
    assert_eq!((back.due, back.toward), (41_100_000, Toward::Servers));
    assert!(back.marked_ce);
}

#[test]
fn a_change_in_mid_run_counts_from_the_start() {
    let mut changing = bottleneck();
    let faster = LinkConfig {
        rate_bytes_per_s: Some(10_000_000),
        delay: 20 * MILLISECOND,
        ..direction()
    };
    changing.changes = vec![Change {
        at: 5_500_000,
        down: faster,
        up: direction(),
    }];
    let mut network = Network::new(&setup(vec![changing], &[&[0]]));
    network.start(MILLISECOND);
    for item in 0..10 {
        network.send(MILLISECOND, 0, Toward::Clients, 1000, false, item);
    }
    let times: Vec<u64> = drain(&mut network, SECOND).iter().map(|a| a.0).collect();
    // Five at the old rate; of the sixth the second half at the new one, and 20 ms from then on.
    assert_eq!(times[..5], [12_000, 13_000, 14_000, 15_000, 16_000]);
    assert_eq!(times[5..], [26_550, 26_650, 26_750, 26_850, 26_950]);
}

#[test]
fn cross_traffic_keeps_its_rate_and_its_pauses() {
    let mut with = setup(vec![bottleneck()], &[&[0]]);
    with.cross_traffic = vec![CrossTraffic {
        bottleneck: 0,
        rate_bits_per_s: 4_000_000,
        packet_bytes: 1000,
        start: 100 * MILLISECOND,
        on: 200 * MILLISECOND,
        off: 300 * MILLISECOND,
    }];
    let mut network: Network<u32> = Network::new(&with);
    network.start(0);
    let offered = |network: &mut Network<u32>, at_ms: u64| {
        assert_eq!(network.receive(at_ms * MILLISECOND), None);
        network.cross_observed()[0].offered
    };
    // 500 packets/s: 100 in each 200 ms, in 100-300 ms and 600-800 ms.
    let at = [99, 200, 299, 599, 700, 1099];
    let counts = at.map(|ms| offered(&mut network, ms));
    assert_eq!(counts, [0, 51, 100, 100, 151, 200]);
    let cross = network.cross_observed()[0];
    assert_eq!((cross.delivered, cross.dropped), (200, 0));
    assert_eq!(network.observed().0[0].offered, 0);
}

#[test]
fn cross_traffic_takes_room_but_changes_no_packets_chances() {
    let lossy = || {
        let mut lossy = bottleneck();
        lossy.down.loss = Loss::Bernoulli { ratio: 0.2 };
        setup(vec![lossy], &[&[0]])
    };
    let mut with = lossy();
    with.cross_traffic = vec![CrossTraffic {
        bottleneck: 0,
        rate_bits_per_s: 4_000_000,
        packet_bytes: 500,
        start: 0,
        on: 0,
        off: 0,
    }];
    let survivors = |setup: &NetworkSpec| {
        let mut network = Network::new(setup);
        network.start(0);
        for item in 0..400u32 {
            let at = u64::from(item) * 2 * MILLISECOND;
            network.send(at, 0, Toward::Clients, 1000, false, item);
        }
        drain(&mut network, 10 * SECOND)
    };
    let (without, with) = (survivors(&lossy()), survivors(&with));
    let items = |arrived: &[(u64, usize, u32)]| arrived.iter().map(|a| a.2).collect::<Vec<_>>();
    assert_eq!(items(&without), items(&with));
    assert!((40..120).contains(&(400 - without.len())));
    assert_ne!(without, with, "it takes time");
}

#[test]
fn the_seed_decides_and_nothing_else() {
    let lost = |seed| {
        let mut lossy = bottleneck();
        lossy.down.loss = Loss::Bernoulli { ratio: 0.1 };
        let mut network = Network::new(&NetworkSpec {
            seed,
            ..setup(vec![lossy.clone(), lossy], &[&[0, 1]])
        });
        for item in 0..500 {
            network.send(0, 0, Toward::Clients, 1000, false, item);
        }
        drain(&mut network, 10 * SECOND)
    };
    assert_eq!(lost(1), lost(1));
    assert_ne!(lost(1), lost(2));
}

/// 64 bytes of a probe take 0.064 ms each way at 1000 bytes a millisecond, and 10 ms: alone, 20.128
/// ms. The queue that it meets is on top.
#[test]
fn probes_measure_the_round_trip_and_the_queue() {
    let probed = |queued_packets: u32| {
        let mut setup = setup(vec![bottleneck()], &[&[0]]);
        setup.probes = vec![Probe {
            pair: 0,
            interval: 100 * MILLISECOND,
            packet_bytes: 64,
        }];
        let mut network = Network::new(&setup);
        for item in 0..queued_packets {
            network.send(0, 0, Toward::Clients, 1000, false, item);
        }
        network.start(0);
        drain(&mut network, 95 * MILLISECOND);
        network.probes_observed().expect("one is back")
    };
    let alone = probed(0);
    assert_eq!((alone.sent, alone.lost), (1, 0));
    assert_eq!((alone.median, alone.p999), (20_128_000, 20_128_000));
    assert_eq!(probed(7).median, 27_128_000);
}

/// Each hop has a turn, and what is damaged twice in the same place is damaged still.
#[test]
fn every_hop_damages() {
    let mut harming = bottleneck();
    harming.down.damage_ratio = 1.0;
    for hops in [1, 2] {
        let bottlenecks = vec![harming.clone(); hops];
        let route: Vec<usize> = (0..hops).collect();
        let mut network = Network::new(&setup(bottlenecks, &[&route]));
        for _ in 0..100 {
            network.send(0, 0, Toward::Clients, 1000, false, 0u32);
            network.send(0, 0, Toward::Servers, 1000, false, 0u32);
        }
        let mut flipped = 0;
        while let Some(arrival) = network.receive(10 * SECOND) {
            let down = arrival.toward == Toward::Clients;
            assert_eq!(arrival.damaged, down);
            assert!(arrival.item.count_ones() <= if down { hops as u32 } else { 0 });
            flipped += arrival.item.count_ones() as usize;
        }
        assert!((90 * hops..=100 * hops).contains(&flipped), "{flipped}");
        let damaged = |links: Vec<LinkStats>| links.iter().map(|l| l.damaged).sum::<u64>();
        let (down, up) = network.observed();
        assert_eq!((damaged(down), damaged(up)), (100 * hops as u64, 0));
    }
}

#[test]
fn a_damaged_probe_is_a_lost_one() {
    let mut setup = setup(vec![bottleneck()], &[&[0]]);
    setup.bottlenecks[0].up.damage_ratio = 0.5;
    setup.probes = vec![Probe {
        pair: 0,
        interval: 10 * MILLISECOND,
        packet_bytes: 64,
    }];
    let mut network: Network<u32> = Network::new(&setup);
    network.start(0);
    drain(&mut network, 2 * SECOND);
    let probes = network.probes_observed().expect("half are back");
    let share = probes.lost as f64 / probes.sent as f64;
    assert!((0.35..0.65).contains(&share), "{probes:?}");
}

/// Packets that cannot be marked are dropped where others are marked, if the link is like that; a
/// probe never is.
#[test]
fn what_cannot_be_marked_is_dropped() {
    let mut marking = bottleneck();
    marking.down.ecn_mark_bytes = Some(1500);
    for (drops, arrive) in [(false, 8), (true, 6)] {
        marking.down.drops_not_ect = drops;
        let mut network = Network::new(&setup(vec![marking.clone()], &[&[0]]));
        for item in 0..8 {
            network.send(0, 0, Toward::Clients, 1000, item % 2 == 0 || item < 4, item);
        }
        assert_eq!(drain(&mut network, SECOND).len(), arrive);
        assert_eq!(network.observed().0[0].dropped, 8 - arrive as u64);
    }
}
