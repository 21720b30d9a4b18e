//! `[sweep]`, `[[case]]` and `[[contestant]]`: how the base varies.

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use windlass_policy::Wrong;
use windlass_policy::read::{Section, Value};

use super::overrides::{self, Override, Path};
use super::{scalar, short_name};
use crate::rows;
use crate::scalar::Scalar;

/// A named set of overrides.
pub(super) struct Named<'t> {
    pub name: String,
    pub overrides: Vec<Override<'t>>,
}

/// A parameter and its values.
pub(super) struct Axis<'t> {
    pub path: Path,
    pub values: Vec<(Scalar, Spanned<DeValue<'t>>)>,
}

/// The last step of each path; the whole of it where that would be ambiguous.
pub(super) fn parameter_names(axes: &[Axis<'_>]) -> Vec<String> {
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

/// Reads `[sweep]`.
pub(super) fn axes(value: Value<'_>) -> Result<Vec<Axis<'_>>, Wrong> {
    let span = value.span();
    let DeValue::Table(table) = value.into_inner().into_inner() else {
        let help = "write [sweep] on a line of its own, and lists of values below";
        return Err(Wrong::new(span, "[sweep] is a table", help));
    };
    let axes = overrides::flatten_with_words(table)?;
    axes.into_iter().map(axis).collect()
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
pub(super) fn named<'t>(
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
