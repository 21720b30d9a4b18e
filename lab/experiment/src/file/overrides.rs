//! Values that stand in for those of the base tables, each with the path of what it replaces.

use core::ops::Range;
use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use windlass_policy::{Wrong, suggest};

/// The base tables, which a path begins with.
pub(super) const TABLES: [&str; 12] = [
    "topology",
    "link",
    "server_link",
    "server",
    "client",
    "box",
    "stalls",
    "flows",
    "cross_traffic",
    "probe",
    "record",
    "run",
];
/// Of `[run]`, what holds for the experiment as a whole.
const WHOLE: [&str; 3] = ["repetitions", "seed", "backend"];

/// `link.rate_mbit`, with the place of each step.
#[derive(Clone, Debug)]
pub(crate) struct Path(Vec<(String, Range<usize>)>);

impl Path {
    /// With dots.
    pub(crate) fn text(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        names.join(".")
    }

    /// The last step.
    pub(crate) fn last(&self) -> &str {
        self.0.last().map_or("", |(name, _)| name)
    }

    /// Whether it is a word of the file's own: one step, and no table.
    pub(crate) fn is_word(&self) -> bool {
        matches!(&self.0[..], [(name, _)] if !TABLES.contains(&name.as_str()))
    }

    /// Where it stands.
    pub(crate) fn span(&self) -> Range<usize> {
        let last = self.0.last().map_or(0..0, |(_, span)| span.clone());
        let first = self.0.first().map_or(0, |(_, span)| span.start);
        // The steps of a table's header and of its keys are lines apart: show the key then.
        match last.end.saturating_sub(first) <= self.text().len() + 2 {
            true => first..last.end,
            false => last,
        }
    }

    /// Whether it names the same as `other`, or a whole of which `other` is a part.
    pub(crate) fn covers(&self, other: &Path) -> bool {
        let both = self.0.iter().zip(&other.0);
        self.0.len() <= other.0.len() && both.into_iter().all(|(a, b)| a.0 == b.0)
    }
}

/// A value and what it replaces.
#[derive(Clone, Debug)]
pub(crate) struct Override<'t> {
    pub path: Path,
    pub value: Spanned<DeValue<'t>>,
}

impl<'t> Override<'t> {
    /// Puts it in its place.
    pub(crate) fn apply(&self, base: &mut DeTable<'t>) -> Result<(), Wrong> {
        put(base, &self.path.0, self.value.clone())
    }
}

/// What a table of overrides says, in the order of the text. `"link.rate_mbit" = 5`,
/// `link.rate_mbit = 5` and `link = { rate_mbit = 5 }` say the same.
pub(crate) fn flatten(table: DeTable<'_>) -> Result<Vec<Override<'_>>, Wrong> {
    let all = gather(table);
    all.iter().try_for_each(|o| check(&o.path))?;
    Ok(all)
}

/// The same, with words of the file's own among them, which replace nothing in the base.
pub(crate) fn flatten_with_words(table: DeTable<'_>) -> Result<Vec<Override<'_>>, Wrong> {
    let all = gather(table);
    let settings = all.iter().filter(|o| !o.path.is_word());
    settings.map(|o| &o.path).try_for_each(check)?;
    Ok(all)
}

fn gather(table: DeTable<'_>) -> Vec<Override<'_>> {
    let mut all = Vec::new();
    collect(table, &Path(Vec::new()), &mut all);
    all.sort_by_key(|o: &Override<'_>| o.path.span().start);
    all
}

fn collect<'t>(table: DeTable<'t>, above: &Path, all: &mut Vec<Override<'t>>) {
    for (key, value) in table {
        let mut path = above.clone();
        let steps = key.get_ref().split('.');
        path.0.extend(steps.map(|s| (s.to_owned(), key.span())));
        let span = value.span();
        match value.into_inner() {
            DeValue::Table(inner) => collect(inner, &path, all),
            value => all.push(Override {
                path,
                value: Spanned::new(span, value),
            }),
        }
    }
}

fn check(path: &Path) -> Result<(), Wrong> {
    let (first, span) = &path.0[0];
    if !TABLES.contains(&first.as_str()) {
        let what = format!("\"{first}\" is no table of the base");
        return Err(Wrong::new(span.clone(), what, suggest(first, &TABLES)));
    }
    if first == "run" && WHOLE.contains(&path.last()) {
        let what = format!("{} is one for the whole experiment", path.text());
        let help = format!("write {} = … below [run]", path.last());
        return Err(Wrong::new(path.span(), what, help));
    }
    Ok(())
}

fn put<'t>(
    table: &mut DeTable<'t>,
    path: &[(String, Range<usize>)],
    value: Spanned<DeValue<'t>>,
) -> Result<(), Wrong> {
    let Some(((name, span), rest)) = path.split_first() else {
        return Ok(());
    };
    let key = || Spanned::new(span.clone(), Cow::Owned(name.clone()));
    if rest.is_empty() {
        // Inserting alone would keep the old key, and with it the old place.
        table.remove(name.as_str());
        table.insert(key(), value);
        return Ok(());
    }
    let empty = || Spanned::new(span.clone(), DeValue::Table(DeTable::new()));
    let inner = table.entry(key()).or_insert_with(empty);
    match inner.get_mut() {
        DeValue::Table(inner) => put(inner, rest, value),
        DeValue::Array(list) => {
            let at = element(list, name, &rest[0])?;
            match list.get_mut(at).map(Spanned::get_mut) {
                Some(DeValue::Table(inner)) if rest.len() > 1 => put(inner, &rest[1..], value),
                _ => Err(no_part(name, span, &rest[0].0)),
            }
        }
        _ => Err(no_part(name, span, &rest[0].0)),
    }
}

fn no_part(name: &str, span: &Range<usize>, part: &str) -> Wrong {
    Wrong::new(
        span.clone(),
        format!("{name} has no part {part}: it is a single value"),
        "end the path one step before",
    )
}

/// The element of a list that is called so, or has this index.
fn element(
    list: &[Spanned<DeValue<'_>>],
    title: &str,
    (step, span): &(String, Range<usize>),
) -> Result<usize, Wrong> {
    let name = |value: &Spanned<DeValue<'_>>| {
        let name = value.get_ref().as_table()?.get("name")?;
        name.get_ref().as_str().map(str::to_owned)
    };
    let names: Vec<String> = list.iter().filter_map(name).collect();
    let called = list.iter().position(|v| name(v).as_ref() == Some(step));
    let indexed = step.parse().ok().filter(|at| *at < list.len());
    called.or(indexed).ok_or_else(|| {
        let count = list.len();
        let what = format!("[[{title}]] has no element \"{step}\"");
        let help = match names.is_empty() {
            false => suggest(step, &names.iter().map(String::as_str).collect::<Vec<_>>()),
            true => format!("use its index, 0 to {}", count.saturating_sub(1)),
        };
        Wrong::new(span.clone(), what, help)
    })
}
