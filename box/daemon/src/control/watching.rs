//! What those ask who watch: events, flows in order, the box at a glance, rules.

use std::sync::{Arc, PoisonError};

use windlass_engine::Side;
use windlass_wire::FlowKey;

use super::comparisons::{TrialAnswer, TrialsReport};
use super::counters::{Sums, of_xdp};
use super::handler::Handler;
use super::protocol::{Answer, EventsReport, FlowNow};
use crate::command::FLOWS_PER_SHOT;
use crate::overview::{OverviewReport, TrafficReport, WorkerReport, wire_bytes};
use crate::settings::unix_ns;
use crate::view::{Shot, ViewQuery, Wanted};
use crate::{FlowReport, rules};

const NANOS_PER_MILLI: u64 = 1_000_000;
/// Before the reasons of the XDP program.
const XDP: &str = "xdp_";
const PASSED: &str = "passed_";

/// Prefixes in an answer about trials, beside what holds for all others.
const PREFIXES_SHOWN: usize = 200;

impl Handler {
    /// What is tried, for people who look at it.
    pub(super) fn trials(&self) -> TrialsReport {
        let mut auto = self.auto();
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
        TrialsReport {
            trial: policy.trial().map(TrialAnswer::new),
            prefixes_omitted: auto.shorten(PREFIXES_SHOWN),
            auto,
        }
    }

    pub(super) fn events_after(&self, after: u64) -> Answer {
        let ring = self.events.ring();
        let part = ring.after(after);
        Answer::Events(EventsReport {
            began_ms: ring.began_ms,
            events: part.events,
            missed: part.missed,
            more: part.more,
        })
    }

    pub(super) fn view(&self, query: &ViewQuery) -> Result<Answer, String> {
        query.filter.check()?;
        let shot = self.shot()?;
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
        Ok(Answer::View(shot.view(query, &policy)?))
    }

    pub(super) fn algorithms(&self) -> Result<Answer, String> {
        let algorithms = self.shot()?.algorithms();
        Ok(Answer::Algorithms { algorithms })
    }

    fn shot(&self) -> Result<Arc<Shot>, String> {
        let ask = || {
            self.with_live(|live| {
                let flows = live.workers.flows(&Wanted::default(), FLOWS_PER_SHOT);
                flows.map_err(|e| e.to_string())
            })
        };
        self.sampler.shot(ask)
    }

    /// One flow as it is at this moment.
    pub(super) fn flow(&self, flow: &str) -> Result<Answer, String> {
        let wrong = |_| format!("\"{flow}\" is no flow: write 10.0.0.1:443>192.0.2.7:5555");
        let key: FlowKey = flow.parse().map_err(wrong)?;
        let ask = |live: &super::Live| live.workers.flow(key).map_err(|e| e.to_string());
        let found = self.with_live(ask)?;
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
        Ok(Answer::Flow(Box::new(FlowNow {
            time_ms: unix_ns() / NANOS_PER_MILLI,
            flow: found.map(|info| FlowReport::new(&info, &policy)),
            rates_bps: self.sampler.rates_of(&key),
        })))
    }

    /// Without workers, what is known without them.
    pub(super) fn overview(&self) -> Result<Answer, String> {
        let Answer::Status(status) = self.status()? else {
            return Err("there is no status".to_owned());
        };
        let mut report = OverviewReport {
            time_ms: unix_ns() / NANOS_PER_MILLI,
            ..OverviewReport::default()
        };
        let asked = self.with_live(|live| {
            let all = live.workers.status().map_err(|e| e.to_string())?;
            let xdp = live.counters()?;
            Ok((all, xdp))
        });
        if let Ok((all, xdp)) = asked {
            let sums = Sums::of(&all);
            let workers = all.iter().enumerate();
            report.workers = workers.map(|(n, s)| WorkerReport::new(n, s)).collect();
            report.workers_answer = true;
            report.traffic = self.traffic(&sums);
            let engine = sums.of_engines().into_iter();
            let engine = engine.filter_map(|(k, n)| Some((k.strip_prefix(PASSED)?.to_owned(), n)));
            let xdp = of_xdp(&xdp).into_iter();
            let xdp =
                xdp.filter_map(|(k, n)| Some((format!("{XDP}{}", k.strip_prefix(PASSED)?), n)));
            report.passed = engine.chain(xdp).filter(|(_, count)| *count > 0).collect();
        }
        report.status = status;
        Ok(Answer::Overview(Box::new(report)))
    }

    fn traffic(&self, sums: &Sums) -> TrafficReport {
        let counters = &sums.counters;
        TrafficReport {
            wire_bytes: wire_bytes([&self.inside, &self.outside]),
            taken_bytes: sums.sides.iter().map(|side| side.rx_bytes).sum(),
            governed_bytes: counters.bytes_sent,
            resent_bytes: counters.bytes_resent,
            lost_segments: counters.lost,
            repaired_segments: counters.repaired,
            handed_back: counters.handed_back,
        }
    }

    pub(super) fn rules(&self) -> Answer {
        // The rules are there without flows, too.
        let shot = self.shot().ok();
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
        Answer::Rules {
            rules: rules::rules(&policy, shot.as_deref()),
        }
    }

    pub(super) fn explain(&self, flow: &str, sender: &str) -> Result<Answer, String> {
        let sender = match sender {
            "inside" => Side::Inside,
            "outside" => Side::Outside,
            other => return Err(format!("a sender is inside or outside, not \"{other}\"")),
        };
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
        Ok(Answer::Explained(rules::explain(&policy, flow, sender)?))
    }
}
