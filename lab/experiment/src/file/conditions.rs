//! `where`, `of`, `flow`: what a check or a table is about.

use core::ops::Range;

use toml::de::DeValue;
use windlass_policy::read::{Section, Value};
use windlass_policy::{Wrong, suggest};

use super::scalar;
use crate::axis::Axis;
use crate::check::Beside;
use crate::condition::{Condition, Test};
use crate::experiment::Experiment;
use crate::metric::Metric;
use crate::scalar::Scalar;

/// Reads a table of conditions, at least one cell of which is met.
pub(super) fn read(value: Value<'_>, experiment: &Experiment) -> Result<Vec<Condition>, Wrong> {
    let span = value.span();
    let DeValue::Table(table) = value.into_inner().into_inner() else {
        let help = "write for example where = { loss_percent = \">= 1\", rtt_ms = [100, 200] }";
        return Err(Wrong::new(span, "where is a table", help));
    };
    let mut conditions = Vec::new();
    for (key, value) in table {
        conditions.push(Condition {
            key: parameter(key.get_ref(), key.span(), experiment)?,
            test: test(value.get_ref(), value.span())?,
        });
    }
    if !experiment
        .cells
        .iter()
        .any(|cell| experiment.meets(cell, &conditions))
    {
        let what = "no cell meets these conditions";
        let help = "compare them with the values in [sweep] and the names of the cases";
        return Err(Wrong::new(span, what, help));
    }
    Ok(conditions)
}

/// A parameter of the experiment, or `case`.
fn parameter(name: &str, span: Range<usize>, experiment: &Experiment) -> Result<String, Wrong> {
    let known = ["case"]
        .into_iter()
        .chain(experiment.parameters.iter().map(String::as_str));
    let known: Vec<&str> = known.collect();
    match known.contains(&name) {
        true => Ok(name.to_owned()),
        false => {
            let what = format!("\"{name}\" is not swept");
            Err(Wrong::new(span, what, suggest(name, &known)))
        }
    }
}

/// A parameter, `case` or `contestant`, as a value.
pub(super) fn axis(value: &Value<'_>, experiment: &Experiment) -> Result<Axis, Wrong> {
    let name = value.text("rtt_ms")?;
    let parameters = experiment.parameters.iter().map(String::as_str);
    let known: Vec<&str> = ["case", "contestant"]
        .into_iter()
        .chain(parameters)
        .collect();
    Axis::of_name(name, experiment).ok_or_else(|| {
        let what = format!("\"{name}\" is not swept");
        Wrong::new(value.span(), what, suggest(name, &known))
    })
}

/// The name of a parameter as a value.
pub(super) fn parameter_named(value: &Value<'_>, experiment: &Experiment) -> Result<String, Wrong> {
    parameter(value.text("rtt_ms")?, value.span(), experiment)
}

fn test(value: &DeValue<'_>, span: Range<usize>) -> Result<Test, Wrong> {
    let wrong = |what: String| {
        let help = "write a value, a list of values, or a comparison such as \">= 1\"";
        Wrong::new(span.clone(), what, help)
    };
    match value {
        DeValue::String(text) => Test::of_text(text).map_err(wrong),
        DeValue::Array(list) => {
            let scalars: Option<Vec<_>> = list.iter().map(|v| scalar(v.get_ref())).collect();
            let scalars = scalars.filter(|all| !all.is_empty());
            scalars
                .map(Test::OneOf)
                .ok_or_else(|| wrong("this is no list of values".to_owned()))
        }
        other => match scalar(other) {
            Some(scalar) => Ok(Test::OneOf(vec![scalar])),
            None => Err(wrong(format!(
                "a {} is nothing to compare with",
                other.type_str()
            ))),
        },
    }
}

/// A contestant by its name.
pub(super) fn contestant(value: &Value<'_>, experiment: &Experiment) -> Result<usize, Wrong> {
    let name = value.text("native-bbr")?;
    experiment.contestant(name).ok_or_else(|| {
        let known: Vec<&str> = experiment.contestants.iter().map(String::as_str).collect();
        let what = format!("no contestant is called \"{name}\"");
        Wrong::new(value.span(), what, suggest(name, &known))
    })
}

/// One name or a list of them.
pub(super) fn one_or_more<T>(
    value: Value<'_>,
    example: &str,
    each: impl Fn(&Value<'_>) -> Result<T, Wrong>,
) -> Result<Vec<T>, Wrong> {
    if !value.is_list() {
        return Ok(vec![each(&value)?]);
    }
    value.list(example)?.iter().map(each).collect()
}

/// A group of flows by its name.
pub(super) fn flow(value: &Value<'_>, experiment: &Experiment) -> Result<String, Wrong> {
    let name = value.text("download")?;
    let mut known: Vec<String> = Vec::new();
    let groups = experiment.runs.iter().flat_map(|run| &run.setup.flows);
    for group in groups.flat_map(|group| group.names()) {
        if !known.contains(&group) {
            known.push(group);
        }
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    match known.contains(&name) {
        true => Ok(name.to_owned()),
        false => {
            let what = format!("no [[flows]] are called \"{name}\"");
            Err(Wrong::new(value.span(), what, suggest(name, &known)))
        }
    }
}

/// The groups of flows that a table names; none: all but those in the background.
pub(super) fn flows(
    section: &mut Section<'_>,
    experiment: &Experiment,
) -> Result<Vec<String>, Wrong> {
    let Some(value) = section.take("flow") else {
        return Ok(Vec::new());
    };
    one_or_more(value, "[\"download\"]", |v| flow(v, experiment))
}

/// The contestant that others are compared with, by division or difference, and where it stands.
pub(super) fn beside(
    section: &mut Section<'_>,
    experiment: &Experiment,
) -> Result<Option<(Beside, Range<usize>)>, Wrong> {
    let all = |value: Value<'_>| {
        let span = value.span();
        let all = one_or_more(value, "[\"native-bbr\"]", |v| contestant(v, experiment))?;
        Ok((all, span))
    };
    let mut found = Vec::new();
    if let Some(to) = section.take("to") {
        found.push(match to.is_list() {
            true => all(to).map(|(all, span)| (Beside::DividedByBest(all), span))?,
            false => (Beside::DividedBy(contestant(&to, experiment)?), to.span()),
        });
    }
    if let Some(to) = section.take("to_worst_of") {
        found.push(all(to).map(|(all, span)| (Beside::DividedByWorst(all), span))?);
    }
    if let Some(minus) = section.take("minus") {
        let other = Beside::Minus(contestant(&minus, experiment)?);
        found.push((other, minus.span()));
    }
    if let [_, .., (_, span)] = &found[..] {
        let what = "to, to_worst_of and minus exclude each other";
        let help = "keep to for a ratio, to_worst_of for one to the worst of several, minus for a difference";
        return Err(Wrong::new(span.clone(), what, help));
    }
    Ok(found.pop())
}

/// In which cell the value is that others are compared with: `to_where`.
pub(super) fn elsewhere(
    section: &mut Section<'_>,
    experiment: &Experiment,
    compared: bool,
) -> Result<Vec<(usize, Scalar)>, Wrong> {
    let Some(value) = section.take("to_where") else {
        return Ok(Vec::new());
    };
    let span = value.span();
    let wrong = |what: &str, help: &str| Wrong::new(span.clone(), what, help);
    if !compared {
        let help = "write for example to = \"native-cubic\" beside it";
        return Err(wrong("to_where without to", help));
    }
    let mut values = Vec::new();
    for condition in read(value, experiment)? {
        let at = experiment
            .parameters
            .iter()
            .position(|p| *p == condition.key);
        let (Some(at), Test::OneOf(one)) = (at, &condition.test) else {
            let help = "write for example to_where = { loss_percent = 0 }";
            return Err(wrong(
                "to_where has a value for each parameter it names",
                help,
            ));
        };
        match &one[..] {
            [value] => values.push((at, value.clone())),
            _ => {
                return Err(wrong(
                    "to_where is about one cell",
                    "keep one of the values",
                ));
            }
        }
    }
    Ok(values)
}

/// Refuses a metric without what it is of.
pub(super) fn refuse_half(
    metric: Metric,
    has_flows: bool,
    has_to: bool,
    section: &Section<'_>,
) -> Result<(), Wrong> {
    let name = metric.name();
    let wrong = |what: String, help: &str| Err(Wrong::new(section.span(), what, help));
    if metric == Metric::SharePercent && !has_flows {
        return wrong(
            format!("{name} of which flows?"),
            "write for example flow = \"download\"",
        );
    }
    if metric.of_two() && !has_to {
        return wrong(
            format!("{name} compared with whom?"),
            "write for example to = \"native-bbr\"",
        );
    }
    Ok(())
}
