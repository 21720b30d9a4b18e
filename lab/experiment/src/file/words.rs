//! Words of a file's own: `algorithm = ["bbr", "cubic"]` below `[sweep]` puts one after the other
//! where a string says `{algorithm}`.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A word, and the value that takes its place.
pub(super) type Word<'a, 't> = (&'a str, &'a Spanned<DeValue<'t>>);

/// Puts the values in the places of the words. A string that is one word alone becomes the value
/// itself, number or string; elsewhere its text is put in.
pub(super) fn fill<'t>(table: &mut DeTable<'t>, words: &[Word<'_, 't>]) {
    if !words.is_empty() {
        table
            .iter_mut()
            .for_each(|(_, value)| fill_value(value, words));
    }
}

fn fill_value<'t>(value: &mut Spanned<DeValue<'t>>, words: &[Word<'_, 't>]) {
    let filled = match value.get_mut() {
        DeValue::Table(table) => return fill(table, words),
        DeValue::Array(list) => return list.iter_mut().for_each(|v| fill_value(v, words)),
        DeValue::String(text) => filled(text, words),
        _ => return,
    };
    match filled {
        Some(Filled::Value(other)) => *value = other,
        Some(Filled::Text(text)) => *value.get_mut() = DeValue::String(Cow::Owned(text)),
        None => {}
    }
}

enum Filled<'t> {
    Value(Spanned<DeValue<'t>>),
    Text(String),
}

fn filled<'t>(text: &str, words: &[Word<'_, 't>]) -> Option<Filled<'t>> {
    let mut result: Option<String> = None;
    for (word, value) in words {
        let place = place(word);
        if text == place {
            return Some(Filled::Value((*value).clone()));
        }
        if text.contains(&place) {
            let so_far = result.as_deref().unwrap_or(text);
            result = Some(so_far.replace(&place, &text_of(value.get_ref())));
        }
    }
    result.map(Filled::Text)
}

/// What a word is replaced with where it is a part of a text.
fn text_of(value: &DeValue<'_>) -> String {
    super::scalar(value).map_or(String::new(), |scalar| scalar.to_string())
}

/// As it stands in strings.
pub(super) fn place(word: &str) -> String {
    format!("{{{word}}}")
}

/// Whether a value says it anywhere.
pub(super) fn says(value: &DeValue<'_>, word: &str) -> bool {
    match value {
        DeValue::String(text) => text.contains(&place(word)),
        DeValue::Array(list) => list.iter().any(|v| says(v.get_ref(), word)),
        DeValue::Table(table) => table.values().any(|v| says(v.get_ref(), word)),
        _ => false,
    }
}
