//! `windlass-lab list`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use serde::Serialize;
use windlass_cc::Catalog;
use windlass_experiment::{Experiment, Settings};
use windlass_terminal::shipped::EXPERIMENTS;
use windlass_terminal::{print, print_json};

use crate::{BAD_FILE, read};

/// List the experiments of a folder.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder of experiment files [default: experiments, or those that came with the laboratory].
    folder: Option<PathBuf>,
    /// As JSON.
    #[arg(short, long)]
    json: bool,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    title: String,
    file: String,
    runs: usize,
    checks: usize,
    backend: &'static str,
}

impl Entry {
    fn new(file: &Path, experiment: Experiment) -> Entry {
        Entry {
            file: file.display().to_string(),
            runs: experiment.runs.len(),
            checks: experiment.checks.len(),
            backend: experiment.backend.name(),
            name: experiment.name,
            title: experiment.title,
        }
    }
}

pub(crate) fn run(args: &Args, catalog: &Catalog) -> Result<ExitCode> {
    let (mut entries, mut bad) = (Vec::new(), false);
    let folder = args.folder.clone().unwrap_or_else(|| EXPERIMENTS.folder());
    for file in files(&folder)? {
        match read(&file, Settings::default(), catalog)? {
            Some(experiment) => entries.push(Entry::new(&file, experiment)),
            None => bad = true,
        }
    }
    let code = match args.json {
        true => print_json(&entries)?,
        false => print(&text(&entries))?,
    };
    Ok(if bad { ExitCode::from(BAD_FILE) } else { code })
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let context = || format!("folder {}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(context)? {
        let path = entry.with_context(context)?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn text(entries: &[Entry]) -> String {
    let width = entries.iter().map(|e| e.name.len()).max().unwrap_or(0);
    let line = |e: &Entry| {
        let (name, runs, backend, title) = (&e.name, e.runs, e.backend, &e.title);
        format!("{name:width$}  {runs:>5} runs  {backend:5}  {title}\n")
    };
    entries.iter().map(line).collect()
}
