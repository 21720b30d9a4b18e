//! Setups on this kernel. Needs root and iproute2.

mod hosts;
mod paths;
#[path = "../program/mod.rs"]
mod program;
mod setups;

use std::sync::Mutex;

use windlass_cc::Catalog;
use windlass_experiment::observed::{FlowObserved, Source};
use windlass_experiment::setup::{
    Algorithm, Change, CrossTraffic, FlowGroup, Host, Mtu, Pair, PathBox, Probe, Record, Transport,
};
use windlass_experiment::{Observed, Scalar, Setup};
use windlass_lab::backend::Backend;
use windlass_lab::backend::netns::Netns;
use windlass_lab::command::{IP, check_host};
use windlass_lab::netns::names;
use windlass_lab::programs::Programs;

use program::program;
use setups::{MBIT, MS, bottleneck, flows, line, lossy, pair};

/// Times are measured: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn can_run() -> bool {
    let checked = check_host(&[IP]);
    if let Err(reason) = &checked {
        println!("skipped: {reason}");
    }
    checked.is_ok()
}

/// What came of these setups, and that nothing is left of them. `None` where they cannot run.
fn run(setups: &[Setup]) -> Option<Vec<Observed>> {
    if !can_run() {
        return None;
    }
    let _alone = ALONE.lock();
    let mut all = vec![None; setups.len()];
    let mut netns = Netns::new(Programs::of(program()));
    let ran = netns.run(setups, &Catalog::new(), &mut |index, observed| {
        all[index] = Some(observed)
    });
    ran.expect("all of them");
    drop(netns);
    let ours = format!("-{}-", std::process::id());
    let left: Vec<_> = names().into_iter().filter(|n| n.contains(&ours)).collect();
    assert!(left.is_empty(), "{left:?}");
    Some(all.into_iter().flatten().collect())
}

fn run_one(setup: &Setup) -> Option<Observed> {
    let observed = run(std::slice::from_ref(setup))?.pop()?;
    assert_eq!(observed.error, None);
    Some(observed)
}

/// All of it arrived, in a time between the least that the link allows and `most_s`.
#[track_caller]
fn check(flow: &FlowObserved, bytes: u64, least_s: f64, most_s: f64) {
    assert!(flow.intact && flow.error.is_none(), "{flow:?}");
    assert_eq!(flow.received_bytes, bytes);
    assert!(
        (least_s..most_s).contains(&flow.seconds),
        "{} s",
        flow.seconds
    );
}

/// Our own sender over QUIC, by size and by time, with its record, and beside TCP.
#[test]
fn windlass_send_carries_a_flow() {
    let mut path = bottleneck(20 * MBIT, 20 * MS);
    path.down.queue_bytes = 200_000;
    let quic = FlowGroup {
        transport: Transport::Quic,
        ..flows("quic", 0, 1, 1_000_000)
    };
    let mut setup = line(path, quic);
    setup.servers[0].algorithm = Some(Algorithm {
        name: "compound".to_owned(),
        parameters: [("beta".to_owned(), Scalar::Float(0.3))].into(),
    });
    let mut timed = setup.clone();
    timed.flows[0].bytes = 1_000_000_000;
    timed.servers[0].algorithm = None;
    timed.flows.push(flows("tcp", 0, 1, 1_000_000_000));
    timed.fixed_length = true;
    timed.limit_ns = 3_000 * MS;
    timed.record.series_interval_ns = 100 * MS;
    let Some(all) = run(&[setup, timed]) else {
        return;
    };
    assert_eq!((&all[0].error, &all[1].error), (&None, &None));
    check(&all[0].flows[0], 1_000_000, 0.4, 3.0);
    let [quic, tcp] = &all[1].flows[..] else {
        panic!("{:?}", all[1].flows);
    };
    let bytes = quic.received_bytes + tcp.received_bytes;
    assert!((4_500_000..7_500_000).contains(&bytes), "{bytes}");
    assert!(quic.received_bytes > 300_000 && quic.arrivals.len() > 10);
    assert_eq!(
        quic.arrivals.last().map(|(_, b)| *b),
        Some(quic.received_bytes)
    );
    let series = all[1].series.iter().find(|s| s.group == 0).expect("one");
    assert!(series.samples.iter().all(|s| s.cwnd_packets > Some(1.0)));
}

#[test]
fn two_flows_share_a_line() {
    let mut path = bottleneck(50 * MBIT, 20 * MS);
    path.down.queue_bytes = 2_000_000;
    let setup = line(path, flows("two", 0, 2, 1_000_000));
    let Some(observed) = run_one(&setup) else {
        return;
    };
    assert_eq!(observed.flows.len(), 2);
    for flow in &observed.flows {
        check(flow, 1_000_000, 0.16 + 0.04, 1.0);
        assert_eq!(flow.server_retransmitted_bytes, Some(0));
        assert!(flow.start_s < 0.05 && flow.arrivals.is_empty());
    }
    let (down, up) = (observed.down[0], observed.up[0]);
    assert!(
        down.delivered_bytes > 2_000_000 && down.dropped_packets == 0,
        "{down:?}"
    );
    assert!(up.offered_packets > 300, "{up:?}");
    assert!(observed.series.is_empty() && observed.usage.is_none());
    let busy = observed.machine_busy_share.expect("a share");
    assert!(busy > 0.0 && busy <= 1.0, "{busy}");
    let late = observed.links_late_ms.expect("how late");
    assert!((0.001..10_000.0).contains(&late), "{late} ms");
}

#[test]
fn losses_are_counted_and_repaired_by_the_server() {
    let path = lossy(bottleneck(50 * MBIT, 10 * MS), 0.02);
    let Some(observed) = run_one(&line(path, flows("one", 0, 1, 2_000_000))) else {
        return;
    };
    let flow = &observed.flows[0];
    check(flow, 2_000_000, 0.32, 20.0);
    assert!(observed.down[0].lost_packets > 5, "{:?}", observed.down);
    assert!(flow.server_retransmitted_bytes > Some(5 * 1448), "{flow:?}");
    assert!(flow.server_timeouts.is_some());
}

#[test]
fn a_dumbbell_with_three_servers() {
    let path = bottleneck(60 * MBIT, 10 * MS);
    let mut setup = line(path, flows("all", 0, 1, 1_000_000));
    setup.servers = ["cubic", "reno", "bbr"].map(Host::linux).into();
    setup.clients = vec![Host::linux("cubic"); 3];
    setup.pairs = (0..3).map(|i| pair(i, i, &[0])).collect();
    setup.pairs[2].extra_delay_ns = 20 * MS;
    setup.flows = (0..3).map(|i| flows("all", i, 1, 1_000_000)).collect();
    let Some(observed) = run_one(&setup) else {
        return;
    };
    // What they share takes 0.4 s; the last one has a longer way.
    for (flow, least) in observed.flows.iter().zip([0.15, 0.15, 0.15 + 0.08]) {
        check(flow, 1_000_000, least, 2.0);
    }
    let last = observed.flows.iter().map(|f| f.start_s + f.seconds);
    assert!(last.fold(0.0, f64::max) > 0.4);
}

#[test]
fn a_parking_lot_with_two_bottlenecks() {
    let mut setup = line(bottleneck(20 * MBIT, 10 * MS), flows("both", 0, 1, 500_000));
    setup.bottlenecks.push(bottleneck(40 * MBIT, 30 * MS));
    setup.servers = vec![Host::linux("cubic"); 2];
    setup.clients = vec![Host::linux("cubic"); 2];
    setup.pairs = vec![pair(0, 0, &[0, 1]), pair(1, 1, &[1])];
    setup.flows.push(flows("second", 1, 1, 500_000));
    let Some(observed) = run_one(&setup) else {
        return;
    };
    check(&observed.flows[0], 500_000, 0.2 + 2.0 * 0.04, 2.0);
    check(&observed.flows[1], 500_000, 0.1 + 2.0 * 0.03, 1.5);
    let offered = observed.down.iter().map(|d| d.offered_packets);
    let [first, second] = offered.collect::<Vec<_>>()[..] else {
        panic!("two bottlenecks");
    };
    assert!(first > 340 && second > first + 340, "{first}, {second}");
}

#[test]
fn a_path_that_changes_under_way() {
    let mut fast = bottleneck(80 * MBIT, 10 * MS);
    let slow = bottleneck(8 * MBIT, 40 * MS);
    fast.changes.push(Change {
        at_ns: 100 * MS,
        down: slow.down,
        up: slow.up,
    });
    let Some(observed) = run_one(&line(fast, flows("one", 0, 1, 2_000_000))) else {
        return;
    };
    // At most 1 MB by the change, and the rest at 1 MB/s.
    check(&observed.flows[0], 2_000_000, 1.0, 5.0);
}

#[test]
fn cross_traffic_takes_its_share() {
    let mut setup = line(
        bottleneck(20 * MBIT, 10 * MS),
        flows("one", 0, 1, 1_000_000),
    );
    setup.cross_traffic.push(CrossTraffic {
        bottleneck: 0,
        rate_bits_per_s: 15 * MBIT,
        packet_bytes: 1000,
        start_ns: 0,
        on_ns: 0,
        off_ns: 0,
    });
    let Some(observed) = run_one(&setup) else {
        return;
    };
    // Alone it would take 0.42 s.
    check(&observed.flows[0], 1_000_000, 0.8, 8.0);
}

#[test]
fn an_application_that_pauses() {
    let mut group = flows("chunks", 0, 2, 100_000);
    (group.write_bytes, group.pause_ns) = (25_000, 100 * MS);
    (group.start_ns, group.interval_ns) = (50 * MS, 30 * MS);
    let Some(observed) = run_one(&line(bottleneck(50 * MBIT, 10 * MS), group)) else {
        return;
    };
    for (flow, start) in observed.flows.iter().zip([0.05, 0.08]) {
        check(flow, 100_000, 0.3 + 0.02, 0.6);
        assert!((start..start + 0.03).contains(&flow.start_s), "{flow:?}");
    }
}

#[test]
fn background_flows_and_the_time_limit_cut_off() {
    let mut background = line(
        bottleneck(20 * MBIT, 10 * MS),
        flows("short", 0, 1, 100_000),
    );
    background.flows.push(flows("endless", 0, 1, 1 << 40));
    background.flows[1].background = true;
    let mut limited = line(
        bottleneck(8 * MBIT, 10 * MS),
        flows("long", 0, 1, 10_000_000),
    );
    limited.limit_ns = 300 * MS;
    let Some(observed) = run(&[background, limited]) else {
        return;
    };
    let [short, endless] = &observed[0].flows[..] else {
        panic!("two flows");
    };
    check(short, 100_000, 0.04 + 0.02, 3.0);
    assert!(!endless.intact && endless.error.is_none(), "{endless:?}");
    assert!(endless.received_bytes > 10_000 && endless.seconds >= short.seconds - 0.01);
    let cut = &observed[1].flows[0];
    assert!(!cut.intact && (0.28..0.4).contains(&cut.seconds), "{cut:?}");
    assert!(
        cut.error.as_ref().is_some_and(|e| e.contains("0.3 s")),
        "{cut:?}"
    );
    assert_eq!(observed[1].error, None);
}

#[test]
fn marks_keep_a_queue_short() {
    let mut setup = line(
        bottleneck(20 * MBIT, 20 * MS),
        flows("one", 0, 1, 4_000_000),
    );
    setup.servers[0].ecn = true;
    setup.clients[0].ecn = true;
    setup.bottlenecks[0].down.ecn_mark_bytes = Some(30_000);
    let Some(observed) = run_one(&setup) else {
        return;
    };
    check(&observed.flows[0], 4_000_000, 1.6, 6.0);
    let down = observed.down[0];
    assert!(
        down.marked_packets > 3 && down.dropped_packets == 0,
        "{down:?}"
    );
    assert_eq!(observed.flows[0].server_retransmitted_bytes, Some(0));
}

/// Ends without ECN, several on either side, and a box at both: marks are counted, and keep the queue
/// short all the same.
#[test]
fn boxes_at_both_ends_report_marks() {
    let policy = "version = 1\n[[rule]]\nfeedback = \"boxes\"\n\
                  algorithm = { name = \"dctcp\", preset = \"acdc\" }\n";
    let mut path = bottleneck(20 * MBIT, 20 * MS);
    path.down.ecn_mark_bytes = Some(30_000);
    let mut setup = line(path, flows("both", 0, 4, 1_000_000));
    for index in 1..2 {
        setup.servers.push(setup.servers[0].clone());
        setup.clients.push(setup.clients[0].clone());
        setup.pairs.push(Pair {
            server: index,
            client: index,
            ..setup.pairs[0].clone()
        });
    }
    setup.flows[0].pairs = 2;
    setup.both_ends = true;
    setup.probes = vec![Probe {
        pair: 1,
        interval_ns: 10 * MS,
        packet_bytes: 64,
    }];
    setup.path_box = PathBox::Windlass {
        policy: policy.to_owned(),
    };
    let Some(observed) = run_one(&setup) else {
        return;
    };
    for flow in &observed.flows {
        assert!(flow.intact, "{flow:?}");
    }
    let counter = |name: &str| observed.counters[name];
    assert_eq!(counter("peers_found"), 4, "{:?}", observed.counters);
    assert!(counter("marked_bytes_heard") > 0);
    assert!(counter("far_reports_carried") > 100);
    assert_eq!(
        counter("far_marks_cleared"),
        observed.down[0].marked_packets
    );
    assert_eq!(observed.down[0].dropped_packets, 0);
    let probes = observed.probes.expect("probes came back");
    assert!((20.0..60.0).contains(&probes.median_ms), "{probes:?}");
}

#[test]
fn a_server_is_sampled() {
    let mut setup = line(
        bottleneck(20 * MBIT, 20 * MS),
        flows("one", 0, 1, 1_000_000),
    );
    setup.servers[0] = Host::linux("bbr");
    setup.record.series_interval_ns = 10 * MS;
    let Some(observed) = run_one(&setup) else {
        return;
    };
    let flow = &observed.flows[0];
    check(flow, 1_000_000, 0.44, 2.0);
    assert_eq!(flow.arrivals.last().map(|a| a.1), Some(1_000_000));
    let enough = (flow.seconds / 0.010 * 0.7) as usize;
    assert!(flow.arrivals.len() >= enough, "{}", flow.arrivals.len());
    let [series] = &observed.series[..] else {
        panic!("{:?}", observed.series);
    };
    assert_eq!((series.source, series.group), (Source::Server, 0));
    assert!(series.samples.len() >= enough, "{}", series.samples.len());
    let last = series.samples.last().expect("a sample");
    assert!(
        last.srtt_ms.is_some_and(|ms| (20.0..80.0).contains(&ms)),
        "{last:?}"
    );
    assert!(
        last.delivery_mbit_s
            .is_some_and(|rate| (5.0..25.0).contains(&rate))
    );
    assert!(last.acked_bytes > Some(500_000), "{last:?}");
}

#[test]
fn windlass_in_the_path() {
    let policy = "version = 1\n[[rule]]\nalgorithm = \"bbr\"\n".to_owned();
    let path = lossy(bottleneck(50 * MBIT, 20 * MS), 0.02);
    let mut setup = line(path, flows("one", 0, 2, 2_000_000));
    setup.path_box = PathBox::Windlass { policy };
    setup.record = Record {
        series_interval_ns: 20 * MS,
        usage_interval_ns: 100 * MS,
    };
    let Some(observed) = run(&[setup.clone(), setup]) else {
        return;
    };
    for one in &observed {
        assert_eq!(one.error, None);
        for flow in &one.flows {
            check(flow, 2_000_000, 0.32, 8.0);
            assert!(flow.box_retransmitted_bytes > Some(10_000), "{flow:?}");
            assert!(flow.held_packets_max > Some(20), "{flow:?}");
            assert_eq!(flow.box_copied_bytes, Some(0));
        }
        assert_eq!(one.counters.get("flows_governed"), Some(&2));
        assert!(one.counters["repaired"] > 10, "{:?}", one.counters);
        let sources: Vec<_> = one.series.iter().map(|s| (s.index, s.source)).collect();
        let both = [Source::Server, Source::Box];
        assert_eq!(sources, [0, 1].map(|i| both.map(|s| (i, s))).concat());
        let usage = one.usage.expect("there is a process");
        assert!(
            usage.max_rss_bytes > 1 << 20 && usage.span_s > 0.3,
            "{usage:?}"
        );
    }
}

#[test]
fn another_box_connects_the_interfaces_itself() {
    if !can_run() {
        return;
    }
    let program = program().display().to_string();
    let words = "run --inside {inside} --outside {outside} --io packet --control /dev/null/none";
    let words = words.replace("--control /dev/null/none", "");
    let folder = std::env::temp_dir().join(format!("windlass-netns-{}.sock", std::process::id()));
    let control = ["--control".to_owned(), folder.display().to_string()];
    let words = [program]
        .into_iter()
        .chain(words.split_whitespace().map(str::to_owned));
    let mut setup = line(
        bottleneck(50 * MBIT, 20 * MS),
        flows("one", 0, 1, 1_000_000),
    );
    setup.path_box = PathBox::Command {
        words: words.chain(control).collect(),
    };
    let mut broken = setup.clone();
    broken.path_box = PathBox::Command {
        words: ["false".to_owned()].into(),
    };
    let plain = line(bottleneck(50 * MBIT, 20 * MS), flows("one", 0, 1, 100_000));
    let Some(observed) = run(&[setup, broken, plain]) else {
        return;
    };
    assert_eq!(observed[0].error, None);
    check(&observed[0].flows[0], 1_000_000, 0.16 + 0.04, 2.0);
    let error = observed[1].error.as_deref().unwrap_or_default();
    assert!(error.contains("`false` has ended"), "{error}");
    assert_eq!(observed[2].error, None);
}

#[test]
fn what_the_kernel_lacks_is_said_and_the_next_one_runs() {
    let good = line(bottleneck(50 * MBIT, 10 * MS), flows("one", 0, 1, 100_000));
    let mut bad = good.clone();
    bad.servers[0].congestion_control = "no_such".to_owned();
    let mut twice = good.clone();
    twice.pairs.push(twice.pairs[0].clone());
    let mut many = good.clone();
    many.flows[0].count = u32::MAX;
    let Some(observed) = run(&[bad, twice, good, many]) else {
        return;
    };
    let errors: Vec<_> = observed.iter().map(|o| o.error.as_deref()).collect();
    assert!(
        errors[0].is_some_and(|e| e.contains("modprobe tcp_no_such")),
        "{errors:?}"
    );
    assert!(
        errors[1].is_some_and(|e| e.contains("host of its own")),
        "{errors:?}"
    );
    assert_eq!(errors[2], None);
    assert!(
        errors[3].is_some_and(|e| e.contains("open files")),
        "{errors:?}"
    );
    check(&observed[2].flows[0], 100_000, 0.016 + 0.02, 1.0);
}
