//! Cases × sweep × repetitions × contestants.

use core::ops::Range;

use sha2::{Digest, Sha256};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use windlass_policy::Wrong;
use windlass_policy::read::{Section, Value};

use super::overrides::{self, Override, Path};
use super::{Whole, base, scalar, short_name};
use crate::experiment::{Cell, Charts, Experiment, Run};
use crate::rows;
use crate::scalar::Scalar;

/// More than this nobody means.
const RUNS_MAX: u64 = 100_000;

/// A named set of overrides.
struct Named<'t> {
    name: String,
    overrides: Vec<Override<'t>>,
}

/// A parameter and its values.
struct Axis<'t> {
    path: Path,
    values: Vec<(Scalar, Spanned<DeValue<'t>>)>,
}

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
        whole: &Whole,
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

    fn refuse_too_many(&self, whole: &Whole, span: Range<usize>) -> Result<(), Wrong> {
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
    pub(super) fn expand(&self, whole: &Whole) -> Result<Experiment, Wrong> {
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
        whole: &Whole,
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
            let one = Override {
                path: axis.path.clone(),
                value: spanned.clone(),
            };
            one.apply(&mut table)?;
            let chosen = [chosen, core::slice::from_ref(value)].concat();
            self.sweep(experiment, whole, case, &table, &chosen)?;
        }
        Ok(())
    }

    fn add_cell(
        &self,
        experiment: &mut Experiment,
        whole: &Whole,
        cell: Cell,
        table: &DeTable<'t>,
    ) -> Result<(), Wrong> {
        let mut setups = Vec::new();
        for contestant in &self.contestants {
            let mut table = table.clone();
            apply(&mut table, &contestant.overrides)?;
            setups.push(base::read(table)?);
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

/// The last step of each path; the whole of it where that would be ambiguous.
fn parameter_names(axes: &[Axis<'_>]) -> Vec<String> {
    let name = |axis: &Axis<'_>| {
        let last = axis.path.last();
        let again = axes.iter().filter(|a| a.path.last() == last).count() > 1;
        match again || last == "case" || rows::COLUMNS.contains(&last) {
            true => axis.path.text(),
            false => last.to_owned(),
        }
    };
    axes.iter().map(name).collect()
}

fn axes(value: Value<'_>) -> Result<Vec<Axis<'_>>, Wrong> {
    let span = value.span();
    let DeValue::Table(table) = value.into_inner().into_inner() else {
        let help = "write [sweep] on a line of its own, and lists of values below";
        return Err(Wrong::new(span, "[sweep] is a table", help));
    };
    overrides::flatten(table)?.into_iter().map(axis).collect()
}

fn axis(Override { path, value }: Override<'_>) -> Result<Axis<'_>, Wrong> {
    let (name, span) = (path.text(), value.span());
    let DeValue::Array(list) = value.into_inner() else {
        let help = format!("write \"{name}\" = [10, 20], or set it in its table");
        return Err(Wrong::new(
            span,
            format!("{name} is swept and needs a list"),
            help,
        ));
    };
    let mut values: Vec<(Scalar, Spanned<DeValue<'_>>)> = Vec::new();
    for value in list {
        let Some(scalar) = scalar(value.get_ref()) else {
            let what = format!("{name} is swept over single values");
            let help = "make a [[case]] of each set of values";
            return Err(Wrong::new(value.span(), what, help));
        };
        if values.iter().any(|(s, _)| s.same(&scalar)) {
            let what = format!("{name} is {scalar} twice");
            let help = "leave one out; to run a cell more often: repetitions, below [run]";
            return Err(Wrong::new(value.span(), what, help));
        }
        values.push((scalar, value));
    }
    if values.is_empty() {
        let help = format!("give it a value, or leave \"{name}\" out");
        return Err(Wrong::new(span, format!("{name} has no values"), help));
    }
    Ok(Axis { path, values })
}

/// Reads `[[case]]` or `[[contestant]]`; without any, one that changes nothing.
fn named<'t>(
    value: Option<Value<'t>>,
    title: &'static str,
    default: &str,
) -> Result<Vec<Named<'t>>, Wrong> {
    let Some(value) = value else {
        return Ok(vec![Named {
            name: default.to_owned(),
            overrides: Vec::new(),
        }]);
    };
    let mut all: Vec<Named<'t>> = Vec::new();
    for value in value.list(&format!("[{{ name = \"…\" }}], or better {title}"))? {
        let span = value.span();
        let DeValue::Table(mut table) = value.into_inner().into_inner() else {
            let help = format!("write {title} on a line of its own, and its keys below");
            return Err(Wrong::new(span, format!("{title} is a table"), help));
        };
        let name = table.remove_entry("name");
        let mut head = DeTable::new();
        head.extend(name);
        let mut head = Section::new(title, head);
        let Some(name) = head.take("name") else {
            let what = format!("{title} has no name");
            return Err(Wrong::new(
                span,
                what,
                "write for example name = \"native-bbr\"",
            ));
        };
        let text = short_name(&name)?;
        if all.iter().any(|n| n.name == text) {
            let what = format!("two {title} are called \"{text}\"");
            return Err(Wrong::new(name.span(), what, "give it another name"));
        }
        all.push(Named {
            name: text,
            overrides: overrides::flatten(table)?,
        });
    }
    Ok(all)
}
