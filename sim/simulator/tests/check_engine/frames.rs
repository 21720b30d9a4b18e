//! Frames of other kinds.

use windlass_engine::{PassReason, Side, TxChecksum};
use windlass_wire::{ChecksumState, Flags, FlowKey, OptionWriter, parse, verify_tcp};

use super::ends::{Bench, CLIENT_ISS, MS, MSS, SERVER_ISS, bbr};

fn passed(bench: &Bench, reason: PassReason) -> u64 {
    bench.engine.counters().passed[reason as usize]
}

/// Fragments, other protocols, and headers that lie about themselves leave as they came.
#[test]
fn what_is_not_understood_is_untouched() {
    let mut bench = Bench::new(bbr());
    bench.handshake();
    let whole = bench.spec(Side::Inside, Flags::ACK, 1, 1, 100).build();
    let changed = |at: usize, byte: u8| {
        let mut frame = whole.clone();
        frame[at] = byte;
        frame
    };
    // Ethernet 14: the type at 12, IPv4's length at 16, fragment at 20, protocol at 23, TCP's
    // offset at 46.
    let cases = [
        (changed(20, 0x20), PassReason::Fragment),
        (changed(23, 17), PassReason::NotTcp),
        (changed(12, 0x88), PassReason::NotIp),
        (changed(16, 0xff), PassReason::Malformed),
        (changed(46, 0x10), PassReason::Malformed),
        (changed(47, 0x11), PassReason::BadChecksum),
        // Time to live: every router and host drops it for the checksum of its IPv4 header.
        (changed(22, 1), PassReason::BadChecksum),
    ];
    for (frame, reason) in cases {
        let before = passed(&bench, reason);
        bench.put_frame(Side::Inside, &frame);
        let out = std::mem::take(&mut bench.out);
        assert_eq!(out.len(), 1, "{reason:?}");
        assert_eq!((out[0].0, &out[0].1), (Side::Outside, &frame), "{reason:?}");
        assert_eq!(passed(&bench, reason), before + 1, "{reason:?}");
    }
    assert_eq!(bench.engine.held_packets(), 0);
}

/// One and two tags: the flow is governed, and what the box makes itself carries the tags.
#[test]
fn vlan_tags_are_kept() {
    for (vlan, inner_vlan) in [(100, 0), (200, 300)] {
        let mut bench = Bench::new(bbr());
        bench.key = FlowKey {
            vlan,
            inner_vlan,
            ..bench.key
        };
        bench.handshake();
        bench.server_data(1, 5);
        bench.pass(50 * MS);
        // A tail probe of the server's is absorbed, and reported in an ACK of the box's own.
        bench.server_data(1 + 4 * MSS, 1);
        bench.pass(50 * MS);
        bench.out.clear();
        bench.client_ack(1 + 5 * MSS);
        let shown = bench.take(Side::Inside);
        assert_eq!(bench.engine.counters().acks_made, 1);
        let (segment, frame) = &shown[0];
        assert_eq!(segment.key, bench.key.reversed());
        assert_eq!(segment.ack, SERVER_ISS + 1 + 5 * MSS);
        let block = segment.options.sack.iter().next();
        let probe = SERVER_ISS + 1 + 4 * MSS;
        assert_eq!(block, Some((probe, probe + MSS)));
        assert!(verify_tcp(frame, segment));
    }
}

/// A partial checksum stays partial through holding, refreshing, rewriting and repair, and is right
/// once it is completed.
#[test]
fn partial_checksums_stay_partial() {
    let mut bench = Bench::new(bbr());
    bench.partial = true;
    bench.handshake();
    bench.server_data(1, 12);
    assert_eq!(bench.out.len(), 10);
    bench.pass(50 * MS);
    // The server acknowledges something: what is held will repeat it.
    bench.put(
        Side::Outside,
        &bench.spec(Side::Outside, Flags::ACK, 1, 1, 300),
    );
    bench.put(
        Side::Inside,
        &bench.spec(Side::Inside, Flags::ACK, 1 + 12 * MSS, 301, 0),
    );
    bench.pass(50 * MS);
    let mut ack = bench.spec(Side::Outside, Flags::ACK, 301, 1 + MSS, 0);
    let start = SERVER_ISS + 1;
    let block = [(start + 2 * MSS, start + 6 * MSS)];
    let sack: Vec<u8> = OptionWriter::new().nop().nop().sack(&block).into();
    ack.options.extend(sack);
    bench.put(Side::Outside, &ack);
    bench.pass(10 * MS);
    assert!(bench.engine.counters().repaired >= 1);
    for (to, frame, checksum) in &bench.out {
        let made = windlass_wire::parse(frame, frame.len() as u32).expect("a segment");
        if made.checksum == ChecksumState::Partial {
            assert_eq!(
                *checksum,
                TxChecksum::Partial {
                    start: 34,
                    offset: 16
                },
                "{to:?}"
            );
        } else {
            assert_eq!(*checksum, TxChecksum::Done);
        }
    }
    let to_client = bench.take(Side::Outside);
    let mut repaired = to_client.iter().filter(|(s, _)| s.seq == start + MSS);
    let (again, _) = repaired.next_back().expect("sent twice");
    assert_eq!(again.ack, CLIENT_ISS + 301);
    for (segment, frame) in to_client.iter().chain(&bench.take(Side::Inside)) {
        assert!(verify_tcp(frame, segment), "{segment:?}");
    }
}

/// Bypass in mid-flow: what waits leaves in order, nothing stays held, everything passes from then
/// on, and still does when the bypass ends, until the other end has been seen too.
#[test]
fn bypass_lets_go_of_everything() {
    let mut bench = Bench::new(bbr());
    bench.handshake();
    bench.server_data(1, 14);
    let before = bench.take(Side::Outside).len();
    assert!(before < 14);
    let mut txs = Vec::new();
    bench
        .engine
        .set_bypass(true, bench.now, &mut bench.pool, &mut txs);
    let mut seqs = Vec::new();
    for tx in txs {
        let frame = bench.pool.take(tx.pkt);
        let segment = windlass_wire::parse(&frame, frame.len() as u32).expect("a segment");
        seqs.push((segment.seq - SERVER_ISS - 1) / MSS);
    }
    let rest: Vec<u32> = (before as u32..14).collect();
    assert_eq!(seqs, rest);
    assert_eq!((bench.engine.held_packets(), bench.pool.live()), (0, 0));
    for on in [true, false] {
        bench
            .engine
            .set_bypass(on, bench.now, &mut bench.pool, &mut Vec::new());
        bench.pass(10 * MS);
        let mut ack = bench.spec(Side::Outside, Flags::ACK, 1, 1 + MSS, 0);
        let block = [(SERVER_ISS + 1 + 2 * MSS, SERVER_ISS + 1 + 3 * MSS)];
        let sack: Vec<u8> = OptionWriter::new().nop().nop().sack(&block).into();
        ack.options.extend(sack);
        bench.put(Side::Outside, &ack);
        let out = std::mem::take(&mut bench.out);
        assert_eq!(out.len(), 1);
        assert_eq!(out[0].1, ack.build());
    }
    let reasons = [PassReason::Bypass, PassReason::OutOfSight];
    assert_eq!(reasons.map(|reason| passed(&bench, reason)), [1, 1]);
}

/// Who ends a connection during a bypass has ended what is known of it.
#[test]
fn a_connection_that_is_reset_in_a_bypass_is_forgotten() {
    let mut bench = Bench::new(bbr());
    bench.handshake();
    let bypass = |bench: &mut Bench, on| {
        let (now, pool) = (bench.now, &mut bench.pool);
        bench.engine.set_bypass(on, now, pool, &mut Vec::new());
    };
    bypass(&mut bench, true);
    assert_eq!(bench.engine.connections(), 1);
    let everybody = bench.engine.forget_renamed((0, 10), |_| true);
    assert_eq!((everybody, bench.engine.connections()), (0, 1));
    let reset = bench.spec(Side::Outside, Flags::RST, 1, 1, 0);
    bench.put(Side::Outside, &reset);
    assert_eq!(bench.engine.connections(), 0);
    bypass(&mut bench, false);

    let mut bench = Bench::new(bbr());
    bench.handshake();
    bypass(&mut bench, true);
    bypass(&mut bench, false);
    bench.engine.forget_renamed((0, 10), |_| false);
    assert_eq!(bench.engine.connections(), 0);
}

/// A segment of the server's whose right checksum is what a partial one would be, and then a bit of its payload is flipped: it looks
/// partial. One of 65,536 damaged segments is like that.
fn looks_partial_by_chance(bench: &Bench, seq: u32) -> Vec<u8> {
    let mut spec = bench.spec(Side::Inside, Flags::ACK, seq, 1, MSS);
    let partial = spec.build_partial();
    let found = (0..=u16::MAX).find_map(|word| {
        spec.payload[..2].copy_from_slice(&word.to_be_bytes());
        let frame = spec.build();
        (frame[50..52] == partial[50..52]).then_some(frame)
    });
    let mut frame = found.expect("one of all");
    let state = |frame: &[u8]| parse(frame, frame.len() as u32).map(|s| s.checksum);
    assert_eq!(state(&frame), Ok(ChecksumState::Full));
    *frame.last_mut().expect("payload") ^= 1;
    assert_eq!(state(&frame), Ok(ChecksumState::Partial));
    frame
}

/// Where an end completes its checksums, one that looks partial is damage: to complete it would make wrong bytes look right.
#[test]
fn damage_that_looks_like_a_partial_checksum_is_not_believed() {
    let mut bench = Bench::new(bbr());
    bench.handshake();
    bench.server_data(1, 9);
    bench.pass(50 * MS);
    bench.client_ack(1 + 9 * MSS);
    bench.out.clear();
    for _ in 0..2 {
        let damaged = looks_partial_by_chance(&bench, 1 + 9 * MSS);
        let held = bench.engine.held_packets();
        bench.put_frame(Side::Inside, &damaged);
        let out = std::mem::take(&mut bench.out);
        assert_eq!(out, [(Side::Outside, damaged, TxChecksum::Done)]);
        assert_eq!(bench.engine.held_packets(), held);
        bench.server_data(1 + 9 * MSS, 9);
        bench.out.clear();
    }
    assert_eq!(passed(&bench, PassReason::BadChecksum), 2);
}

/// An end whose interface completes no checksums any more: one segment is doubted, and no other.
#[test]
fn an_end_may_begin_to_leave_checksums_partial() {
    let mut bench = Bench::new(bbr());
    bench.handshake();
    bench.server_data(1, 9);
    bench.pass(50 * MS);
    bench.client_ack(1 + 9 * MSS);
    bench.partial = true;
    bench.server_data(1 + 9 * MSS, 9);
    assert_eq!(passed(&bench, PassReason::BadChecksum), 1);
    assert!(bench.engine.held_packets() >= 8);
}
