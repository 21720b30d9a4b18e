//! What a rule wants done: mode, algorithm, second copies, help for the sender.

use windlass_cc::{AlgorithmId, Catalog, MILLISECOND};
use windlass_engine::{
    Arm, Comparison, Feedback, Mode, Redundancy, Switching, Ungoverned, Verdict,
};

use crate::algorithm;
use crate::auto;
use crate::auto_config::AutoConfig;
use crate::error::Wrong;
use crate::read::{Section, Value};
use crate::switching::{self, Lists};
use crate::tenants::{self, Owner};

/// How far to go with a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Leave it alone.
    Off,
    /// Govern it.
    Govern(Mode),
}

/// The modes by name.
pub const MODES: [(&str, Extent); 4] = [
    ("off", Extent::Off),
    ("observe", Extent::Govern(Mode::Observe)),
    ("advise", Extent::Govern(Mode::Advise)),
    ("enforce", Extent::Govern(Mode::Enforce)),
];

/// The usual degrees of redundancy by name.
pub const REDUNDANCIES: [(&str, Redundancy); 3] = [
    ("off", Redundancy::OFF),
    ("repairs", Redundancy::REPAIRS),
    ("early", Redundancy::EARLY),
];

/// Who reports marks, by name.
pub const FEEDBACKS: [(&str, Feedback); 2] = [("ends", Feedback::Ends), ("boxes", Feedback::Boxes)];

/// What becomes of what cannot be governed, by name.
pub const UNGOVERNED: [(&str, Ungoverned); 3] = [
    ("pass", Ungoverned::Pass),
    ("limit", Ungoverned::Limit),
    ("drop", Ungoverned::Drop),
];

/// Two full segments: a window probe may lie beyond the edge.
const POLICE_TOLERANCE_BYTES: u32 = 3000;
const POLICE_TOLERANCE_RANGE: core::ops::RangeInclusive<u64> = 1..=1 << 20;

/// Algorithm where nothing else is said.
pub(crate) const DEFAULT_ALGORITHM: AlgorithmId = AlgorithmId::Bbr;
/// Longest delay of a copy, ms: later ones come after the sender's own repair.
const COPY_DELAY_MAX_MS: u64 = 1000;
/// Two copies of everything would be 1000 ‰; more is never sent.
const BUDGET_MAX_PERMILLE: u64 = 1000;

/// What the mode of this name means.
pub fn mode_named(name: &str) -> Option<Extent> {
    MODES.iter().find(|(n, _)| *n == name).map(|(_, m)| *m)
}

/// The redundancy of this name.
pub fn redundancy_named(name: &str) -> Option<Redundancy> {
    let found = REDUNDANCIES.iter().find(|(n, _)| *n == name);
    found.map(|(_, r)| *r)
}

/// What rules refer to, and what is kept of them.
pub(crate) struct Known<'c> {
    pub catalog: &'c Catalog,
    pub tenants: Vec<Owner>,
    pub lists: Lists,
    pub auto: AutoConfig,
}

/// What `[default]` or a rule says of flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Said {
    pub verdict: Verdict,
    /// `mode = "off"`: the verdict is that of another mode.
    pub off: bool,
}

impl Said {
    /// What is so where nothing is said.
    pub(crate) fn nothing() -> Said {
        Said {
            verdict: Verdict::enforce(DEFAULT_ALGORITHM),
            off: false,
        }
    }
}

/// Reads what `section` says; the rest is as in `default`.
pub(crate) fn said(
    section: &mut Section<'_>,
    default: Said,
    known: &mut Known<'_>,
) -> Result<Said, Wrong> {
    let mut said = default;
    if let Some(value) = section.take("mode") {
        let extent = value.word(&MODES)?;
        said.off = extent == Extent::Off;
        if let Extent::Govern(mode) = extent {
            said.verdict.mode = mode;
        }
    }
    said.verdict = verdict(section, said.verdict, known)?;
    Ok(said)
}

fn verdict(
    section: &mut Section<'_>,
    default: Verdict,
    known: &mut Known<'_>,
) -> Result<Verdict, Wrong> {
    let mut verdict = default;
    control(section, &mut verdict, known)?;
    help(section, &mut verdict)?;
    if let Some(value) = section.take("cap_mbit") {
        verdict.cap = Some(tenants::cap(&value)?);
    }
    if let Some(value) = section.take("tenant") {
        verdict.tenant = Some(tenants::named(&value, &known.tenants)?);
    }
    if let Some(value) = section.take("ungoverned") {
        verdict.ungoverned = ungoverned(value, &known.tenants)?;
    }
    if let Some(value) = section.take("priority") {
        verdict.priority = tenants::priority(&value, verdict.tenant, &known.tenants)?;
    }
    Ok(verdict)
}

/// The algorithm, and who chooses it.
fn control(
    section: &mut Section<'_>,
    verdict: &mut Verdict,
    known: &mut Known<'_>,
) -> Result<(), Wrong> {
    let span = section.span();
    if let Some(value) = section.take("algorithm") {
        verdict.switching = None;
        verdict.arm = None;
        if value.text(auto::AUTO).is_ok_and(|text| text == auto::AUTO) {
            verdict.algorithm = known.auto.first_algorithm();
            verdict.arm = Some(Arm {
                by: Comparison::Auto,
                number: 0,
            });
        } else {
            verdict.algorithm = algorithm::read(value, known.catalog)?;
        }
    }
    if let Some(list) = switching::read(section, verdict.algorithm, known.catalog)? {
        if verdict.arm.is_some() {
            let what = "auto chooses by experience, switch by conditions";
            return Err(Wrong::new(
                span,
                what,
                "name an algorithm, or leave switch out",
            ));
        }
        let dwell = list.dwell;
        let list = known.lists.keep(list, span)?;
        verdict.switching = Some(Switching { list, dwell });
    }
    Ok(())
}

/// What helps the algorithm, and what is done to a sender.
fn help(section: &mut Section<'_>, verdict: &mut Verdict) -> Result<(), Wrong> {
    if let Some(value) = section.take("redundancy") {
        verdict.redundancy = redundancy(value)?;
    }
    if let Some(value) = section.take("headroom") {
        verdict.headroom = value.boolean()?;
    }
    if let Some(value) = section.take("insert_sack") {
        verdict.insert_sack = value.boolean()?;
    }
    if let Some(value) = section.take("feedback") {
        verdict.feedback = value.word(&FEEDBACKS)?;
    }
    if let Some(value) = section.take("police") {
        verdict.police_tolerance = police(value)?;
    }
    Ok(())
}

/// A word; a limit must be somebody's.
fn ungoverned(value: Value<'_>, tenants: &[Owner]) -> Result<Ungoverned, Wrong> {
    let span = value.span();
    let wanted = value.word(&UNGOVERNED)?;
    let capped = tenants.iter().any(|owner| owner.tenant.cap.is_some());
    if wanted == Ungoverned::Limit && !capped {
        let what = "limit counts against the cap of a tenant, and no tenant has one";
        let help = "write [[tenant]] with a name and cap_mbit, or ungoverned = \"drop\"";
        return Err(Wrong::new(span, what, help));
    }
    Ok(wanted)
}

/// Yes or no, or a table with a tolerance.
fn police(value: Value<'_>) -> Result<Option<u32>, Wrong> {
    if !value.is_table() {
        let wanted = value.boolean()?;
        return Ok(wanted.then_some(POLICE_TOLERANCE_BYTES));
    }
    let mut section = value.section("police")?;
    let tolerance = section.need("tolerance_bytes", "3000")?;
    let tolerance = tolerance.integer(POLICE_TOLERANCE_RANGE, "bytes")?;
    section.finish()?;
    Ok(Some(tolerance as u32))
}

/// A word, or a table of which what is not said is off, and the budget full.
fn redundancy(value: Value<'_>) -> Result<Redundancy, Wrong> {
    if !value.is_table() {
        return value.word(&REDUNDANCIES);
    }
    let mut section = value.section("redundancy")?;
    let mut redundancy = Redundancy {
        budget_permille: BUDGET_MAX_PERMILLE as u32,
        ..Redundancy::OFF
    };
    if let Some(value) = section.take("repairs") {
        redundancy.repairs = value.boolean()?;
    }
    if let Some(value) = section.take("first_segments") {
        redundancy.first_segments = value.integer(0..=u64::from(u32::MAX), "segments")? as u32;
    }
    if let Some(value) = section.take("syn_ack") {
        redundancy.syn_ack = value.boolean()?;
    }
    if let Some(value) = section.take("delay_ms") {
        redundancy.delay = value.integer(0..=COPY_DELAY_MAX_MS, "ms")? * MILLISECOND;
    }
    if let Some(value) = section.take("budget_permille") {
        let range = 0..=BUDGET_MAX_PERMILLE;
        redundancy.budget_permille = value.integer(range, "thousandths")? as u32;
    }
    section.finish()?;
    Ok(redundancy)
}
