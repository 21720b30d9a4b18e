//! What is held, and what is not, when memory is short; and the limits of what is remembered.

use windlass_cc::MILLISECOND;
use windlass_engine::{Limits, PassReason, Side};
use windlass_sim::HeapPool;
use windlass_wire::{Addr, Flags, OptionWriter};

use super::admission::{follows, syn};
use super::ends::{Bench, MSS, SECOND, SERVER_ISS, bbr};

/// What is held leaves packet memory for acknowledgements; what does not fit goes on all the same.
#[test]
fn memory_that_is_short_is_not_held() {
    let mut bench = Bench::new(bbr());
    bench.pool = HeapPool::with_limit(20);
    bench.handshake();
    for i in 0..18 {
        bench.server_data(1 + i * MSS, 1);
        bench.pass(SECOND / 1000);
        assert!(bench.engine.held_packets() <= 14);
    }
    let unheld = bench.engine.counters().unheld;
    assert_eq!((bench.engine.held_packets(), unheld), (14, 4));
    assert_eq!(bench.take(Side::Outside).len(), 18, "all of it went on");
    // The first is missing: the next ten are not held any more once they are SACKed.
    let mut ack = bench.spec(Side::Outside, Flags::ACK, 1, 1, 0);
    let block = [(SERVER_ISS + 1 + MSS, SERVER_ISS + 1 + 11 * MSS)];
    let sack: Vec<u8> = OptionWriter::new().nop().nop().sack(&block).into();
    ack.options.extend(sack);
    bench.put(Side::Outside, &ack);
    let freed = bench.engine.counters().sacked_freed;
    assert_eq!(bench.engine.held_packets() + freed, 14);
    assert_eq!(bench.pool.live(), 8, "until half of it is free");
    // A receiver that takes its word back is left to the sender: nobody else has the bytes.
    bench.pass(3 * SECOND);
    bench.server_data(1, 1);
    bench.client_ack(1 + MSS);
    bench.pass(5 * SECOND);
    assert!(bench.engine.counters().handed_back > 0);
    bench.out.clear();
    bench.server_data(1 + MSS, 1);
    assert_eq!(bench.take(Side::Outside).len(), 1, "the sender repairs");
}

/// What was SACKed while there was memory goes when there is none, the oldest first, before anything goes on without being held.
#[test]
fn what_was_sacked_before_goes_when_memory_is_short() {
    let mut bench = Bench::new(bbr());
    bench.pool = HeapPool::with_limit(40);
    bench.handshake();
    bench.server_data(1, 10);
    bench.pass(40 * MILLISECOND);
    let mut ack = bench.spec(Side::Outside, Flags::ACK, 1, 1, 0);
    let block = [(SERVER_ISS + 1 + MSS, SERVER_ISS + 1 + 10 * MSS)];
    let sack: Vec<u8> = OptionWriter::new().nop().nop().sack(&block).into();
    ack.options.extend(sack);
    bench.put(Side::Outside, &ack);
    let state = |bench: &Bench| {
        let counters = bench.engine.counters();
        (
            bench.engine.held_packets(),
            counters.sacked_freed,
            counters.unheld,
        )
    };
    assert_eq!(state(&bench), (10, 0, 0));
    bench.server_data(1 + 10 * MSS, 18);
    let (held, freed, unheld) = state(&bench);
    assert_eq!((held + freed, unheld), (28, 0));
    assert!(freed > 0, "{held} held");
    bench.server_data(1 + 28 * MSS, 12);
    assert_eq!(state(&bench).1, 9, "all that the receiver has");
}

/// Flows for which there is no room go back one after the other: what one held may be enough for the others.
#[test]
fn lack_of_room_does_not_hand_all_back_at_once() {
    const FLOWS: u32 = 8;
    let limits = Limits {
        held_packets_total: 16,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(bbr(), limits);
    let key = bench.key;
    let at = |bench: &mut Bench, flow: u32| bench.key.dst = Addr(key.dst.0 ^ u128::from(flow << 8));
    for flow in 0..FLOWS {
        at(&mut bench, flow);
        bench.handshake();
    }
    // One of which nobody acknowledges anything has it all.
    at(&mut bench, 0);
    bench.server_data(1, 16);
    let send = |bench: &mut Bench, segment: u32| {
        for flow in 1..FLOWS {
            at(bench, flow);
            bench.server_data(1 + segment * MSS, 1);
            bench.client_ack(1 + (segment + 1) * MSS);
        }
    };
    let gone = |bench: &Bench| bench.engine.counters().harmed_by_lack_of_room;
    for segment in 0..63 {
        send(&mut bench, segment);
    }
    assert_eq!(gone(&bench), 0);
    for more in 0..3 {
        send(&mut bench, 63 + more);
        assert_eq!(gone(&bench), u64::from(more + 1));
        bench.pass(3 * MILLISECOND);
    }
}

#[test]
fn new_connections_pass_while_memory_is_short() {
    let mut bench = Bench::new(bbr());
    bench.pool = HeapPool::with_limit(100);
    let packets: Vec<_> = (0..60).map(|_| bench.pool.insert(&[0; 60])).collect();
    bench.handshake();
    let passed = |bench: &Bench, why: PassReason| bench.engine.counters().passed[why as usize];
    assert_eq!(passed(&bench, PassReason::FrameLimit), 1);
    assert_eq!(bench.engine.flows().count(), 0);
    assert_eq!(follows(&mut bench), [true, false]);
    for pkt in packets {
        windlass_engine::Pool::free(&mut bench.pool, pkt.expect("room"));
    }
    bench.engine.set_memory_full(true);
    let frame = syn(&bench, 7 << 8);
    bench.put_frame(Side::Outside, &frame);
    assert_eq!(passed(&bench, PassReason::MemoryLimit), 1);
    assert_eq!(bench.engine.connections(), 1);
    bench.engine.set_memory_full(false);
    bench.put_frame(Side::Outside, &frame);
    assert_eq!(bench.engine.connections(), 2);
}

/// Packets of a batch are looked up before any is worked on: one of them may make the connection of another leave its place.
#[test]
fn a_packet_finds_its_connection_where_it_is_by_then() {
    let limits = Limits {
        half_open: 1,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(bbr(), limits);
    let batch = |bench: &mut Bench, frames: &[(Side, Vec<u8>)]| {
        let (now, side) = (bench.now, frames[0].0);
        let pkts = frames.iter().map(|(_, frame)| bench.pool.insert(frame));
        let pkts: Vec<_> = pkts.map(|pkt| pkt.expect("no limit")).collect();
        let mut out = Vec::new();
        let (engine, pool) = (&mut bench.engine, &mut bench.pool);
        engine.on_packets(now, side, &pkts, pool, &mut out);
        out.len()
    };
    let first = bench.syn(Side::Outside, Flags::SYN, 0).build();
    bench.put_frame(Side::Outside, &first);
    // The SYN of another connection takes its place, before it comes again.
    let other = syn(&bench, 7 << 8);
    let frames = [(Side::Outside, other), (Side::Outside, first)];
    assert_eq!(batch(&mut bench, &frames), 2);
    assert_eq!(bench.engine.counters().half_open_evicted, 2);
    // Its answer makes more of it than a handshake, which is then somewhere else in memory.
    bench.put(
        Side::Inside,
        &bench.syn(Side::Inside, Flags::SYN.with(Flags::ACK), 1),
    );
    let third = bench.spec(Side::Outside, Flags::ACK, 1, 1, 0).build();
    let data = bench.spec(Side::Outside, Flags::ACK, 1, 1, 100).build();
    let frames = [(Side::Outside, third), (Side::Outside, data)];
    assert_eq!(batch(&mut bench, &frames), 2);
    assert_eq!(bench.engine.flows().count(), 1);
    assert_eq!(bench.engine.counters().known_data, 0);
    assert_eq!(bench.engine.connections(), 1);
}

/// Records of segments are bounded over all connections, with their packets or without: a flow that needs one more passes, and what
/// it had is free for others.
#[test]
fn records_of_segments_have_a_limit() {
    for verdict in [bbr(), bbr().held_out()] {
        let limits = Limits {
            segments_total: 20,
            ..Limits::default()
        };
        let mut bench = Bench::with_limits(verdict, limits);
        let passed =
            |bench: &Bench| bench.engine.counters().passed[PassReason::SegmentLimit as usize];
        bench.handshake();
        bench.server_data(1, 12);
        let first = bench.key;
        bench.key.dst = Addr(bench.key.dst.0 ^ 0x1000);
        bench.handshake();
        bench.server_data(1, 8);
        assert_eq!(passed(&bench), 0);
        bench.server_data(1 + 8 * MSS, 1);
        bench.client_ack(1 + 9 * MSS);
        assert_eq!(passed(&bench), 1);
        bench.key = first;
        bench.server_data(1 + 12 * MSS, 8);
        bench.client_ack(1 + 20 * MSS);
        assert_eq!(passed(&bench), 1, "there is room again");
    }
}

/// An ACK that waits here takes a frame too. Where there is no room for it, it is shown at once.
#[test]
fn an_ack_that_waits_is_held() {
    let held_with = |held_packets_per_prefix| {
        let limits = Limits {
            held_packets_per_prefix,
            ..Limits::default()
        };
        let mut bench = Bench::with_limits(bbr(), limits);
        bench.handshake();
        bench.server_data(1, 8);
        bench.pass(40 * MILLISECOND);
        bench.take(Side::Inside);
        let (mut waiting, mut at_once) = (0, 0);
        for acked in 1..=4 {
            bench.client_ack(1 + acked * MSS);
            let data = u64::from(8 - acked);
            waiting += bench.engine.held_packets().saturating_sub(data);
            at_once += bench.take(Side::Inside).len();
            bench.pass(MILLISECOND);
            bench.take(Side::Inside);
        }
        (waiting, at_once)
    };
    let (waiting, at_once) = held_with(1 << 10);
    let (none, more) = held_with(1);
    assert!(waiting > 0 && none == 0, "{waiting} and {none} wait");
    assert!(more > at_once, "{at_once} and {more} are shown at once");
}
