//! NewReno: RFC 5681 and RFC 6582.
//!
//! Congestion avoidance counts bytes (RFC 5681 §3.1, the recommended form), so that delayed,
//! stretched or divided ACKs make no difference; slow start takes the whole of a stretch ACK and
//! hands what lies beyond the threshold on to congestion avoidance, as Linux `tcp_reno` does.
//! Recovery itself is PRR's work.

use crate::slow_start::{SlowStart, StandardSlowStart};
use crate::window::Window;
use crate::{AckEvent, CongestionControl, CongestionEvent, Control, Nanos, Path};

/// NewReno, with the slow start `S`.
#[derive(Clone, Debug)]
pub struct Reno<S = StandardSlowStart> {
    window: Window,
    slow_start: S,
}

impl<S: SlowStart> CongestionControl for Reno<S> {
    fn new(path: &Path, _seed: u64) -> Self {
        Reno {
            window: Window::new(path),
            slow_start: S::default(),
        }
    }

    fn on_ack(&mut self, event: &AckEvent, path: &Path) {
        if let Some(bytes) = self.window.on_ack(&mut self.slow_start, event, path) {
            self.window.add_segments(self.window.cwnd, bytes, path);
        }
    }

    fn on_congestion(&mut self, _event: &CongestionEvent, path: &Path) {
        self.slow_start.finish();
        self.window.reduce(self.window.cwnd / 2, path);
    }

    fn on_recovery_exit(&mut self, _now: Nanos, _path: &Path) {
        self.window.recovered();
    }

    fn on_rto(&mut self, _now: Nanos, path: &Path) {
        self.slow_start.finish();
        self.window.collapse(self.window.cwnd / 2, path);
    }

    fn on_spurious(&mut self, _now: Nanos, _path: &Path) {
        self.window.undo();
    }

    fn on_idle_restart(&mut self, _now: Nanos, idle: Nanos, path: &Path) {
        self.window.idle(idle, path);
    }

    fn control(&self) -> Control {
        self.window.control(self.slow_start.is_conservative())
    }
}

#[cfg(test)]
#[path = "reno_tests.rs"]
mod tests;
