//! One row of a series of a server's socket.

use windlass_experiment::observed::Sample;
use windlass_io::tcp_info::TcpInfo;

/// A server's socket, `time_s` after the start of the run.
pub(super) fn of_server(time_s: f64, info: &TcpInfo) -> Sample {
    let positive = |value: u64| (value > 0).then_some(value);
    Sample {
        time_s,
        cwnd_packets: Some(f64::from(info.cwnd_packets)),
        in_recovery: Some(info.in_recovery),
        ssthresh_packets: info.ssthresh_packets.map(f64::from),
        inflight_packets: Some(f64::from(info.inflight_packets())),
        srtt_ms: positive(info.srtt_us.into()).map(millis),
        min_rtt_ms: info.min_rtt_us.map(|us| millis(us.into())),
        pacing_mbit_s: info.pacing_bytes_per_s.map(|rate| megabits(rate * 8)),
        delivery_mbit_s: positive(info.delivery_bytes_per_s).map(|rate| megabits(rate * 8)),
        acked_bytes: Some(info.acked_bytes),
        retransmitted_packets: Some(info.retransmitted_packets.into()),
        held_packets: None,
        queued_packets: None,
    }
}

fn millis(us: u64) -> f64 {
    us as f64 / 1e3
}

fn megabits(bits: u64) -> f64 {
    bits as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use windlass_engine::FlowFigures;

    use super::*;
    use crate::backend::box_sample::of_box;

    #[test]
    fn both_sources_fill_the_same_columns() {
        let info = TcpInfo {
            cwnd_packets: 20,
            in_recovery: true,
            unacked_packets: 12,
            srtt_us: 100_500,
            min_rtt_us: Some(100_000),
            pacing_bytes_per_s: Some(1_000_000),
            delivery_bytes_per_s: 500_000,
            acked_bytes: 9,
            retransmitted_packets: 2,
            ..TcpInfo::default()
        };
        let figures = FlowFigures {
            mss_bytes: 1448,
            wscale: 7,
            cwnd_bytes: 20 * 1448,
            inflight_bytes: 12 * 1448,
            srtt_us: 100_500,
            min_rtt_us: 100_000,
            pacing_rate_bps: Some(8_000_000),
            delivery_rate_bps: 4_000_000,
            bytes_acked: 9,
            repaired_segments: 2,
            ..FlowFigures::default()
        };
        let server = of_server(1.5, &info);
        let expected = Sample {
            held_packets: Some(0),
            queued_packets: Some(0.0),
            ..server
        };
        assert_eq!(of_box(1.5, &figures, true), expected);
        assert_eq!(server.srtt_ms, Some(100.5));
        assert_eq!(server.delivery_mbit_s, Some(4.0));
        assert_eq!(of_server(0.0, &TcpInfo::default()).srtt_ms, None);
    }
}
