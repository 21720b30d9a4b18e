//! Plugins: `windlass algorithm add` and `remove`, and how they do.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use windlass_cc::Catalog;
use windlass_daemon::control::{Answer, PluginReport, Request};
use windlass_plugin::installed;
use windlass_terminal::print;

use crate::ask::{Control, unexpected};

/// Add an algorithm that is a WebAssembly module, and tell the running windlass of it.
///
/// It is tried with made-up events first. Rules can then name it as they name any other. One of the
/// same name is replaced for flows to come.
#[derive(clap::Args)]
pub(crate) struct AddArgs {
    /// The module.
    #[arg(value_name = "FILE.wasm")]
    file: PathBuf,
    #[command(flatten)]
    control: Control,
}

pub(crate) fn add(args: &AddArgs, catalog: &mut Catalog) -> Result<ExitCode> {
    let (added, place) = installed().add(catalog, &args.file)?;
    let (id, tried) = (added.id, added.tried_events);
    let mut text = format!(
        "{id}: {}\ntried with {tried} made-up events; kept as {}\n",
        id.summary(),
        place.display()
    );
    let file = std::path::absolute(&place)?;
    let told = args.control.ask_if_running(Request::AddPlugin { file });
    text.push_str(
        match told.context("it is kept, but the running windlass did not take it")? {
            Some(Answer::Plugins { .. }) => "the running windlass has it\n",
            None => "no windlass is running; it will find it when it starts\n",
            Some(other) => return Err(unexpected(&other)),
        },
    );
    print(&text)
}

/// Remove an algorithm that was added. A running windlass keeps it until it ends.
#[derive(clap::Args)]
pub(crate) struct RemoveArgs {
    /// Its name.
    name: String,
}

pub(crate) fn remove(args: &RemoveArgs) -> Result<ExitCode> {
    installed().remove(&args.name)?;
    print(&format!("{} is removed\n", args.name))
}

/// How plugins do in the running windlass; `None` if none runs, or not for whoever asks.
pub(crate) fn running(control: &Control) -> Option<Vec<PluginReport>> {
    match control.ask(Request::Plugins) {
        Ok(Answer::Plugins { plugins }) => Some(plugins),
        _ => None,
    }
}
