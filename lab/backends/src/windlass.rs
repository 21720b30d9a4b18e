//! Windlass on the box: started, waited for, asked, ended.

use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use windlass_daemon::control::{Answer, Request, ask};

use crate::cleanup::check_interrupted;
use crate::netns::Namespace;
use crate::topology::{INSIDE, OUTSIDE};

/// How a line begins that says that flows are governed from now on.
pub(crate) const READY: &str = "windlass: ready";
const START_TIMEOUT: Duration = Duration::from_secs(20);
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(2);
/// How long nothing may be heard before a signal is looked for, ms.
const LISTEN_MS: u16 = 100;
/// Last lines of its output in an error message.
const SAID_LINES: usize = 8;

/// A running Windlass. Dropping it kills it.
#[derive(Debug)]
pub struct Windlass {
    child: Child,
    /// What it has said and complained of.
    output: PathBuf,
    control: PathBuf,
    trace: Option<PathBuf>,
}

impl Windlass {
    /// Starts it between the two interfaces of the box and waits until it is ready. Its files go
    /// to `folder`; it writes a trace if there is an interval for one.
    ///
    /// # Errors
    /// When it ends or is not ready in time; with what it said.
    pub fn start(
        namespace: &Namespace,
        program: &Path,
        arguments: &[String],
        trace_interval: Option<Duration>,
        folder: &Path,
    ) -> Result<Windlass> {
        let file = |name: &str| folder.join(name);
        let (output, control) = (file("windlass.log"), file("control.sock"));
        let trace = trace_interval.map(|_| file("trace.jsonl"));
        for old in [&output, &control].into_iter().chain(&trace) {
            let _ = std::fs::remove_file(old);
        }
        let (said, stdout) = std::io::pipe()?;
        let mut command = Command::new(program);
        command.args(["run", "--inside", INSIDE, "--outside", OUTSIDE]);
        if !arguments.iter().any(|a| a == "--config") {
            // Not that of the machine.
            let config = file("windlass.toml");
            std::fs::write(&config, "version = 1\n")?;
            command.arg("--config").arg(config);
        }
        command.args(arguments).arg("--control").arg(&control);
        if let (Some(file), Some(interval)) = (&trace, trace_interval) {
            let interval = format!("{}ms", interval.as_millis().max(1));
            command.arg("--trace").arg(file);
            command.args(["--trace-interval", &interval]);
        }
        command
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(File::create(&output)?);
        // It inherits the namespace of the thread that starts it.
        let child = namespace.inside(|| {
            let program = program.display();
            let child = command.spawn();
            child.with_context(|| format!("cannot run {program}"))
        })?;
        drop(command);
        let mut windlass = Windlass {
            child,
            output,
            control,
            trace,
        };
        windlass.wait_until_ready(said)?;
        Ok(windlass)
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it by its control socket.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn ask(&self, request: Request) -> Result<Answer> {
        Ok(ask(&self.control, request)?)
    }

    /// Ends it in the ordinary way and returns the text of its trace, empty without one.
    ///
    /// # Errors
    /// When it has ended before, or does not end.
    pub fn stop(mut self) -> Result<String> {
        if let Some(status) = self.child.try_wait()? {
            bail!("Windlass ended during the run ({status}): {}", self.said());
        }
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM)?;
        let deadline = Instant::now() + STOP_TIMEOUT;
        while self.child.try_wait()?.is_none() {
            if Instant::now() > deadline {
                bail!("Windlass does not end on SIGTERM: {}", self.said());
            }
            std::thread::sleep(STOP_POLL_INTERVAL);
        }
        let text = self.trace.as_ref().map(std::fs::read_to_string);
        Ok(text.transpose().context("no trace")?.unwrap_or_default())
    }

    /// What it says later is little, and nobody needs it.
    fn wait_until_ready(&mut self, said: PipeReader) -> Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        let mut said = BufReader::new(said);
        let mut line = String::new();
        loop {
            check_interrupted()?;
            if Instant::now() > deadline {
                bail!("Windlass is not ready: {}", self.said());
            }
            let mut polled = [PollFd::new(said.get_ref().as_fd(), PollFlags::POLLIN)];
            if said.buffer().is_empty() && poll(&mut polled, PollTimeout::from(LISTEN_MS))? == 0 {
                continue;
            }
            line.clear();
            if said.read_line(&mut line)? == 0 {
                let status = self.child.wait()?;
                bail!("Windlass did not start ({status}): {}", self.said());
            }
            if line.starts_with(READY) {
                return Ok(());
            }
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
