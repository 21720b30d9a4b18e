//! BBR v1: the algorithm of Linux `tcp_bbr.c` (6.12) and draft-cardwell-iccrg-bbr-00, in bytes and
//! nanoseconds.
//!
//! Followed: the four modes, the order of work per ACK, the gain cycle with its random start, the
//! bandwidth filter over 10 rounds and its rule for application-limited samples, the 10 s filter
//! of the minimum RTT, packet conservation, ACK aggregation, the token-bucket policer estimator
//! and the pacing margin of 1 %.
//! Different: the window keeps its floor of 4 segments in recovery too; "in flight at the
//! earliest departure time" is what is in flight, since the caller's pacer holds the rest back;
//! the window that recovery restores is bound by the model at once, not at the next ACK; a policer is
//! believed only where no queue stands; start-up ends when it overflows a queue of its own making; a probe
//! that has found more is followed by the next one before the cycle is over; packet
//! conservation needs a flight that filled the path: one that the sender's supply kept small says
//! nothing about what the network can take (in a box, the supply is another host's slow start).

use serde::{Deserialize, Serialize};

use crate::parameter::{Millis, Thousandths, parameters};
use crate::rounds::Rounds;
use crate::scale::{mul_div, rate_over};
use crate::seeded::Seeded;
use crate::window::{inherited_window, initial_window, mss};
use crate::windowed_filter::WindowedMax;
use crate::{
    About, AckEvent, Beginning, ByteRate, CongestionControl, CongestionEvent, Control, MILLISECOND,
    Nanos, Path, Phase, Range, Signal, Signals,
};

mod aggregation;
mod limits;
mod model;
mod policer;

use aggregation::Aggregation;
use model::inherited_min_rtt;
use policer::Policer;

/// Gains are in thousandths.
const UNIT: u64 = 1000;
const CYCLE_GAINS: [u64; 8] = [1250, 750, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// What the phase that probes has sent is acknowledged in the two phases after it. So here it is known what it has found.
const CLIMB_INDEX: usize = 3;
/// So much more bandwidth is worth another probe at once, thousandths. A probe sends 1250.
const CLIMB_GROWTH: u64 = 1100;
/// Smallest window, segments.
const MIN_CWND_SEGMENTS: u64 = 4;

parameters! {
    /// What can be set of BBR v1.
    BbrParameters {
        /// Gain of Startup: 2 / ln 2, the least that doubles the rate every round.
        startup_gain: Thousandths = Thousandths(2885), Range::number(1.25, 4.0, "");
        /// Gain of Drain: the inverse of Startup's drains in one round what that queued.
        drain_gain: Thousandths = Thousandths(347), Range::number(0.1, 0.95, "");
        /// Window in ProbeBW, in bandwidth-delay products.
        cwnd_gain: Thousandths = Thousandths(2000), Range::number(1.0, 4.0, "");
        /// How long a minimum of the RTT is believed.
        min_rtt_filter_ms: Millis = Millis(10_000), Range::whole(1000, 600_000, "ms");
        /// How long ProbeRTT lasts at the least.
        probe_rtt_ms: Millis = Millis(200), Range::whole(10, 1000, "ms");
        /// Looks for a token-bucket policer, and keeps to its rate.
        policer: bool = true, Range::Flag;
        /// A newcomer among flows that fill a queue takes the loss of its first flights neither for a full pipe nor, if that goes on at
        /// the rate it keeps to, for a policer. A queue that it has filled itself ends start-up when it overflows. Linux takes the first
        /// for both, and goes on for three rounds after the second.
        #[serde(skip, default = "is_on")]
        newcomer: bool = true, Range::Flag;
        /// A probe that has found a tenth more bandwidth is followed by the next one two round trips later. Linux waits for the rest of
        /// the eight phases, so a rate that comes back is found in steps of a quarter in eight round trips.
        #[serde(skip, default = "is_on")]
        climb: bool = true, Range::Flag;
    }
}

/// Processes that know nothing of it hand flows over to others that do. `complete` puts back what a rule says.
fn is_on() -> bool {
    true
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Recovery {
    Open,
    Fast,
    Timeout,
}

/// Whether the pipe is full: the bandwidth has not grown for some rounds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct FullPipe {
    /// Beside what growth is measured: the bandwidth of the last round that has grown, and once the pipe is full, that with which a
    /// probe began. 0: nothing is known.
    bw: ByteRate,
    count: u32,
    reached: bool,
    /// Rounds that were not counted. Not in the state that processes hand over.
    #[serde(skip)]
    excused: u8,
}

/// The least RTT, and PROBE_RTT, which measures it again.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct MinRtt {
    rtt: Nanos,
    /// When it was measured; `None` before the first ACK.
    stamp: Option<Nanos>,
    /// End of PROBE_RTT, once the flight is small enough.
    probe_done: Option<Nanos>,
    probe_round_done: bool,
}

/// Where PROBE_BW is in its gains, and since when.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Cycle {
    index: usize,
    stamp: Nanos,
}

/// BBR v1.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bbr {
    parameters: BbrParameters,
    mode: Mode,
    recovery: Recovery,
    cwnd: u64,
    /// Window before recovery or PROBE_RTT.
    prior_cwnd: u64,
    pacing_rate: ByteRate,
    has_seen_rtt: bool,
    max_bw: WindowedMax,
    rounds: Rounds,
    full: FullPipe,
    least: MinRtt,
    /// Samples of data sent below this count of delivered bytes are application-limited.
    app_limited_until: u64,
    cycle: Cycle,
    packet_conservation: bool,
    /// When a recovery last ended, and with what window.
    recovered: Option<(Nanos, u64)>,
    /// The newest rate sample was of a flight that the sender kept small.
    app_limited: bool,
    idle_restart: bool,
    aggregation: Aggregation,
    policer: Policer,
    random: Seeded,
}

impl Bbr {
    /// Bandwidth to act on: the policer's if there is one.
    fn bw(&self) -> ByteRate {
        self.policer.rate().unwrap_or(self.max_bw.get())
    }

    fn gains(&self) -> (u64, u64) {
        let p = &self.parameters;
        match self.mode {
            Mode::Startup => (p.startup_gain.get(), p.startup_gain.get()),
            Mode::Drain => (p.drain_gain.get(), p.startup_gain.get()),
            Mode::ProbeBw if self.policer.rate().is_some() => (UNIT, p.cwnd_gain.get()),
            Mode::ProbeBw => (CYCLE_GAINS[self.cycle.index], p.cwnd_gain.get()),
            Mode::ProbeRtt => (UNIT, UNIT),
        }
    }

    /// Enters PROBE_BW anywhere in its cycle but in the phase that drains.
    fn enter_probe_bw(&mut self, now: Nanos) {
        self.mode = Mode::ProbeBw;
        self.full.bw = 0;
        let index = CYCLE_GAINS.len() - self.random.below(7) as usize;
        self.begin_phase(index % CYCLE_GAINS.len(), now);
    }

    fn begin_phase(&mut self, index: usize, now: Nanos) {
        self.cycle.index = index;
        self.cycle.stamp = now;
        if index == 0 {
            self.full.bw = self.max_bw.get();
        }
    }

    fn leave_probe_rtt(&mut self, now: Nanos) {
        if self.full.reached {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn save_cwnd(&mut self) {
        if self.recovery == Recovery::Open && self.mode != Mode::ProbeRtt {
            self.prior_cwnd = self.cwnd;
        } else {
            self.prior_cwnd = self.prior_cwnd.max(self.cwnd);
        }
    }

    fn end_recovery(&mut self, path: &Path) {
        if self.recovery != Recovery::Open {
            self.recovery = Recovery::Open;
            self.packet_conservation = false;
            self.restore_cwnd(path);
        }
    }

    /// Times can't be known before the first event.
    fn start_clock(&mut self, now: Nanos) {
        if self.least.stamp.is_none() {
            self.least.stamp = Some(now);
            self.aggregation.restart(now);
            self.cycle.stamp = now;
        }
    }
}

impl CongestionControl for Bbr {
    type Parameters = BbrParameters;
    const ABOUT: About = About {
        summary: "BBR v1: paces at the measured bandwidth, blind to loss",
        source: "Linux 6.12 tcp_bbr.c, draft-cardwell-iccrg-bbr-congestion-control-00",
        advice: "For paths that lose packets without being full: wireless, long, badly policed. It \
                 keeps queues near a BDP. It takes more than its share from CUBIC where queues are \
                 short and less where they are long, and makes one or two per cent of loss in \
                 queues shorter than a BDP; on such links shared with others use bbr3.",
        signals: Signals {
            loss: false,
            ecn: false,
            delay: false,
        },
    };

    fn new(beginning: &Beginning<'_>, parameters: &BbrParameters) -> Self {
        let (path, seed) = (beginning.path, beginning.seed);
        let measured = path.max_bw > 0 && path.min_rtt != Nanos::MAX;
        // ProbeBW would take eighty round trips to tenfold a rate that loss has kept low.
        let known = measured && beginning.knows_path() && !beginning.roomy;
        let cwnd = if measured {
            inherited_window(beginning).max(MIN_CWND_SEGMENTS * mss(path))
        } else {
            initial_window(path)
        };
        let srtt = if path.srtt == 0 {
            MILLISECOND
        } else {
            path.srtt
        };
        let mut bbr = Bbr {
            parameters: *parameters,
            mode: Mode::Startup,
            recovery: Recovery::Open,
            cwnd,
            prior_cwnd: 0,
            pacing_rate: mul_div(rate_over(cwnd, srtt), parameters.startup_gain.get(), UNIT)
                .max(mss(path)),
            has_seen_rtt: path.srtt != 0,
            max_bw: WindowedMax::default(),
            rounds: Rounds::default(),
            full: FullPipe {
                reached: known,
                ..FullPipe::default()
            },
            least: MinRtt {
                rtt: if measured {
                    inherited_min_rtt(path)
                } else {
                    path.min_rtt
                },
                stamp: None,
                probe_done: None,
                probe_round_done: false,
            },
            app_limited_until: 0,
            cycle: Cycle::default(),
            packet_conservation: false,
            recovered: None,
            app_limited: false,
            idle_restart: false,
            aggregation: Aggregation::default(),
            policer: Policer::default(),
            random: Seeded::new(seed),
        };
        bbr.rounds.restart(path.delivered);
        if known {
            bbr.max_bw.reset(0, path.max_bw);
            bbr.enter_probe_bw(0);
            bbr.set_pacing_rate(bbr.gains().0, path);
        }
        bbr
    }

    fn complete(&mut self, parameters: &BbrParameters) {
        self.parameters.newcomer = parameters.newcomer;
        self.parameters.climb = parameters.climb;
    }

    fn on_ack(&mut self, event: &AckEvent, path: &Path) {
        self.start_clock(event.now);
        self.update_bandwidth(event, path);
        self.app_limited = event.rate.map_or(self.app_limited, |rate| rate.app_limited);
        self.update_aggregation(event);
        self.update_cycle(event, path);
        self.check_full_bandwidth(event, path);
        self.check_drain(event, path);
        self.update_min_rtt(event, path);
        self.set_pacing_rate(self.gains().0, path);
        self.set_cwnd(event, path);
    }

    /// Loss opens a round of packet conservation; ECN marks mean nothing to BBR v1.
    fn on_congestion(&mut self, event: &CongestionEvent, path: &Path) {
        if event.signal == Signal::Ecn {
            return;
        }
        if let Some((at, cwnd)) = self.recovered.take()
            && at == event.now
        {
            // Linux compares the states that two ACKs leave behind: a recovery that begins with
            // the ACK that ended the one before goes on as that one.
            self.save_cwnd();
            self.recovery = Recovery::Fast;
            self.cwnd = cwnd;
            return;
        }
        self.save_cwnd();
        self.recovery = Recovery::Fast;
        self.rounds.restart(path.delivered);
        self.packet_conservation = !self.app_limited || self.is_overflowing(event, path);
        if self.packet_conservation {
            let conserved = path.inflight.saturating_add(mss(path));
            self.set_window(self.cwnd.min(conserved), path);
        }
    }

    fn on_recovery_exit(&mut self, now: Nanos, path: &Path) {
        self.recovered = (self.recovery == Recovery::Fast).then_some((now, self.cwnd));
        self.end_recovery(path);
    }

    fn on_rto(&mut self, now: Nanos, path: &Path) {
        self.save_cwnd();
        self.recovery = Recovery::Timeout;
        self.packet_conservation = false;
        self.full.bw = 0;
        // A timeout counts as the end of a round with loss.
        self.rounds.start = true;
        self.sample_policer(now, true, false, path);
        self.cwnd = path.inflight.saturating_add(mss(path)).min(self.cwnd);
    }

    fn on_spurious(&mut self, _now: Nanos, path: &Path) {
        self.full.bw = 0;
        self.full.count = 0;
        self.policer.reset();
        self.end_recovery(path);
    }

    fn on_idle_restart(&mut self, now: Nanos, _idle: Nanos, path: &Path) {
        self.start_clock(now);
        self.idle_restart = true;
        self.aggregation.restart(now);
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(UNIT, path),
            Mode::ProbeRtt => self.check_probe_rtt_done(now, path),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_pipe_full(&mut self, _now: Nanos, _path: &Path) {
        self.full.reached = true;
    }

    fn control(&self) -> Control {
        Control {
            cwnd: self.cwnd,
            ssthresh: u64::MAX,
            pacing_rate: Some(self.pacing_rate),
            phase: match self.mode {
                Mode::Startup => Phase::Startup,
                Mode::Drain => Phase::Drain,
                Mode::ProbeBw => Phase::ProbeBw,
                Mode::ProbeRtt => Phase::ProbeRtt,
            },
        }
    }

    fn uses_prr(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
