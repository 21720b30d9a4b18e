//! Algorithms whose law is a window: what such a law says, and all the rest, once.

use core::fmt::Debug;
use core::num::NonZeroU64;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::window::slow_start::SlowStart;
use crate::window::{LEAST_SEGMENTS, Window};
use crate::{
    About, AckEvent, Beginning, ByteRate, CongestionControl, CongestionEvent, Control, Nanos,
    Parameters, Path, Signal,
};

/// Why a window is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The first loss of a window.
    Loss,
    /// The first ECN mark of a window.
    Ecn,
    /// A timeout.
    Timeout,
    /// A timeout for which the window has been charged already: the threshold stays.
    RepeatedTimeout,
}

/// A law for the window of congestion avoidance. Slow start, recovery, timeouts, idling and the
/// way back from a mistake are [`Windowed`]'s; a law says only what is its own. Windows are in
/// bytes, times in nanoseconds.
pub trait Law: Clone + Debug + Serialize + DeserializeOwned {
    /// What an operator can set.
    type Parameters: Parameters;
    /// What a reduction destroys and a spurious one gives back, besides window and threshold.
    type Undo: Clone + Default + Debug + Serialize + DeserializeOwned;
    /// What it says of itself.
    const ABOUT: About;

    /// The law at the start of a flow or of its time in charge of one.
    fn new(path: &Path, parameters: &Self::Parameters) -> Self;

    /// How it leaves the first slow start.
    fn slow_start(_parameters: &Self::Parameters, _path: &Path) -> SlowStart {
        SlowStart::Standard
    }

    /// The least that a reduction leaves, segments.
    fn least_segments(_parameters: &Self::Parameters) -> u8 {
        LEAST_SEGMENTS
    }

    /// Every ACK, before the window moves: for measurements, and for laws that end slow start
    /// themselves.
    fn on_ack(&mut self, _: &AckEvent, _: &mut Window, _: &Path, _: &Self::Parameters) {}

    /// Growth in congestion avoidance by `bytes` delivered: the window was the limit, and no
    /// recovery is open.
    fn avoid(
        &mut self,
        bytes: u64,
        event: &AckEvent,
        window: &mut Window,
        path: &Path,
        parameters: &Self::Parameters,
    );

    /// An ACK by which the window may not grow: it was not the limit, or recovery is open.
    fn held(&mut self, _: &AckEvent, _: &mut Window, _: &Path, _: &Self::Parameters) {}

    /// The window after a reduction, bytes; and the law's own part in it. Not asked for where it
    /// has no meaning ([`Cause::RepeatedTimeout`]: the answer is ignored).
    fn reduce(&mut self, cause: Cause, window: &Window, path: &Path, p: &Self::Parameters) -> u64;

    /// All that was outstanding at the reduction has been delivered.
    fn on_recovery_exit(&mut self, _: Nanos, _: &mut Window, _: &Path, _: &Self::Parameters) {}

    /// Sending resumes after `idle` ns; `shrunk`: long enough that the window has shrunk.
    fn on_idle(&mut self, _now: Nanos, _idle: Nanos, _shrunk: bool) {}

    /// What [`Law::restore`] needs.
    fn save(&self) -> Self::Undo;

    /// The last reduction was a mistake.
    fn restore(&mut self, undo: Self::Undo);

    /// For laws that ask for pacing, bytes per second.
    fn pacing_rate(&self, _: &Window, _: &Path, _: &Self::Parameters) -> Option<ByteRate> {
        None
    }
}

/// A congestion control out of a law.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Windowed<L: Law> {
    pub(crate) window: Window,
    pub(crate) law: L,
    undo: L::Undo,
    pub(crate) parameters: L::Parameters,
    pacing_rate: Option<NonZeroU64>,
}

impl<L: Law> Windowed<L> {
    fn refresh(&mut self, path: &Path) {
        let rate = self.law.pacing_rate(&self.window, path, &self.parameters);
        self.pacing_rate = rate.and_then(NonZeroU64::new);
    }
}

impl<L: Law> CongestionControl for Windowed<L> {
    type Parameters = L::Parameters;
    const ABOUT: About = L::ABOUT;

    fn new(beginning: &Beginning<'_>, parameters: &L::Parameters) -> Self {
        let path = beginning.path;
        let law = L::new(path, parameters);
        let mut windowed = Windowed {
            window: Window::new(
                beginning,
                L::slow_start(parameters, path),
                L::least_segments(parameters),
            ),
            undo: L::Undo::default(),
            law,
            parameters: *parameters,
            pacing_rate: None,
        };
        windowed.refresh(path);
        windowed
    }

    fn on_ack(&mut self, event: &AckEvent, path: &Path) {
        let (window, law, parameters) = (&mut self.window, &mut self.law, &self.parameters);
        law.on_ack(event, window, path, parameters);
        match window.on_ack(event, path) {
            Some(0) => {}
            Some(bytes) => law.avoid(bytes, event, window, path, parameters),
            None => law.held(event, window, path, parameters),
        }
        self.refresh(path);
    }

    fn on_congestion(&mut self, event: &CongestionEvent, path: &Path) {
        let cause = match event.signal {
            Signal::Loss => Cause::Loss,
            Signal::Ecn => Cause::Ecn,
        };
        self.undo = self.law.save();
        let target = self.law.reduce(cause, &self.window, path, &self.parameters);
        self.window.reduce(target, path);
        self.refresh(path);
    }

    fn on_recovery_exit(&mut self, now: Nanos, path: &Path) {
        self.window.recovered();
        let (window, parameters) = (&mut self.window, &self.parameters);
        self.law.on_recovery_exit(now, window, path, parameters);
        self.refresh(path);
    }

    fn on_rto(&mut self, _now: Nanos, path: &Path) {
        let cause = if self.window.is_charged(path) {
            Cause::RepeatedTimeout
        } else {
            self.undo = self.law.save();
            Cause::Timeout
        };
        let target = self.law.reduce(cause, &self.window, path, &self.parameters);
        self.window.collapse(target, path);
        self.refresh(path);
    }

    fn on_spurious(&mut self, _now: Nanos, path: &Path) {
        if self.window.undo() {
            self.law.restore(core::mem::take(&mut self.undo));
        }
        self.refresh(path);
    }

    fn on_idle_restart(&mut self, now: Nanos, idle: Nanos, path: &Path) {
        let shrunk = self.window.idle(idle, path);
        self.law.on_idle(now, idle, shrunk);
        self.refresh(path);
    }

    fn control(&self) -> Control {
        self.window.control(self.pacing_rate.map(NonZeroU64::get))
    }
}
