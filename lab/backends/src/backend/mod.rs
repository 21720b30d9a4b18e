//! Where an experiment can run: what takes a [`Setup`] and returns an [`Observed`].

mod box_sample;
pub mod netns;
pub mod sim;
pub mod vm;

use anyhow::Result;
use windlass_cc::Catalog;
use windlass_experiment::{Observed, Setup};

/// Runs setups. A run that fails is an [`Observed`] with an error; the others go on.
pub trait Backend {
    /// `sim`, `netns` or `vm`.
    fn name(&self) -> &'static str;

    /// Runs them all, in any order, and hands out what came of each, by its index, as soon as it
    /// is known. The setups name algorithms of the catalog.
    ///
    /// # Errors
    /// When the back end cannot run at all, or was interrupted.
    fn run(
        &mut self,
        setups: &[Setup],
        catalog: &Catalog,
        done: &mut dyn FnMut(usize, Observed),
    ) -> Result<()>;
}
