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
const SYNS_MAX: u64 = 10_000_000;
const MEMORY_MAX_MB: u64 = 1 << 20;

/// Limits of the process and of its drivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxLimits {
    /// New connections that a worker takes in from each side, a second; a quarter of them may come at once. The others pass
    /// by the kernel. 0: any number.
    pub syns_per_second: u32,
    /// Of these, from one prefix (/24 of IPv4, /48 of IPv6).
    pub syns_per_second_per_prefix: u32,
    /// Packets of unknown connections in mid-flow that each worker looks at, from each side, a second, to learn of them;
    /// 0: none.
    pub strangers_per_second: u32,
    /// Memory of the process beside the packet frames, MB. Beyond it new connections pass.
    pub memory_mb: u32,
}

impl Default for BoxLimits {
    fn default() -> Self {
        BoxLimits {
            // At the cost of a tenth of a core, about (docs/performance.md, "New connections").
            syns_per_second: 10_000,
            // A fifth is left for everybody else when one prefix floods.
            syns_per_second_per_prefix: 8000,
            strangers_per_second: 0,
            memory_mb: 4096,
        }
    }
}

/// Reads `[limits]`; what it does not name is as the defaults have it.
pub(crate) fn read(mut section: Section<'_>) -> Result<(Limits, BoxLimits), Wrong> {
    let mut limits = Limits::default();
    let of_box = read_of_box(&mut section)?;
    read_places(&mut section, &mut limits)?;
    read_held(&mut section, &mut limits)?;
    read_times(&mut section, &mut limits)?;
    section.finish()?;
    Ok((limits, of_box))
}

/// How many there may be of what the engine keeps.
fn read_places(section: &mut Section<'_>, limits: &mut Limits) -> Result<(), Wrong> {
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
        ("strangers", "connections", FLOWS_MAX, &mut limits.strangers),
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
    Ok(())
}

/// How much may be held for repair.
fn read_held(section: &mut Section<'_>, limits: &mut Limits) -> Result<(), Wrong> {
    for (key, unit, max, place) in [
        (
            "held_packets_total",
            "packets",
            SEGMENTS_MAX,
            &mut limits.held_packets_total,
        ),
        (
            "held_packets_per_prefix",
            "packets",
            SEGMENTS_MAX,
            &mut limits.held_packets_per_prefix,
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
    Ok(())
}

/// How long what is silent is remembered.
fn read_times(section: &mut Section<'_>, limits: &mut Limits) -> Result<(), Wrong> {
    for (key, place) in [
        ("idle_timeout_s", &mut limits.idle_timeout),
        ("handshake_timeout_s", &mut limits.handshake_timeout),
        ("closed_linger_s", &mut limits.closed_linger),
        ("shrink_after_s", &mut limits.shrink_after),
        ("stranger_timeout_s", &mut limits.stranger_timeout),
    ] {
        if let Some(value) = section.take(key) {
            *place = value.integer(1..=TIMEOUT_MAX_S, "s")? * SECOND;
        }
    }
    Ok(())
}

fn read_of_box(section: &mut Section<'_>) -> Result<BoxLimits, Wrong> {
    let mut limits = BoxLimits::default();
    for (key, range, unit, place) in [
        (
            "syns_per_second",
            0..=SYNS_MAX,
            "SYNs a second",
            &mut limits.syns_per_second,
        ),
        (
            "syns_per_second_per_prefix",
            0..=SYNS_MAX,
            "SYNs a second",
            &mut limits.syns_per_second_per_prefix,
        ),
        (
            "strangers_per_second",
            0..=SYNS_MAX,
            "packets a second",
            &mut limits.strangers_per_second,
        ),
        ("memory_mb", 1..=MEMORY_MAX_MB, "MB", &mut limits.memory_mb),
    ] {
        if let Some(value) = section.take(key) {
            *place = value.integer(range, unit)? as u32;
        }
    }
    Ok(limits)
}
