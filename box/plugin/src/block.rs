//! The block of a module's memory in which it finds what has happened: `struct windlass_block` of
//! `sdk/c/windlass.h`, as bytes.

use windlass_cc::plugin::{Call, Event, FlowState, PARAMETERS_MAX, STATE_BYTES_MAX};
use windlass_cc::{Nanos, Phase, Signal};

/// Whole numbers at the beginning of the block, 8 bytes each.
const WORDS: usize = 28;
/// Where the parameters begin.
const PARAMETERS_AT: usize = WORDS * 8;
/// Where the flow's state begins.
pub(crate) const STATE_AT: usize = PARAMETERS_AT + PARAMETERS_MAX * 8;
/// The whole block.
pub(crate) const BLOCK_BYTES: usize = STATE_AT + STATE_BYTES_MAX;

const CWND_LIMITED: u64 = 1;
const IN_RECOVERY: u64 = 2;
const APP_LIMITED: u64 = 4;
const RETRANSMISSION: u64 = 8;
const ECN: u64 = 16;
const STARTING: u64 = 32;
const ROOMY: u64 = 64;

/// The phases, by their numbers in the interface.
pub(crate) const PHASES: [Phase; 6] = [
    Phase::SlowStart,
    Phase::Avoidance,
    Phase::Startup,
    Phase::Drain,
    Phase::ProbeBw,
    Phase::ProbeRtt,
];

fn known(span: Nanos) -> u64 {
    if span == Nanos::MAX { 0 } else { span }
}

fn flag(set: bool, bit: u64) -> u64 {
    if set { bit } else { 0 }
}

/// Writes what has happened, and the flow's state, into `block`, which has [`BLOCK_BYTES`].
pub(crate) fn write(block: &mut [u8], call: &Call<'_>, flow: &FlowState, state_bytes: usize) {
    let (numbers, rest) = block.split_at_mut(PARAMETERS_AT);
    for (place, word) in numbers.chunks_exact_mut(8).zip(words(call, flow)) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    let (parameters, state) = rest.split_at_mut(PARAMETERS_MAX * 8);
    for (place, value) in parameters.chunks_exact_mut(8).zip(call.parameters) {
        place.copy_from_slice(&value.to_le_bytes());
    }
    state[..state_bytes].copy_from_slice(&flow.state[..state_bytes]);
}

/// In the order of `struct windlass_block`.
fn words(call: &Call<'_>, flow: &FlowState) -> [u64; WORDS] {
    let path = call.path;
    let mut words = [0; WORDS];
    words[0] = call.now;
    match call.event {
        Event::Ack(ack) => {
            words[1] = ack.acked;
            words[2] = ack.delivered;
            words[3] = ack.lost;
            words[4] = ack.inflight_before;
            words[5] = ack.inflight;
            words[6] = ack.rtt.unwrap_or(0);
            if let Some(rate) = ack.rate {
                words[7] = rate.delivered;
                words[8] = rate.interval;
                words[9] = rate.prior_delivered;
                words[10] = flag(rate.app_limited, APP_LIMITED);
            }
            words[10] |= flag(ack.cwnd_limited, CWND_LIMITED) | flag(ack.in_recovery, IN_RECOVERY);
            words[11] = ack.ce_bytes;
            words[12] = u64::from(ack.lost_ranges);
        }
        Event::Congestion(congestion) => {
            words[3] = congestion.lost;
            words[4] = congestion.inflight_before;
            words[10] = flag(congestion.signal == Signal::Ecn, ECN);
        }
        Event::Sent(sent) => {
            words[13] = sent.bytes;
            words[5] = sent.inflight;
            words[10] =
                flag(sent.retransmission, RETRANSMISSION) | flag(sent.app_limited, APP_LIMITED);
        }
        Event::IdleRestart(idle) => words[14] = idle,
        Event::Start(beginning) => {
            words[10] = flag(beginning.starting, STARTING) | flag(beginning.roomy, ROOMY);
            words[15] = beginning.seed;
        }
        Event::RecoveryExit | Event::Rto | Event::Spurious => {}
    }
    words[16] = u64::from(path.mss);
    words[17] = path.srtt;
    words[18] = path.rttvar;
    words[19] = known(path.min_rtt);
    words[20] = path.max_rtt;
    words[21] = path.max_bw;
    words[22] = path.delivered;
    words[23] = path.lost;
    words[24] = path.inflight;
    words[25] = flow.control.cwnd;
    words[26] = flow.control.ssthresh;
    words[27] = flow.control.pacing_rate.unwrap_or(0);
    words
}
