//! The last events of the daemon, which a crash tells.
//!
//! Messages, orders over the control socket, and openings and closings of the box. Nothing of single packets or flows.

use std::collections::VecDeque;
use std::panic;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::log;

/// Events that are kept; of more, the oldest are forgotten.
pub(crate) const EVENTS_MAX: usize = 4096;

/// Events in the order in which they came.
struct Ring {
    events: VecDeque<(Instant, String)>,
    forgotten: u64,
}

static RING: Mutex<Ring> = Mutex::new(Ring {
    events: VecDeque::new(),
    forgotten: 0,
});

/// Panics of any thread.
static PANICS: AtomicU64 = AtomicU64::new(0);

impl Ring {
    fn push(&mut self, at: Instant, what: &str) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
            self.forgotten += 1;
        }
        self.events.push_back((at, what.to_owned()));
    }

    fn text(&self, now: Instant, why: &str) -> String {
        let mut text = format!(
            "{why}; the last {} event(s), {} older ones are forgotten:\n",
            self.events.len(),
            self.forgotten
        );
        for (at, what) in &self.events {
            let before = now.saturating_duration_since(*at);
            text += &format!("  {:10.3} s before: {}\n", seconds(before), what.trim_end());
        }
        text
    }
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

/// Keeps an event.
pub(crate) fn note(what: &str) {
    // Whoever panicked with the lock has left at worst an event less.
    let mut ring = RING
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    ring.push(Instant::now(), what);
}

/// Panics of any thread since the start.
pub(crate) fn panics() -> u64 {
    PANICS.load(Ordering::Relaxed)
}

/// Writes all events to the standard error output. It waits for nobody: the thread that holds them may be the one that
/// has crashed.
pub(crate) fn tell(why: &str) {
    match RING.try_lock() {
        Ok(ring) => log::write_critical(&ring.text(Instant::now(), why)),
        Err(_) => log::write_critical(&format!("{why}; its last events cannot be had")),
    }
}

/// From now on a panic of any thread tells the last events.
pub(crate) fn tell_at_panics() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            PANICS.fetch_add(1, Ordering::Relaxed);
            report(panic);
            let thread = thread::current();
            let name = thread.name().unwrap_or("without a name").to_owned();
            tell(&format!("thread {name} has panicked: {panic}"));
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_events_are_kept_and_the_oldest_forgotten() {
        let mut ring = Ring {
            events: VecDeque::new(),
            forgotten: 0,
        };
        let start = Instant::now();
        for number in 0..EVENTS_MAX as u64 + 3 {
            ring.push(
                start + Duration::from_millis(number),
                &format!("event {number}"),
            );
        }
        let text = ring.text(start + Duration::from_millis(4200), "over");
        let mut lines = text.lines();
        assert_eq!(
            lines.next(),
            Some("over; the last 4096 event(s), 3 older ones are forgotten:")
        );
        assert_eq!(lines.next(), Some("       4.197 s before: event 3"));
        assert_eq!(lines.last(), Some("       0.102 s before: event 4098"));
    }
}
