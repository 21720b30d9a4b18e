//! The minimum RTT and the state that measures it (§"ProbeRTT Logic").

use super::{Bbr3, PROBE_RTT_CWND_GAIN, State};
use crate::{AckEvent, Nanos, Path};

impl Bbr3 {
    pub(super) fn update_min_rtt(&mut self, event: &AckEvent, path: &Path) {
        let now = event.now;
        let (m, p) = (&mut self.min_rtt, &self.parameters);
        m.probe_expired = now
            > m.probe_stamp
                .saturating_add(p.probe_rtt_interval_ms.nanos());
        if let Some(rtt) = event.rtt
            && (rtt < m.probe_delay || m.probe_expired)
        {
            m.probe_delay = match m.value {
                // The handshake's, while that is of late.
                Nanos::MAX => rtt.min(path.recent_min_rtt()),
                _ => rtt,
            };
            m.probe_stamp = now;
        }
        let expired = now > m.stamp.saturating_add(p.min_rtt_filter_ms.nanos());
        if m.probe_delay < m.value || (expired && m.probe_delay != Nanos::MAX) {
            m.value = m.probe_delay;
            m.stamp = m.probe_stamp;
        }
    }

    pub(super) fn check_probe_rtt(&mut self, event: &AckEvent, path: &Path) {
        if self.state != State::ProbeRtt && self.min_rtt.probe_expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.min_rtt.done = None;
            self.probing.ack_phase = super::AckPhase::ProbeStopping;
            self.rounds.restart(path.delivered);
        }
        if self.state == State::ProbeRtt {
            self.run_probe_rtt(event, path);
        }
        if event.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn run_probe_rtt(&mut self, event: &AckEvent, path: &Path) {
        // The small window, not the path, bounds what is delivered now.
        self.app_limited_until = path
            .delivered
            .saturating_add(event.inflight)
            .saturating_add(1);
        if self.min_rtt.done.is_some() {
            self.min_rtt.round_done |= self.rounds.start;
            if self.min_rtt.round_done {
                self.check_probe_rtt_done(event.now, path);
            }
        } else if event.inflight <= self.probe_rtt_cwnd(path) {
            self.min_rtt.done = Some(
                event
                    .now
                    .saturating_add(self.parameters.probe_rtt_ms.nanos()),
            );
            self.min_rtt.round_done = false;
            self.rounds.restart(path.delivered);
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, now: Nanos, path: &Path) {
        if self.min_rtt.done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt.probe_stamp = now;
        self.reset_shortterm();
        if self.full.reached {
            self.start_down(now, path);
            // The flight is below the BDP already.
            self.start_cruise();
        } else {
            self.enter_startup();
        }
        self.restore_cwnd(path);
    }

    pub(super) fn probe_rtt_cwnd(&self, path: &Path) -> u64 {
        self.bdp(self.model.bw, PROBE_RTT_CWND_GAIN, path)
            .max(self.min_pipe(path))
    }
}
