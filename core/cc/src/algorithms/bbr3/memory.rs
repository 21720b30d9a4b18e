//! What BBR v3 remembers of the path and of its own probing. Names are the draft's.

use serde::{Deserialize, Serialize};

use super::UNBOUNDED;
use super::state::AckPhase;
use crate::windowed_filter::WindowedMax;
use crate::{ByteRate, Nanos};

/// What the path carries.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Model {
    /// Maximum of the last and of the present ProbeBW cycle.
    pub max_bw: [ByteRate; 2],
    /// `min(max_bw, bw_shortterm)`.
    pub bw: ByteRate,
    pub bw_shortterm: ByteRate,
    pub inflight_shortterm: u64,
    pub inflight_longterm: u64,
}

impl Default for Model {
    fn default() -> Self {
        Model {
            max_bw: [0; 2],
            bw: 0,
            bw_shortterm: UNBOUNDED,
            inflight_shortterm: UNBOUNDED,
            inflight_longterm: UNBOUNDED,
        }
    }
}

/// The loss round at hand, and what was delivered in it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Latest {
    /// `bw_latest`.
    pub bw: ByteRate,
    /// `inflight_latest`.
    pub inflight: u64,
    /// `loss_round_delivered`.
    pub round_delivered: u64,
    /// `loss_round_start`.
    pub round_start: bool,
    pub loss_in_round: bool,
    pub lost_ranges: u32,
}

/// ACKs that come together.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Aggregation {
    pub extra_acked: WindowedMax,
    /// When the interval began, and what has been delivered in it.
    pub start: Nanos,
    pub delivered: u64,
}

/// The cycle of ProbeBW.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Probing {
    pub ack_phase: AckPhase,
    /// The newest sample is of data that was sent to probe.
    pub is_sample: bool,
    /// What the last probe has shown.
    pub prev_too_high: bool,
    pub prev_precautionary: bool,
    /// `probe_up_cnt` and what counts toward it.
    pub up_acked: u64,
    pub up_acked_per_increment: u64,
    pub up_rounds: u32,
    pub rounds_since_up: u64,
    pub cycle_stamp: Nanos,
    /// How long it waits for the next probe.
    pub wait: Nanos,
}

impl Default for Probing {
    fn default() -> Self {
        Probing {
            ack_phase: AckPhase::Init,
            is_sample: false,
            prev_too_high: false,
            prev_precautionary: false,
            up_acked: 0,
            up_acked_per_increment: UNBOUNDED,
            up_rounds: 0,
            rounds_since_up: 0,
            cycle_stamp: 0,
            wait: 0,
        }
    }
}
