//! The `[limits]` section.

use windlass_cc::SECOND;
use windlass_engine::Limits;

use crate::error::Wrong;
use crate::read::Section;

const FLOWS_MAX: u64 = 1 << 24;
const BYTES_MIN: u64 = 64 << 10;
const BYTES_MAX: u64 = 1 << 40;
const SEGMENTS_MAX: u64 = 1 << 24;
const RANGES_MAX: u64 = 1 << 16;
const TIMEOUT_MAX_S: u64 = 7 * 24 * 3600;

/// Reads `[limits]`; what it does not name is as [`Limits::default`] has it.
pub(crate) fn read(mut section: Section<'_>) -> Result<Limits, Wrong> {
    let mut limits = Limits::default();
    for (key, max, place) in [
        ("flows", FLOWS_MAX, &mut limits.flows),
        (
            "segments_per_flow",
            SEGMENTS_MAX,
            &mut limits.segments_per_flow,
        ),
        (
            "sack_ranges_per_flow",
            RANGES_MAX,
            &mut limits.sack_ranges_per_flow,
        ),
    ] {
        if let Some(value) = section.take(key) {
            let unit = key.split('_').next().unwrap_or_default();
            *place = value.integer(1..=max, unit)? as usize;
        }
    }
    if let Some(value) = section.take("held_packets_total") {
        limits.held_packets_total = value.integer(1..=SEGMENTS_MAX, "packets")?;
    }
    for (key, place) in [
        ("held_bytes_per_flow", &mut limits.held_bytes_per_flow),
        ("held_bytes_total", &mut limits.held_bytes_total),
    ] {
        if let Some(value) = section.take(key) {
            *place = value.integer(BYTES_MIN..=BYTES_MAX, "bytes")?;
        }
    }
    for (key, place) in [
        ("idle_timeout_s", &mut limits.idle_timeout),
        ("handshake_timeout_s", &mut limits.handshake_timeout),
        ("closed_linger_s", &mut limits.closed_linger),
        ("shrink_after_s", &mut limits.shrink_after),
    ] {
        if let Some(value) = section.take(key) {
            *place = value.integer(1..=TIMEOUT_MAX_S, "s")? * SECOND;
        }
    }
    section.finish()?;
    Ok(limits)
}
