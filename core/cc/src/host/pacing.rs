//! The rate of an algorithm that asks for none.

use crate::{ByteRate, Control, Nanos, Phase, rate_over};

/// Windows a round trip, per cent, in slow start and after it (Linux `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const RATIOS: (u64, u64) = (200, 120);

/// Bytes per second that `control` asks for; for one that asks for none the ratios of Linux.
pub fn wanted_rate(control: &Control, srtt: Nanos) -> ByteRate {
    control.pacing_rate.unwrap_or_else(|| match control.phase {
        Phase::SlowStart | Phase::ConservativeSlowStart => {
            rate_by_window(control.cwnd, RATIOS.0, srtt)
        }
        _ => rate_by_window(control.cwnd, RATIOS.1, srtt),
    })
}

/// `percent` of the window in each round trip, bytes per second.
pub fn rate_by_window(cwnd: u64, percent: u64, srtt: Nanos) -> ByteRate {
    rate_over(cwnd * percent / 100, srtt.max(1))
}
