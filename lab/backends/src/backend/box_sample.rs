//! One row of a series of a flow on the box, in either world.

use windlass_engine::FlowFigures;
use windlass_experiment::observed::Sample;

/// A flow on the box, `time_s` after the start of the run.
pub(super) fn of_box(time_s: f64, figures: &FlowFigures, in_recovery: bool) -> Sample {
    let positive = |value: u64| (value > 0).then_some(value);
    let packets = |bytes: u64| bytes as f64 / figures.mss_bytes.max(1) as f64;
    let millis = |us: u64| us as f64 / 1e3;
    let megabits = |bits: u64| bits as f64 / 1e6;
    Sample {
        time_s,
        cwnd_packets: Some(packets(figures.cwnd_bytes)),
        in_recovery: Some(in_recovery),
        ssthresh_packets: figures.ssthresh_bytes.map(packets),
        inflight_packets: Some(packets(figures.inflight_bytes)),
        srtt_ms: positive(figures.srtt_us).map(millis),
        min_rtt_ms: positive(figures.min_rtt_us).map(millis),
        pacing_mbit_s: figures.pacing_rate_bps.map(megabits),
        delivery_mbit_s: positive(figures.delivery_rate_bps).map(megabits),
        acked_bytes: Some(figures.bytes_acked),
        retransmitted_packets: Some(figures.repaired_segments),
        held_packets: Some(figures.held_packets),
        queued_packets: Some(packets(figures.queued_bytes)),
    }
}
