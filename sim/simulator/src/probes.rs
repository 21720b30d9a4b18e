//! Small packets that ask what a round trip over the links takes.

use windlass_cc::Nanos;

use crate::network_spec::{Probe, ProbeStats};

/// All probes of a run, and what they have found.
#[derive(Default)]
pub(crate) struct Probes {
    probes: Vec<Probe>,
    /// By probe: when the next one leaves; `None` before the run begins.
    next: Vec<Option<Nanos>>,
    /// What leaves before then is not counted.
    measure_from: Nanos,
    /// Length of that span from the start of the run, ns.
    measure_from_ns: Nanos,
    sent: u64,
    rtts: Vec<Nanos>,
}

impl Probes {
    pub fn new(probes: &[Probe], measure_from_ns: Nanos) -> Probes {
        Probes {
            probes: probes.to_vec(),
            next: vec![None; probes.len()],
            measure_from_ns,
            ..Probes::default()
        }
    }

    /// The run begins.
    pub fn start(&mut self, now: Nanos) {
        self.measure_from = now + self.measure_from_ns;
        // Not all at once.
        let count = self.probes.len() as u64;
        let spread = self.probes.iter().enumerate();
        self.next = spread
            .map(|(index, probe)| Some(now + probe.interval * index as u64 / count))
            .collect();
    }

    /// When the next one leaves, and which.
    pub fn next_at(&self) -> Option<(Nanos, usize)> {
        let due = self.next.iter().enumerate();
        due.filter_map(|(index, at)| Some(((*at)?, index))).min()
    }

    /// The one that is due leaves.
    pub fn emit(&mut self, index: usize, now: Nanos) -> Probe {
        let probe = self.probes[index];
        self.next[index] = Some(now + probe.interval.max(1));
        self.sent += u64::from(now >= self.measure_from);
        probe
    }

    /// One that left at `sent_at` is back.
    pub fn take(&mut self, sent_at: Nanos, at: Nanos) {
        if sent_at >= self.measure_from {
            self.rtts.push(at - sent_at);
        }
    }

    /// What they have found; those that are under way count for nothing.
    pub fn observed(&self, under_way: u64) -> Option<ProbeStats> {
        let mut sorted = self.rtts.clone();
        sorted.sort_unstable();
        let at = |permille: usize| {
            let rank = (sorted.len() * permille).div_ceil(1000).max(1);
            sorted.get(rank - 1).copied()
        };
        Some(ProbeStats {
            sent: self.sent.saturating_sub(under_way),
            lost: self.sent.saturating_sub(under_way + sorted.len() as u64),
            median: at(500)?,
            p99: at(990)?,
            p999: at(999)?,
        })
    }
}
