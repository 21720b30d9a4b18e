//! Setups on Debian's kernel in guests whose time is the number of instructions executed: what
//! comes out does not depend on how busy the machine is.
//!
//! In every guest `windlass-lab` runs the `netns` back end on a list of setups ([`inside`]) and
//! prints what came of each; out here as many guests as there are processors share the setups.

mod line;
mod share;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use windlass_cc::Catalog;
use windlass_experiment::setup::{PathBox, Transport};
use windlass_experiment::{Observed, Setup};
use windlass_guest::{Contents, Event, Guest, Image};
use windlass_plugin::{Folder, installed};

use self::line::{Line, print};
use self::share::share;
use super::Backend;
use super::netns::Netns;
use super::sim::run_simulated;
use crate::cleanup::{catch_signals, check_interrupted, lab_folder, lab_name, remove_stale};
use crate::command::IP;
use crate::programs::Programs;
use crate::{openvswitch, switch};

/// What the program is told in the guest.
const GUEST_COMMAND: &str = "exec /usr/bin/windlass-lab guest /job/input";
/// Kernel modules for the wiring, for what may stand in the path, and every congestion control.
/// Open vSwitch is among them only if a setup needs it: it brings connection tracking, which every
/// packet pays for.
const MODULES: [&str; 25] = [
    "veth",
    "bridge",
    "af_packet",
    "tun",
    "inet_diag",
    "tcp_diag",
    "sch_netem",
    "sch_tbf",
    "sch_htb",
    "sch_fq",
    "sch_fq_codel",
    "tcp_bbr",
    "tcp_bic",
    "tcp_cdg",
    "tcp_dctcp",
    "tcp_highspeed",
    "tcp_htcp",
    "tcp_hybla",
    "tcp_illinois",
    "tcp_scalable",
    "tcp_vegas",
    "tcp_veno",
    "tcp_westwood",
    "tcp_yeah",
    "tcp_lp",
];
/// Longest time between two looks at whether a signal has come.
const PATIENCE: Duration = Duration::from_millis(200);
/// A job whose guests have died so often is given up.
const MAX_DEATHS: u32 = 5;

/// Runs setups in guests. Needs no root.
#[derive(Debug)]
pub struct Vm {
    programs: Programs,
    guests: usize,
}

impl Vm {
    /// `programs` are what the guests run, and put into the path and onto the hosts of the setups that ask
    /// for them.
    pub fn new(programs: Programs) -> Vm {
        Vm {
            programs,
            guests: thread::available_parallelism().map_or(1, usize::from),
        }
    }

    fn image(&self, setups: &[Setup]) -> Result<Image> {
        let mut programs = vec![
            ("windlass", self.programs.windlass()?),
            ("windlass-lab", self.programs.lab()?),
        ];
        let mut flows = setups.iter().flat_map(|setup| &setup.flows);
        if flows.any(|flow| flow.transport == Transport::Quic) {
            programs.push(("windlass-transfer", self.programs.transfer()?));
        }
        let mut contents = Contents {
            programs,
            tools: &[IP],
            files: plugins(setups)?,
            modules: &MODULES,
        };
        let modules: Vec<&str> = MODULES.into_iter().chain(["openvswitch"]).collect();
        if setups.iter().any(switch::is_in) {
            contents.tools = &openvswitch::NEEDED;
            let schema = openvswitch::SCHEMA;
            contents.files.push((schema.into(), schema.into()));
            contents.modules = &modules;
        }
        Image::prepare(&contents).context("cannot build the guest")
    }
}

/// The plugins of this host that a policy names. No others: what the box takes in when it starts takes time.
fn plugins(setups: &[Setup]) -> Result<Vec<(PathBuf, PathBuf)>> {
    let folder = installed();
    let named = |name: &String| {
        setups.iter().any(|setup| match &setup.path_box {
            PathBox::Windlass { policy } => policy.contains(&format!("\"{name}\"")),
            _ => false,
        })
    };
    let file = |name: String| {
        let here = folder.place(&name);
        (Folder::new(Folder::USUAL).place(&name), here)
    };
    let names = folder.names()?.into_iter();
    Ok(names.filter(named).map(file).collect())
}

impl Backend for Vm {
    fn name(&self) -> &'static str {
        "vm"
    }

    fn run(
        &mut self,
        setups: &[Setup],
        catalog: &Catalog,
        done: &mut dyn FnMut(usize, Observed),
    ) -> Result<()> {
        catch_signals()?;
        remove_stale();
        let image = self.image(setups)?;
        run_simulated(setups, catalog, done)?;
        let jobs = share(setups).into_iter().map(|indices| Job {
            setups,
            left: indices.into(),
        });
        let jobs = Mutex::new(jobs.collect::<VecDeque<_>>());
        let given_up = AtomicBool::new(false);
        let (sender, receiver) = channel();
        thread::scope(|scope| {
            let workers: Vec<_> = (0..self.guests)
                .map(|_| {
                    let (sender, image) = (sender.clone(), &image);
                    let (jobs, given_up) = (&jobs, &given_up);
                    scope.spawn(move || work(image, jobs, given_up, &sender))
                })
                .collect();
            drop(sender);
            for (index, observed) in receiver {
                done(index, observed);
            }
            let ended = workers.into_iter().map(|worker| worker.join());
            let ended = ended.map(|e| e.unwrap_or_else(|_| Err(anyhow!("a thread panicked"))));
            ended.collect()
        })
    }
}

type Found = Sender<(usize, Observed)>;

/// Runs jobs until there is none, or another worker has given up.
fn work(
    image: &Image,
    jobs: &Mutex<VecDeque<Job>>,
    given_up: &AtomicBool,
    found: &Found,
) -> Result<()> {
    let next = || jobs.lock().ok()?.pop_front();
    while let Some(mut job) = next() {
        let result = job.run(image, given_up, found);
        if result.is_err() {
            given_up.store(true, Ordering::Relaxed);
            return result;
        }
    }
    Ok(())
}

/// Setups that share a guest.
struct Job<'a> {
    setups: &'a [Setup],
    /// Indices of those that have not run, in their order.
    left: VecDeque<usize>,
}

/// How a guest ended before its job was done.
struct Death {
    /// It had come as far as to run setups.
    begun: bool,
    cause: anyhow::Error,
}

impl Job<'_> {
    /// A guest that dies takes with it the setup that it was at; another one gets the others.
    fn run(&mut self, image: &Image, given_up: &AtomicBool, found: &Found) -> Result<()> {
        let mut deaths = 0;
        while !self.left.is_empty() {
            let Err(Death { begun, cause }) = self.boot(image, given_up, found) else {
                continue;
            };
            check_interrupted()?;
            if given_up.load(Ordering::Relaxed) {
                bail!("given up, as another guest was");
            }
            deaths += 1;
            if !begun || deaths == MAX_DEATHS {
                return Err(cause);
            }
            if let Some(index) = self.left.pop_front() {
                found.send((index, failed(&cause)))?;
            }
        }
        Ok(())
    }

    /// Boots one guest for all that are left.
    fn boot(
        &mut self,
        image: &Image,
        given_up: &AtomicBool,
        found: &Found,
    ) -> std::result::Result<(), Death> {
        let mut begun = false;
        let result = self.follow(image, given_up, found, &mut begun);
        result.map_err(|cause| Death { begun, cause })
    }

    fn follow(
        &mut self,
        image: &Image,
        given_up: &AtomicBool,
        found: &Found,
        begun: &mut bool,
    ) -> Result<()> {
        let list: Vec<&Setup> = self.left.iter().map(|i| &self.setups[*i]).collect();
        let folder = lab_folder(&lab_name())?;
        let mut guest = Guest::start(image, folder, GUEST_COMMAND, &serde_json::to_vec(&list)?)?;
        let indices = self.left.clone();
        loop {
            check_interrupted()?;
            if given_up.load(Ordering::Relaxed) {
                bail!("given up");
            }
            match guest.next(PATIENCE)? {
                Event::Quiet => {}
                Event::Line(text) => match Line::of_text(&text)? {
                    Line::Begun => *begun = true,
                    Line::Done { at, observed } => {
                        let index = *indices.get(at).context("the guest made up a setup")?;
                        self.left.retain(|left| *left != index);
                        found.send((index, *observed))?;
                    }
                },
                Event::End { status: 0 } if self.left.is_empty() => return Ok(()),
                Event::End { status } => bail!(
                    "the guest's windlass ended early (exit status {status}); its console:\n{}",
                    guest.last_words()
                ),
            }
        }
    }
}

fn failed(cause: &anyhow::Error) -> Observed {
    Observed {
        error: Some(format!("{cause:#}")),
        ..Observed::default()
    }
}

/// The half of the back end that is inside the guest: runs the setups in the file one after the
/// other and prints what came of each.
///
/// # Errors
/// When the file has no setups or the `netns` back end cannot run here.
pub fn inside(file: &Path, catalog: &Catalog) -> Result<()> {
    let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let setups: Vec<Setup> = serde_json::from_slice(&text).context("not a list of setups")?;
    print(&Line::Begun)?;
    let mut printed = Ok(());
    let mut netns = Netns::new(Programs::installed()?);
    netns.run(&setups, catalog, &mut |at, observed| {
        let observed = Box::new(observed);
        if printed.is_ok() {
            printed = print(&Line::Done { at, observed });
        }
    })?;
    printed
}
