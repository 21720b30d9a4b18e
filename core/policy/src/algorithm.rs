//! `algorithm = "cubic"`, or a table with the name, a preset and parameters.

use windlass_cc::{AlgorithmId, Catalog, Parameter, Range, Settings, Value as Setting};

use crate::error::{Wrong, suggest};
use crate::read::Value;
use crate::settings::DEFAULT_ALGORITHM;

/// Reads an algorithm of the catalog and how it is set. What is not said is as its source has it.
///
/// # Errors
/// A name, preset, parameter or value that there is not.
pub fn read(value: Value<'_>, catalog: &Catalog) -> Result<Settings, Wrong> {
    if !value.is_table() {
        return Ok(named(&value, catalog)?.into());
    }
    let mut section = value.section("algorithm")?;
    let name = section.need("name", &format!("\"{DEFAULT_ALGORITHM}\""))?;
    let id = named(&name, catalog)?;
    let mut settings = Settings::from(id);
    if let Some(value) = section.take("preset") {
        preset(&value, &mut settings)?;
    }
    for parameter in id.parameters() {
        if let Some(value) = section.take(parameter.name) {
            let setting = setting(&value, parameter)?;
            let wrong = |e| Wrong::new(value.span(), format!("{e}"), show(id));
            settings.set(parameter.name, setting).map_err(wrong)?;
        }
    }
    if let Some(value) = section.take("fallback") {
        settings = settings.with_fallback(fallback(&value, id, catalog)?);
    }
    section.finish()?;
    Ok(settings)
}

/// What goes on with a flow when the plugin `id` fails.
fn fallback(value: &Value<'_>, id: AlgorithmId, catalog: &Catalog) -> Result<AlgorithmId, Wrong> {
    let wrong = |what: String, help: &str| Err(Wrong::new(value.span(), what, help));
    if !matches!(id, AlgorithmId::Plugin(_)) {
        let what = format!("{id} is no plugin and needs no fallback");
        return wrong(what, "leave fallback out");
    }
    match named(value, catalog)? {
        AlgorithmId::Plugin(other) => {
            let what = format!("{} is a plugin too", other.name());
            wrong(
                what,
                "name an algorithm of Windlass' own, for example \"cubic\"",
            )
        }
        own => Ok(own),
    }
}

fn named(value: &Value<'_>, catalog: &Catalog) -> Result<AlgorithmId, Wrong> {
    let name = value.text(DEFAULT_ALGORITHM.name())?;
    catalog.algorithm(name).map_err(|unknown| {
        let what = format!("unknown algorithm \"{name}\"");
        Wrong::new(value.span(), what, suggest(name, &unknown.known))
    })
}

fn preset(value: &Value<'_>, settings: &mut Settings) -> Result<(), Wrong> {
    let known: Vec<&str> = settings.id().presets().iter().map(|p| p.name).collect();
    let name = value.text(known.first().unwrap_or(&"name"))?;
    settings.apply_preset(name).map_err(|wrong| {
        let help = if known.is_empty() {
            "leave preset out, and set parameters".to_owned()
        } else {
            suggest(name, &known)
        };
        Wrong::new(value.span(), wrong.to_string(), help)
    })
}

fn setting(value: &Value<'_>, parameter: &Parameter) -> Result<Setting, Wrong> {
    match parameter.range {
        Range::Flag => value.boolean().map(Setting::Flag),
        Range::Number {
            least,
            most,
            whole: true,
            unit,
        } => {
            let number = value.integer(least as u64..=most as u64, unit)?;
            Ok(Setting::Number(number as f64))
        }
        Range::Number {
            least, most, unit, ..
        } => value.number(least..=most, unit).map(Setting::Number),
        Range::Choice(words) => {
            let pairs: Vec<(&str, &'static str)> = words.iter().map(|w| (*w, *w)).collect();
            value.word(&pairs).map(Setting::Choice)
        }
    }
}

fn show(id: AlgorithmId) -> String {
    format!("`windlass algorithm show {id}` lists parameters and ranges")
}
