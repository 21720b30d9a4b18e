//! Setups on this kernel: hosts in network namespaces, real TCP, the links emulated.
//!
//! The wiring stays as long as consecutive setups have as many servers and clients; everything
//! else is set anew for each. Servers and clients are two threads of this process with a poll loop
//! each, so that a run starts no program but the box.

mod clients;
mod hosts;
mod path_box;
mod pattern;
mod plan;
mod poller;
mod probe;
mod quic;
mod run;
mod samples;
mod servers;
mod sockets;
mod staller;
mod usage;

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use windlass_cc::Catalog;
use windlass_experiment::{Observed, Setup};

use self::run::Lab;
use super::Backend;
use super::sim::run_simulated;
use crate::cleanup::{catch_signals, check_interrupted, remove_stale};
use crate::command::{IP, check_host};
use crate::programs::Programs;

/// Pipes, the box, the emulator; and for each host its listener and its namespace.
const OTHER_FILES: u64 = 64;
const FILES_OF_A_HOST: u64 = 8;

/// Runs setups in network namespaces of this host. Needs root.
#[derive(Debug)]
pub struct Netns {
    programs: Programs,
    lab: Option<Lab>,
}

impl Netns {
    /// `programs` go into the path and onto the hosts of the setups that ask for them.
    pub fn new(programs: Programs) -> Netns {
        Netns {
            programs,
            lab: None,
        }
    }

    fn run_one(&mut self, setup: &Setup) -> Result<Observed> {
        // What a failed run leaves is not worth a guess: the wiring goes with it.
        let lab = Lab::for_setup(self.lab.take(), setup)?;
        let lab = self.lab.insert(lab);
        let observed = lab.run(setup, &self.programs);
        if observed.is_err() || !lab.is_reusable() {
            self.lab = None;
        }
        observed
    }
}

impl Backend for Netns {
    fn name(&self) -> &'static str {
        "netns"
    }

    fn run(
        &mut self,
        setups: &[Setup],
        catalog: &Catalog,
        done: &mut dyn FnMut(usize, Observed),
    ) -> Result<()> {
        check_host(&[IP])?;
        catch_signals()?;
        remove_stale();
        let file_limit = raise_file_limit()?;
        run_simulated(setups, catalog, done)?;
        for (index, setup) in setups.iter().enumerate().filter(|(_, s)| !s.simulated) {
            check_interrupted()?;
            let fits = check_file_limit(setup, file_limit);
            let observed = fits.and_then(|()| self.run_one(setup));
            check_interrupted()?;
            done(
                index,
                observed.unwrap_or_else(|e| Observed {
                    error: Some(format!("{e:#}")),
                    ..Observed::default()
                }),
            );
        }
        Ok(())
    }
}

/// As many open files as the kernel allows, or as this process may have. How many.
fn raise_file_limit() -> Result<u64> {
    let kernels = std::fs::read_to_string("/proc/sys/fs/nr_open")?;
    let kernels = kernels.trim().parse().context("fs.nr_open")?;
    let limit = Resource::RLIMIT_NOFILE;
    if setrlimit(limit, kernels, kernels).is_ok() {
        return Ok(kernels);
    }
    let (_, most) = getrlimit(limit)?;
    setrlimit(limit, most, most).context("cannot raise the limit of open files")?;
    Ok(most)
}

/// Every flow has a socket in either thread, and either thread has files of its own.
fn check_file_limit(setup: &Setup, limit: u64) -> Result<()> {
    let flows: u64 = setup.flows.iter().map(|group| u64::from(group.count)).sum();
    let hosts = (setup.servers.len() + setup.clients.len()) as u64;
    let needed = flows + hosts * FILES_OF_A_HOST + OTHER_FILES;
    ensure!(
        needed <= limit,
        "{flows} flows need {needed} open files, and this process may have {limit}: take fewer, or \
         raise the hard limit (`ulimit -Hn {needed}`, in a shell that may)"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use windlass_experiment::setup::Host;

    use super::*;

    #[test]
    fn flows_without_enough_files_are_refused_before_the_run() {
        let host = Host::linux("cubic");
        let setup = Setup {
            servers: vec![host.clone(); 2],
            clients: vec![host; 2],
            ..Setup::default()
        };
        let needed = 4 * FILES_OF_A_HOST + OTHER_FILES;
        assert!(check_file_limit(&setup, needed).is_ok());
        let said = check_file_limit(&setup, needed - 1).expect_err("one file too few");
        let said = said.to_string();
        assert!(said.contains(&format!("ulimit -Hn {needed}")), "{said}");
    }
}
