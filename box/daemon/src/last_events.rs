//! The last events of the daemon, which a crash tells.
//!
//! Messages, orders over the control socket, openings and closings of the box, and what `windlass events` has. A process that
//! panics or is ended by its watchdog tells them itself; of one that ends in another way, the next one tells them (`kept`).

mod kept;

use std::collections::VecDeque;
use std::panic;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use kept::Kept;

use crate::log;

/// Events that are kept; of more, the oldest are forgotten.
pub(crate) const EVENTS_MAX: usize = 4096;

/// Events in the order in which they came.
#[derive(Default)]
struct Ring {
    events: VecDeque<(Instant, String)>,
    forgotten: u64,
}

static RING: Mutex<Ring> = Mutex::new(Ring {
    events: VecDeque::new(),
    forgotten: 0,
});

/// The file that has them, too. Whoever has the ring may take it, and not the other way round.
static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

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
    // Whoever panicked with a lock has left at worst an event less.
    let mut ring = RING.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    ring.push(now, what);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let written = kept.as_mut().map(|kept| kept.push(now, what, &ring));
    if written.is_some_and(|written| written.is_err()) {
        // A file with a gap would tell a wrong story.
        kept.take().into_iter().for_each(Kept::remove);
    }
}

/// As long as this is there, the events are also in a file, which a process leaves behind that is not stopped.
pub(crate) struct Keeping(());

impl Keeping {
    /// Beside this control socket. Tells what a process has left there that was not stopped.
    pub(crate) fn begin(control: &Path) -> Keeping {
        let path = Kept::path(control);
        if let Some(left) = kept::left_at(&path) {
            log::write_critical(&left);
        }
        let ring = RING.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = Kept::begin(path.clone(), &ring);
        let failed = begun
            .as_ref()
            .err()
            .map(|e| format!("{}: {e}", path.display()));
        *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = begun.ok();
        drop(ring);
        if let Some(why) = failed {
            log::warning(format_args!(
                "{why}: after a crash, the last events are in the log only"
            ));
        }
        Keeping(())
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        forget();
    }
}

/// They have been told, or there is nothing to tell.
fn forget() {
    // The thread that has crashed may hold it.
    if let Ok(mut kept) = KEPT.try_lock() {
        kept.take().into_iter().for_each(Kept::remove);
    }
}

/// Writes all events to the standard error output for the last time: the process is about to end.
pub(crate) fn tell_at_end(why: &str) {
    tell(why);
    forget();
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
        let mut ring = Ring::default();
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
