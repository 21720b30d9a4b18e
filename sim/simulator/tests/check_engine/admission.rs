//! Who is admitted: handshakes under way, memory that is short, and which packets are asked for.

use windlass_cc::Catalog;
use windlass_engine::{Decide, Engine, Limits, Nanos, PassReason, Side, Ungoverned, Verdict};
use windlass_wire::{Addr, Flags, FlowKey};

use super::ends::{Bench, MSS, SECOND, bbr};

pub(super) fn syn(bench: &Bench, client: u32) -> Vec<u8> {
    let mut spec = bench.spec(Side::Outside, Flags::SYN, 0, 0, 0);
    let prefix = u128::from(client >> 8) << 8;
    spec.key = FlowKey {
        src: Addr(0xffff_0a00_0000 + prefix + u128::from(client & 0xff)),
        ..spec.key
    };
    spec.build()
}

/// A flood of SYNs costs a bounded number of connections, and its oldest go first; nobody who has
/// finished a handshake is forgotten for it.
#[test]
fn handshakes_under_way_are_limited() {
    let limits = Limits {
        half_open: 100,
        half_open_per_prefix: 50,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(bbr(), limits);
    bench.handshake();
    for client in 0..1000 {
        let frame = syn(&bench, client << 8);
        bench.put_frame(Side::Outside, &frame);
    }
    assert_eq!(bench.out.len(), 1000, "all of them go on");
    assert_eq!(bench.engine.connections(), 101);
    assert_eq!(bench.engine.counters().half_open_evicted, 900);
    assert_eq!(bench.engine.flows().count(), 1, "the one that is open");
    bench.out.clear();
    // Many of one prefix take no place from others.
    for client in 0..200 {
        let frame = syn(&bench, 0xff_0000 + client);
        bench.put_frame(Side::Outside, &frame);
    }
    let refused = bench.engine.counters().passed[PassReason::HandshakeLimit as usize];
    assert_eq!(refused, 150);
    assert_eq!(bench.engine.counters().half_open_evicted, 950);
    bench.pass(80 * SECOND);
    assert_eq!(bench.engine.connections(), 1, "the rest is forgotten");
}

/// Whoever sends two SYNs of a name gets no better place by that, though his handshake takes more memory.
#[test]
fn the_oldest_goes_first_whatever_it_takes() {
    let limits = Limits {
        half_open: 2,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(bbr(), limits);
    let mut again = bench.syn(Side::Outside, Flags::SYN, 0);
    bench.key.dst = Addr(bench.key.dst.0 ^ 0x1000);
    again.key = bench.key.reversed();
    bench.put(Side::Outside, &again);
    again.seq = again.seq.wrapping_add(5_000);
    bench.put(Side::Outside, &again);
    // The true one has come since, and is not answered yet when another comes.
    bench.key.dst = Addr(bench.key.dst.0 ^ 0x1000);
    bench.pass(SECOND / 100);
    bench.put(Side::Outside, &bench.syn(Side::Outside, Flags::SYN, 0));
    bench.pass(SECOND / 100);
    let other = syn(&bench, 7 << 8);
    bench.put_frame(Side::Outside, &other);
    assert_eq!(bench.engine.counters().half_open_evicted, 1);
    let both = Flags::SYN.with(Flags::ACK);
    bench.put(Side::Inside, &bench.syn(Side::Inside, both, 1));
    bench.client_ack(1);
    assert_eq!(bench.engine.flows().count(), 1);
}

/// Handshakes that take long are not waited for while there are many.
#[test]
fn under_a_flood_handshakes_have_ten_seconds() {
    let limits = Limits {
        half_open: 100,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(bbr(), limits);
    for client in 0..20 {
        let frame = syn(&bench, client << 8);
        bench.put_frame(Side::Outside, &frame);
    }
    assert!(!bench.engine.is_pressed());
    bench.pass(SECOND);
    for client in 20..40 {
        let frame = syn(&bench, client << 8);
        bench.put_frame(Side::Outside, &frame);
    }
    assert!(bench.engine.is_pressed());
    let at = bench.now + 9 * SECOND + SECOND / 2;
    let timer = |bench: &mut Bench, at: Nanos| {
        bench.engine.on_timer(at, &mut bench.pool, &mut Vec::new());
    };
    timer(&mut bench, at);
    assert_eq!(bench.engine.connections(), 20, "the first were too slow");
    assert!(bench.engine.is_pressed(), "it is not over yet");
    timer(&mut bench, at + SECOND);
    assert_eq!(bench.engine.connections(), 0);
    assert!(!bench.engine.is_pressed());
}

/// One prefix does not fill the table, and its places come back.
#[test]
fn a_prefix_has_a_share_of_the_table() {
    let limits = Limits {
        flows_per_prefix: 50,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(bbr(), limits);
    for client in 0..200 {
        let frame = syn(&bench, 0xff_0000 + client);
        bench.put_frame(Side::Outside, &frame);
    }
    let passed = |bench: &Bench| bench.engine.counters().passed[PassReason::FlowLimit as usize];
    assert_eq!((bench.engine.connections(), passed(&bench)), (50, 150));
    bench.handshake();
    assert_eq!(bench.engine.connections(), 51, "of another prefix");
    bench.pass(80 * SECOND);
    let frame = syn(&bench, 0xff_0000);
    bench.put_frame(Side::Outside, &frame);
    assert_eq!((bench.engine.connections(), passed(&bench)), (2, 150));
}

/// Clients of one prefix that acknowledge nothing leave frames to others, and have theirs again when they do. An engine
/// that goes on with the connections knows what each prefix holds.
#[test]
fn a_prefix_has_a_share_of_what_is_held() {
    let limits = Limits {
        held_packets_per_prefix: 5,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(bbr(), limits);
    let unheld = |bench: &Bench| {
        let counters = bench.engine.counters();
        (counters.unheld, counters.unheld_of_prefix)
    };
    bench.handshake();
    bench.server_data(1, 8);
    assert_eq!((bench.engine.held_packets(), unheld(&bench)), (5, (3, 3)));
    let silent = bench.key;
    bench.key.dst = Addr(bench.key.dst.0 ^ 0x1000);
    bench.handshake();
    bench.server_data(1, 4);
    assert_eq!((bench.engine.held_packets(), unheld(&bench)), (9, (3, 3)));
    let state = bench.engine.export();
    let policy = Box::new(bbr());
    let imported = Engine::import(&state, policy, &Catalog::new(), limits, bench.now);
    bench.engine = imported.expect("of this very program").0;
    bench.server_data(1 + 4 * MSS, 2);
    assert_eq!(unheld(&bench), (1, 1), "the counters of another process");
    bench.key = silent;
    bench.client_ack(1 + 8 * MSS);
    assert_eq!(bench.engine.held_packets(), 5);
    bench.server_data(1 + 8 * MSS, 4);
    assert_eq!((bench.engine.held_packets(), unheld(&bench)), (9, (1, 1)));
}

/// A SYN-ACK and one ACK with wrong numbers do not make a connection; the third ACK does.
#[test]
fn only_the_third_ack_opens() {
    let limits = Limits {
        half_open: 1,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(bbr(), limits);
    bench.handshake();
    let frame = syn(&bench, 7 << 8);
    bench.put_frame(Side::Outside, &frame);
    assert_eq!(bench.engine.connections(), 2, "the first is open");
}

pub(super) fn follows(bench: &mut Bench) -> Vec<bool> {
    let mut told = Vec::new();
    let key = bench.key.canonical().0;
    bench.engine.take_follows(|named, number| {
        assert_eq!(named, key);
        told.push(number.is_some());
    });
    told
}

/// A SYN with a forged source, and its answer, cost no flow.
#[test]
fn flows_begin_with_what_follows_the_syns() {
    let mut bench = Bench::new(bbr());
    bench.syns();
    assert_eq!(bench.engine.connections(), 1);
    assert_eq!(bench.engine.flows().count(), 0);
    bench.client_ack(7);
    assert_eq!(
        bench.engine.flows().count(),
        0,
        "an ACK of what was not sent"
    );
    bench.client_ack(1);
    assert_eq!(bench.engine.flows().count(), 1);
    assert_eq!(bench.engine.counters().flows_governed, 1);
}

#[test]
fn packets_are_asked_for_from_the_first_syn_until_the_connection_is_forgotten() {
    let mut bench = Bench::new(bbr());
    bench.syns();
    assert_eq!(follows(&mut bench), [true]);
    bench.client_ack(1);
    bench.server_data(1, 3);
    assert_eq!(follows(&mut bench), [] as [bool; 0]);
    let reset = bench.spec(Side::Outside, Flags::RST.with(Flags::ACK), 1, 1, 0);
    bench.put(Side::Outside, &reset);
    assert_eq!(follows(&mut bench), [] as [bool; 0], "it lingers");
    bench.pass(20 * SECOND);
    assert_eq!(bench.engine.connections(), 0);
    assert_eq!(follows(&mut bench), [false]);
}

struct NobodyIsGoverned;

impl Decide for NobodyIsGoverned {
    fn classify(&self, _: &FlowKey, _: Side, _: Nanos) -> Option<Verdict> {
        None
    }
}

/// Accurate ECN passes for good. Where policy counts it against a cap, its packets are wanted here all the same.
#[test]
fn packets_of_what_is_limited_are_asked_for() {
    for (ungoverned, told) in [
        (Ungoverned::Pass, &[true, false][..]),
        (Ungoverned::Limit, &[true][..]),
    ] {
        let mut bench = Bench::new(Verdict {
            ungoverned,
            ..bbr()
        });
        let asks = Flags::SYN.with(Flags::AE).with(Flags::CWR).with(Flags::ECE);
        bench.put(Side::Outside, &bench.syn(Side::Outside, asks, 0));
        let agrees = Flags::SYN.with(Flags::ACK).with(Flags::CWR);
        bench.put(Side::Inside, &bench.syn(Side::Inside, agrees, 1));
        bench.client_ack(1);
        bench.server_data(1, 3);
        assert_eq!(follows(&mut bench), told, "{ungoverned:?}");
        assert_eq!(
            bench.engine.counters().passed[PassReason::AccEcn as usize],
            5
        );
        assert_eq!(
            bench.engine.counters().ungoverned_dropped,
            0,
            "there is no cap"
        );
    }
}

/// What passes for good is asked for no more; a new connection of the same name is.
#[test]
fn packets_of_what_passes_are_not_asked_for() {
    let mut bench = Bench::new(NobodyIsGoverned);
    bench.syns();
    assert_eq!(follows(&mut bench), [true, false]);
    let policy = |bench: &Bench| bench.engine.counters().passed[PassReason::Policy as usize];
    assert_eq!(policy(&bench), 1);
    // It ended unseen, and its name is used again.
    bench.pass(20 * SECOND);
    let again = bench.syn(Side::Outside, Flags::SYN, 0);
    let again = windlass_wire::FrameSpec {
        seq: again.seq.wrapping_add(5_000_000),
        ..again
    };
    bench.put(Side::Outside, &again);
    assert_eq!(follows(&mut bench), [true]);
    assert_eq!(bench.engine.connections(), 1);
    bench.pass(80 * SECOND);
    assert_eq!(
        bench.engine.connections(),
        0,
        "nobody waits two hours for it"
    );
    assert_eq!(follows(&mut bench), [false]);
}
