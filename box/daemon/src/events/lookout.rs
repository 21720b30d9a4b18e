//! What nobody tells: limits that are reached, packet memory that is exhausted, workers that do not answer, the guard.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use windlass_auto::guard::{GuardReport, State};
use windlass_engine::PassReason;

use super::{Draft, EventKind, Events};
use crate::command::Status;
use crate::control::{Handler, Sums};

/// Time between two looks.
const INTERVAL: Duration = Duration::from_secs(1);
/// The guard, which learns from whole transfers, is looked at once in so many looks.
const LOOKS_PER_GUARD: u32 = 5;

/// Why new connections pass, or flows are let go of, at a limit of `[limits]`.
const LIMITS: [(PassReason, &str); 5] = [
    (
        PassReason::FlowLimit,
        "flows or flows_per_prefix: new connections pass",
    ),
    (
        PassReason::HandshakeLimit,
        "half_open_per_prefix: new connections of the prefix pass",
    ),
    (PassReason::SegmentLimit, "segments: flows were let go of"),
    (
        PassReason::FrameLimit,
        "packet memory: new connections pass, and flows were let go of",
    ),
    (PassReason::MemoryLimit, "memory_mb: new connections pass"),
];

/// The thread that looks. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Lookout {
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Lookout {
    pub(crate) fn start(handler: Arc<Handler>) -> io::Result<Lookout> {
        let (stop, stopped) = UnixStream::pair()?;
        let interval = PollTimeout::try_from(INTERVAL).unwrap_or(PollTimeout::MAX);
        let work = move || {
            let (mut seen, mut looks) = (Seen::default(), 0u32);
            loop {
                let mut fds = [PollFd::new(stopped.as_fd(), PollFlags::POLLIN)];
                if poll(&mut fds, interval).is_ok_and(|ready| ready > 0) {
                    return;
                }
                seen.look(&handler);
                looks = looks.wrapping_add(1);
                if looks.is_multiple_of(LOOKS_PER_GUARD)
                    && let Some(report) = handler.guard_report(0)
                {
                    seen.guard(&report, &handler.events);
                }
            }
        };
        let thread = thread::Builder::new()
            .name("lookout".to_owned())
            .spawn(work)?;
        Ok(Lookout {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What was found at the last look.
#[derive(Default)]
struct Seen {
    silent: bool,
    /// By reason, since the workers began.
    counts: BTreeMap<&'static str, u64>,
    /// Rules, and prefixes of them, that are withdrawn.
    withdrawn: Option<BTreeMap<String, (String, bool)>>,
}

impl Seen {
    fn look(&mut self, handler: &Handler) {
        let events = &handler.events;
        // While there is no box, nobody can be silent.
        let asked = handler.with_live(|live| Ok(live.workers.status()));
        match asked {
            Ok(Ok(all)) => {
                self.answered(events);
                self.count(&all, events);
            }
            Ok(Err(why)) if !std::mem::replace(&mut self.silent, true) => {
                let text = format!("{why}: the kernel forwards packets in its place");
                events.tell(Draft::new(EventKind::WorkerStopped, text));
            }
            Ok(Err(_)) => {}
            Err(_) => self.silent = false,
        }
    }

    fn answered(&mut self, events: &Events) {
        if std::mem::take(&mut self.silent) {
            let text = "all workers answer again";
            events.tell(Draft::new(EventKind::WorkerReturned, text));
        }
    }

    fn count(&mut self, all: &[Status], events: &Events) {
        let sums = Sums::of(all);
        let counters = &sums.counters;
        let limit = EventKind::LimitReached;
        for (reason, what) in LIMITS {
            let count = counters.passed[reason as usize];
            self.tell_new(events, limit, reason.name(), what, count);
        }
        let evicted = counters.half_open_evicted;
        let what = "half_open: the oldest handshakes were forgotten";
        self.tell_new(events, limit, "half_open", what, evicted);
        let what = "held_bytes_total, held_packets_total or held_packets_per_prefix: packets were forwarded without being held";
        self.tell_new(events, limit, "held", what, counters.unheld);
        let frames = EventKind::FramesExhausted;
        let what = "reception stood still: only the reserve of free frames was left";
        self.tell_new(events, frames, "rx_starved", what, sums.frames.rx_starved);
        let what = "the kernel had no room to take packets of connections, which pass";
        self.tell_new(
            events,
            limit,
            "not_followed",
            what,
            sums.frames.not_followed,
        );
        let what = "the kernel had no room for the prefixes of tenants whose packets without a flow are limited, which pass";
        let refused = sums.frames.not_bounded;
        self.tell_new(events, limit, "not_bounded", what, refused);
        let dropped = sums.sides.iter().map(|side| side.tx_dropped).sum();
        let what = "packets were dropped: the backlog was full, or memory was out";
        self.tell_new(events, frames, "tx_dropped", what, dropped);
    }

    /// Of what has grown since the last look. Workers that began anew count from zero.
    fn tell_new(
        &mut self,
        events: &Events,
        kind: EventKind,
        reason: &'static str,
        what: &str,
        count: u64,
    ) {
        let before = self.counts.insert(reason, count).unwrap_or(0);
        let new = match count >= before {
            true => count - before,
            false => count,
        };
        if new > 0 {
            let text = match kind {
                EventKind::LimitReached => format!("limit reached: {what} ({new} times)"),
                _ => format!("{what} ({new} times)"),
            };
            events.tell(Draft::new(kind, text).because(reason).with("times", new));
        }
    }

    fn guard(&mut self, report: &GuardReport, events: &Events) {
        // By rule, or prefix of it: the rule, and whether it is withdrawn.
        let mut now = BTreeMap::new();
        for rule in &report.rules {
            let withdrawn = rule.state == State::Withdrawn;
            now.insert(rule.name.clone(), (rule.name.clone(), withdrawn));
            for place in &rule.places {
                let name = format!("{} at {}", rule.name, place.prefix);
                let withdrawn = place.state == State::Withdrawn;
                now.insert(name, (rule.name.clone(), withdrawn));
            }
        }
        // What an earlier process had decided is no news.
        if let Some(before) = &self.withdrawn {
            for (name, (rule, withdrawn)) in &now {
                let was = before.get(name).is_some_and(|(_, was)| *was);
                let draft = match (was, withdrawn) {
                    (false, true) => Draft::new(
                        EventKind::GuardWithdrew,
                        format!(
                            "guard: rule {name} is withdrawn, because governed flows were slower"
                        ),
                    ),
                    (true, false) => Draft::new(
                        EventKind::GuardReturned,
                        format!("guard: rule {name} governs again"),
                    ),
                    _ => continue,
                };
                events.tell(draft.of_rule(rule).because(name));
            }
        }
        self.withdrawn = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, RwLock};

    use windlass_auto::guard::{Gain, PlaceReport, RuleReport};
    use windlass_cc::Catalog;
    use windlass_engine::Counters;
    use windlass_policy::Config;

    use super::super::Keeper;
    use super::*;

    fn told(tell: impl FnOnce(&mut Seen, &Events)) -> Vec<(EventKind, String, u64)> {
        let policy = Config::parse("version = 1\n", "w.toml", &Catalog::new()).expect("right");
        let (events, inbox) = Events::new();
        let policy = Arc::new(RwLock::new(policy.policy()));
        let keeper = Keeper::start(&events, inbox, policy).expect("a thread");
        tell(&mut Seen::default(), &events);
        drop(keeper);
        let all = events.ring().after(0).events.into_iter();
        let times = |e: &super::super::EventReport| e.numbers.get("times").copied().unwrap_or(0);
        all.map(|e| (e.kind, e.reason.clone().unwrap_or_default(), times(&e)))
            .collect()
    }

    #[test]
    fn a_limit_is_told_when_its_count_has_grown() {
        let with = |unheld: u64, passed: u64| {
            let mut counters = Counters {
                unheld,
                ..Counters::default()
            };
            counters.passed[PassReason::FlowLimit as usize] = passed;
            let status = Status {
                counters,
                ..Status::default()
            };
            [status, Status::default()]
        };
        let found = told(|seen, events| {
            seen.count(&with(0, 0), events);
            seen.count(&with(3, 0), events);
            seen.count(&with(3, 0), events);
            // Workers of another session.
            seen.count(&with(1, 5), events);
        });
        let limit = |reason: &str, times| (EventKind::LimitReached, reason.to_owned(), times);
        assert_eq!(
            found,
            [limit("held", 3), limit("flow_limit", 5), limit("held", 1)]
        );
    }

    #[test]
    fn the_guard_is_told_when_its_mind_changes() {
        let gain = Gain {
            estimate: 0.0,
            low: None,
            high: None,
        };
        let report = |rule: State, place: State| GuardReport {
            error: 0.05,
            rules: vec![RuleReport {
                name: "web".to_owned(),
                what: "bbr".to_owned(),
                state: rule,
                since: 0,
                transfers: [1.0, 1.0],
                gain,
                places: vec![PlaceReport {
                    prefix: "192.0.2.0/24".to_owned(),
                    state: place,
                    since: 0,
                    seen: 0,
                    transfers: [1.0, 1.0],
                    gain,
                }],
                omitted: 0,
                hours: Vec::new(),
                times: Default::default(),
            }],
        };
        let found = told(|seen, events| {
            seen.guard(&report(State::Withdrawn, State::Open), events);
            seen.guard(&report(State::Open, State::Withdrawn), events);
            seen.guard(&report(State::Open, State::Withdrawn), events);
        });
        let is = |kind, name: &str| (kind, name.to_owned(), 0);
        assert_eq!(
            found,
            [
                is(EventKind::GuardReturned, "web"),
                is(EventKind::GuardWithdrew, "web at 192.0.2.0/24"),
            ]
        );
    }
}
