//! What a stranger gets who guesses the numbers of a connection, where the box knows less than its ends.

use windlass_engine::{PassReason, Side};
use windlass_wire::Flags;

use super::ends::{Bench, MS, MSS, bbr};

/// A connection after a bypass.
fn out_of_sight() -> Bench {
    let mut bench = Bench::new(bbr());
    bench.handshake();
    for on in [true, false] {
        let (now, pool) = (bench.now, &mut bench.pool);
        bench.engine.set_bypass(on, now, pool, &mut Vec::new());
    }
    bench
}

fn regained(bench: &Bench) -> u64 {
    bench.engine.counters().sight_regained
}

fn speak(bench: &mut Bench, from: Side, (seq, ack): (u32, u32)) {
    bench.pass(MS);
    let len = if from == Side::Inside { MSS } else { 0 };
    let spec = bench.spec(from, Flags::ACK, seq, ack, len);
    bench.put(from, &spec);
}

/// After a bypass nobody knows how far the ends have got. Who guesses, and is near enough to what the other end says, is not believed
/// at once: the end that he speaks for says otherwise.
#[test]
fn after_a_bypass_one_good_guess_is_not_enough() {
    let mut bench = out_of_sight();
    // The server has sent 5 MB, of which the client has 4.
    let (server, client) = ((5_000_000, 1), (1, 4_000_000));
    let guess = (1, 4_500_000);
    speak(&mut bench, Side::Inside, server);
    speak(&mut bench, Side::Outside, guess);
    speak(&mut bench, Side::Inside, server);
    assert_eq!(regained(&bench), 0, "they have agreed once");
    speak(&mut bench, Side::Outside, client);
    assert_eq!(regained(&bench), 0, "the client itself has another number");
    speak(&mut bench, Side::Inside, server);
    speak(&mut bench, Side::Outside, client);
    assert_eq!(regained(&bench), 1, "each has gone on from there");
    bench.out.clear();
    speak(&mut bench, Side::Inside, (5_000_000 + MSS, 1));
    let shown = bench.take(Side::Outside);
    assert!(shown.iter().all(|(segment, _)| segment.payload_len > 0));
}

/// A guess that the true end's words seem to go on from: he says that the client has sent more and has received less. What he said is
/// forgotten all the same.
#[test]
fn after_a_bypass_nothing_of_a_good_guess_is_kept() {
    let mut bench = out_of_sight();
    let (server, client) = ((5_000_000, 1), (1, 4_000_000));
    speak(&mut bench, Side::Inside, server);
    speak(&mut bench, Side::Outside, (3_000_001, 3_500_000));
    speak(&mut bench, Side::Inside, server);
    speak(&mut bench, Side::Outside, client);
    assert_eq!(regained(&bench), 1);
    let refused = PassReason::UnacceptableAck as usize;
    assert_eq!(bench.engine.counters().passed[refused], 0);
    speak(&mut bench, Side::Inside, (5_000_000 + MSS, 2_000_000));
    assert!(
        bench.engine.counters().passed[refused] == 1 || bench.engine.counters().sight_lost == 2,
        "an ACK of what the client has not sent is believed"
    );
}

/// An end drops what is signed where no signature was agreed on (RFC 5925 §7.3, Linux `tcp_inbound_hash`), whatever its numbers are.
#[test]
fn out_of_sight_a_signature_that_nobody_agreed_on_says_nothing() {
    let mut bench = out_of_sight();
    let (server, client) = ((5_000_000, 1), (1, 4_000_000));
    for _ in 0..3 {
        speak(&mut bench, Side::Inside, server);
        bench.pass(MS);
        let mut signed = bench.spec(Side::Outside, Flags::ACK, 2, client.1, 0);
        signed.options.extend([29, 4, 1, 2]);
        bench.put(Side::Outside, &signed);
    }
    assert_eq!(regained(&bench), 0);
    for _ in 0..2 {
        speak(&mut bench, Side::Outside, client);
        speak(&mut bench, Side::Inside, server);
    }
    assert_eq!(regained(&bench), 1);
}
