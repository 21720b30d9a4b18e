//! Setups against what must come of them.

use windlass_cc::{Catalog, MILLISECOND, SECOND};
use windlass_engine::{AlgorithmId, Decide, Feedback, Limits, Side, Verdict};
use windlass_experiment::observed::Source;
use windlass_experiment::setup::{
    Bottleneck, Direction, FlowGroup, Host, Loss, Mtu, Pair, Transport, server_address,
};
use windlass_wire::FlowKey;

use windlass_experiment::Observed;
use windlass_experiment::setup::{PathBox, Setup};
use windlass_sim::{EngineBox, Middlebox, Nanos, NoBox};

use super::run::run;

fn group(name: &str, bytes: u64) -> FlowGroup {
    FlowGroup {
        name: name.to_owned(),
        pair: 0,
        pairs: 1,
        count: 1,
        bytes,
        sizes: None,
        start_ns: 0,
        at_once: 0,
        interval_ns: 0,
        write_bytes: 0,
        pause_ns: 0,
        congestion_control: None,
        transport: Transport::Tcp,
        background: false,
    }
}

/// One server and one client over 50 Mbit/s and 100 ms, no box, one transfer of 1.2 MB.
fn line() -> Setup {
    let down = Direction {
        rate_bits_per_s: 50_000_000,
        delay_ns: 0,
        jitter_ns: 0,
        loss: Loss::None,
        reorder_ratio: 0.0,
        reorder_extra_ns: 0,
        duplicate_ratio: 0.0,
        queue_bytes: 625_000,
        ecn_mark_bytes: None,
        drops_not_ect: false,
        ..Direction::default()
    };
    let up = Direction {
        rate_bits_per_s: 0,
        delay_ns: 100 * MILLISECOND,
        ..down
    };
    let bottleneck = Bottleneck {
        down,
        up,
        ..Bottleneck::default()
    };
    Setup {
        seed: 1,
        limit_ns: 60 * SECOND,
        ..Setup::line(bottleneck, vec![group("only", 1_200_000)])
    }
}

/// In front of which the engine stands.
fn boxed(mut setup: Setup) -> Setup {
    setup.path_box = PathBox::Windlass {
        policy: String::new(),
    };
    setup
}

fn lossy(mut setup: Setup, ratio: f64) -> Setup {
    setup.bottlenecks[0].down.loss = Loss::Independent { ratio };
    setup
}

fn bbr() -> Verdict {
    Verdict::enforce("bbr".parse::<AlgorithmId>().expect("an algorithm"))
}

fn over_wire(setup: &Setup) -> Observed {
    run(setup, &Catalog::new(), &mut NoBox::default(), None)
}

fn over_box(setup: &Setup, policy: impl Decide + 'static) -> Observed {
    run(
        setup,
        &Catalog::new(),
        &mut EngineBox::new(Box::new(policy), Limits::default(), setup.seed),
        None,
    )
}

#[test]
fn a_download_alone_is_as_fast_as_linux() {
    let observed = over_wire(&line());
    assert_eq!(observed.error, None);
    let [flow] = &observed.flows[..] else {
        panic!("{observed:?}");
    };
    assert!((0.84..0.87).contains(&flow.seconds), "{flow:?}");
    assert!(flow.intact && flow.received_bytes == 1_200_000);
    assert_eq!(flow.server_retransmitted_bytes, Some(0));
    assert_eq!(
        (flow.box_retransmitted_bytes, flow.held_packets_max),
        (None, None)
    );
    assert!(observed.counters.is_empty() && observed.series.is_empty());
    let down = observed.down[0];
    assert!(down.offered_packets > 829 && down.offered_packets == down.delivered_packets);
}

#[test]
fn an_mtu_of_9000_bytes_takes_a_sixth_of_the_packets() {
    let jumbo = Setup {
        mtu: Mtu::nearest(9000),
        ..lossy(boxed(line()), 0.1)
    };
    let observed = over_box(&jumbo, bbr());
    assert_eq!(observed.error, None);
    let flow = &observed.flows[0];
    assert!(
        flow.intact && flow.server_retransmitted_bytes == Some(0),
        "{flow:?}"
    );
    let down = observed.down[0];
    let packets = down.delivered_packets;
    assert!(
        (134..180).contains(&packets) && down.lost_packets > 0,
        "{down:?}"
    );
    assert!(
        flow.box_retransmitted_bytes
            .is_some_and(|bytes| bytes >= 8948)
    );
}

#[test]
fn the_box_repairs_what_the_server_never_hears_of() {
    let mut setup = lossy(boxed(line()), 0.03);
    setup.record.series_interval_ns = 50 * MILLISECOND;
    let observed = over_box(&setup, bbr());
    assert_eq!(observed.error, None);
    let flow = &observed.flows[0];
    let lost = observed.down[0].lost_packets;
    assert!(flow.intact && flow.seconds < 1.6, "{flow:?}");
    assert_eq!(flow.server_retransmitted_bytes, Some(0));
    let resent = flow.box_retransmitted_bytes.expect("governed");
    assert!(
        lost > 10 && resent >= (lost - 2) * 1448,
        "{lost} lost, {flow:?}"
    );
    assert!(flow.box_spurious_bytes < Some(resent / 4), "{flow:?}");
    assert!(flow.held_packets_max > Some(20), "{flow:?}");
    assert_eq!(observed.counters["flows_governed"], 1);
    let of = |source| {
        let mut series = observed.series.iter().filter(|s| s.source == source);
        series.next().expect("sampled").samples.clone()
    };
    let (server, inside) = (of(Source::Server), of(Source::Box));
    assert!(server.len() > 10 && inside.len() > 10);
    let (last, held) = (server.last().expect("some"), inside[8].held_packets);
    assert!(
        last.acked_bytes > Some(400_000) && last.srtt_ms > Some(100.0),
        "{last:?}"
    );
    assert!(held > Some(0) && inside[8].pacing_mbit_s.is_some());
    assert_eq!(flow.arrivals.last(), Some(&(flow.seconds, 1_200_000)));
}

#[test]
fn the_same_setup_gives_the_same_result() {
    let mut setup = lossy(boxed(line()), 0.02);
    setup.record.series_interval_ns = 10 * MILLISECOND;
    assert_eq!(over_box(&setup, bbr()), over_box(&setup, bbr()));
    let other = Setup {
        seed: 2,
        ..setup.clone()
    };
    assert_ne!(over_box(&setup, bbr()), over_box(&other, bbr()));
}

#[test]
fn groups_begin_in_turn_and_the_background_is_cut_off() {
    let mut setup = line();
    let mut background = group("competitor", 500_000_000);
    background.background = true;
    background.congestion_control = Some("reno".to_owned());
    let mut three = group("three", 300_000);
    three.count = 3;
    three.start_ns = SECOND;
    three.interval_ns = 200 * MILLISECOND;
    setup.flows = vec![background, three];
    let observed = over_wire(&setup);
    assert_eq!(observed.flows.len(), 4);
    let starts: Vec<f64> = observed.flows.iter().map(|f| f.start_s).collect();
    assert_eq!(starts, [0.0, 1.0, 1.2, 1.4]);
    let end = |f: &windlass_experiment::observed::FlowObserved| f.start_s + f.seconds;
    let last = observed.flows[1..].iter().map(end).fold(0.0, f64::max);
    let cut = &observed.flows[0];
    assert!((end(cut) - last).abs() < 1e-9, "{observed:?}");
    assert!(!cut.intact && cut.error.is_none() && cut.received_bytes > 5_000_000);
    assert!(observed.flows[1..].iter().all(|f| f.intact));
}

#[test]
fn an_application_that_pauses_takes_its_time() {
    let mut setup = line();
    setup.flows[0].write_bytes = 400_000;
    setup.flows[0].pause_ns = 2 * SECOND;
    let flow = &over_wire(&setup).flows[0];
    assert!((4.0..6.0).contains(&flow.seconds), "{flow:?}");
}

#[test]
fn policy_sees_the_addresses_of_the_hosts() {
    struct Second;
    impl Decide for Second {
        fn classify(&self, flow: &FlowKey, sender: Side, _: u64) -> Option<Verdict> {
            let governed = flow.src == server_address(1).into() && sender == Side::Inside;
            governed.then(bbr)
        }
    }
    let mut setup = lossy(boxed(line()), 0.02);
    setup.servers.push(Host::linux("reno"));
    setup.pairs.push(Pair {
        server: 1,
        ..setup.pairs[0].clone()
    });
    let second = FlowGroup {
        pair: 1,
        ..setup.flows[0].clone()
    };
    setup.flows.push(second);
    let observed = over_box(&setup, Second);
    let [first, second] = &observed.flows[..] else {
        panic!("{observed:?}");
    };
    assert_eq!(first.box_retransmitted_bytes, None);
    assert!(first.server_retransmitted_bytes > Some(0));
    assert!(second.box_retransmitted_bytes > Some(0));
    assert_eq!(second.server_retransmitted_bytes, Some(0));
}

#[test]
fn what_cannot_be_run_says_why() {
    let error = |change: &dyn Fn(&mut Setup)| {
        let mut setup = line();
        change(&mut setup);
        over_wire(&setup).error.expect("an error")
    };
    let said = error(&|s| s.servers[0].congestion_control = "vegaz".to_owned());
    let start = "congestion control of server 0: unknown algorithm \"vegaz\"; known: reno cubic";
    assert!(said.starts_with(start), "{said}");
    let words = vec!["cat".to_owned()];
    let said = error(&|s| {
        s.path_box = PathBox::Command {
            words: words.clone(),
        }
    });
    assert!(said.contains("netns or vm"), "{said}");
    let said = error(&|s| s.flows[0].transport = Transport::Quic);
    assert!(said.contains("netns and vm"), "{said}");
    let said = error(&|s| s.flows[0].pair = 7);
    assert!(said.contains("pair 7"), "{said}");
    let said = error(&|s| s.pairs[0].route = vec![0, 1]);
    assert!(said.contains("pair 0 crosses a bottleneck"), "{said}");
}

#[test]
fn the_time_limit_ends_a_run() {
    let mut setup = line();
    setup.limit_ns = SECOND / 2;
    let flow = &over_wire(&setup).flows[0];
    assert!(!flow.intact && flow.seconds == 0.5, "{flow:?}");
    let said = flow.error.as_deref().unwrap_or_default();
    assert!(said.contains("of 1200000 bytes"), "{said}");
}

#[test]
fn a_run_of_fixed_length_goes_on_to_its_limit_and_fails_nobody() {
    let mut setup = line();
    setup.limit_ns = 3 * SECOND;
    setup.fixed_length = true;
    let mut endless = group("endless", 500_000_000);
    endless.start_ns = SECOND;
    setup.flows.push(endless);
    let observed = over_wire(&setup);
    let [ended, endless] = &observed.flows[..] else {
        panic!("{observed:?}");
    };
    assert!(ended.intact && ended.seconds < 1.0, "{ended:?}");
    assert_eq!((endless.intact, &endless.error), (false, &None));
    assert_eq!(endless.seconds, 2.0);
    assert!(endless.received_bytes > 2_000_000, "{endless:?}");
}

#[test]
fn a_box_that_breaks_a_rule_is_told_of() {
    struct Forger;
    impl Middlebox for Forger {
        fn on_frame(
            &mut self,
            now: Nanos,
            from: Side,
            mut frame: Vec<u8>,
            out: &mut Vec<(Side, Vec<u8>)>,
        ) {
            let segment = windlass_wire::parse(&frame, frame.len() as u32).expect("TCP");
            if from == Side::Outside && now > SECOND / 2 {
                let mut editor = windlass_wire::Editor::new(&mut frame, &segment);
                editor.set_ack(segment.ack.wrapping_add(1448));
            }
            out.push((from.other(), frame));
        }

        fn poll_at(&self) -> Option<Nanos> {
            None
        }

        fn on_timer(&mut self, _now: Nanos, _out: &mut Vec<(Side, Vec<u8>)>) {}
    }
    let said = run(&boxed(line()), &Catalog::new(), &mut Forger, None)
        .error
        .expect("an error");
    assert!(said.contains("the receiver is at"), "{said}");
}

/// 1 Gbit/s and a round trip of 100 us. What waits in the box waits for less than a round trip, and the path is full.
#[test]
fn a_data_centre_is_not_given_the_queue_of_a_long_path() {
    let mut setup = boxed(line());
    setup.flows[0].bytes = 500_000_000;
    setup.limit_ns = SECOND / 4;
    setup.fixed_length = true;
    setup.measure.from_ns = SECOND / 20;
    setup.record.series_interval_ns = MILLISECOND;
    let bottleneck = &mut setup.bottlenecks[0];
    bottleneck.down.rate_bits_per_s = 1_000_000_000;
    bottleneck.up.delay_ns = 100_000;
    bottleneck.down.queue_bytes = 30_000;
    let reno = "reno".parse::<AlgorithmId>().expect("an algorithm");
    // As in a data centre.
    let reno = Verdict {
        feedback: Feedback::Boxes,
        ..Verdict::enforce(reno)
    };
    let observed = over_box(&setup, reno);
    assert_eq!(observed.error, None);
    let of = |source| {
        let series = observed.series.iter().find(|s| s.source == source);
        let samples = series.expect("sampled").samples[50..].iter();
        let mut rtts: Vec<f64> = samples.filter_map(|s| s.srtt_ms).collect();
        rtts.sort_by(f64::total_cmp);
        rtts[rtts.len() / 2]
    };
    let (sender, path) = (of(Source::Server), of(Source::Box));
    assert!(
        sender < path + 0.15,
        "{sender} ms, of which {path} ms are the path's"
    );
    let carried = observed.flows[0].received_bytes;
    assert!(
        carried > 28_000_000,
        "{carried} bytes in a quarter of a second"
    );
}
