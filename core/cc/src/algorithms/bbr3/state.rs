//! The states of BBR v3 and the smaller parts of its memory.

use serde::{Deserialize, Serialize};

use super::{
    Bbr3Parameters, DEFAULT_CWND_GAIN, PROBE_RTT_CWND_GAIN, STARTUP_PACING_GAIN, UNBOUNDED, UNIT,
    UP_CWND_GAIN,
};
use crate::{ByteRate, Nanos, Path};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// (pacing gain, cwnd gain): the table of §"Summary of Control Behavior".
    pub(super) fn gains(self, p: &Bbr3Parameters) -> (u64, u64) {
        match self {
            State::Startup => (STARTUP_PACING_GAIN, DEFAULT_CWND_GAIN),
            State::Drain => (p.drain_gain.get(), DEFAULT_CWND_GAIN),
            State::Down => (p.down_gain.get(), DEFAULT_CWND_GAIN),
            State::Cruise | State::Refill => (UNIT, DEFAULT_CWND_GAIN),
            State::Up => (p.up_gain.get(), UP_CWND_GAIN),
            State::ProbeRtt => (UNIT, PROBE_RTT_CWND_GAIN),
        }
    }

    pub(super) fn is_probe_bw(self) -> bool {
        matches!(
            self,
            State::Down | State::Cruise | State::Refill | State::Up
        )
    }

    /// Accelerating: loss is answered by the long-term model, not by the short-term one.
    pub(super) fn is_probing(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }
}

/// Which part of a bandwidth probe the ACKs now arriving belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// Full-pipe detection: three rounds without growth by a quarter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FullPipe {
    pub(super) bw: ByteRate,
    pub(super) rounds: u32,
    pub(super) now: bool,
    /// Ever, in the life of the flow.
    pub(super) reached: bool,
}

impl FullPipe {
    pub(super) fn reset(&mut self, bw: ByteRate) {
        self.bw = bw;
        self.rounds = 0;
        self.now = false;
    }
}

/// What a spurious recovery gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Undo {
    /// Startup or Up, if the loss ended it.
    pub(super) state: Option<State>,
    pub(super) bw_shortterm: ByteRate,
    pub(super) inflight_shortterm: u64,
    pub(super) inflight_longterm: u64,
}

/// Schedule of ProbeRTT, and the minimum RTT that it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MinRtt {
    pub(super) value: Nanos,
    pub(super) stamp: Nanos,
    pub(super) probe_delay: Nanos,
    pub(super) probe_stamp: Nanos,
    pub(super) probe_expired: bool,
    /// End of ProbeRTT, once the flight is small enough.
    pub(super) done: Option<Nanos>,
    pub(super) round_done: bool,
}

impl MinRtt {
    pub(super) fn new(path: &Path) -> Self {
        MinRtt {
            value: path.min_rtt,
            stamp: 0,
            probe_delay: Nanos::MAX,
            probe_stamp: 0,
            probe_expired: false,
            done: None,
            round_done: false,
        }
    }
}

impl Undo {
    /// Nothing to give back.
    pub(super) const NONE: Undo = Undo {
        state: None,
        bw_shortterm: UNBOUNDED,
        inflight_shortterm: UNBOUNDED,
        inflight_longterm: UNBOUNDED,
    };
}
