//! What a sender sees of a flow that it is given back.

use windlass_cc::Catalog;
use windlass_engine::{Decide, Edition, Engine, Limits, Nanos, PassReason, Side, Verdict};
use windlass_wire::{Flags, FlowKey, OptionWriter};

use super::ends::{Bench, MS, MSS, SERVER_ISS, bbr};

/// A sender that repairs by itself from here on is told what the receiver has: it would else wait for its own
/// time-out to learn of its losses.
#[test]
fn what_was_hidden_is_told_when_a_flow_is_handed_back() {
    let mut bench = Bench::new(bbr());
    bench.handshake();
    bench.server_data(1, 10);
    bench.pass(100 * MS);
    let block = [(SERVER_ISS + 1 + 4 * MSS, SERVER_ISS + 1 + 10 * MSS)];
    let mut ack = bench.spec(Side::Outside, Flags::ACK, 1, 1, 0);
    let sack: Vec<u8> = OptionWriter::new().nop().nop().sack(&block).into();
    ack.options.extend(sack);
    bench.put(Side::Outside, &ack);
    let told = |bench: &mut Bench| {
        let shown = bench.take(Side::Inside).into_iter();
        let blocks = shown.flat_map(|(segment, _)| segment.options.sack.iter().collect::<Vec<_>>());
        blocks.collect::<Vec<_>>()
    };
    assert_eq!(told(&mut bench), [], "it is hidden");
    // Smaller segments fit where the held ones do not.
    let smaller = bench.spec(Side::Inside, Flags::ACK, 1, 1, 700);
    bench.put(Side::Inside, &smaller);
    assert_eq!(bench.engine.counters().handed_back, 1);
    assert_eq!(told(&mut bench), block);
}

/// What waits in the box when a flow is handed back leaves at a pace, in order, and is out in about two round trips; what the sender
/// sends from then on follows it.
#[test]
fn what_waits_does_not_leave_in_a_burst() {
    let mut bench = Bench::new(bbr());
    bench.handshake();
    bench.server_data(1, 40);
    bench.pass(90 * MS);
    let left = |bench: &mut Bench| {
        let segments = bench.take(Side::Outside).into_iter();
        segments.map(|(segment, _)| segment.seq).collect::<Vec<_>>()
    };
    let at_first = left(&mut bench).len();
    assert!(
        at_first < 20,
        "{at_first} of 40 left before any was acknowledged"
    );
    let smaller = bench.spec(Side::Inside, Flags::ACK, 1, 1, 700);
    bench.put(Side::Inside, &smaller);
    assert_eq!(bench.engine.counters().handed_back, 1);
    let at_once = left(&mut bench).len();
    assert!(at_once <= 5, "{at_once} leave at once");
    bench.server_data(1 + 40 * MSS, 1);
    bench.pass(200 * MS);
    let later = left(&mut bench);
    assert_eq!(at_first + at_once + later.len(), 42, "with the smaller one");
    assert!(later.is_sorted(), "{later:?}");
}

/// BBR for all, by the policy of this number.
struct Numbered(u32);

impl Decide for Numbered {
    fn classify(&self, flow: &FlowKey, sender: Side, now: Nanos) -> Option<Verdict> {
        bbr().classify(flow, sender, now)
    }

    fn edition(&self) -> Edition {
        Edition(self.0)
    }
}

/// Another policy takes charge before a notice is taken: it is told with the edition of its time. Flows have that of now.
#[test]
fn what_is_told_has_the_edition_of_its_policy() {
    let mut bench = Bench::new(Numbered(3));
    bench.handshake();
    bench.server_data(1, 10);
    bench.pass(100 * MS);
    let editions = |bench: &Bench| {
        bench
            .engine
            .flows()
            .map(|info| info.edition)
            .collect::<Vec<_>>()
    };
    assert_eq!(editions(&bench), [Edition(3)]);
    let smaller = bench.spec(Side::Inside, Flags::ACK, 1, 1, 700);
    bench.put(Side::Inside, &smaller);
    bench.engine.set_policy(Box::new(Numbered(4)), bench.now);
    assert_eq!(editions(&bench), [Edition(4)]);
    let mut told = Vec::new();
    assert_eq!(
        bench
            .engine
            .take_notices(|notice| told.push(notice.edition)),
        0
    );
    assert_eq!(told, [Edition(3)]);
}

/// A receiver that is gone is let go of after the ninth time-out in a row, in whatever process each of them was.
#[test]
fn an_upgrade_does_not_count_time_outs_anew() {
    let mut bench = Bench::new(bbr());
    bench.handshake();
    bench.server_data(1, 2);
    bench.pass(10_000 * MS);
    let before = bench.engine.counters().timeouts;
    assert!((2..8).contains(&before), "{before}");
    let state = bench.engine.export();
    let next = Engine::import(
        &state,
        Box::new(bbr()),
        &Catalog::new(),
        Limits::default(),
        bench.now,
    );
    bench.engine = next.expect("of this very program").0;
    bench.pass(400_000 * MS);
    let counters = bench.engine.counters();
    let let_go = counters.passed[PassReason::TimedOut as usize];
    assert_eq!((before + counters.timeouts, let_go), (8, 1));
}
