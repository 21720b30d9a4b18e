//! TCP Veno: Fu and Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access
//! Networks", IEEE JSAC 21(2), 2003; Linux `tcp_veno.c` (6.12).
//!
//! Vegas' count of the segments in the queue tells a full path from a bad one: below `beta` of them
//! a loss is taken for a random one and costs a fifth of the window; from `beta` on it costs half,
//! and the window grows every second round trip only. Profile `rfc`: the queue is found once a round
//! trip from its smallest RTT. Profile `linux`: at every ACK from its own RTT, in half segments
//! rounded up, so that 2.5 segments are the most that `beta` = 3 lets pass; an ACK that
//! reports something out of order is not asked; windows are whole segments.
//!
//! Different from Linux: growth is by bytes, and every second round trip means a segment for two
//! windows delivered, where Linux grants every other one of the segments that Reno would.

use serde::{Deserialize, Serialize};

use crate::parameter::{Thousandths, parameters};
use crate::rtt_round::RttRound;
use crate::scale::mul_div;
use crate::window::slow_start::{SlowStart, SlowStartRule};
use crate::window::windowed::{Cause, Law, Windowed};
use crate::window::{Window, mss, whole_segments};
use crate::{About, AckEvent, Nanos, Path, Profile, Range, Signals};

parameters! {
    /// What can be set of Veno.
    VenoParameters {
        /// From so many segments in the queue on, a loss is taken for congestion.
        beta: u32 = 3, Range::whole(1, 1000, "segments");
        /// Share of the window that a loss leaves while the queue is short.
        random_loss_beta: Thousandths = Thousandths(800), Range::number(0.5, 0.95, "");
        /// Share of the window that a loss leaves otherwise.
        congestion_beta: Thousandths = Thousandths(500), Range::number(0.1, 0.95, "");
        /// When the queue is found: once a round trip ("rfc": the paper), or at every ACK ("linux").
        profile: Profile = Profile::Rfc, Profile::RANGE;
        /// How the first slow start ends.
        slow_start: SlowStartRule = SlowStartRule::Standard, SlowStartRule::RANGE;
    }
}

/// TCP Veno.
pub type Veno = Windowed<VenoLaw>;

/// Reno that gives way less when the queue is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VenoLaw {
    round: RttRound,
    /// The queue holds `beta` segments or more.
    congested: bool,
}

impl VenoLaw {
    /// Whether `beta` segments or more wait at a round trip of `rtt`: `cwnd (rtt - base) / rtt`
    /// against it, without the division.
    fn is_congested(&self, rtt: Nanos, window: &Window, path: &Path, p: &VenoParameters) -> bool {
        let excess = rtt.saturating_sub(self.round.base()) as f64;
        let queue_times_rtt = window.cwnd as f64 * excess;
        let segments_times_rtt = mss(path) as f64 * rtt as f64;
        let beta = f64::from(p.beta);
        match p.profile {
            Profile::Rfc => queue_times_rtt >= beta * segments_times_rtt,
            Profile::Linux => queue_times_rtt > (beta - 0.5) * segments_times_rtt,
        }
    }
}

impl Law for VenoLaw {
    type Parameters = VenoParameters;
    type Undo = ();
    const ABOUT: About = About {
        summary: "Veno: Reno that loses a fifth instead of half while the queue is short",
        source: "Fu and Liew 2003; Linux tcp_veno.c 6.12",
        advice: "For paths that lose a little at random, such as radio links: there its mean window \
                 is 1.7 times Reno's, and it is fair beside Reno where the queue is full. Not for \
                 long fast paths, on which it grows as slowly as Reno; and the gain is gone where \
                 the queue stands anyway or the RTT jitters by more than a few segments' time.",
        signals: Signals::LOSS_AND_DELAY,
    };

    fn new(path: &Path, _parameters: &VenoParameters) -> Self {
        VenoLaw {
            round: RttRound::new(path),
            congested: false,
        }
    }

    fn slow_start(parameters: &VenoParameters, _path: &Path) -> SlowStart {
        parameters.slow_start.start()
    }

    fn on_ack(&mut self, event: &AckEvent, window: &mut Window, path: &Path, p: &VenoParameters) {
        self.round.on_ack(event, path);
        // The kernel judges in `cong_avoid`, which duplicate ACKs do not come to, and only while
        // nothing is SACKed (`TCP_CA_Open`).
        let in_order = event.acked > 0 && event.acked == event.delivered;
        let judged = in_order || p.profile == Profile::Rfc;
        if event.in_recovery || !event.cwnd_limited || !judged {
            return;
        }
        let rtt = match p.profile {
            Profile::Rfc => self.round.measured().then_some(self.round.min()),
            Profile::Linux => event.rtt,
        };
        if let Some(rtt) = rtt {
            self.congested = self.is_congested(rtt, window, path, p);
        }
    }

    fn avoid(
        &mut self,
        bytes: u64,
        event: &AckEvent,
        window: &mut Window,
        path: &Path,
        _parameters: &VenoParameters,
    ) {
        let slow = self.congested && !event.in_recovery;
        let price = if slow { 2 * window.cwnd } else { window.cwnd };
        window.add_segments(price, bytes, path);
    }

    fn reduce(&mut self, _: Cause, window: &Window, path: &Path, p: &VenoParameters) -> u64 {
        let beta = if self.congested {
            p.congestion_beta
        } else {
            p.random_loss_beta
        };
        let target = mul_div(window.cwnd, beta.get(), 1000);
        match p.profile {
            Profile::Rfc => target,
            Profile::Linux => whole_segments(target, path),
        }
    }

    fn on_recovery_exit(&mut self, _: Nanos, _: &mut Window, path: &Path, _: &VenoParameters) {
        self.round.restart(path);
    }

    fn on_idle(&mut self, _now: Nanos, _idle: Nanos, _shrunk: bool) {
        self.round.forget_base();
        self.round.restart_after_idle();
    }

    fn save(&self) {}

    fn restore(&mut self, (): ()) {}
}

#[cfg(test)]
mod tests;
