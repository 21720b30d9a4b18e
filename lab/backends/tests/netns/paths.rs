//! Paths that exist, on this kernel and in virtual time: a box in the middle, recorded rates, stalls, pages.

use windlass_cc::Catalog;
use windlass_experiment::setup::{Recording, Stalls};
use windlass_lab::backend::sim::Sim;

use super::*;

const BYTES: u64 = 1_000_000;

fn windlass() -> PathBox {
    PathBox::Windlass {
        policy: "version = 1\n[default]\nalgorithm = \"bbr\"\n".to_owned(),
    }
}

/// In the simulator, and on this kernel where that can be.
fn everywhere(setup: &Setup) -> Vec<Observed> {
    let mut all = Vec::new();
    let simulated = Sim.run(
        std::slice::from_ref(setup),
        &Catalog::new(),
        &mut |_, observed| all.push(observed),
    );
    simulated.expect("simulated");
    all.extend(run(std::slice::from_ref(setup)).into_iter().flatten());
    for observed in &all {
        assert_eq!(observed.error, None);
    }
    all
}

#[test]
fn a_box_in_the_middle_has_loss_on_either_side() {
    let mut setup = line(
        lossy(bottleneck(50 * MBIT, 20 * MS), 0.02),
        flows("one", 0, 1, BYTES),
    );
    setup.server_link = Some(lossy(bottleneck(50 * MBIT, 20 * MS), 0.02));
    setup.path_box = windlass();
    for observed in everywhere(&setup) {
        check(&observed.flows[0], BYTES, 0.16 + 0.08, 10.0);
        let [outside, inside] = &observed.down[..] else {
            panic!("{:?}", observed.down)
        };
        assert!(outside.lost_packets > 0 && inside.lost_packets > 0);
        assert_eq!(observed.counters["flows_governed"], 1);
    }
}

/// A damaged packet is one that does not arrive, whatever bit it is, and the transfer does not notice more of it.
#[test]
fn a_link_that_damages_packets_loses_them_to_the_ends() {
    let mut setup = line(bottleneck(50 * MBIT, 20 * MS), flows("one", 0, 1, BYTES));
    setup.bottlenecks[0].down.damage_ratio = 0.02;
    setup.bottlenecks[0].up.damage_ratio = 0.02;
    for path_box in [PathBox::Nothing, windlass()] {
        let boxed = path_box != PathBox::Nothing;
        setup.path_box = path_box;
        for observed in everywhere(&setup) {
            check(&observed.flows[0], BYTES, 0.16 + 0.04, 10.0);
            let (down, up) = (observed.down[0], observed.up[0]);
            println!("{boxed}: {} s, {down:?}, {up:?}", observed.flows[0].seconds);
            assert!(down.damaged_packets > 0 && up.damaged_packets > 0);
            assert_eq!(down.lost_packets + up.lost_packets, 0);
            if boxed {
                assert!(observed.counters["passed_bad_checksum"] > 0);
                let resent = observed.flows[0].box_retransmitted_bytes;
                assert!(resent.is_some_and(|bytes| bytes > 0), "{resent:?}");
            }
        }
    }
}

#[test]
fn a_recorded_rate_is_what_a_transfer_gets() {
    // A frame a millisecond for a second, then nothing for another: 12 Mbit/s at best.
    let mut setup = line(bottleneck(100 * MBIT, 20 * MS), flows("one", 0, 1, BYTES));
    setup.recordings = vec![Recording {
        at_ms: (1..=1000).chain([2000]).collect(),
        delay_ms: Vec::new(),
    }];
    setup.bottlenecks[0].down.recording = Some(0);
    for observed in everywhere(&setup) {
        check(&observed.flows[0], BYTES, 0.69, 3.0);
    }
}

#[test]
fn a_page_has_no_more_at_once_than_it_may() {
    let mut setup = line(
        bottleneck(50 * MBIT, 20 * MS),
        flows("object", 0, 30, 20_000),
    );
    setup.flows[0].at_once = 6;
    for observed in everywhere(&setup) {
        assert!(observed.flows.iter().all(|flow| flow.intact));
        assert_eq!(observed.flows.len(), 30);
        for flow in &observed.flows {
            let under_way = observed.flows.iter().filter(|other| {
                other.start_s <= flow.start_s && flow.start_s < other.start_s + other.seconds
            });
            // Of two clocks that are read one after the other.
            assert!(under_way.count() <= 7, "at {}", flow.start_s);
        }
        let last = observed.flows.iter().map(|f| f.start_s).fold(0.0, f64::max);
        assert!(last > 4.0 * 0.04, "five rounds: {last}");
    }
}

#[test]
fn a_box_that_stalls_delays_what_it_has_and_loses_nothing() {
    let mut setup = line(bottleneck(20 * MBIT, 20 * MS), flows("one", 0, 1, BYTES));
    setup.path_box = windlass();
    let smooth = everywhere(&setup);
    setup.box_stalls = Some(Stalls {
        every_ns: 200 * MS,
        least_ns: 30 * MS,
        most_ns: 60 * MS,
    });
    for (stalled, smooth) in everywhere(&setup).iter().zip(&smooth) {
        let (with, without) = (stalled.flows[0].seconds, smooth.flows[0].seconds);
        println!("{without} s, with stalls {with} s");
        check(&stalled.flows[0], BYTES, 0.4, 3.0);
        assert!(with < 2.5 * without, "{with} {without}");
    }
}

#[test]
fn a_box_that_hardly_runs_is_slow_in_virtual_time() {
    let mut setup = line(
        bottleneck(20 * MBIT, 20 * MS),
        flows("one", 0, 1, 4 * BYTES),
    );
    setup.path_box = windlass();
    let smooth = setup.clone();
    setup.box_stalls = Some(Stalls {
        every_ns: 400 * MS,
        least_ns: 190 * MS,
        most_ns: 190 * MS,
    });
    let mut seconds = Vec::new();
    let mut take = |_, observed: Observed| seconds.push(observed.flows[0].seconds);
    Sim.run(&[smooth, setup], &Catalog::new(), &mut take)
        .expect("simulated");
    assert!(seconds[1] > 1.3 * seconds[0], "{seconds:?}");
}

/// Jumbo frames are chains of the box's frames. It holds and repairs them like others.
#[test]
fn an_mtu_of_9000_bytes_takes_a_sixth_of_the_packets() {
    let path = lossy(bottleneck(100 * MBIT, 10 * MS), 0.05);
    let mut setup = line(path, flows("one", 0, 1, 5 * BYTES));
    setup.mtu = Mtu::nearest(9000);
    setup.path_box = windlass();
    for observed in everywhere(&setup) {
        let (flow, down) = (&observed.flows[0], observed.down[0]);
        assert!(flow.intact, "{flow:?}");
        let packets = down.delivered_packets;
        assert!((558..700).contains(&packets), "{down:?}");
        assert!(down.lost_packets > 0, "{down:?}");
        let repaired = flow.box_retransmitted_bytes.unwrap_or(0);
        assert!(repaired >= 8948 * down.lost_packets / 2, "{flow:?}");
    }
}
