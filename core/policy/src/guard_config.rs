//! `[guard]`: which share of the flows is held out, and how sure the guard must be.

use windlass_auto::guard::GuardConfig as Judgement;

use crate::error::Wrong;
use crate::memory_config::MemoryConfig;
use crate::read::Section;

/// Where evidence is kept, unless the file says otherwise.
pub const DEFAULT_GUARD_FILE: &str = "/var/lib/windlass/guard.json";

/// Largest share that may be held out for long: more is a trial.
const SHARE_MAX: f64 = 0.5;
const SHARE_MIN: f64 = 0.0001;
const ERROR_MIN: f64 = 0.0001;
const ERROR_MAX: f64 = 0.5;

/// The `[guard]` section.
#[derive(Clone, PartialEq, Debug)]
pub struct GuardConfig {
    /// How the guard judges.
    pub judgement: Judgement,
    /// What is kept of it.
    pub memory: MemoryConfig,
}

impl Default for GuardConfig {
    fn default() -> Self {
        GuardConfig {
            judgement: Judgement::default(),
            memory: MemoryConfig::kept_in(DEFAULT_GUARD_FILE),
        }
    }
}

/// Reads `[guard]`.
pub(crate) fn read(mut section: Section<'_>) -> Result<GuardConfig, Wrong> {
    let mut guard = GuardConfig::default();
    let span = section.span();
    let judgement = &mut guard.judgement;
    let shares = [
        ("share", &mut judgement.share, "(0.02: one flow in fifty)"),
        (
            "first_share",
            &mut judgement.first_share,
            "(0.2: one flow in five)",
        ),
        (
            "proven_share",
            &mut judgement.proven_share,
            "(0.005: one flow in two hundred)",
        ),
    ];
    for (key, share, example) in shares {
        if let Some(value) = section.take(key) {
            *share = value.number(SHARE_MIN..=SHARE_MAX, example)?;
        }
    }
    if let Some(value) = section.take("error") {
        let example = "(0.05: wrong about one harmless rule in twenty)";
        judgement.error = value.number(ERROR_MIN..=ERROR_MAX, example)?;
    }
    guard.memory.read(&mut section)?;
    section.finish()?;
    let judgement = &mut guard.judgement;
    judgement.half_life = guard.memory.half_life;
    judgement.prefixes = guard.memory.prefixes;
    if judgement.proven_share > judgement.share || judgement.share > judgement.first_share {
        let what = "the shares are not in order";
        let help = "proven_share is at most share, and share at most first_share";
        return Err(Wrong::new(span, what, help));
    }
    Ok(guard)
}
