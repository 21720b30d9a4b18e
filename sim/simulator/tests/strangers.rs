//! A box that begins in the midst of connections, and learns by watching what their SYNs have settled.
//!
//! `WINDLASS_SEEDS=10000` runs more, `WINDLASS_SEED=n` replays one.
#![allow(clippy::disallowed_methods)]

use windlass_cc::{MILLISECOND, Nanos, SECOND};
use windlass_engine::{AlgorithmId, FlowInfo, Limits, Side, Verdict};
use windlass_sim::{EngineBox, Middlebox, NoBox, Outcome, Scenario, run};

const SEEDS_IN_TEST: u64 = 300;

/// Nothing until then.
struct Late {
    inner: EngineBox,
    from: Nanos,
    /// Flows that were governed, as they were seen last.
    seen: Vec<FlowInfo>,
}

impl Late {
    fn new(seed: u64) -> Late {
        let algorithms = AlgorithmId::ALL;
        let algorithm = algorithms[(seed % algorithms.len() as u64) as usize];
        let verdict = Verdict::enforce(algorithm);
        Late {
            inner: EngineBox::new(Box::new(verdict), Limits::default(), seed).watching_strangers(),
            from: (50 + seed * 61 % 1500) * MILLISECOND,
            seen: Vec::new(),
        }
    }
}

impl Middlebox for Late {
    fn on_frame(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        if now < self.from {
            return out.push((from.other(), frame));
        }
        self.inner.on_frame(now, from, frame, out);
        if self.seen.is_empty() {
            self.seen = self.inner.flow_infos();
        }
    }

    fn poll_at(&self) -> Option<Nanos> {
        self.inner.poll_at()
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        self.inner.on_timer(now, out);
    }

    fn around(&self) -> Option<&dyn Middlebox> {
        Some(&self.inner)
    }

    fn flow_infos(&self) -> Vec<FlowInfo> {
        self.seen.clone()
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|v| v.parse().ok())
}

/// The scales that the flows were thought to have, which they do not have.
fn wrong_scales(scenario: &Scenario, seen: &[FlowInfo]) -> Vec<String> {
    let right = |info: &FlowInfo| {
        let scales = [scenario.server.window_scale, scenario.client.window_scale];
        match (scales, info.sender) {
            ([Some(_), Some(client)], Side::Inside) => client,
            ([Some(server), Some(_)], Side::Outside) => server,
            _ => 0,
        }
    };
    let is_wrong = |info: &&FlowInfo| info.figures.wscale != u64::from(right(info));
    let wrong = seen.iter().filter(is_wrong);
    wrong
        .map(|info| format!("{} and not {}", info.figures.wscale, right(info)))
        .collect()
}

/// Adverse networks of all kinds. A wrong scale must never be believed.
#[test]
fn no_scale_is_believed_that_is_not_right() {
    let seeds = number("WINDLASS_SEEDS").unwrap_or(SEEDS_IN_TEST);
    let one = number("WINDLASS_SEED");
    let (mut watched, mut understood, mut adopted) = (0, 0, 0);
    let mut failed = Vec::new();
    for seed in one.map_or(1..=seeds, |seed| seed..=seed) {
        let mut scenario = Scenario::adverse(seed);
        scenario.limit = 24 * 3600 * SECOND;
        // Of others the test does not know which end has which scale.
        scenario.other_servers.clear();
        let mut late = Late::new(seed);
        let outcome: Outcome = run(&scenario, &mut late);
        watched += outcome.counter("strangers");
        understood += outcome.counter("strangers_understood");
        adopted += outcome.counter("adopted");
        let mut wrong = wrong_scales(&scenario, &late.seen);
        if !outcome.intact && run(&scenario, &mut NoBox::default()).intact {
            wrong.extend(outcome.violations.first().cloned());
        }
        if !wrong.is_empty() {
            println!("seed {seed}: {wrong:?}");
            failed.push(seed);
        }
    }
    println!("{watched} watched, {understood} understood, {adopted} adopted");
    assert!(failed.is_empty(), "{} seeds: {failed:?}", failed.len());
    assert!(one.is_some() || adopted > 0);
}
