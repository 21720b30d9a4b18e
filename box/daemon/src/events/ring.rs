//! The last events.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{EVENT_KINDS, EventKind, EventReport};
use crate::metrics::EventFigures;

/// Events that are remembered; the oldest gives way.
pub const EVENTS_MAX: usize = 4096;
/// Events in one answer.
const PART_MAX: usize = 512;

/// The last [`EVENTS_MAX`] events.
#[derive(Debug)]
pub(crate) struct Ring {
    /// When this ring began, ms since 1970: after a restart the numbers begin again.
    pub began_ms: u64,
    events: Mutex<VecDeque<EventReport>>,
    /// By kind, since the start.
    told: [AtomicU64; EVENT_KINDS.len()],
    suppressed: [AtomicU64; EVENT_KINDS.len()],
}

/// What came after an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub events: Vec<EventReport>,
    /// Events between that one and the first of these that are not remembered any more.
    pub missed: u64,
    /// More are to be had at once.
    pub more: bool,
}

impl Ring {
    pub(super) fn new(began_ms: u64) -> Ring {
        Ring {
            began_ms,
            events: Mutex::default(),
            told: Default::default(),
            suppressed: Default::default(),
        }
    }

    /// One of this kind was left out.
    pub(super) fn count_suppressed(&self, kind: EventKind) {
        self.suppressed[kind as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How many of each kind there were, if there were any.
    pub(crate) fn figures(&self) -> Vec<(&'static str, EventFigures)> {
        let counts = EVENT_KINDS.iter().zip(&self.told).zip(&self.suppressed);
        let counts = counts.map(|((row, told), suppressed)| {
            let figures = EventFigures {
                told: told.load(Ordering::Relaxed),
                suppressed: suppressed.load(Ordering::Relaxed),
            };
            (row.name, figures)
        });
        let none = EventFigures::default();
        counts.filter(|(_, figures)| *figures != none).collect()
    }

    /// Gives it the next number.
    pub(super) fn push(&self, mut event: EventReport) -> EventReport {
        self.told[event.kind as usize].fetch_add(1, Ordering::Relaxed);
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        event.number = events.back().map_or(1, |last| last.number + 1);
        if events.len() >= EVENTS_MAX {
            events.pop_front();
        }
        events.push_back(event.clone());
        event
    }

    /// The events after number `after`, oldest first.
    pub(crate) fn after(&self, after: u64) -> Part {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let first = events.front().map_or(1, |first| first.number);
        let skip = usize::try_from((after + 1).saturating_sub(first)).unwrap_or(usize::MAX);
        let part: Vec<EventReport> = events.iter().skip(skip).take(PART_MAX).cloned().collect();
        Part {
            missed: first.saturating_sub(after.saturating_add(1)),
            more: skip.saturating_add(part.len()) < events.len(),
            events: part,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Severity;
    use super::*;

    fn event() -> EventReport {
        EventReport {
            number: 0,
            time_ms: 1,
            kind: EventKind::Reloaded,
            severity: Severity::Notice,
            flow: None,
            rule: None,
            reason: None,
            text: "new rules".to_owned(),
            numbers: Default::default(),
            suppressed: 0,
        }
    }

    #[test]
    fn a_reader_gets_each_event_once_and_hears_what_it_has_missed() {
        let ring = Ring::new(0);
        let empty = Part {
            events: Vec::new(),
            missed: 0,
            more: false,
        };
        assert_eq!(ring.after(0), empty);
        for number in 1..=3 {
            assert_eq!(ring.push(event()).number, number);
        }
        ring.count_suppressed(EventKind::Trouble);
        let figures = |told, suppressed| EventFigures { told, suppressed };
        let counted = [("trouble", figures(0, 1)), ("reloaded", figures(3, 0))];
        assert_eq!(ring.figures(), counted);
        let numbers = |part: &Part| part.events.iter().map(|e| e.number).collect::<Vec<_>>();
        assert_eq!(numbers(&ring.after(0)), [1, 2, 3]);
        assert_eq!(numbers(&ring.after(2)), [3]);
        assert_eq!(ring.after(3), empty);
        assert_eq!(ring.after(u64::MAX - 1), empty);
        for _ in 0..EVENTS_MAX {
            ring.push(event());
        }
        let part = ring.after(1);
        assert_eq!((part.missed, part.more), (2, true));
        assert_eq!((part.events.len(), part.events[0].number), (PART_MAX, 4));
        let (mut after, mut seen) = (1, 0);
        loop {
            let part = ring.after(after);
            seen += part.events.len();
            after = part.events.last().map_or(after, |e| e.number);
            if !part.more {
                break;
            }
        }
        assert_eq!(seen, EVENTS_MAX);
    }
}
