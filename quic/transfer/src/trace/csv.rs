//! A line for each entry; the columns are named as those of the laboratory's series.

use windlass_cc::{MILLISECOND, Nanos, SECOND};
use windlass_cc_s2n_quic::Report;

pub(super) const HEAD: &str = "time_s,window_bytes,ssthresh_bytes,inflight_bytes,srtt_ms,latest_rtt_ms,\
min_rtt_ms,pacing_mbit_s,delivery_mbit_s,delivered_bytes,lost_bytes,marked_bytes,phase,in_recovery\n";

/// Empty where nothing is known.
pub(super) fn line(report: &Report) -> String {
    let ms = |nanos: Nanos| nanos as f64 / MILLISECOND as f64;
    let known = |value: u64| Some(value).filter(|v| *v < u64::MAX);
    let text = |value: Option<f64>| value.map(|v| format!("{v:.3}")).unwrap_or_default();
    let mbit = |rate: u64| rate as f64 * 8e-6;
    format!(
        "{:.6},{},{},{},{:.3},{:.3},{},{},{:.3},{},{},{},{},{}\n",
        report.at as f64 / SECOND as f64,
        report.window,
        known(report.ssthresh)
            .map(|v| v.to_string())
            .unwrap_or_default(),
        report.inflight,
        ms(report.srtt),
        ms(report.latest_rtt),
        text(known(report.min_rtt).map(ms)),
        text(report.pacing_rate.map(mbit)),
        mbit(report.delivery_rate),
        report.delivered,
        report.lost,
        report.marked,
        report.phase.name(),
        report.in_recovery,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::tests::report;
    use windlass_cc::Phase;

    #[test]
    fn a_line_has_the_columns_of_the_head() {
        let mut report = report(1_500 * MILLISECOND, 30_000, Phase::ProbeBw);
        assert_eq!(
            line(&report),
            "1.500000,30000,,10000,50.000,45.000,40.000,10.000,8.000,99000,1000,0,probe_bw,false\n"
        );
        report.pacing_rate = None;
        assert_eq!(line(&report).split(',').count(), HEAD.split(',').count());
    }
}
