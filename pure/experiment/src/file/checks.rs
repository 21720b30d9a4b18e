//! `[[check]]`.

use windlass_policy::Wrong;
use windlass_policy::read::{Section, Value};

use super::conditions;
use crate::check::{Check, Limit, Over};
use crate::experiment::Experiment;
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
    let mut checks: Vec<Check> = Vec::new();
    for value in value.list("[{ name = \"…\" }], or better [[check]]")? {
        let section = value.section("[[check]]")?;
        let span = section.span();
        let check = read_one(section, experiment)?;
        if checks.iter().any(|c| c.name == check.name) {
            let what = format!("two [[check]] are called \"{}\"", check.name);
            return Err(Wrong::new(span, what, "give it another name"));
        }
        checks.push(check);
    }
    Ok(checks)
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
    let to = section.take("to");
    let flows = match section.take("flow") {
        Some(value) => {
            conditions::one_or_more(value, "[\"download\"]", |v| conditions::flow(v, experiment))?
        }
        None => Vec::new(),
    };
    let conditions = match section.take("where") {
        Some(value) => conditions::read(value, experiment)?,
        None => Vec::new(),
    };
    let over = section.take("over");
    let limit = limit(&mut section)?;
    let chosen = over.as_ref().map(|v| v.word(&OVER)).transpose()?;
    let check = Check {
        name,
        metric,
        of,
        to: to
            .as_ref()
            .map(|v| conditions::contestant(v, experiment))
            .transpose()?,
        flows,
        conditions,
        over: chosen.unwrap_or(match limit {
            Limit::AtMost(_) => Over::Cells(Statistic::Max),
            Limit::AtLeast(_) => Over::Cells(Statistic::Min),
        }),
        limit,
    };
    if let (Over::Pooled, Some(to)) = (check.over, to) {
        let what = "a pooled value is not compared with another contestant's";
        return Err(Wrong::new(
            to.span(),
            what,
            "leave out \"to\", or take over = \"geometric_mean\"",
        ));
    }
    if check.metric == Metric::SharePercent && check.flows.is_empty() {
        let what = "share_percent of which flows?";
        return Err(Wrong::new(
            section.span(),
            what,
            "write for example flow = \"download\"",
        ));
    }
    section.finish()?;
    Ok(check)
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
