//! Whether what came of an experiment is good enough.

use std::collections::BTreeMap;

use crate::condition::Condition;
use crate::experiment::Experiment;
use crate::metric::{Metric, Part};
use crate::rows::Row;
use crate::scalar::Scalar;
use crate::statistics::Statistic;
use crate::window;

/// How the values of many cells become one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Over {
    /// Each cell has one value, the median of its repetitions (divided by the other contestant's,
    /// if there is one); the statistic is of these.
    Cells(Statistic),
    /// All flows of all cells together: what is above the line summed, divided by what is below.
    Pooled,
}

/// Another contestant's value, and how it is compared with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Beside {
    /// The value is divided by that of the contestant with this index.
    DividedBy(usize),
    /// By that of the best of these, which may be another one in each cell.
    DividedByBest(Vec<usize>),
    /// By that of the worst of these.
    DividedByWorst(Vec<usize>),
    /// That of the contestant with this index is taken off it.
    Minus(usize),
}

impl Beside {
    /// Indices of the contestants.
    pub fn contestants(&self) -> &[usize] {
        match self {
            Beside::DividedBy(index) | Beside::Minus(index) => core::slice::from_ref(index),
            Beside::DividedByBest(indices) | Beside::DividedByWorst(indices) => indices,
        }
    }

    /// Which of two values of those contestants counts.
    fn choose(&self, metric: Metric) -> fn(f64, f64) -> f64 {
        let most = match self {
            Beside::DividedByWorst(_) => !metric.more_is_better(),
            _ => metric.more_is_better(),
        };
        if most { f64::max } else { f64::min }
    }
}

/// What the value may be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Limit {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
}

impl Limit {
    /// The number.
    pub fn number(self) -> f64 {
        match self {
            Limit::AtMost(number) | Limit::AtLeast(number) => number,
        }
    }

    /// Whether `value` is within it.
    pub fn allows(self, value: f64) -> bool {
        match self {
            Limit::AtMost(limit) => value <= limit,
            Limit::AtLeast(limit) => value >= limit,
        }
    }
}

/// Something that must hold.
#[derive(Clone, PartialEq, Debug)]
pub struct Check {
    /// In words.
    pub name: String,
    /// The value of a parameter, or the contestant, that it is about, if there is one of its kind for
    /// each.
    pub about: Option<String>,
    /// What is computed.
    pub metric: Metric,
    /// Indices of the contestants that it is computed of.
    pub of: Vec<usize>,
    /// Whose value it is compared with, in the same cell unless `to_where` says otherwise.
    pub to: Option<Beside>,
    /// Their value is not of the same cell, but of the one in which these parameters, by index, have these values.
    pub to_where: Vec<(usize, Scalar)>,
    /// Index of a parameter: the value is divided by the same contestant's in the cell before along
    /// it, of those that are meant; the first ones say nothing.
    pub along: Option<usize>,
    /// Names of the groups of flows; none: all but those in the background.
    pub flows: Vec<String>,
    /// Which cells.
    pub conditions: Vec<Condition>,
    /// How the cells become one number.
    pub over: Over,
    /// What that may be.
    pub limit: Limit,
}

/// What came of a check.
#[derive(Clone, PartialEq, Debug)]
pub struct Verdict {
    /// Of the check.
    pub name: String,
    /// `None` when nothing could be computed.
    pub value: Option<f64>,
    /// Of the check.
    pub limit: Limit,
    /// Whether it holds.
    pub pass: bool,
    /// The cell and contestant nearest to the limit or farthest beyond it, in words.
    pub worst: Option<String>,
    /// Why it fails, beside the value.
    pub reason: Option<String>,
}

/// Rows by cell and contestant.
pub struct Grouped<'a>(BTreeMap<(usize, usize), Vec<&'a Row>>);

impl<'a> Grouped<'a> {
    /// Groups them.
    pub fn new(rows: &'a [Row]) -> Grouped<'a> {
        let mut groups: BTreeMap<_, Vec<&Row>> = BTreeMap::new();
        for row in rows {
            let key = (row.cell, row.contestant);
            groups.entry(key).or_default().push(row);
        }
        Grouped(groups)
    }

    /// The rows of a contestant in a cell.
    pub fn of(&self, cell: usize, contestant: usize) -> &[&'a Row] {
        self.0.get(&(cell, contestant)).map_or(&[], Vec::as_slice)
    }

    /// Median over the flows, or runs, of a contestant in a cell.
    pub fn median(
        &self,
        cell: usize,
        contestant: usize,
        metric: Metric,
        flows: &[String],
    ) -> Option<f64> {
        let parts = metric.parts(self.of(cell, contestant), flows);
        let values: Vec<f64> = parts.into_iter().map(Part::value).collect();
        Statistic::Median.of(&values)
    }

    /// The same, compared with that of the contestant `to` in the cell beside it, if there is one.
    pub fn compared(
        &self,
        cell: usize,
        contestant: usize,
        to: Option<(&Beside, usize)>,
        metric: Metric,
        flows: &[String],
    ) -> Option<f64> {
        let median = |cell, contestant| self.median(cell, contestant, metric, flows);
        let Some((to, other)) = to else {
            return median(cell, contestant);
        };
        if metric.of_two() {
            let theirs = self.of(other, *to.contestants().first()?);
            let errors = window::errors(self.of(cell, contestant), theirs, flows);
            return Statistic::Median.of(&errors);
        }
        let theirs = to.contestants().iter();
        let theirs = theirs.filter_map(|index| median(other, *index));
        let ours = median(cell, contestant)?;
        let other = theirs.reduce(to.choose(metric))?;
        match to {
            Beside::Minus(_) => Some(ours - other),
            _ => (other > 0.0).then(|| ours / other),
        }
    }
}

/// All checks for which the runs of the experiment suffice. (After [`Experiment::select`] they may
/// not: a check whose contestant was not to run says nothing.)
pub fn all(experiment: &Experiment, rows: &[Row]) -> Vec<Verdict> {
    let planned = Planned::new(experiment);
    let grouped = Grouped::new(rows);
    let checks = experiment
        .checks
        .iter()
        .filter(|check| planned.suffices(check));
    checks
        .map(|check| evaluate(check, experiment, &grouped))
        .collect()
}

/// Which contestants are to run in which cells.
struct Planned<'a> {
    experiment: &'a Experiment,
    runs: BTreeMap<(usize, usize), u32>,
}

impl<'a> Planned<'a> {
    fn new(experiment: &'a Experiment) -> Planned<'a> {
        let runs = experiment.runs.iter();
        let runs = runs
            .map(|r| ((r.cell, r.contestant), r.repetition))
            .collect();
        Planned { experiment, runs }
    }

    fn suffices(&self, check: &Check) -> bool {
        let cells = cells(check, self.experiment);
        cells.into_iter().any(|cell| {
            let runs = |cell, contestant| self.runs.contains_key(&(cell, contestant));
            let mut others = check.to.iter().flat_map(|to| to.contestants());
            let beside = elsewhere(self.experiment, cell, &check.to_where);
            let beside = |other| beside.is_some_and(|cell| runs(cell, other));
            check.of.iter().any(|c| runs(cell, *c)) && others.all(|other| beside(*other))
        })
    }
}

fn cells(check: &Check, experiment: &Experiment) -> Vec<usize> {
    let meets = |cell: &usize| experiment.meets(&experiment.cells[*cell], &check.conditions);
    (0..experiment.cells.len()).filter(meets).collect()
}

/// What the rows say of a check.
pub fn evaluate(check: &Check, experiment: &Experiment, rows: &Grouped<'_>) -> Verdict {
    let mut found = Found::default();
    let meant = cells(check, experiment);
    for (at, cell) in meant.iter().enumerate() {
        let before = check
            .along
            .map(|along| before(experiment, &meant[..at], *cell, along));
        let beside = elsewhere(experiment, *cell, &check.to_where);
        for contestant in &check.of {
            found.add(check, rows, (*cell, before, beside), *contestant);
        }
    }
    let value = match check.over {
        Over::Cells(statistic) => {
            let values: Vec<f64> = found.cells.iter().map(|(v, ..)| *v).collect();
            statistic.of(&values)
        }
        Over::Pooled => (found.pooled.by > 0.0).then(|| found.pooled.value()),
    };
    let reason = match (value, found.failed) {
        (_, failed) if failed > 0 => Some(format!("{failed} of {} flows failed", found.flows)),
        (None, _) if found.flows == 0 => Some("there are no rows for it".to_owned()),
        (None, _) => Some(format!("nothing tells {} here", check.metric.name())),
        (Some(_), _) => None,
    };
    let worst = found.worst(check.limit).map(|(value, cell, contestant)| {
        let contestant = &experiment.contestants[contestant];
        let cell = experiment.describe(cell);
        let at = if cell.is_empty() {
            String::new()
        } else {
            format!(" at {cell}")
        };
        format!("{contestant}{at}: {value:.3}")
    });
    Verdict {
        name: check.name.clone(),
        value,
        limit: check.limit,
        pass: reason.is_none() && value.is_some_and(|v| check.limit.allows(v)),
        worst,
        reason,
    }
}

/// The last of `earlier` that differs from `cell` in the parameter `along` alone.
fn before(experiment: &Experiment, earlier: &[usize], cell: usize, along: usize) -> Option<usize> {
    let ours = &experiment.cells[cell];
    let differs_there_alone = |other: &&usize| {
        let other = &experiment.cells[**other];
        let mut pairs = ours.values.iter().zip(&other.values).enumerate();
        other.case == ours.case && pairs.all(|(at, (a, b))| (at == along) != a.same(b))
    };
    earlier.iter().rev().find(differs_there_alone).copied()
}

/// The cell that differs from `cell` by having `values`.
fn elsewhere(experiment: &Experiment, cell: usize, values: &[(usize, Scalar)]) -> Option<usize> {
    if values.is_empty() {
        return Some(cell);
    }
    let ours = &experiment.cells[cell];
    let wanted = |(at, own)| {
        let other = values.iter().find(|(index, _)| *index == at);
        other.map_or(own, |(_, value)| value)
    };
    experiment.cells.iter().position(|other| {
        let mut pairs = ours
            .values
            .iter()
            .enumerate()
            .map(wanted)
            .zip(&other.values);
        other.case == ours.case && pairs.all(|(a, b)| a.same(b))
    })
}

/// What a check has found so far.
struct Found {
    /// Value, cell, contestant.
    cells: Vec<(f64, usize, usize)>,
    pooled: Part,
    flows: usize,
    failed: usize,
}

impl Default for Found {
    fn default() -> Found {
        Found {
            cells: Vec::new(),
            pooled: Part { of: 0.0, by: 0.0 },
            flows: 0,
            failed: 0,
        }
    }
}

impl Found {
    /// `before`: of a check along a parameter, the cell that its value is divided by, if there is one. `beside`: where the others'
    /// value is.
    fn add(
        &mut self,
        check: &Check,
        rows: &Grouped<'_>,
        (cell, before, beside): (usize, Option<Option<usize>>, Option<usize>),
        contestant: usize,
    ) {
        let ours = rows.of(cell, contestant);
        self.flows += ours.len();
        if check.metric != Metric::FailedPercent {
            self.failed += ours.iter().filter(|row| row.failed()).count();
        }
        for part in check.metric.parts(ours, &check.flows) {
            self.pooled.of += part.of;
            self.pooled.by += part.by;
        }
        let value = match before {
            None => {
                let (metric, flows) = (check.metric, &check.flows);
                let of = |to| rows.compared(cell, contestant, to, metric, flows);
                match &check.to {
                    Some(to) => beside.and_then(|beside| of(Some((to, beside)))),
                    None => of(None),
                }
            }
            Some(before) => {
                let of = |cell| rows.median(cell, contestant, check.metric, &check.flows);
                let pair = before.and_then(of).zip(of(cell));
                pair.filter(|(before, _)| *before > 0.0)
                    .map(|(before, ours)| ours / before)
            }
        };
        self.cells.extend(value.map(|v| (v, cell, contestant)));
    }

    fn worst(&self, limit: Limit) -> Option<(f64, usize, usize)> {
        let by_value = |a: &&(f64, usize, usize), b: &&(f64, usize, usize)| a.0.total_cmp(&b.0);
        let worst = match limit {
            Limit::AtMost(_) => self.cells.iter().max_by(by_value),
            Limit::AtLeast(_) => self.cells.iter().min_by(by_value),
        };
        worst.copied()
    }
}
