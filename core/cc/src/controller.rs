//! The one thing that a flow holds: an algorithm, and the recovery episode that PRR runs for it.

use crate::plugin::{Fault, PluginId};
use crate::registry::{Algorithm, AlgorithmId};
use crate::settings::Settings;
use crate::warm::Warm;
use crate::window::prr::Prr;
use crate::window::{MAX_CWND_BYTES, mss};
use crate::{AckEvent, Beginning, CongestionEvent, Control, Nanos, Path, Phase, SendEvent};

/// All of a [`Controller`] that is exported beside its algorithm.
pub(crate) type Rest = (Option<Prr>, Option<Warm>, u64, Control);

/// An algorithm in charge of a flow. Plain data: copy it to look ahead, keep it to look back.
#[derive(Clone, Debug)]
pub struct Controller {
    algorithm: Algorithm,
    /// The open recovery episode of a window-based algorithm.
    prr: Option<Box<Prr>>,
    /// What the algorithms that were in charge before have left.
    past: Option<Box<Past>>,
    /// What both ask for now: it is looked at much more often than it changes.
    wanted: Wanted,
}

/// What the algorithms that were in charge before have left. Most flows never have one.
#[derive(Clone, Copy, Debug, Default)]
struct Past {
    /// What one of them goes on learning.
    warm: Option<Warm>,
    /// The plugin that has failed here, until another algorithm is put in charge.
    failed: Option<Failed>,
    /// It has not been told yet.
    unreported: bool,
}

/// [`Control`], in less memory.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    cwnd: u64,
    ssthresh: u64,
    pacing_rate: u64,
    /// No window is smaller than this.
    mss: u32,
    asks_for_rate: bool,
    phase: Phase,
}

impl Wanted {
    #[inline]
    fn of(control: &Control, mss: u32) -> Wanted {
        Wanted {
            cwnd: control.cwnd,
            ssthresh: control.ssthresh,
            pacing_rate: control.pacing_rate.unwrap_or(0),
            mss,
            asks_for_rate: control.pacing_rate.is_some(),
            phase: control.phase,
        }
    }

    #[inline]
    fn control(&self) -> Control {
        Control {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            pacing_rate: self.asks_for_rate.then_some(self.pacing_rate),
            phase: self.phase,
        }
    }
}

/// A plugin has failed, and the policy's fallback is in charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Which.
    pub plugin: PluginId,
    /// How.
    pub fault: Fault,
}

impl Past {
    fn of(warm: Warm) -> Past {
        Past {
            warm: Some(warm),
            ..Past::default()
        }
    }
}

impl Controller {
    /// Starts an algorithm, with defaults or as set, on a path known as far as `path` says; `seed`
    /// is all its randomness.
    pub fn new(settings: impl Into<Settings>, path: &Path, seed: u64) -> Self {
        let algorithm = settings.into().start(&Beginning::new(path, seed));
        let mut controller = Controller {
            wanted: Wanted::of(&algorithm.control(), path.mss.max(1)),
            algorithm,
            prr: None,
            past: None,
        };
        controller.replace_failed(path);
        controller.refresh();
        controller
    }

    /// What stands in a host that has been read until its own is put back ([`crate::Host::install`]).
    pub(crate) fn to_be_imported() -> Controller {
        Controller::new(AlgorithmId::Reno, &Path::new(0), 0)
    }

    pub(crate) fn parts(&self) -> (&Algorithm, Rest) {
        let prr = self.prr.as_deref().copied();
        let warm = self.past.as_ref().and_then(|past| past.warm);
        let rest = (prr, warm, self.wanted.mss.into(), self.control());
        (&self.algorithm, rest)
    }

    pub(crate) fn of_parts(algorithm: Algorithm, (prr, warm, mss, control): Rest) -> Controller {
        Controller {
            algorithm,
            prr: prr.map(Box::new),
            past: warm.map(|warm| Box::new(Past::of(warm))),
            wanted: Wanted::of(&control, u32::try_from(mss).unwrap_or(u32::MAX)),
        }
    }

    /// The plugin in whose place the fallback is in charge.
    pub fn failed(&self) -> Option<Failed> {
        self.past.as_ref()?.failed
    }

    /// The same, told once.
    pub fn take_failed(&mut self) -> Option<Failed> {
        let past = self.past.as_mut()?;
        let unreported = core::mem::take(&mut past.unreported);
        let failed = past.failed.filter(|_| unreported)?;
        failed.plugin.description().code.on_fault(failed.fault);
        Some(failed)
    }

    /// Puts the fallback in the place of a plugin that has just failed; whether it had to.
    fn replace_failed(&mut self, path: &Path) -> bool {
        let Algorithm::Plugin(plugin) = &self.algorithm else {
            return false;
        };
        let Some((fault, fallback)) = plugin.fault() else {
            return false;
        };
        let failed = Failed {
            plugin: plugin.id(),
            fault,
        };
        self.switch(fallback, path, path.delivered);
        let past = self.past.get_or_insert_default();
        (past.failed, past.unreported) = (Some(failed), true);
        true
    }

    /// Which algorithm is in charge.
    pub fn id(&self) -> AlgorithmId {
        self.algorithm.id()
    }

    /// The algorithm itself, to show its state.
    pub fn algorithm(&self) -> &Algorithm {
        &self.algorithm
    }

    /// Data left for the network.
    pub fn on_sent(&mut self, event: &SendEvent, path: &Path) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent(event.bytes);
        }
        self.algorithm.on_sent(event, path);
        if self.replace_failed(path) {
            self.algorithm.on_sent(event, path);
        }
        self.refresh();
    }

    /// An ACK, after `on_congestion` and before `on_recovery_exit` if it causes either.
    pub fn on_ack(&mut self, event: &AckEvent, path: &Path) {
        self.wanted.mss = path.mss.max(1);
        self.algorithm.on_ack(event, path);
        if self.replace_failed(path) {
            self.algorithm.on_ack(event, path);
        }
        if let Some(warm) = self.past.as_mut().and_then(|past| past.warm.as_mut()) {
            warm.on_ack(event, path, self.wanted.cwnd);
        }
        if let Some(prr) = &mut self.prr {
            let safe = event.acked > 0 && event.lost == 0;
            prr.on_ack(
                event.delivered,
                event.inflight,
                safe,
                self.wanted.mss.into(),
            );
        }
        self.refresh();
    }

    /// The first loss or ECN mark of a window of data.
    pub fn on_congestion(&mut self, event: &CongestionEvent, path: &Path) {
        self.algorithm.on_congestion(event, path);
        if self.replace_failed(path) {
            self.algorithm.on_congestion(event, path);
        }
        if self.algorithm.uses_prr() {
            self.begin_prr(event.inflight_before, path);
        }
        self.refresh();
    }

    /// All that was outstanding at `on_congestion` has been delivered: the window is the
    /// threshold again.
    pub fn on_recovery_exit(&mut self, now: Nanos, path: &Path) {
        self.prr = None;
        self.algorithm.on_recovery_exit(now, path);
        if self.replace_failed(path) {
            self.algorithm.on_recovery_exit(now, path);
        }
        self.refresh();
    }

    /// The retransmission timer fired; what follows is slow start, not PRR.
    pub fn on_rto(&mut self, now: Nanos, path: &Path) {
        self.prr = None;
        self.algorithm.on_rto(now, path);
        if self.replace_failed(path) {
            self.algorithm.on_rto(now, path);
        }
        self.refresh();
    }

    /// The last reduction was a mistake.
    pub fn on_spurious(&mut self, now: Nanos, path: &Path) {
        self.prr = None;
        self.algorithm.on_spurious(now, path);
        if self.replace_failed(path) {
            self.algorithm.on_spurious(now, path);
        }
        self.refresh();
    }

    /// Sending resumes after `idle` nanoseconds with nothing in flight.
    pub fn on_idle_restart(&mut self, now: Nanos, idle: Nanos, path: &Path) {
        self.algorithm.on_idle_restart(now, idle, path);
        if self.replace_failed(path) {
            self.algorithm.on_idle_restart(now, idle, path);
        }
        self.refresh();
    }

    /// In start-up more was sent for a round trip than the path carries.
    pub fn on_pipe_full(&mut self, now: Nanos, path: &Path) {
        self.algorithm.on_pipe_full(now, path);
        self.refresh();
    }

    /// What may be in flight and how fast it may leave. During recovery the window of a
    /// window-based algorithm is PRR's; `ssthresh` is where it will end.
    #[inline]
    pub fn control(&self) -> Control {
        self.wanted.control()
    }

    /// Reads what an ACK will need of the algorithm's own memory, so that the processor fetches it ahead of time.
    pub fn touch(&self) -> u64 {
        self.algorithm.control().cwnd
    }

    fn refresh(&mut self) {
        self.wanted = Wanted::of(&self.algorithm.control(), self.wanted.mss);
        if let Some(prr) = &self.prr {
            self.wanted.cwnd = prr.cwnd().clamp(self.wanted.mss.into(), MAX_CWND_BYTES);
        }
    }

    /// Puts another algorithm, or the same with other parameters, in charge of the running flow. It starts from what is known of the path: with
    /// the larger of flight and BDP for a window, but at most what one round trip of slow start
    /// would have made of the old window or of the flight.
    ///
    /// In the midst of a start-up without a loss, which has not found the capacity of the path yet,
    /// the new algorithm goes on with a start-up of its own, from the same window. So does BBR after
    /// an algorithm that loss has kept from filling the path.
    ///
    /// An open recovery episode goes on under PRR if the new algorithm leaves that to it.
    pub fn switch(&mut self, settings: impl Into<Settings>, path: &Path, seed: u64) {
        let episode = self.prr.take();
        let past = self.past.take();
        let (starting, roomy) = (self.is_starting(path), self.leaves_room(path));
        let path = &Path {
            // It may have become longer since its least RTT was measured.
            min_rtt: path.recent_data_rtt(),
            ..*path
        };
        let warm = Warm::of(&self.algorithm).or(past.and_then(|past| past.warm));
        self.past = warm.map(|warm| Box::new(Past::of(warm)));
        self.algorithm = settings.into().start(&Beginning {
            path,
            seed,
            starting,
            roomy,
        });
        if self.replace_failed(path) {
            return;
        }
        if warm.is_some_and(|warm| warm.revive(&mut self.algorithm)) {
            self.past = None;
        }
        if self.algorithm.uses_prr() {
            self.prr = episode;
        }
        self.refresh();
    }

    fn is_starting(&self, path: &Path) -> bool {
        let starts = matches!(
            self.wanted.phase,
            Phase::SlowStart | Phase::ConservativeSlowStart | Phase::Startup
        );
        starts && path.lost == 0 && self.prr.is_none()
    }

    /// A tenth of the least RTT is no queue to speak of.
    fn leaves_room(&self, path: &Path) -> bool {
        let gives_way = self.id().about().signals.loss;
        gives_way && path.lost > 0 && path.srtt > 0 && path.srtt <= path.recent_min_rtt() / 10 * 11
    }

    fn begin_prr(&mut self, recover_fs: u64, path: &Path) {
        let target = self.algorithm.control().cwnd;
        let prr = Prr::new(target, recover_fs, path.inflight, mss(path));
        self.prr = Some(Box::new(prr));
    }
}
