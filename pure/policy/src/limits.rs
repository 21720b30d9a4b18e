//! The `[limits]` section.

use windlass_cc::SECOND;
use windlass_engine::Limits;

use crate::error::Wrong;
use crate::read::Section;

const FLOWS_MAX: u64 = 1 << 24;
const BYTES_MIN: u64 = 64 << 10;
const BYTES_MAX: u64 = 1 << 40;
const SEGMENTS_MAX: u64 = 1 << 24;
const SEGMENTS_TOTAL_MAX: u64 = 1 << 30;
const RANGES_MAX: u64 = 1 << 16;
const TIMEOUT_MAX_S: u64 = 7 * 24 * 3600;

/// Reads `[limits]`; what it does not name is as [`Limits::default`] has it.
pub(crate) fn read(mut section: Section<'_>) -> Result<Limits, Wrong> {
    let mut limits = Limits::default();
    for (key, unit, max, place) in [
        ("flows", "flows", FLOWS_MAX, &mut limits.flows),
        (
            "flows_per_prefix",
            "flows",
            FLOWS_MAX,
            &mut limits.flows_per_prefix,
        ),
        ("half_open", "handshakes", FLOWS_MAX, &mut limits.half_open),
        (
            "half_open_per_prefix",
            "handshakes",
            FLOWS_MAX,
            &mut limits.half_open_per_prefix,
        ),
        (
            "segments_per_flow",
            "segments",
            SEGMENTS_MAX,
            &mut limits.segments_per_flow,
        ),
        (
            "sack_ranges_per_flow",
            "ranges",
            RANGES_MAX,
            &mut limits.sack_ranges_per_flow,
        ),
    ] {
        if let Some(value) = section.take(key) {
            *place = value.integer(1..=max, unit)? as usize;
        }
    }
    for (key, unit, max, place) in [
        (
            "held_packets_total",
            "packets",
            SEGMENTS_MAX,
            &mut limits.held_packets_total,
        ),
        (
            "segments_total",
            "segments",
            SEGMENTS_TOTAL_MAX,
            &mut limits.segments_total,
        ),
    ] {
        if let Some(value) = section.take(key) {
            *place = value.integer(1..=max, unit)?;
        }
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
