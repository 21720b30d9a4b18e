//! Reading tables of a TOML document key by key, with the place of everything in the text.

use core::ops::{Range, RangeInclusive};
use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Wrong, suggest};

/// A table whose keys are taken one by one; what remains at the end is unknown.
pub(crate) struct Section<'t> {
    /// As in the file: `[box]`, `[[rule]]`.
    title: &'static str,
    entries: Vec<(Spanned<Cow<'t, str>>, Spanned<DeValue<'t>>)>,
    known: Vec<&'static str>,
}

impl<'t> Section<'t> {
    pub(crate) fn new(title: &'static str, table: DeTable<'t>) -> Section<'t> {
        Section {
            title,
            entries: table.into_iter().collect(),
            known: Vec::new(),
        }
    }

    /// The value of this key, if the table has it.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<Value<'t>> {
        self.known.push(key);
        let at = self.entries.iter().position(|(k, _)| k.get_ref() == key)?;
        let (_, inner) = self.entries.swap_remove(at);
        Some(Value { key, inner })
    }

    /// Refuses a key that was not asked for.
    pub(crate) fn finish(self) -> Result<(), Wrong> {
        let first = self.entries.iter().min_by_key(|(k, _)| k.span().start);
        match first {
            None => Ok(()),
            Some((key, _)) => Err(Wrong::new(
                key.span(),
                format!("unknown key \"{}\" in {}", key.get_ref(), self.title),
                suggest(key.get_ref(), &self.known),
            )),
        }
    }
}

/// The value of a key, or an element of its list.
pub(crate) struct Value<'t> {
    key: &'static str,
    inner: Spanned<DeValue<'t>>,
}

impl<'t> Value<'t> {
    pub(crate) fn span(&self) -> Range<usize> {
        self.inner.span()
    }

    fn mistyped(&self, wanted: &str, example: &str) -> Wrong {
        let (key, got) = (self.key, self.inner.get_ref().type_str());
        Wrong::new(
            self.span(),
            format!("{key} is {wanted}, not {} {got}", article(got)),
            format!("write for example {key} = {example}"),
        )
    }

    pub(crate) fn section(self, title: &'static str) -> Result<Section<'t>, Wrong> {
        let span = self.span();
        match self.inner.into_inner() {
            DeValue::Table(table) => Ok(Section::new(title, table)),
            _ => Err(Wrong::new(
                span,
                format!("{title} is a table"),
                format!("write {title} on a line of its own, and its keys below"),
            )),
        }
    }

    pub(crate) fn is_table(&self) -> bool {
        self.inner.get_ref().is_table()
    }

    pub(crate) fn text(&self, example: &str) -> Result<&str, Wrong> {
        let text = self.inner.get_ref().as_str();
        text.ok_or_else(|| self.mistyped("a string", &format!("\"{example}\"")))
    }

    pub(crate) fn boolean(&self) -> Result<bool, Wrong> {
        let value = self.inner.get_ref().as_bool();
        value.ok_or_else(|| self.mistyped("true or false", "true"))
    }

    /// A whole number within `range`, which counts `unit`.
    pub(crate) fn integer(&self, range: RangeInclusive<u64>, unit: &str) -> Result<u64, Wrong> {
        let Some(integer) = self.inner.get_ref().as_integer() else {
            return Err(self.mistyped("a whole number", &range.start().to_string()));
        };
        let value = i128::from_str_radix(integer.as_str(), integer.radix()).ok();
        let value = value.and_then(|v| u64::try_from(v).ok());
        value.filter(|v| range.contains(v)).ok_or_else(|| {
            Wrong::new(
                self.span(),
                format!("{} is out of range: {integer}", self.key),
                format!("use {} to {} {unit}", range.start(), range.end()),
            )
        })
    }

    /// One of a few words.
    pub(crate) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, Wrong> {
        let known: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let name = self.text(known[0])?;
        let found = words.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let what = format!("unknown {} \"{name}\"", self.key);
            Wrong::new(self.span(), what, suggest(name, &known))
        })
    }

    /// The elements of a list with at least one.
    pub(crate) fn list(self, example: &str) -> Result<Vec<Value<'t>>, Wrong> {
        let (key, span) = (self.key, self.span());
        let mistyped = self.mistyped("a list", example);
        match self.inner.into_inner() {
            DeValue::Array(array) if array.is_empty() => Err(Wrong::new(
                span,
                format!("{key} is empty: nothing would match"),
                format!("leave {key} out to match everything, or write {key} = {example}"),
            )),
            DeValue::Array(array) => Ok(array
                .into_iter()
                .map(|inner| Value { key, inner })
                .collect()),
            _ => Err(mistyped),
        }
    }
}

fn article(word: &str) -> &'static str {
    match word.chars().next() {
        Some('a' | 'e' | 'i' | 'o' | 'u') => "an",
        _ => "a",
    }
}
