//! The thread that keeps events.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use windlass_engine::{Happened, Notice};
use windlass_policy::Policy;

use super::log::Log;
use super::pace::Pace;
use super::{Draft, EventKind, EventReport, Events, Inbox, Message};
use crate::settings::unix_ns;

/// How soon it is told what was suppressed or lost, if nothing else happens.
const TICK: Duration = Duration::from_millis(500);
const NANOS_PER_MILLI: u64 = 1_000_000;
const NANOS_PER_MICRO: u64 = 1000;

/// The thread. It ends when this is dropped, with everything told that was on its way.
#[derive(Debug)]
pub(crate) struct Keeper {
    events: Events,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// The policy knows the names of conditions.
    pub(crate) fn start(
        events: &Events,
        inbox: Inbox,
        policy: Arc<RwLock<Policy>>,
    ) -> io::Result<Keeper> {
        let named = thread::Builder::new().name("events".to_owned());
        let thread = named.spawn(move || Books::new(inbox, policy).keep())?;
        Ok(Keeper {
            events: events.clone(),
            thread: Some(thread),
        })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take()
            && self.events.queue.send(Message::End).is_ok()
        {
            let _ = thread.join();
        }
    }
}

struct Books {
    inbox: Inbox,
    policy: Arc<RwLock<Policy>>,
    pace: Pace,
    lost_told_at: Instant,
    log: Log,
}

impl Books {
    fn new(inbox: Inbox, policy: Arc<RwLock<Policy>>) -> Books {
        Books {
            inbox,
            policy,
            pace: Pace::default(),
            lost_told_at: Instant::now(),
            log: Log::of_this_process(),
        }
    }

    fn keep(mut self) {
        loop {
            match self.inbox.messages.recv_timeout(TICK) {
                Ok(Message::Told(draft)) => self.admit(draft),
                Ok(Message::Noticed(notice)) => {
                    let draft = self.describe(&notice);
                    self.admit(draft);
                }
                Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.catch_up();
        }
    }

    fn admit(&mut self, draft: Draft) {
        match self.pace.admit(draft.kind, Instant::now()) {
            Some(suppressed) => self.enter(draft, suppressed),
            None => self.inbox.ring.count_suppressed(draft.kind),
        }
    }

    /// Tells what was suppressed, and what was lost on its way here.
    fn catch_up(&mut self) {
        for (kind, count) in self.pace.overdue(Instant::now()) {
            let text = format!("{count} more events of the kind {kind} were left out");
            self.enter(Draft::new(kind, text).because("suppressed"), count);
        }
        // Seldom enough that it is never suppressed itself.
        if self.lost_told_at.elapsed() < TICK {
            return;
        }
        let lost = self.inbox.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            self.lost_told_at = Instant::now();
            let text = format!("{lost} events came too fast, and are lost");
            self.admit(Draft::new(EventKind::EventsLost, text).with("events", lost));
        }
    }

    fn enter(&mut self, draft: Draft, suppressed: u64) {
        let severity = draft.kind.row().severity;
        let numbers = draft.numbers.into_iter();
        let event = self.inbox.ring.push(EventReport {
            number: 0,
            time_ms: unix_ns() / NANOS_PER_MILLI,
            kind: draft.kind,
            severity,
            flow: draft.flow,
            rule: draft.rule,
            reason: draft.reason,
            text: draft.text,
            numbers: numbers.map(|(name, n)| (name.to_owned(), n)).collect(),
            suppressed,
        });
        self.log.write(&event);
    }

    fn describe(&self, notice: &Notice) -> Draft {
        let draft = match notice.happened {
            Happened::HandedBack {
                why,
                outstanding_bytes,
                srtt,
                lost_segments,
            } => {
                let help = why.help().trim();
                Draft::new(EventKind::HandedBack, format!("handed back: {help}"))
                    .because(why.name())
                    .with("outstanding_bytes", outstanding_bytes)
                    .with("srtt_us", srtt / NANOS_PER_MICRO)
                    .with("lost_segments", lost_segments)
            }
            Happened::TakenOver => Draft::new(EventKind::TakenOver, "taken over again"),
            Happened::Switched {
                from,
                to,
                list,
                condition,
            } => {
                let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
                let policy = policy.of(notice.edition);
                let list = policy.and_then(|policy| policy.switch_list(list));
                let switch = condition
                    .zip(list)
                    .and_then(|(number, list)| list.switches.get(usize::from(number)));
                let when = switch.map_or("no condition holds", |switch| &switch.when);
                let text = format!("{from} gives way to {to}: {when}");
                Draft::new(EventKind::AlgorithmSwitched, text).because(when)
            }
        };
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
        let policy = policy.of(notice.edition);
        let rule = policy.and_then(|policy| policy.rule_name(notice.rule?));
        Draft {
            flow: Some(notice.key.to_string()),
            rule: rule.map(str::to_owned),
            ..draft
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_cc::Catalog;
    use windlass_engine::{AlgorithmId, Edition, HandBack};
    use windlass_policy::Config;
    use windlass_wire::FlowKey;

    use super::super::{EVENTS_MAX, QUEUE_MAX};
    use super::*;

    fn policy() -> Arc<RwLock<Policy>> {
        let text = "version = 1\n[[rule]]\nname = \"r\"\n[[rule.switch]]\nwhen = \"rtt > duration('50ms')\"\n\
                    algorithm = \"hybla\"\n";
        let config = Config::parse(text, "w.toml", &Catalog::new());
        Arc::new(RwLock::new(
            config.unwrap_or_else(|e| panic!("{e}")).policy(),
        ))
    }

    fn notice(happened: Happened) -> Notice {
        let key: FlowKey = "10.0.0.1:443>192.0.2.7:5555".parse().expect("a flow");
        Notice {
            key,
            edition: Edition::default(),
            rule: Some(0),
            happened,
        }
    }

    #[test]
    fn notices_get_their_words_and_numbers() {
        let (events, inbox) = Events::new();
        let keeper = Keeper::start(&events, inbox, policy()).expect("a thread");
        events.notice(notice(Happened::HandedBack {
            why: HandBack::NotHeld,
            outstanding_bytes: 7,
            srtt: 20_000_000,
            lost_segments: 3,
        }));
        events.notice(notice(Happened::Switched {
            from: AlgorithmId::Bbr,
            to: AlgorithmId::Hybla,
            list: 0,
            condition: Some(0),
        }));
        drop(keeper);
        let told = events.ring().after(0).events;
        assert_eq!(told.len(), 2);
        assert_eq!(told[0].flow.as_deref(), Some("10.0.0.1:443>192.0.2.7:5555"));
        assert_eq!(told[0].rule.as_deref(), Some("r"));
        assert_eq!(told[0].reason.as_deref(), Some("not_held"));
        assert_eq!(
            (
                told[0].numbers["outstanding_bytes"],
                told[0].numbers["srtt_us"]
            ),
            (7, 20_000)
        );
        assert_eq!(told[1].reason.as_deref(), Some("rtt > duration('50ms')"));
        assert!(
            told[1].text.starts_with("bbr gives way to hybla"),
            "{}",
            told[1].text
        );
    }

    /// Another policy has taken charge between a notice and its reading: number 0 is another rule there.
    #[test]
    fn a_notice_of_an_older_policy_gets_no_name_of_a_newer_one() {
        let policy = policy();
        {
            let mut current = policy.write().expect("nobody has panicked");
            let old = current.clone();
            current.inherit(&old, 0);
        }
        let (events, inbox) = Events::new();
        let keeper = Keeper::start(&events, inbox, policy).expect("a thread");
        let old = notice(Happened::TakenOver);
        events.notice(old);
        events.notice(Notice {
            edition: Edition(1),
            ..old
        });
        events.notice(notice(Happened::Switched {
            from: AlgorithmId::Bbr,
            to: AlgorithmId::Hybla,
            list: 0,
            condition: Some(0),
        }));
        drop(keeper);
        let told = events.ring().after(0).events;
        let rules = told.iter().map(|event| event.rule.as_deref());
        assert_eq!(rules.collect::<Vec<_>>(), [None, Some("r"), None]);
        assert!(!told[2].text.contains("duration"), "{}", told[2].text);
    }

    #[test]
    fn a_flood_is_limited_and_nothing_is_left_out_without_a_word() {
        const COUNT: u64 = 100_000;
        let (events, inbox) = Events::new();
        let keeper = Keeper::start(&events, inbox, policy()).expect("a thread");
        for _ in 0..COUNT {
            events.notice(notice(Happened::TakenOver));
        }
        events.tell(Draft::new(EventKind::BypassOn, "bypass is on"));
        let accounted = || {
            let told = events.ring().after(0).events;
            let of_kind = |kind| told.iter().filter(move |e| e.kind == kind);
            let lost: u64 = of_kind(EventKind::EventsLost)
                .map(|e| e.numbers["events"])
                .sum();
            let single = of_kind(EventKind::TakenOver);
            let single = single
                .map(|e| e.suppressed + u64::from(e.reason.is_none()))
                .sum::<u64>();
            let bypass = of_kind(EventKind::BypassOn).count() as u64;
            (lost + single + bypass, told.len())
        };
        let deadline = Instant::now() + Duration::from_secs(10);
        while accounted().0 < COUNT + 1 {
            assert!(Instant::now() < deadline, "{:?}", accounted());
            thread::sleep(Duration::from_millis(20));
        }
        let (all, told) = accounted();
        assert_eq!(all, COUNT + 1);
        assert!(told < 100 && told < EVENTS_MAX.min(QUEUE_MAX), "{told}");
        drop(keeper);
    }
}
