//! What the service manager is told (sd_notify(3)): ready, how the box stands, that it works, that it stops.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use sd_notify::NotifyState;

use crate::control::Handler;
use crate::heart::{Heart, Listener};
use crate::log;

/// How long a worker may stand still before it is told, where no watchdog says how long.
const STILL_MAX: Duration = Duration::from_secs(5);
/// How long the start waits for the first turn of every worker, and between two looks.
const FIRST_TURN_MAX: Duration = Duration::from_secs(2);
const FIRST_TURN_PAUSE: Duration = Duration::from_millis(1);

/// The service manager's end. Without one it tells nobody, and looks at the workers all the same.
pub(crate) struct Service {
    /// The workers must get on within this time, or the service manager ends the process.
    watchdog: Option<Duration>,
    workers: Listener,
    got_on_at: Instant,
    still_told: bool,
    ready: bool,
    status: String,
    failed: bool,
}

impl Service {
    pub(crate) fn new() -> Service {
        Service {
            watchdog: sd_notify::watchdog_enabled(),
            workers: Listener::default(),
            got_on_at: Instant::now(),
            still_told: false,
            ready: false,
            status: String::new(),
            failed: false,
        }
    }

    /// Waits until every worker has taken its first turn, but not for ever. Then packets flow, and the service manager is
    /// told so.
    pub(crate) fn await_workers(&mut self, handler: &Handler) {
        let end = Instant::now() + FIRST_TURN_MAX;
        self.tick(handler);
        while !self.ready && Instant::now() < end {
            thread::sleep(FIRST_TURN_PAUSE);
            self.tick(handler);
        }
    }

    /// Tells what is new, and feeds the watchdog if every worker has got on. To be called several times within the
    /// watchdog's time.
    pub(crate) fn tick(&mut self, handler: &Handler) {
        let hearts = handler.with_live(|live| Ok(live.workers.hearts().to_vec()));
        // While an interface is waited for, there is no worker that could stand still.
        let hearts = hearts.unwrap_or_default();
        if self.workers.all_beat(&hearts) {
            self.got_on_at = Instant::now();
            self.still_told = false;
            if !self.ready {
                self.ready = true;
                self.notify(&[NotifyState::Ready]);
            }
            if self.watchdog.is_some() {
                self.notify(&[NotifyState::Watchdog]);
            }
        } else {
            self.tell_still(&hearts);
        }
        let status = describe(handler, &hearts, self.still_told);
        if status != self.status {
            self.notify(&[NotifyState::Status(&status)]);
            self.status = status;
        }
    }

    /// How often it wants to be called.
    pub(crate) fn interval(&self, usual: Duration) -> Duration {
        self.watchdog.map_or(usual, |limit| usual.min(limit / 4))
    }

    pub(crate) fn stopping(&mut self) {
        self.notify(&[NotifyState::Stopping]);
    }

    fn tell_still(&mut self, hearts: &[Arc<Heart>]) {
        let limit = self.watchdog.map_or(STILL_MAX, |limit| limit / 2);
        let (still, since) = (self.workers.still(hearts), self.got_on_at.elapsed());
        let Some(worker) = still.filter(|_| since >= limit && !self.still_told) else {
            return;
        };
        self.still_told = true;
        let then = match self.watchdog {
            Some(limit) => format!(
                "the watchdog ends windlass when that lasts for {} s",
                limit.as_secs()
            ),
            None => "no watchdog looks after it: start windlass again if it stays so".to_owned(),
        };
        log::error(format_args!(
            "worker {worker} has not got on for {} s, and the kernel forwards its queue; {then}",
            since.as_secs()
        ));
    }

    fn notify(&mut self, state: &[NotifyState<'_>]) {
        match sd_notify::notify(state) {
            Err(e) if !self.failed => {
                self.failed = true;
                log::warning(format_args!("the service manager cannot be told: {e}"));
            }
            told => self.failed = told.is_err(),
        }
    }
}

/// A line for `systemctl status`.
fn describe(handler: &Handler, hearts: &[Arc<Heart>], still: bool) -> String {
    let condition = handler.condition();
    if let Some(why) = &condition.waiting {
        return format!("waiting, nothing is governed: {why}");
    }
    let doing = match handler.bypass.load(Ordering::Acquire) {
        true => "bypass is on: everything passes",
        false => "governing",
    };
    let lost = hearts.iter().filter(|heart| heart.has_stopped()).count();
    let mut text = format!(
        "{doing}, {} > {}, {} worker(s)",
        handler.inside,
        handler.outside,
        hearts.len() - lost
    );
    if lost > 0 {
        text += &format!(", {lost} lost (windlass status)");
    }
    if still {
        text += ", one stands still";
    }
    text
}
