//! Windlass on the box: started, waited for, ended.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::leftovers::check_interrupted;
use crate::netns::Namespace;
use crate::topology::{INSIDE, OUTSIDE};
use crate::trace::{self, TraceSample};

/// How a line begins that says that flows are governed from now on.
const READY: &str = "windlass: ready";
const START_TIMEOUT: Duration = Duration::from_secs(20);
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const TRACE_INTERVAL: &str = "20ms";
/// Last lines of its output in an error message.
const SAID_LINES: usize = 8;

/// How the box shall govern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The program.
    pub program: PathBuf,
    /// `--algorithm`.
    pub algorithm: String,
    /// `--redundancy`.
    pub redundancy: String,
}

/// A running Windlass. Dropping it kills it.
#[derive(Debug)]
pub struct Windlass {
    child: Child,
    output: PathBuf,
    trace: PathBuf,
}

impl Windlass {
    /// Starts it between the two interfaces of the box and waits until it is ready. Its files go
    /// to `folder`.
    ///
    /// # Errors
    /// When it ends or is not ready in time; with what it said.
    pub fn start(namespace: &Namespace, settings: &Settings, folder: &Path) -> Result<Windlass> {
        let (output, trace) = (folder.join("windlass.log"), folder.join("trace.jsonl"));
        let control = folder.join("control.sock");
        for old in [&output, &trace, &control] {
            let _ = std::fs::remove_file(old);
        }
        let log = File::create(&output)?;
        let mut command = namespace.command(&settings.program);
        command
            .args(arguments(settings))
            .arg("--control")
            .arg(&control);
        command
            .arg("--trace")
            .arg(&trace)
            .args(["--trace-interval", TRACE_INTERVAL]);
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let child = command.spawn().context("cannot run Windlass")?;
        let mut windlass = Windlass {
            child,
            output,
            trace,
        };
        windlass.wait_until_ready()?;
        Ok(windlass)
    }

    /// Ends it in the ordinary way and returns its trace of the flow to `port`.
    ///
    /// # Errors
    /// When it has ended before, or does not end.
    pub fn stop(mut self, port: u16) -> Result<Vec<TraceSample>> {
        if let Some(status) = self.child.try_wait()? {
            bail!("Windlass ended during the run ({status}): {}", self.said());
        }
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM)?;
        let deadline = Instant::now() + STOP_TIMEOUT;
        while self.child.try_wait()?.is_none() {
            if Instant::now() > deadline {
                bail!("Windlass does not end on SIGTERM: {}", self.said());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        let text = std::fs::read_to_string(&self.trace).unwrap_or_default();
        Ok(trace::parse(&text, port))
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            check_interrupted()?;
            let text = std::fs::read_to_string(&self.output)?;
            if text.lines().any(|l| l.starts_with(READY)) {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("Windlass did not start ({status}): {}", self.said());
            }
            if Instant::now() > deadline {
                bail!("Windlass is not ready: {}", self.said());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    fn said(&self) -> String {
        let text = std::fs::read_to_string(&self.output).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(SAID_LINES)..].join("\n")
    }
}

impl Drop for Windlass {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What it is told of how to govern.
pub fn arguments(settings: &Settings) -> Vec<String> {
    let words = [
        "run",
        "--inside",
        INSIDE,
        "--outside",
        OUTSIDE,
        "--algorithm",
        &settings.algorithm,
        "--redundancy",
        &settings.redundancy,
    ];
    words.map(str::to_owned).to_vec()
}
