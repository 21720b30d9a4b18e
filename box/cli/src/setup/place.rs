//! Where the box stands. Beside two interfaces that are there, there are recipes.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::ValueEnum;
use windlass_terminal::print;

/// The manual's page, whose commands are tested.
const PLACEMENTS: &str = include_str!("../../../../docs/placements.md");

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Placement {
    /// Between two interfaces of this machine.
    Wire,
    /// In a virtual machine that routes.
    Router,
    /// In a hypervisor, at its guests.
    Hypervisor,
    /// In an Open vSwitch.
    Switch,
}

impl Placement {
    /// The heading of its recipe in the manual; `None`: it needs none.
    pub(super) fn recipe(self) -> Option<&'static str> {
        match self {
            Placement::Wire => None,
            Placement::Router => Some("## In a virtual machine that routes"),
            Placement::Hypervisor => Some("## In a hypervisor, at its guests"),
            Placement::Switch => Some("## In a switch"),
        }
    }
}

/// The commands of a recipe, and how to go on.
pub(super) fn show(placement: Placement, heading: &str) -> Result<ExitCode> {
    let part = section(heading).context("the manual has no such recipe")?;
    let then = match placement {
        Placement::Switch => "windlass run --ovs keeps its rules; setup is not needed then.",
        _ => {
            "Then: windlass setup with the --inside and --outside of the block \"run\", and --lose-addresses if it says so."
        }
    };
    print(&format!(
        "{part}\nNothing was changed: put your own names in, run the block \"setup\", and make it last as your system does.\n{then}\n"
    ))
}

fn section(heading: &str) -> Option<&'static str> {
    let from = &PLACEMENTS[PLACEMENTS.find(heading)?..];
    let end = from[3..].find("\n## ").map_or(from.len(), |end| end + 4);
    Some(&from[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_has_its_commands() {
        for placement in Placement::value_variants() {
            let Some(heading) = placement.recipe() else {
                continue;
            };
            let part = section(heading).unwrap();
            for block in ["```sh setup", "```sh run\nwindlass run", "```sh undo"] {
                assert_eq!(part.matches(block).count(), 1, "{block} in {part}");
            }
        }
    }
}
