//! The experiment file.

mod algorithm;
mod base;
mod charts;
mod checks;
mod conditions;
mod expand;
mod flows;
mod link;
mod maps;
mod overrides;
mod path_box;
mod recording;
mod run;
mod stalls;
mod vary;
mod words;

use std::path::Path;

use toml::de::{DeTable, DeValue};
use windlass_cc::Catalog;
use windlass_policy::read::{self, Section, Value};
use windlass_policy::{Wrong, suggest};

use crate::experiment::{BackendName, Experiment, Settings};
use crate::scalar::Scalar;
use expand::Plan;
use overrides::TABLES;

/// The version of the file format.
const VERSION: u64 = 1;
const REPETITIONS_MAX: u64 = 10_000;
/// What is read here and not part of the base tables.
const HEADER: [&str; 11] = [
    "version",
    "name",
    "title",
    "description",
    "sweep",
    "case",
    "contestant",
    "check",
    "finding",
    "report",
    "paper",
];

/// Reads a file as a whole, down to each of its runs. Other files that it names are in `folder`, and the algorithms in the
/// catalog.
pub(crate) fn read(
    text: &str,
    folder: &Path,
    settings: Settings,
    catalog: &Catalog,
) -> Result<Experiment, Wrong> {
    let mut base = read::document(text)?;
    let mut header = Section::new("the file", take_header(&mut base));
    refuse_unknown(&base)?;
    read::check_version(&mut header, VERSION)?;
    let name = header.need("name", "\"grid\"")?;
    let name = short_name(&name)?;
    let title = match header.take("title") {
        Some(title) => title.text("CUBIC beside BBR")?.to_owned(),
        None => name.clone(),
    };
    let description = match header.take("description") {
        Some(text) => text.text("What it shows.")?.trim().to_owned(),
        None => String::new(),
    };
    let whole = Whole::read(&base, folder, settings, catalog)?;
    let plan = Plan::read(&mut header, base, &whole)?;
    let mut experiment = plan.expand(&whole)?;
    (experiment.name, experiment.title) = (name, title);
    (experiment.description, experiment.backend) = (description, whole.backend);
    if let Some(value) = header.take("check") {
        experiment.checks = checks::read(value, &experiment)?;
    }
    if let Some(value) = header.take("finding") {
        experiment.findings = checks::findings(value, &experiment)?;
    }
    experiment.charts = charts::read(header.take("report"), &experiment)?;
    if let Some(value) = header.take("paper") {
        experiment.papers = charts::papers(value, &experiment)?;
    }
    Ok(experiment)
}

/// What `[run]` says of the experiment as a whole.
struct Whole<'f> {
    /// Where other files are.
    folder: &'f Path,
    catalog: &'f Catalog,
    repetitions: u32,
    seed: u64,
    backend: BackendName,
}

impl<'f> Whole<'f> {
    fn read(
        base: &DeTable<'_>,
        folder: &'f Path,
        settings: Settings,
        catalog: &'f Catalog,
    ) -> Result<Whole<'f>, Wrong> {
        let mut whole = Whole {
            folder,
            catalog,
            repetitions: 1,
            seed: 1,
            backend: BackendName::default(),
        };
        let run = base.get("run").map(|v| v.get_ref().clone());
        if let Some(DeValue::Table(run)) = run {
            let mut run = Section::new("[run]", run);
            if let Some(value) = run.take("repetitions") {
                whole.repetitions = value.integer(1..=REPETITIONS_MAX, "repetitions")? as u32;
            }
            if let Some(value) = run.take("seed") {
                whole.seed = value.integer(0..=u64::from(u32::MAX), "")?;
            }
            if let Some(value) = run.take("backend") {
                whole.backend = value.word(&BackendName::ALL)?;
            }
        }
        whole.repetitions = settings.repetitions.unwrap_or(whole.repetitions);
        whole.seed = settings.seed.unwrap_or(whole.seed);
        Ok(whole)
    }
}

fn take_header<'t>(base: &mut DeTable<'t>) -> DeTable<'t> {
    let mut header = DeTable::new();
    for key in HEADER {
        if let Some((key, value)) = base.remove_entry(key) {
            header.insert(key, value);
        }
    }
    header
}

fn refuse_unknown(base: &DeTable<'_>) -> Result<(), Wrong> {
    let unknown = base
        .keys()
        .filter(|key| !TABLES.contains(&key.get_ref().as_ref()));
    let Some(key) = unknown.min_by_key(|key| key.span().start) else {
        return Ok(());
    };
    let known = [&HEADER[..], &TABLES].concat();
    let what = format!("unknown key \"{}\" in the file", key.get_ref());
    Err(Wrong::new(key.span(), what, suggest(key.get_ref(), &known)))
}

/// A name that can stand in a file name and in a list with commas.
fn short_name(value: &Value<'_>) -> Result<String, Wrong> {
    let name = value.text("a-name")?;
    let good = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    if name.is_empty() || name.len() > 60 || !name.chars().all(good) {
        let what = format!("\"{name}\" cannot be a name");
        let help = "use 1 to 60 letters, digits, and - _ . +";
        return Err(Wrong::new(value.span(), what, help));
    }
    Ok(name.to_owned())
}

/// A number, a truth value or a word.
fn scalar(value: &DeValue<'_>) -> Option<Scalar> {
    match value {
        DeValue::Integer(i) => i64::from_str_radix(i.as_str(), i.radix())
            .ok()
            .map(Scalar::Integer),
        DeValue::Float(f) => {
            let number: Option<f64> = f.as_str().parse().ok();
            number.filter(|n| n.is_finite()).map(Scalar::Float)
        }
        DeValue::Boolean(b) => Some(Scalar::Boolean(*b)),
        DeValue::String(text) => Some(Scalar::Text(text.to_string())),
        _ => None,
    }
}
