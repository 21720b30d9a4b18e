//! What stands in the path: started, asked, ended.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use windlass_daemon::FlowReport;
use windlass_daemon::control::{Answer, Request};
use windlass_daemon::view::FlowFilter;
use windlass_experiment::observed::Usage;
use windlass_experiment::setup::{PathBox, Record};

use windlass_sim::stalls::Stalls;

use super::probe::wait_until_forwarding;
use super::staller::Staller;
use super::usage::Meter;
use crate::emulator::Ends;
use crate::programs::Programs;
use crate::topology::{INSIDE, OUTSIDE, Topology};
use crate::windlass::Windlass;

/// What stands for the program in the words of a command.
const WINDLASS: &str = "{windlass}";
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(2);

/// A box at work. Dropping it kills its process.
#[derive(Debug)]
pub(super) struct Running {
    process: Process,
    /// The Windlass beside the clients.
    far: Option<Windlass>,
    meter: Option<Meter>,
    staller: Option<Staller>,
}

#[derive(Debug)]
enum Process {
    None,
    Windlass(Windlass),
    Other(Other),
}

/// What the box says while the connections are still there.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub counters: BTreeMap<String, u64>,
    /// By both ends, the sender first.
    pub flows: BTreeMap<String, FlowReport>,
    pub usage: Option<Usage>,
}

impl Running {
    /// Starts the box of a setup and waits until it forwards. Its files go to `folder`.
    pub(super) fn start(
        (topology, ends): (&Topology, &mut Ends),
        path_box: &PathBox,
        record: Record,
        programs: &Programs,
        folder: &Path,
    ) -> Result<Running> {
        let mut far = None;
        let process = match path_box {
            PathBox::Nothing => Process::None,
            PathBox::Windlass { policy } => {
                let program = &programs.windlass()?;
                let file = folder.join("windlass.toml");
                std::fs::write(&file, policy)?;
                let arguments = ["--config".to_owned(), file.to_string_lossy().into_owned()];
                let interval = Duration::from_nanos(record.series_interval_ns);
                let interval = (!interval.is_zero()).then_some(interval);
                let middle = &topology.middle;
                let started = Windlass::start(middle, program, &arguments, interval, folder)?;
                if let Some(namespace) = &topology.far {
                    let folder = folder.join("far");
                    std::fs::create_dir_all(&folder)?;
                    let started = Windlass::start(namespace, program, &arguments, None, &folder)?;
                    far = Some(started);
                }
                Process::Windlass(started)
            }
            PathBox::Command { words } => {
                Process::Other(Other::start((topology, ends), words, programs, folder)?)
            }
        };
        let pid = match &process {
            Process::None => None,
            Process::Windlass(windlass) => Some(windlass.pid()),
            Process::Other(other) => Some(other.child.id()),
        };
        let pid = pid.filter(|_| record.usage_interval_ns > 0);
        let meter = pid.map(Meter::start).transpose()?;
        Ok(Running {
            process,
            far,
            meter,
            staller: None,
        })
    }

    /// From `start_ns` on Windlass stands still now and then. The same seed gives the same times.
    pub(super) fn stall(&mut self, stalls: Stalls) -> Result<()> {
        if let Process::Windlass(windlass) = &self.process {
            self.staller = Some(Staller::start(windlass.pid(), stalls)?);
        }
        Ok(())
    }

    /// It runs again, for good.
    pub(super) fn end_stalls(&mut self) {
        self.staller = None;
    }

    /// Asks for all that is lost with the connections.
    pub(super) fn ask(&self) -> Result<Said> {
        let mut said = Said {
            usage: self.meter.as_ref().map(Meter::read).transpose()?,
            ..Said::default()
        };
        let Process::Windlass(windlass) = &self.process else {
            return Ok(said);
        };
        if let Answer::Counters {
            engine,
            driver,
            xdp,
            ..
        } = windlass.ask(Request::Counters)?
        {
            said.counters = engine;
            for (part, counters) in [("driver", driver), ("xdp", xdp)] {
                let named = counters.into_iter();
                let named = named.map(|(name, count)| (format!("{part}_{name}"), count));
                said.counters.extend(named);
            }
        }
        if let Some(far) = &self.far
            && let Answer::Counters { engine, .. } = far.ask(Request::Counters)?
        {
            let named = engine
                .into_iter()
                .map(|(name, n)| (format!("far_{name}"), n));
            said.counters.extend(named);
        }
        if let Answer::Flows { flows, .. } = windlass.ask(Request::Flows(FlowFilter::default()))? {
            said.flows = flows.into_iter().map(|f| (f.flow.clone(), f)).collect();
        }
        Ok(said)
    }

    /// Ends it in the ordinary way. The text of its trace, if there is one.
    pub(super) fn stop(self) -> Result<String> {
        if let Some(far) = self.far {
            far.stop()?;
        }
        match self.process {
            Process::None => Ok(String::new()),
            Process::Windlass(windlass) => windlass.stop(),
            Process::Other(other) => other.stop().map(|()| String::new()),
        }
    }
}

/// Any program. Dropping it kills it.
#[derive(Debug)]
struct Other {
    child: Child,
    name: String,
    said: std::path::PathBuf,
}

impl Other {
    fn start(
        (topology, ends): (&Topology, &mut Ends),
        words: &[String],
        programs: &Programs,
        folder: &Path,
    ) -> Result<Other> {
        let program = match words.iter().any(|word| word.contains(WINDLASS)) {
            true => programs.windlass()?.to_string_lossy().into_owned(),
            false => String::new(),
        };
        let replaced = |word: &String| {
            word.replace("{inside}", INSIDE)
                .replace("{outside}", OUTSIDE)
                .replace(WINDLASS, &program)
        };
        let (name, arguments) = words.split_first().context("the box has no command")?;
        let said = folder.join("box.log");
        let log = File::create(&said)?;
        let mut command = Command::new(replaced(name));
        command.args(arguments.iter().map(replaced));
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        // It inherits the namespace of the thread that starts it.
        let child = topology.middle.inside(|| {
            let child = command.spawn();
            child.with_context(|| format!("cannot run the box `{name}`"))
        })?;
        let mut other = Other {
            child,
            name: name.clone(),
            said,
        };
        let forwards = wait_until_forwarding(topology, ends, name);
        other.check()?;
        forwards?;
        Ok(other)
    }

    /// That it has not ended.
    fn check(&mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            let said = std::fs::read_to_string(&self.said).unwrap_or_default();
            bail!(
                "the box `{}` has ended ({status}): {}",
                self.name,
                said.trim()
            );
        }
        Ok(())
    }

    fn stop(mut self) -> Result<()> {
        self.check()?;
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM)?;
        let deadline = Instant::now() + STOP_TIMEOUT;
        while self.child.try_wait()?.is_none() {
            if Instant::now() > deadline {
                bail!("the box `{}` does not end on SIGTERM", self.name);
            }
            std::thread::sleep(STOP_POLL_INTERVAL);
        }
        Ok(())
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
