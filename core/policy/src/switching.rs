//! `[[rule.switch]]`: the algorithm that a flow moves to when its path is such and such.

use windlass_cc::{Catalog, MILLISECOND, Nanos, Settings};
use windlass_engine::{Choice, LivePath};

use crate::algorithm;
use crate::cel::{self, Condition};
use crate::error::Wrong;
use crate::facts::PathFacts;
use crate::read::{Section, Value};

/// How long an algorithm stays at least, unless the file says otherwise.
const DWELL_DEFAULT: Nanos = 2000 * MILLISECOND;
const DWELL_MAX_MS: u64 = 3_600_000;
/// By how much bounds give way for the condition in force, unless the file says otherwise.
const HYSTERESIS_DEFAULT: f64 = 0.1;
const HYSTERESIS_MAX: f64 = 0.9;
/// Most conditions of a rule.
const SWITCHES_MAX: usize = 64;
/// Most lists of a file.
const LISTS_MAX: usize = u16::MAX as usize;

/// One `[[rule.switch]]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Switch {
    /// The condition, as it was written.
    pub when: String,
    /// The condition.
    pub condition: Condition,
    /// The algorithm while it holds.
    pub algorithm: Settings,
}

/// All those of a rule, in order; the first that holds counts.
#[derive(Clone, PartialEq, Debug)]
pub struct SwitchList {
    /// The algorithm while none holds, and before anything is known of the path.
    pub otherwise: Settings,
    /// The conditions.
    pub switches: Vec<Switch>,
    /// An algorithm that a condition has brought stays for so long at least, ns.
    pub dwell: Nanos,
    /// Bounds of the condition in force give way by this share of themselves.
    pub hysteresis: f64,
}

impl SwitchList {
    /// What the path asks for, where number `in_force` brought the present algorithm.
    pub fn choose(&self, in_force: Option<u8>, path: &LivePath) -> Choice {
        let found = (0u8..).zip(&self.switches).find(|(number, switch)| {
            let eased = in_force == Some(*number);
            let ease = if eased { self.hysteresis } else { 0.0 };
            switch.condition.holds(&PathFacts(path), ease)
        });
        Choice {
            condition: found.map(|(number, _)| number),
            algorithm: found.map_or(self.otherwise, |(_, switch)| switch.algorithm),
        }
    }
}

/// Reads `switch`, `dwell_ms` and `hysteresis` of a rule whose algorithm is `otherwise`.
pub(crate) fn read(
    section: &mut Section<'_>,
    otherwise: Settings,
    catalog: &Catalog,
) -> Result<Option<SwitchList>, Wrong> {
    let switches = section.take("switch");
    let (dwell, hysteresis) = (section.take("dwell_ms"), section.take("hysteresis"));
    let Some(switches) = switches else {
        return match dwell.or(hysteresis) {
            None => Ok(None),
            Some(value) => Err(Wrong::new(
                value.span(),
                "there is no switch that this is about",
                "add [[rule.switch]] with when and algorithm, or leave this out",
            )),
        };
    };
    let mut list = SwitchList {
        otherwise,
        switches: Vec::new(),
        dwell: DWELL_DEFAULT,
        hysteresis: HYSTERESIS_DEFAULT,
    };
    if let Some(value) = dwell {
        list.dwell = value.integer(0..=DWELL_MAX_MS, "ms")? * MILLISECOND;
    }
    if let Some(value) = hysteresis {
        list.hysteresis = value.number(0.0..=HYSTERESIS_MAX, "(0.1: a tenth)")?;
    }
    for value in switches.list("[[rule.switch]]")? {
        if list.switches.len() == SWITCHES_MAX {
            let what = format!("more than {SWITCHES_MAX} switches");
            return Err(Wrong::new(value.span(), what, "make rules of some of them"));
        }
        list.switches.push(read_switch(value, catalog)?);
    }
    Ok(Some(list))
}

fn read_switch(value: Value<'_>, catalog: &Catalog) -> Result<Switch, Wrong> {
    let mut section = value.section("[[rule.switch]]")?;
    let when = section.need("when", "\"loss_ratio > 0.001\"")?;
    let condition = when.condition(&cel::PATH)?;
    let when = when.text("loss_ratio > 0.001")?.to_owned();
    let algorithm = algorithm::read(section.need("algorithm", "\"bbr\"")?, catalog)?;
    section.finish()?;
    Ok(Switch {
        when,
        condition,
        algorithm,
    })
}

/// Lists of a whole file, by number.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Lists(pub Vec<SwitchList>);

impl Lists {
    /// The number of `list`, once it is kept.
    pub fn keep(&mut self, list: SwitchList, at: core::ops::Range<usize>) -> Result<u16, Wrong> {
        if self.0.len() == LISTS_MAX {
            let what = format!("more than {LISTS_MAX} rules have switches");
            return Err(Wrong::new(
                at,
                what,
                "say it in [default], and leave it out of rules",
            ));
        }
        self.0.push(list);
        Ok((self.0.len() - 1) as u16)
    }
}
