//! `algorithm`, of the box and of simulated servers: as in a policy, and with `like = "linux"`.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use windlass_cc::{AlgorithmId, Catalog, Range};
use windlass_policy::read::{Section, Value};
use windlass_policy::{Wrong, read_algorithm};

use crate::setup::Algorithm;

/// Reads an algorithm: a name, or a table with the name, a preset and parameters. In a table,
/// `like` stands for the preset of that name, or else for the profile of that name, of those that
/// have one; others are left as they are.
pub(super) fn read(value: Value<'_>, catalog: &Catalog) -> Result<Algorithm, Wrong> {
    let mut value = value.into_inner();
    if let DeValue::Table(table) = value.get_mut() {
        resolve_likeness(table, catalog)?;
    }
    let key = Spanned::new(value.span(), Cow::Borrowed("algorithm"));
    let mut around = DeTable::new();
    around.insert(key, value);
    let value = Section::new("the file", around).need("algorithm", "\"bbr\"")?;
    Ok(Algorithm::from(&read_algorithm(value, catalog)?))
}

/// Puts what `like` stands for in its place.
fn resolve_likeness(table: &mut DeTable<'_>, catalog: &Catalog) -> Result<(), Wrong> {
    let Some((key, like)) = table.remove_entry("like") else {
        return Ok(());
    };
    let name = table.get("name").and_then(|name| name.get_ref().as_str());
    let id = name.and_then(|name| catalog.algorithm(name).ok());
    let word = like.get_ref().as_str();
    match id.zip(word).and_then(|(id, word)| means(id, word)) {
        Some(meant) if table.contains_key(meant) => {
            let what = format!("like and {meant} exclude each other");
            Err(Wrong::new(key.span(), what, "leave one of them out"))
        }
        Some(meant) => {
            table.insert(Spanned::new(key.span(), Cow::Borrowed(meant)), like);
            Ok(())
        }
        None if word == Some("linux") => Ok(()),
        None => {
            let what = "an algorithm can be like \"linux\"";
            let help = "write like = \"linux\", or preset = \"…\"";
            Err(Wrong::new(like.span(), what, help))
        }
    }
}

/// Which key sets it, if it can be like that.
fn means(id: AlgorithmId, word: &str) -> Option<&'static str> {
    if id.presets().iter().any(|preset| preset.name == word) {
        return Some("preset");
    }
    let profile = id.parameters().iter().find(|p| p.name == "profile")?;
    match profile.range {
        Range::Choice(words) if words.contains(&word) => Some("profile"),
        _ => None,
    }
}
