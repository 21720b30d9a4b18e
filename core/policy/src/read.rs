//! Reading tables of a TOML document key by key, with the place of everything in the text.

use core::ops::{Range, RangeInclusive};
use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::cel;
use crate::error::{Wrong, suggest};

/// A table of a text, with the place of each key and value.
///
/// # Errors
/// When it is no TOML.
pub fn document(text: &str) -> Result<DeTable<'_>, Wrong> {
    let document = DeTable::parse(text).map_err(|e| {
        let span = e.span().unwrap_or(0..0);
        let help = "the file is TOML: key = value, strings in double quotes, lists in brackets";
        Wrong::new(span, e.message().trim().to_owned(), help)
    })?;
    Ok(document.into_inner())
}

/// Takes `version` off a file and refuses any but the `known` one.
///
/// # Errors
/// When there is none, or another one.
pub fn check_version(file: &mut Section<'_>, known: u64) -> Result<(), Wrong> {
    let Some(value) = file.take("version") else {
        let help = format!("write version = {known} in the first line");
        return Err(Wrong::new(0..0, "the file has no version", help));
    };
    let version = value.integer(1..=u64::from(u32::MAX), "")?;
    if version != known {
        let what = format!("version {version} is not known here");
        let help = format!("this windlass reads version = {known}");
        return Err(Wrong::new(value.span(), what, help));
    }
    Ok(())
}

/// A table whose keys are taken one by one; what remains at the end is unknown.
pub struct Section<'t> {
    /// As in the file: `[box]`, `[[rule]]`.
    title: &'static str,
    span: Range<usize>,
    entries: Vec<(Spanned<Cow<'t, str>>, Spanned<DeValue<'t>>)>,
    known: Vec<&'static str>,
}

impl<'t> Section<'t> {
    /// The table called `title` in messages.
    pub fn new(title: &'static str, table: DeTable<'t>) -> Section<'t> {
        Section {
            title,
            span: 0..0,
            entries: table.into_iter().collect(),
            known: Vec::new(),
        }
    }

    /// Where the table is.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The value of this key, if the table has it.
    pub fn take(&mut self, key: &'static str) -> Option<Value<'t>> {
        self.known.push(key);
        let at = self.entries.iter().position(|(k, _)| k.get_ref() == key)?;
        let (_, inner) = self.entries.swap_remove(at);
        Some(Value { key, inner })
    }

    /// The value of a key that must be there.
    ///
    /// # Errors
    /// When it is not; `example` is what could be written.
    pub fn need(&mut self, key: &'static str, example: &str) -> Result<Value<'t>, Wrong> {
        let (title, span) = (self.title, self.span());
        self.take(key).ok_or_else(|| {
            Wrong::new(
                span,
                format!("{title} has no {key}"),
                format!("write for example {key} = {example}"),
            )
        })
    }

    /// Refuses a key that was not asked for.
    ///
    /// # Errors
    /// When there is one.
    pub fn finish(self) -> Result<(), Wrong> {
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
pub struct Value<'t> {
    key: &'static str,
    inner: Spanned<DeValue<'t>>,
}

impl<'t> Value<'t> {
    /// Where it is.
    pub fn span(&self) -> Range<usize> {
        self.inner.span()
    }

    /// It, as it was parsed.
    pub fn into_inner(self) -> Spanned<DeValue<'t>> {
        self.inner
    }

    fn mistyped(&self, wanted: &str, example: &str) -> Wrong {
        let (key, got) = (self.key, self.inner.get_ref().type_str());
        Wrong::new(
            self.span(),
            format!("{key} is {wanted}, not {} {got}", article(got)),
            format!("write for example {key} = {example}"),
        )
    }

    /// A table, called `title` in messages.
    ///
    /// # Errors
    /// When it is none.
    pub fn section(self, title: &'static str) -> Result<Section<'t>, Wrong> {
        let span = self.span();
        match self.inner.into_inner() {
            DeValue::Table(table) => Ok(Section {
                span,
                ..Section::new(title, table)
            }),
            _ => Err(Wrong::new(
                span,
                format!("{title} is a table"),
                format!("write {title} on a line of its own, and its keys below"),
            )),
        }
    }

    /// Whether it is a table.
    pub fn is_table(&self) -> bool {
        self.inner.get_ref().is_table()
    }

    /// Whether it is a list.
    pub fn is_list(&self) -> bool {
        self.inner.get_ref().is_array()
    }

    /// A string.
    ///
    /// # Errors
    /// When it is none.
    pub fn text(&self, example: &str) -> Result<&str, Wrong> {
        let text = self.inner.get_ref().as_str();
        text.ok_or_else(|| self.mistyped("a string", &format!("\"{example}\"")))
    }

    /// A CEL condition over what `scope` knows.
    ///
    /// # Errors
    /// When it is no string, or no such condition.
    pub fn condition(&self, scope: &'static cel::Scope) -> Result<cel::Condition, Wrong> {
        let text = self.text(scope.example)?;
        cel::compile(text, scope).map_err(|mistake| {
            let span = self.within(text, &mistake.at);
            Wrong::new(span, mistake.what, mistake.help)
        })
    }

    /// The bytes of these characters of its text; all of it where escapes make that unknowable.
    fn within(&self, text: &str, characters: &Range<usize>) -> Range<usize> {
        let span = self.span();
        let verbatim = matches!(self.inner.get_ref(), DeValue::String(Cow::Borrowed(_)));
        if !verbatim {
            return span;
        }
        let byte = |at: usize| {
            text.char_indices()
                .nth(at)
                .map_or(text.len(), |(byte, _)| byte)
        };
        // One quote at the end, or three; what else there is stands before the text.
        let closing = if span.len() >= text.len() + 6 { 3 } else { 1 };
        let start = span.end - closing - text.len();
        start + byte(characters.start)..start + byte(characters.end)
    }

    /// True or false.
    ///
    /// # Errors
    /// When it is neither.
    pub fn boolean(&self) -> Result<bool, Wrong> {
        let value = self.inner.get_ref().as_bool();
        value.ok_or_else(|| self.mistyped("true or false", "true"))
    }

    /// A whole number within `range`, which counts `unit`.
    ///
    /// # Errors
    /// When it is none, or beyond the range.
    pub fn integer(&self, range: RangeInclusive<u64>, unit: &str) -> Result<u64, Wrong> {
        let Some(integer) = self.inner.get_ref().as_integer() else {
            return Err(self.mistyped("a whole number", &range.start().to_string()));
        };
        let value = i128::from_str_radix(integer.as_str(), integer.radix()).ok();
        let value = value.and_then(|v| u64::try_from(v).ok());
        value.filter(|v| range.contains(v)).ok_or_else(|| {
            self.out_of_range(
                integer.as_str(),
                format!("{} to {} {unit}", range.start(), range.end()),
            )
        })
    }

    /// A number within `range`, which counts `unit`, with or without a fraction.
    ///
    /// # Errors
    /// When it is none, or beyond the range.
    pub fn number(&self, range: RangeInclusive<f64>, unit: &str) -> Result<f64, Wrong> {
        let (text, value) = match self.inner.get_ref() {
            DeValue::Integer(i) => {
                let value = i128::from_str_radix(i.as_str(), i.radix()).ok();
                (i.as_str(), value.map(|v| v as f64))
            }
            DeValue::Float(f) => (f.as_str(), f.as_str().parse().ok()),
            _ => return Err(self.mistyped("a number", &range.start().to_string())),
        };
        value.filter(|v| range.contains(v)).ok_or_else(|| {
            self.out_of_range(text, format!("{} to {} {unit}", range.start(), range.end()))
        })
    }

    fn out_of_range(&self, value: &str, usable: String) -> Wrong {
        let what = format!("{} is out of range: {value}", self.key);
        Wrong::new(self.span(), what, format!("use {}", usable.trim_end()))
    }

    /// One of a few words.
    ///
    /// # Errors
    /// When it is none of them.
    pub fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, Wrong> {
        let known: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let name = self.text(known[0])?;
        let found = words.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let what = format!("unknown {} \"{name}\"", self.key);
            Wrong::new(self.span(), what, suggest(name, &known))
        })
    }

    /// The elements of a list with at least one.
    ///
    /// # Errors
    /// When it is no list, or an empty one.
    pub fn list(self, example: &str) -> Result<Vec<Value<'t>>, Wrong> {
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
