//! Cases × sweep × repetitions × contestants.

use core::ops::Range;

use sha2::{Digest, Sha256};
use toml::de::DeTable;
use windlass_policy::Wrong;
use windlass_policy::read::{Section, Value};

use super::overrides::{Override, Path};
use super::vary::{Axis, Named, axes, named, parameter_names};
use super::words::{self, Word};
use super::{Whole, base};
use crate::experiment::{Cell, Charts, Experiment, Run};
use crate::rows;
use crate::scalar::Scalar;

/// More than this nobody means.
const RUNS_MAX: u64 = 100_000;

/// The base, and how it varies.
pub(super) struct Plan<'t> {
    base: DeTable<'t>,
    cases: Vec<Named<'t>>,
    axes: Vec<Axis<'t>>,
    contestants: Vec<Named<'t>>,
}

impl<'t> Plan<'t> {
    pub(super) fn read(
        header: &mut Section<'t>,
        base: DeTable<'t>,
        whole: &Whole<'_>,
    ) -> Result<Plan<'t>, Wrong> {
        let (sweep, cases) = (header.take("sweep"), header.take("case"));
        let span = sweep.as_ref().or(cases.as_ref()).map_or(0..0, Value::span);
        let plan = Plan {
            base,
            axes: sweep.map_or(Ok(Vec::new()), axes)?,
            cases: named(cases, "[[case]]", "")?,
            contestants: named(header.take("contestant"), "[[contestant]]", "default")?,
        };
        plan.refuse_conflicts()?;
        plan.refuse_idle_words()?;
        plan.refuse_too_many(whole, span)?;
        Ok(plan)
    }

    /// What two of them set, one would take back.
    fn refuse_conflicts(&self) -> Result<(), Wrong> {
        let both = |path: &Path, other: &str| {
            let what = format!("{} is also set by {other}", path.text());
            Wrong::new(path.span(), what, "set it in one of the two places only")
        };
        let of = |set: &'_ [Named<'t>]| -> Vec<Path> {
            set.iter()
                .flat_map(|n| n.overrides.iter().map(|o| o.path.clone()))
                .collect()
        };
        let (cases, contestants) = (of(&self.cases), of(&self.contestants));
        for axis in &self.axes {
            if let Some(path) = cases.iter().find(|p| axis.path.covers(p)) {
                return Err(both(path, "[sweep]"));
            }
            if let Some(path) = contestants.iter().find(|p| p.covers(&axis.path)) {
                return Err(both(path, "[sweep]"));
            }
        }
        let taken_back = |p: &&Path| cases.iter().any(|c| p.covers(c));
        match contestants.iter().find(taken_back) {
            Some(path) => Err(both(path, "a [[case]]")),
            None => Ok(()),
        }
    }

    /// A word that stands nowhere was meant to be a setting.
    fn refuse_idle_words(&self) -> Result<(), Wrong> {
        let sets = self.cases.iter().chain(&self.contestants);
        let overrides: Vec<_> = sets.flat_map(|n| &n.overrides).collect();
        for path in self.axes.iter().map(|a| &a.path).filter(|p| p.is_word()) {
            let word = path.last();
            let in_base = self.base.values().any(|v| words::says(v.get_ref(), word));
            let in_sets = |o: &&Override<'t>| words::says(o.value.get_ref(), word);
            if word == "case" || rows::COLUMNS.contains(&word) {
                let what = format!("\"{word}\" is a column of every row");
                return Err(Wrong::new(path.span(), what, "take another word"));
            }
            if !in_base && !overrides.iter().any(in_sets) {
                let place = words::place(word);
                let what = format!("\"{word}\" is swept, but no string says {place}");
                let help = format!(
                    "to sweep a setting, write its table too, as in link.rtt_ms; or write \
                     \"{place}\" where its values are to stand"
                );
                return Err(Wrong::new(path.span(), what, help));
            }
        }
        Ok(())
    }

    /// The words of a cell.
    fn words<'a>(&'a self, cell: &'a Cell) -> Vec<Word<'a, 't>> {
        let axes = self.axes.iter().zip(&cell.values);
        let words = axes.filter(|(axis, _)| axis.path.is_word());
        let found = words.filter_map(|(axis, chosen)| {
            let (_, value) = axis.values.iter().find(|(v, _)| v.same(chosen))?;
            Some((axis.path.last(), value))
        });
        found.collect()
    }

    fn refuse_too_many(&self, whole: &Whole<'_>, span: Range<usize>) -> Result<(), Wrong> {
        let counts = self.axes.iter().map(|axis| axis.values.len());
        let counts = counts.chain([self.cases.len(), self.contestants.len()]);
        let start = u64::from(whole.repetitions);
        let runs = counts.fold(start, |all, n| all.saturating_mul(n as u64));
        match runs <= RUNS_MAX {
            true => Ok(()),
            false => Err(Wrong::new(
                span,
                format!("that would be {runs} runs"),
                format!("leave values out until there are no more than {RUNS_MAX}"),
            )),
        }
    }

    /// Every run, each of them found without mistakes.
    pub(super) fn expand(&self, whole: &Whole<'_>) -> Result<Experiment, Wrong> {
        let mut experiment = Experiment {
            name: String::new(),
            title: String::new(),
            description: String::new(),
            backend: whole.backend,
            parameters: parameter_names(&self.axes),
            cells: Vec::new(),
            contestants: self.contestants.iter().map(|c| c.name.clone()).collect(),
            runs: Vec::new(),
            checks: Vec::new(),
            findings: Vec::new(),
            charts: Charts::default(),
            papers: Vec::new(),
        };
        for case in &self.cases {
            let mut table = self.base.clone();
            apply(&mut table, &case.overrides)?;
            self.sweep(&mut experiment, whole, &case.name, &table, &[])?;
        }
        Ok(experiment)
    }

    /// All points of the axes beyond `chosen`, the last axis fastest.
    fn sweep(
        &self,
        experiment: &mut Experiment,
        whole: &Whole<'_>,
        case: &str,
        table: &DeTable<'t>,
        chosen: &[Scalar],
    ) -> Result<(), Wrong> {
        let Some(axis) = self.axes.get(chosen.len()) else {
            let cell = Cell {
                case: case.to_owned(),
                values: chosen.to_vec(),
            };
            return self.add_cell(experiment, whole, cell, table);
        };
        for (value, spanned) in &axis.values {
            let mut table = table.clone();
            if !axis.path.is_word() {
                let one = Override {
                    path: axis.path.clone(),
                    value: spanned.clone(),
                };
                one.apply(&mut table)?;
            }
            let chosen = [chosen, core::slice::from_ref(value)].concat();
            self.sweep(experiment, whole, case, &table, &chosen)?;
        }
        Ok(())
    }

    fn add_cell(
        &self,
        experiment: &mut Experiment,
        whole: &Whole<'_>,
        cell: Cell,
        table: &DeTable<'t>,
    ) -> Result<(), Wrong> {
        let mut setups = Vec::new();
        for contestant in &self.contestants {
            let mut table = table.clone();
            apply(&mut table, &contestant.overrides)?;
            words::fill(&mut table, &self.words(&cell));
            setups.push(base::read(table, whole.folder, whole.catalog)?);
        }
        let index = experiment.cells.len();
        for repetition in 1..=whole.repetitions {
            let seed = seed(whole.seed, &experiment.parameters, &cell, repetition);
            for (contestant, setup) in setups.iter().enumerate() {
                let mut setup = setup.clone();
                setup.seed = seed;
                experiment.runs.push(Run {
                    cell: index,
                    contestant,
                    repetition,
                    setup,
                });
            }
        }
        experiment.cells.push(cell);
        Ok(())
    }
}

fn apply<'t>(table: &mut DeTable<'t>, overrides: &[Override<'t>]) -> Result<(), Wrong> {
    overrides.iter().try_for_each(|o| o.apply(table))
}

/// The same for all contestants, and for a cell the same whatever other cells there are. Of 32
/// bits, so that it survives any reader of JSON.
fn seed(seed: u64, parameters: &[String], cell: &Cell, repetition: u32) -> u64 {
    let mut text = format!("{seed}\n{}\n{repetition}\n", cell.case);
    for (name, value) in parameters.iter().zip(&cell.values) {
        text.push_str(&format!("{name}={value}\n"));
    }
    let digest = Sha256::digest(text.as_bytes());
    u64::from(u32::from_be_bytes([
        digest[0], digest[1], digest[2], digest[3],
    ]))
}
