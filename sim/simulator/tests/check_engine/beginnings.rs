//! Who may say between whom a connection is: SYNs from the wrong side.

use windlass_engine::{PassReason, Side};
use windlass_wire::{Flags, FrameSpec};

use super::ends::{Bench, bbr};

const SYN_ACK: Flags = Flags(Flags::SYN.0 | Flags::ACK.0);

/// A SYN in the server's name that comes from outside, as anybody there can send it.
fn forged(bench: &Bench, number: u32) -> FrameSpec {
    let syn = bench.syn(Side::Inside, Flags::SYN, 0);
    FrameSpec {
        seq: syn.seq.wrapping_add(number),
        ..syn
    }
}

/// The handshake of the true ends, with `before` forged SYNs in front of it and `between` in front of the answer. Governed flows after it.
fn governed_flows(before: u32, between: u32) -> usize {
    let mut bench = Bench::new(bbr());
    let forge = |bench: &mut Bench, count: u32| {
        for number in 0..count {
            let syn = forged(bench, number);
            bench.put(Side::Outside, &syn);
        }
    };
    forge(&mut bench, before);
    bench.put(Side::Outside, &bench.syn(Side::Outside, Flags::SYN, 0));
    forge(&mut bench, between);
    bench.put(Side::Inside, &bench.syn(Side::Inside, SYN_ACK, 1));
    bench.client_ack(1);
    bench.server_data(1, 2);
    assert_eq!(bench.engine.connections(), 1);
    let frames = before + between + 5;
    assert_eq!(bench.out.len(), frames as usize, "each goes on");
    bench.engine.flows().count()
}

/// One forged SYN does not keep the connection from being governed, whenever it comes.
#[test]
fn a_syn_from_the_wrong_side_changes_nothing() {
    for (before, between) in [(0, 0), (1, 0), (0, 1), (5, 0), (0, 5)] {
        let flows = governed_flows(before, between);
        assert_eq!(flows, 1, "{before} before, {between} between");
    }
}

/// An answer to a SYN that nobody has sent turns nothing round.
#[test]
fn an_answer_from_the_wrong_side_counts_if_its_syn_has_come() {
    let mut bench = Bench::new(bbr());
    bench.put(Side::Outside, &bench.syn(Side::Outside, Flags::SYN, 0));
    let mut answer = bench.syn(Side::Outside, SYN_ACK, 1);
    answer.ack = answer.ack.wrapping_add(7);
    bench.put(Side::Inside, &answer);
    let wrong_side = bench.engine.counters().passed[PassReason::WrongSide as usize];
    assert_eq!(wrong_side, 1);
    bench.put(Side::Inside, &bench.syn(Side::Inside, SYN_ACK, 1));
    bench.client_ack(1);
    assert_eq!(bench.engine.flows().count(), 1);
}

/// Somebody who has seen a SYN sends another that carries data up to where the true one begins: the answer to the true one looks
/// like that to his, unless it agrees to options that he has not offered. What he says of windows and options counts for nothing.
#[test]
fn a_syn_whose_data_reach_to_another_is_not_taken_for_it() {
    let cases = [0, 100, 101].into_iter().flat_map(|len| {
        let offers = [(len, false, true), (len, true, true)];
        offers.into_iter().chain([(len, false, false)])
    });
    for (carried, answered_before, offers) in cases {
        let mut bench = Bench::new(bbr());
        let syn = bench.syn(Side::Outside, Flags::SYN, 0);
        let answer = bench.syn(Side::Inside, SYN_ACK, 1);
        bench.put(Side::Outside, &syn);
        if answered_before {
            bench.put(Side::Inside, &answer);
        }
        let other = FrameSpec {
            seq: syn.seq.wrapping_sub(100),
            payload: vec![7; carried],
            window: 43_690,
            options: match offers {
                true => syn.options.clone(),
                false => Vec::new(),
            },
            ..syn
        };
        bench.put(Side::Outside, &other);
        bench.put(Side::Inside, &answer);
        bench.client_ack(1);
        bench.server_data(1, 2);
        let governed = bench.engine.held_packets() > 0;
        assert_eq!(
            governed,
            carried < 100 || answered_before || !offers,
            "{carried} {answered_before} {offers}"
        );
        let shown = bench.take(Side::Inside);
        let (last, _) = shown.last().expect("the client's ACK");
        assert!(
            last.window <= 2048,
            "{carried} {answered_before}: {}",
            last.window
        );
    }
}

/// The same where a forged SYN from the wrong side has come first, so that the true one is remembered as one of another connection:
/// with nothing, a SYN of either side, or both between the true one and the one that carries data.
#[test]
fn nor_behind_a_syn_from_the_wrong_side() {
    for (same_way, other_way) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut bench = Bench::new(bbr());
        let wrong = forged(&bench, 0);
        bench.put(Side::Outside, &wrong);
        let syn = bench.syn(Side::Outside, Flags::SYN, 0);
        bench.put(Side::Outside, &syn);
        if same_way {
            let seq = syn.seq.wrapping_add(5_000);
            bench.put(Side::Outside, &FrameSpec { seq, ..syn.clone() });
        }
        if other_way {
            bench.put(Side::Inside, &forged(&bench, 9));
        }
        let other = FrameSpec {
            seq: syn.seq.wrapping_sub(100),
            payload: vec![7; 100],
            window: 43_690,
            options: Vec::new(),
            ..syn
        };
        bench.put(Side::Outside, &other);
        bench.put(Side::Inside, &bench.syn(Side::Inside, SYN_ACK, 1));
        bench.client_ack(1);
        bench.server_data(1, 2);
        let case = format!("{same_way} {other_way}");
        assert_eq!(bench.engine.held_packets(), 0, "{case}");
        let shown = bench.take(Side::Inside);
        let (last, _) = shown.last().expect("the client's ACK");
        assert!(last.window <= 2048, "{case}: {}", last.window);
    }
}

/// A SYN that offers nothing, with data that reach to the number which a SYN-ACK of another connection acknowledges: what that one agrees
/// to says which SYN it answers.
#[test]
fn an_answer_to_options_that_a_syn_has_not_offered_is_not_for_it() {
    let flows = |options_of_syn: &dyn Fn(FrameSpec) -> FrameSpec| {
        let mut bench = Bench::new(bbr());
        let syn = bench.syn(Side::Outside, Flags::SYN, 0);
        bench.put(Side::Outside, &options_of_syn(syn));
        bench.put(Side::Inside, &bench.syn(Side::Inside, SYN_ACK, 1));
        bench.client_ack(1);
        bench.server_data(1, 2);
        bench.engine.flows().count()
    };
    assert_eq!(flows(&|syn| syn), 1);
    let forged = |syn: FrameSpec| FrameSpec {
        seq: syn.seq.wrapping_sub(100),
        options: Vec::new(),
        payload: vec![1; 200],
        ..syn
    };
    assert_eq!(flows(&forged), 0);
}
