//! `[stalls]`: when the box does not run.

use windlass_policy::Wrong;
use windlass_policy::read::Value;

use super::base::{lengths_ns, millis};
use crate::setup::Stalls;

const STALL_MAX_MS: f64 = 60_000.0;

/// Reads `{ every_ms = 300, for_ms = [10, 100] }`.
pub(super) fn read(value: Value<'_>) -> Result<Stalls, Wrong> {
    let mut section = value.section("[stalls]")?;
    let every = section.need("every_ms", "300")?;
    let every_ns = millis(every.number(1.0..=STALL_MAX_MS, "ms")?);
    let lengths = section.need("for_ms", "[10, 100]")?;
    let (least_ns, most_ns) = lengths_ns(lengths, "[10, 100]", STALL_MAX_MS)?;
    section.finish()?;
    if most_ns >= every_ns / 2 {
        let what = "the box would hardly run: a stall may take half of every_ms, or more";
        let help = "make every_ms more than twice as long as the longest stall";
        return Err(Wrong::new(every.span(), what, help));
    }
    Ok(Stalls {
        every_ns,
        least_ns,
        most_ns,
    })
}
