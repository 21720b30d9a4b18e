//! `[[check]]` and `[[finding]]`.

use core::ops::Range;

use windlass_policy::Wrong;
use windlass_policy::read::{Section, Value};

use super::conditions;
use crate::axis::Axis;
use crate::check::{Check, Limit, Over};
use crate::condition::{Condition, Test};
use crate::experiment::Experiment;
use crate::finding::Finding;
use crate::metric::Metric;
use crate::statistics::Statistic;

const OVER: [(&str, Over); 6] = [
    ("geometric_mean", Over::Cells(Statistic::GeometricMean)),
    ("max", Over::Cells(Statistic::Max)),
    ("min", Over::Cells(Statistic::Min)),
    ("mean", Over::Cells(Statistic::Mean)),
    ("median", Over::Cells(Statistic::Median)),
    ("pooled", Over::Pooled),
];
const LIMIT_MAX: f64 = 1e12;

/// Reads all of them.
pub(super) fn read(value: Value<'_>, experiment: &Experiment) -> Result<Vec<Check>, Wrong> {
    let (mut checks, mut names) = (Vec::new(), Vec::new());
    for value in value.list("[{ name = \"…\" }], or better [[check]]")? {
        let mut section = value.section("[[check]]")?;
        let span = section.span();
        let each = each(&mut section, experiment)?;
        let check = read_one(section, experiment)?;
        if names.contains(&check.name) {
            let what = format!("two [[check]] are called \"{}\"", check.name);
            return Err(Wrong::new(span, what, "give it another name"));
        }
        names.push(check.name.clone());
        match each {
            None => checks.push(check),
            Some(axis) => checks.extend(for_each(&check, &axis, experiment)),
        }
    }
    Ok(checks)
}

/// Reads all `[[finding]]`: checks whose name is said of what does not hold them.
pub(super) fn findings(value: Value<'_>, experiment: &Experiment) -> Result<Vec<Finding>, Wrong> {
    let mut findings: Vec<Finding> = Vec::new();
    for value in value.list("[{ name = \"…\" }], or better [[finding]]")? {
        let mut section = value.section("[[finding]]")?;
        let span = section.span();
        let because = match section.take("because") {
            Some(text) => text.text("why it matters")?.trim().to_owned(),
            None => String::new(),
        };
        let Some(axis) = each(&mut section, experiment)? else {
            let what = "[[finding]] has no each: of whom is it said?";
            let help = "write for example each = \"contestant\", or a parameter";
            return Err(Wrong::new(span, what, help));
        };
        let check = read_one(section, experiment)?;
        if findings.iter().any(|f| f.check.name == check.name) {
            let what = format!("two [[finding]] are called \"{}\"", check.name);
            return Err(Wrong::new(span, what, "give it another name"));
        }
        findings.push(Finding {
            because,
            checks: for_each(&check, &axis, experiment),
            check,
        });
    }
    Ok(findings)
}

fn each(section: &mut Section<'_>, experiment: &Experiment) -> Result<Option<Axis>, Wrong> {
    let each = section.take("each");
    let axis = |value| conditions::axis(&value, experiment);
    each.map(axis).transpose()
}

/// One check for each contestant, or each value that the parameter has in the cells meant.
fn for_each(check: &Check, axis: &Axis, experiment: &Experiment) -> Vec<Check> {
    let one = |about: String| Check {
        name: format!("{}: {about}", check.name),
        about: Some(about),
        ..check.clone()
    };
    if *axis == Axis::Contestant {
        let of = check.of.iter().map(|contestant| Check {
            of: vec![*contestant],
            ..one(experiment.contestants[*contestant].clone())
        });
        return of.collect();
    }
    let meant = |cell: &&_| experiment.meets(cell, &check.conditions);
    let mut values: Vec<_> = Vec::new();
    for cell in experiment.cells.iter().filter(meant) {
        values.extend(axis.of_cell(cell));
    }
    let mut checks: Vec<Check> = Vec::new();
    for value in values {
        if checks.iter().any(|c| c.about == Some(value.to_string())) {
            continue;
        }
        let mut check = one(value.to_string());
        check.conditions.push(Condition {
            key: axis.key().to_owned(),
            test: Test::OneOf(vec![value]),
        });
        checks.push(check);
    }
    checks
}

fn read_one(mut section: Section<'_>, experiment: &Experiment) -> Result<Check, Wrong> {
    let name = section.need("name", "\"as fast as BBR in the server\"")?;
    let name = name.text("as fast as BBR in the server")?.to_owned();
    let metric = match section.take("metric") {
        Some(value) => value.word(&Metric::ALL)?,
        None => Metric::Seconds,
    };
    let of = match section.take("of") {
        Some(value) => conditions::one_or_more(value, "[\"windlass-bbr\"]", |v| {
            conditions::contestant(v, experiment)
        })?,
        None => (0..experiment.contestants.len()).collect(),
    };
    let to = conditions::beside(&mut section, experiment)?;
    let to_where = conditions::elsewhere(&mut section, experiment, to.is_some())?;
    let along = along(&mut section, experiment, to.is_some())?;
    let flows = conditions::flows(&mut section, experiment)?;
    let conditions = match section.take("where") {
        Some(value) => conditions::read(value, experiment)?,
        None => Vec::new(),
    };
    let over = section.take("over");
    let limit = limit(&mut section)?;
    let chosen = over.as_ref().map(|v| v.word(&OVER)).transpose()?;
    let compared = to.as_ref().map(|(_, span)| span.clone());
    let compared = compared.or(along.as_ref().map(|(_, span)| span.clone()));
    let check = Check {
        name,
        about: None,
        metric,
        of,
        to: to.as_ref().map(|(to, _)| to.clone()),
        to_where,
        along: along.as_ref().map(|(at, _)| *at),
        flows,
        conditions,
        over: chosen.unwrap_or(match limit {
            Limit::AtMost(_) => Over::Cells(Statistic::Max),
            Limit::AtLeast(_) => Over::Cells(Statistic::Min),
        }),
        limit,
    };
    if let (Over::Pooled, Some(span)) = (check.over, compared) {
        let what = "a pooled value is not compared with another one";
        return Err(Wrong::new(
            span,
            what,
            "leave out \"to\" or \"along\", or take over = \"geometric_mean\"",
        ));
    }
    let (metric, has_flows, has_to) = (check.metric, !check.flows.is_empty(), check.to.is_some());
    conditions::refuse_half(metric, has_flows, has_to, &section)?;
    section.finish()?;
    Ok(check)
}

/// The parameter along which neighbours are compared.
fn along(
    section: &mut Section<'_>,
    experiment: &Experiment,
    compared: bool,
) -> Result<Option<(usize, Range<usize>)>, Wrong> {
    let Some(value) = section.take("along") else {
        return Ok(None);
    };
    match conditions::axis(&value, experiment)? {
        Axis::Parameter(at, _) if !compared => Ok(Some((at, value.span()))),
        Axis::Parameter(..) => {
            let what = "along compares a contestant with itself, to with another";
            let help = "make two checks of it";
            Err(Wrong::new(value.span(), what, help))
        }
        Axis::Case | Axis::Contestant => {
            let what = "there is no order to go along";
            let help = "name a parameter of [sweep]";
            Err(Wrong::new(value.span(), what, help))
        }
    }
}

fn limit(section: &mut Section<'_>) -> Result<Limit, Wrong> {
    let (most, least) = (section.take("at_most"), section.take("at_least"));
    let number = |value: &Value<'_>| value.number(-LIMIT_MAX..=LIMIT_MAX, "");
    match (most, least) {
        (Some(value), None) => Ok(Limit::AtMost(number(&value)?)),
        (None, Some(value)) => Ok(Limit::AtLeast(number(&value)?)),
        (None, None) => {
            let what = "[[check]] has no limit";
            let help = "write for example at_most = 1.0, or at_least";
            Err(Wrong::new(section.span(), what, help))
        }
        (Some(_), Some(value)) => {
            let what = "at_most and at_least exclude each other";
            let help = "make two checks of it";
            Err(Wrong::new(value.span(), what, help))
        }
    }
}
