//! Two boxes one after the other on the same side, as in a virtual machine and in its hypervisor: they must not fight. The outer
//! one hides from the inner one what it hides from any sender, so the inner one has nothing to repair.
#![allow(clippy::disallowed_methods)]

use std::collections::VecDeque;

use windlass_cc::AlgorithmId;
use windlass_engine::{FlowInfo, Limits, Nanos, Side, Verdict};
use windlass_sim::link::Loss;
use windlass_sim::{EngineBox, Middlebox, Scenario, run};

const MILLISECOND: u64 = 1_000_000;

fn id(name: &str) -> AlgorithmId {
    name.parse().expect("a registered algorithm")
}

fn a_box(verdict: Verdict, seed: u64) -> EngineBox {
    EngineBox::new(Box::new(verdict), Limits::default(), seed)
}

fn enforcing(algorithm: &str, seed: u64) -> EngineBox {
    a_box(Verdict::enforce(id(algorithm)), seed)
}

/// The inner one is next to the sender.
struct Row {
    inner: EngineBox,
    outer: EngineBox,
    between: Vec<(Side, Vec<u8>)>,
}

impl Row {
    fn new(inner: EngineBox, outer: EngineBox) -> Row {
        Row {
            inner,
            outer,
            between: Vec::new(),
        }
    }

    /// What the inner one says to the outside goes to the outer one, and the other way round.
    fn settle(&mut self, now: Nanos, of_inner: bool, out: &mut Vec<(Side, Vec<u8>)>) {
        let said = self.between.drain(..);
        let mut waiting: VecDeque<_> = said.map(|(to, frame)| (of_inner, to, frame)).collect();
        while let Some((of_inner, to, frame)) = waiting.pop_front() {
            let (next, from, leaves) = match of_inner {
                true => (&mut self.outer, Side::Inside, Side::Inside),
                false => (&mut self.inner, Side::Outside, Side::Outside),
            };
            if to == leaves {
                out.push((to, frame));
                continue;
            }
            next.on_frame(now, from, frame, &mut self.between);
            let said = self.between.drain(..);
            waiting.extend(said.map(|(to, frame)| (!of_inner, to, frame)));
        }
    }
}

impl Middlebox for Row {
    fn on_frame(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        let first = match from {
            Side::Inside => &mut self.inner,
            Side::Outside => &mut self.outer,
        };
        first.on_frame(now, from, frame, &mut self.between);
        self.settle(now, from == Side::Inside, out);
    }

    fn poll_at(&self) -> Option<Nanos> {
        let both = [self.inner.poll_at(), self.outer.poll_at()];
        both.into_iter().flatten().min()
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        for of_inner in [true, false] {
            let one = match of_inner {
                true => &mut self.inner,
                false => &mut self.outer,
            };
            if one.poll_at().is_some_and(|at| at <= now) {
                one.on_timer(now, &mut self.between);
                self.settle(now, of_inner, out);
            }
        }
    }

    fn held_packets(&self) -> usize {
        self.inner.held_packets() + self.outer.held_packets()
    }

    fn counters(&self) -> Vec<(String, u64)> {
        self.outer.counters()
    }

    fn flow_infos(&self) -> Vec<FlowInfo> {
        self.outer.flow_infos()
    }
}

fn counter(one: &EngineBox, name: &str) -> u64 {
    let counters = one.counters();
    let found = counters.iter().find(|(known, _)| known == name);
    found.unwrap_or_else(|| panic!("{name}")).1
}

/// 10 MB over 50 Mbit/s, and so many ms, of which so many per cent are lost each way.
fn path(rtt_ms: f64, loss: f64, jitter: Nanos, seed: u64) -> Scenario {
    let mut scenario = Scenario::download(10_000_000, 50.0, rtt_ms);
    for link in [&mut scenario.down, &mut scenario.up] {
        link.loss = Loss::Bernoulli { ratio: loss };
    }
    scenario.down.jitter = jitter;
    scenario.seed = seed;
    scenario
}

/// Times in a row ÷ times of the outer one alone, for each pair of algorithms. docs/placements.md has this table.
#[test]
fn two_boxes_in_a_row_do_not_fight() {
    for (rtt_ms, loss, jitter, bound) in [
        (20.0, 0.0, 0, 1.05),
        (20.0, 0.02, 0, 1.1),
        (100.0, 0.0, 0, 1.1),
        (100.0, 0.01, 0, 1.1),
        // While the outer one repairs, its ACKs come in leaps. The window of a BBR before it is not made for that.
        (100.0, 0.03, 5 * MILLISECOND, 1.4),
    ] {
        for (inner, outer) in [("bbr", "bbr"), ("cubic", "bbr"), ("bbr", "cubic")] {
            let (mut alone_s, mut row_s) = (0.0, 0.0);
            for seed in 1..=3 {
                let scenario = path(rtt_ms, loss, jitter, seed);
                let alone = run(&scenario, &mut enforcing(outer, seed));
                let mut row = Row::new(enforcing(inner, seed + 100), enforcing(outer, seed));
                let both = run(&scenario, &mut row);
                both.assert_intact(&scenario);
                assert_eq!(row.held_packets(), 0);
                alone_s += alone.seconds;
                row_s += both.seconds;
                // There is nothing to repair for the inner one: what is lost is lost behind the outer one, which hides it.
                let what = format!("{rtt_ms} ms, {loss}, {inner}, {outer}, seed {seed}");
                assert_eq!(counter(&row.inner, "repaired"), 0, "{what}");
                assert_eq!(counter(&row.inner, "timeouts"), 0, "{what}");
                assert!(
                    loss == 0.0 || counter(&row.outer, "repaired") > 50,
                    "{what}"
                );
            }
            let ratio = row_s / alone_s;
            println!("{rtt_ms} ms, {loss}: {inner}, then {outer}: {ratio:.2}");
            assert!(
                ratio < bound,
                "{rtt_ms} ms, {loss}, {inner}, {outer}: {ratio}"
            );
        }
    }
}
