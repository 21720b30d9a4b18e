//! What changes while a connection is under way: its neighbours' addresses, and what a sender says of a segment.

use windlass_engine::{Decide, Feedback, Side, Verdict};
use windlass_sim::Nanos;
use windlass_wire::{Flags, FlowKey, FrameSpec, MarkedBytes, OptionWriter, PeerOption};

use super::ends::{Bench, CLIENT_ISS, MS, MSS, SECOND, SERVER_ISS, bbr};

const NEW_MAC: [u8; 6] = [2, 0, 0, 0, 0, 0x77];

/// The router in front of the client fails over, and the client's packets come to the server's new address: from then on the
/// box's own ACKs have these addresses, too.
#[test]
fn acks_of_the_box_follow_a_change_of_addresses() {
    let mut bench = Bench::new(bbr());
    bench.handshake();
    bench.server_data(1, 10);
    bench.pass(100 * MS);
    bench.client_ack(1 + 2 * MSS);
    bench.pass(MS / 2);
    let mut ack = bench.spec(Side::Outside, Flags::ACK, 1, 1 + 4 * MSS, 0);
    (ack.src_mac, ack.dst_mac) = (NEW_MAC, [2, 0, 0, 0, 0, 0x78]);
    bench.put(Side::Outside, &ack);
    bench.out.clear();
    // This ACK waits. The server does not know it, and is answered by the box.
    bench.server_data(1 + 2 * MSS, 1);
    let answers = bench.take(Side::Inside);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].1[..12], [ack.dst_mac, ack.src_mac].concat()[..]);
}

/// A sender sends a held segment again, with other bytes: whatever was wrong with the first, the newest is repaired. It keeps the
/// timestamp of the first.
#[test]
fn the_newest_copy_of_a_segment_is_repaired() {
    let mut bench = Bench::new(bbr());
    bench.handshake();
    bench.server_data(1, 10);
    bench.pass(20 * MS);
    let again = FrameSpec {
        payload: vec![0x33; MSS as usize],
        ..bench.spec(Side::Inside, Flags::ACK, 1, 1, MSS)
    };
    bench.put(Side::Inside, &again);
    assert_eq!(bench.engine.counters().sender_retransmissions_absorbed, 1);
    bench.out.clear();
    let mut ack = bench.spec(Side::Outside, Flags::ACK, 1, 1, 0);
    let block = [(SERVER_ISS + 1 + MSS, SERVER_ISS + 1 + 10 * MSS)];
    let sack: Vec<u8> = OptionWriter::new().nop().nop().sack(&block).into();
    ack.options.extend(sack);
    bench.put(Side::Outside, &ack);
    bench.pass(20 * MS);
    let (repair, frame) = bench.take(Side::Outside).remove(0);
    assert_eq!(repair.seq, SERVER_ISS + 1);
    assert_eq!(frame[frame.len() - MSS as usize..], again.payload[..]);
    let stamps = repair.options.timestamps.expect("they were agreed");
    assert_eq!(stamps.val, 101, "of the first, at 100 ms");
}

/// A governed guest, and another box that has said hello.
fn two_boxes() -> Bench {
    let mut bench = Bench::new(Verdict {
        feedback: Feedback::Boxes,
        ..bbr()
    });
    let mut hello = bench.syn(Side::Outside, Flags::SYN, 0);
    extend(&mut hello, PeerOption::Hello);
    bench.put(Side::Outside, &hello);
    let both = Flags::SYN.with(Flags::ACK);
    bench.put(Side::Inside, &bench.syn(Side::Inside, both, 1));
    bench.pass(100 * MS);
    bench
}

fn extend(spec: &mut FrameSpec, says: PeerOption) {
    let (bytes, count) = says.bytes();
    spec.options.extend(&bytes[..count]);
}

fn report(bench: &Bench, ack: u32, counts: MarkedBytes) -> FrameSpec {
    let mut spec = bench.spec(Side::Outside, Flags::ACK, 1, ack, 0);
    extend(&mut spec, PeerOption::Report(counts));
    spec
}

/// Somebody who has not seen the SYNs cannot write a report that is believed, even with acceptable numbers; nor does one count that
/// names more than can have arrived.
#[test]
fn a_report_must_be_masked_and_plausible() {
    let mut bench = two_boxes();
    let masked = |counts: MarkedBytes| counts.masked(CLIENT_ISS, SERVER_ISS);
    let none = MarkedBytes::default();
    bench.put(Side::Outside, &report(&bench, 1, masked(none)));
    assert_eq!(bench.engine.counters().peers_found, 1);
    bench.server_data(1, 8);
    bench.pass(10 * MS);
    let arrived = |total, ce| MarkedBytes { total, ce };
    let heard = |bench: &Bench| {
        let counters = bench.engine.counters();
        (counters.marked_bytes_heard, counters.reports_refused)
    };
    let bare = report(&bench, 1 + MSS, arrived(MSS, MSS));
    bench.put(Side::Outside, &bare);
    assert_eq!(heard(&bench), (0, 1), "it is not masked");
    let too_many = report(&bench, 1 + MSS, masked(arrived(40 * MSS, MSS)));
    bench.put(Side::Outside, &too_many);
    assert_eq!(heard(&bench), (0, 2), "forty times what was sent");
    let right = report(&bench, 1 + 2 * MSS, masked(arrived(2 * MSS, MSS)));
    bench.put(Side::Outside, &right);
    assert_eq!(heard(&bench), (u64::from(MSS), 2));
}

/// Reports in packets of the box's own follow a change of addresses.
#[test]
fn reports_follow_a_change_of_addresses() {
    let mut bench = two_boxes();
    let none = MarkedBytes::default().masked(CLIENT_ISS, SERVER_ISS);
    bench.put(Side::Outside, &report(&bench, 1, none));
    let mut alone = 0;
    for i in 0..8 {
        let data = bench.spec(Side::Outside, Flags::ACK, 1 + 2 * i * MSS, 1, MSS);
        bench.put(Side::Outside, &data);
        let next = bench.spec(Side::Outside, Flags::ACK, 1 + (2 * i + 1) * MSS, 1, MSS);
        bench.put(Side::Outside, &next);
        bench.out.clear();
        let before = bench.engine.counters().reports_alone;
        // No room for an option: a full segment.
        let full = bench.spec(
            Side::Inside,
            Flags::ACK,
            1 + i * MSS,
            1 + (2 * i + 2) * MSS,
            MSS,
        );
        let full = FrameSpec {
            dst_mac: if i < 4 { full.dst_mac } else { NEW_MAC },
            ..full
        };
        bench.put(Side::Inside, &full);
        if bench.engine.counters().reports_alone > before && i >= 4 {
            alone += 1;
            for (segment, frame) in bench.take(Side::Outside) {
                let own = segment.payload_len == 0;
                assert!(!own || frame[..6] == NEW_MAC, "{:?}", &frame[..12]);
            }
        }
    }
    assert!(alone > 0, "there was a report of the box's own");
    bench.pass(SECOND);
}

/// The server tells its client by another way how much room there is. What the client sends goes beyond what the box knows of that, and
/// shows the server the client's own window: from there on the box shows none. One byte asks whether there is room, and old data ask
/// for nothing.
#[test]
fn a_client_that_knows_of_more_room_is_left_alone() {
    // The server has said 2,048 units of 128 bytes with its data.
    const EDGE: u32 = 1 + (2048 << 7);
    let left_alone = |len: u32, ahead: u32, old: bool| {
        let mut bench = Bench::new(bbr());
        bench.handshake();
        bench.server_data(1, 4);
        bench.pass(40 * MS);
        bench.client_ack(1 + 2 * MSS);
        let mut data = bench.spec(
            Side::Outside,
            Flags::ACK,
            EDGE - 1 + ahead,
            1 + 2 * MSS,
            len,
        );
        if old {
            data.options = OptionWriter::new()
                .nop()
                .nop()
                .timestamps(windlass_wire::Timestamps { val: 0, ecr: 1 })
                .into();
        }
        bench.put(Side::Outside, &data);
        bench.engine.flows().all(|flow| flow.pass.is_some())
    };
    assert!(left_alone(1000, 1, false));
    assert!(left_alone(1000, 1 << 23, false));
    assert!(!left_alone(1000, 1 << 25, false), "somebody guesses");
    assert!(
        !left_alone(1000, 1, true),
        "the server looks at its timestamp first"
    );
}

/// A client that has filled the server's window asks for room, byte by byte: the box goes on.
#[test]
fn a_client_that_asks_for_room_changes_nothing() {
    let mut bench = Bench::new(bbr());
    bench.handshake();
    bench.server_data(1, 4);
    bench.pass(40 * MS);
    let send = |bench: &mut Bench, at: u32, len: u32| {
        let data = bench.spec(Side::Outside, Flags::ACK, at, 1 + 2 * MSS, len);
        bench.put(Side::Outside, &data);
    };
    let edge = 1 + (2048 << 7);
    for at in (1..edge).step_by(1024) {
        send(&mut bench, at, 1024);
    }
    send(&mut bench, edge, 1);
    assert!(bench.engine.flows().all(|flow| flow.pass.is_none()));
    send(&mut bench, edge, 1000);
    assert!(bench.engine.flows().all(|flow| flow.pass.is_some()));
}

/// Governs what the server sends, and nothing else.
struct OnlyServer;

impl Decide for OnlyServer {
    fn classify(&self, _: &FlowKey, sender: Side, _: Nanos) -> Option<Verdict> {
        (sender == Side::Inside).then(bbr)
    }
}

/// The client asks for room with a byte, while the server's word that there is some was lost. The server takes it, and says so beyond
/// what the box has seen. What follows must not wait in the box for a byte that nobody sends again.
#[test]
fn a_question_for_room_that_was_answered_elsewhere_holds_nothing_back() {
    const WINDOW: u32 = 65_535;
    let mut bench = Bench::new(OnlyServer);
    bench.handshake();
    let mut at = 1;
    while at < 1 + WINDOW {
        let len = (1 + WINDOW - at).min(1_400);
        let data = bench.spec(Side::Outside, Flags::ACK, at, 1, len);
        bench.put(Side::Outside, &data);
        at += len;
    }
    let closed = FrameSpec {
        window: 0,
        ..bench.spec(Side::Inside, Flags::ACK, 1, at, 0)
    };
    bench.put(Side::Inside, &closed);
    bench.pass(200 * MS);
    bench.put(
        Side::Outside,
        &bench.spec(Side::Outside, Flags::ACK, at, 1, 1),
    );
    let fin = Flags::ACK.with(Flags::FIN);
    let last = bench.spec(Side::Outside, fin, at + 1, 1, 0);
    bench.take(Side::Inside);
    bench.put(Side::Outside, &last);
    assert!(bench.take(Side::Inside).is_empty(), "the byte may be lost");
    bench.put(
        Side::Inside,
        &bench.spec(Side::Inside, Flags::ACK, 1, at + 1, 0),
    );
    bench.pass(300 * MS);
    bench.put(Side::Outside, &last);
    let shown = bench.take(Side::Inside);
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0].0.seq, last.seq);
}
