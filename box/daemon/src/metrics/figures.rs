//! What a scrape finds.

use std::sync::atomic::Ordering;

use windlass_auto::guard::{RuleReport, State};
use windlass_cc::Catalog;
use windlass_io::XdpCounters;
use windlass_metric::metrics;

use crate::control::{Handler, Sums};

/// Thousandths of one.
const PERMILLE: f64 = 1000.0;

metrics! {
    /// How the box stands.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct BoxFigures {
        /// Time since the start of the process.
        gauge uptime_s: u64, Seconds;
        /// 1 while the box is open and governs, 0 while it waits for an interface.
        gauge governing: u64, One;
        /// 1 while bypass is on.
        gauge bypass: u64, One;
        /// What is not as it should be; windlass status says what.
        gauge troubles: u64, One;
        /// Times that the box was opened again after an interface had been gone.
        counter reopened: u64, One;
        /// Worker threads.
        gauge workers: u64, One;
        /// Workers that have panicked since the start; the kernel forwards the queue of each until the box is opened again.
        counter workers_panicked: u64, One;
        /// 1 if all workers have answered this scrape, 0 if one stands still: then the figures of engine, driver and worker are not there.
        gauge workers_answer: u64, One;
        /// Connections tracked.
        gauge connections: Option<u64>, One;
        /// Bytes held for repair.
        gauge held_bytes: Option<u64>, Bytes;
    }
}

metrics! {
    /// A plugin.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct PluginFigures {
        /// Calls of the plugin that failed.
        counter faults: u64, One;
        /// 1 if it failed so often that it is not asked any more.
        gauge suspended: u64, One;
    }
}

metrics! {
    /// What the guard has found of a rule.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct GuardFigures {
        /// 1 if governed flows seem slower: half of the new flows are held out to find out.
        gauge doubted: u64, One;
        /// 1 if the rule is withdrawn: governed flows were slower beyond doubt.
        gauge withdrawn: u64, One;
        /// 1 if governed flows are faster beyond doubt.
        gauge proven: u64, One;
        /// Prefixes of the rule at which it is withdrawn.
        gauge withdrawn_prefixes: u64, One;
        /// Transfers of governed flows that count, older ones less.
        gauge governed_transfers: u64, One;
        /// Transfers of held-out flows that count, older ones less.
        gauge held_out_transfers: u64, One;
        /// Completion time of governed flows as a share of that of held-out ones, the best guess: below 1, governing pays.
        gauge time_permille: Option<u64>, Permille;
        /// The least that this share can be, with the confidence that the guard is set to.
        gauge time_low_permille: Option<u64>, Permille;
        /// The most that this share can be, with the same confidence.
        gauge time_high_permille: Option<u64>, Permille;
    }
}

metrics! {
    /// Events of a kind.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct EventFigures {
        /// Events of this kind that were told.
        counter told: u64, One;
        /// Events of this kind that were suppressed, because there were too many at once.
        counter suppressed: u64, One;
    }
}

/// Everything at one moment.
pub(crate) struct Figures {
    pub state: BoxFigures,
    pub plugins: Vec<(String, PluginFigures)>,
    /// By the name of the rule.
    pub guard: Vec<(String, GuardFigures)>,
    /// Of the workers, if there are any and all answer.
    pub workers: Option<Sums>,
    pub xdp: Option<XdpCounters>,
    /// By the name of the kind; those of which there were none are left out.
    pub events: Vec<(&'static str, EventFigures)>,
}

/// Asks everybody. What cannot be had now is left out.
pub(crate) fn collect(handler: &Handler) -> Figures {
    let mut state = BoxFigures {
        uptime_s: handler.started.elapsed().as_secs(),
        bypass: handler.bypass.load(Ordering::Acquire).into(),
        ..BoxFigures::default()
    };
    let mut workers = None;
    let asked = handler.with_live(|live| {
        state.workers = live.workers.living() as u64;
        if let Ok(all) = live.workers.status() {
            state.workers_answer = 1;
            state.connections = Some(all.iter().map(|s| s.connections as u64).sum());
            state.held_bytes = Some(all.iter().map(|s| s.held_bytes).sum());
            workers = Some(Sums::of(&all));
        }
        live.counters()
    });
    let condition = handler.condition();
    state.governing = condition.waiting.is_none().into();
    state.troubles = condition.all_troubles().len() as u64;
    state.reopened = condition.reopened;
    state.workers_panicked = condition.workers_panicked;
    drop(condition);
    let report = handler.guard_report(0);
    let rules = report.map_or_else(Vec::new, |report| report.rules);
    Figures {
        state,
        plugins: plugins(&handler.catalog()),
        guard: rules.iter().map(|r| (r.name.clone(), of_rule(r))).collect(),
        workers,
        xdp: asked.ok(),
        events: handler.events.ring().figures(),
    }
}

fn plugins(catalog: &Catalog) -> Vec<(String, PluginFigures)> {
    let figures = |status: windlass_plugin::Status| {
        let figures = PluginFigures {
            faults: status.faults.into(),
            suspended: status.suspended.into(),
        };
        (status.name.to_owned(), figures)
    };
    windlass_plugin::statuses(catalog)
        .into_iter()
        .map(figures)
        .collect()
}

fn of_rule(rule: &RuleReport) -> GuardFigures {
    let is = |state: State| u64::from(rule.state == state);
    // What is saved of the time, as the share that is left.
    let left = |saved: f64| (PERMILLE * (1.0 - saved)).round() as u64;
    let withdrawn = rule.places.iter().filter(|p| p.state == State::Withdrawn);
    let known = rule.transfers.iter().all(|transfers| *transfers > 0.0);
    GuardFigures {
        doubted: is(State::Doubted),
        withdrawn: is(State::Withdrawn),
        proven: is(State::Proven),
        withdrawn_prefixes: withdrawn.count() as u64,
        governed_transfers: rule.transfers[0].round() as u64,
        held_out_transfers: rule.transfers[1].round() as u64,
        time_permille: known.then(|| left(rule.gain.estimate)),
        time_low_permille: rule.gain.high.map(left),
        time_high_permille: rule.gain.low.map(left),
    }
}
