//! Why the daemon did not start, or stopped.

use std::io;
use std::path::PathBuf;

use windlass_io::OpenError;
use windlass_io::interface::Problem;

/// Why the daemon did not start, or stopped other than by a signal.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The settings cannot be.
    #[error("{0}")]
    Settings(String),
    /// The control socket could not be made.
    #[error("control socket {}: {source} (another place can be named with --control)", path.display())]
    ControlSocket {
        /// Its path.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// Metrics cannot be served there.
    #[error("metrics at {listen}: {reason} (another place can be named by listen in [metrics])")]
    Metrics {
        /// Where.
        listen: String,
        /// Why not.
        reason: String,
    },
    /// The other box cannot be told of connections, or not heard.
    #[error("[standby]: {0}")]
    Standby(String),
    /// Somebody answers at the control socket.
    #[error(
        "another windlass runs: pid {pid} has the control socket {} (stop it, or name another socket \
         with --control)",
        path.display()
    )]
    AnotherRuns {
        /// Path of the socket.
        path: PathBuf,
        /// Its process.
        pid: i32,
    },
    /// Another instance has one of the interfaces.
    #[error(
        "another windlass, pid {pid}, has the interface {name} already (end it with: kill {pid}; or give this \
         one other interfaces)"
    )]
    InterfaceTaken {
        /// Its name.
        name: String,
        /// Its process.
        pid: i32,
    },
    /// The interfaces cannot work as they are.
    #[error("the interfaces cannot work as they are:{}", list(.0))]
    Interfaces(Vec<Problem>),
    /// No bridge could be made.
    #[error("making a bridge of {inside} and {outside}: {source}")]
    Bridge {
        /// Interface.
        inside: String,
        /// Interface.
        outside: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The drivers could not be opened.
    #[error("{0}")]
    Open(OpenError),
    /// The trace file could not be written.
    #[error("trace file {}: {source} (another place can be named with --trace)", path.display())]
    Trace {
        /// Its path.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A thread or a signal handler could not be made.
    #[error("{what}: {reason}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// Why it failed.
        reason: String,
    },
    /// This process was started to take over from another one, and could not.
    #[error("taking over from the windlass that runs: {0} (it governs on)")]
    Upgrade(String),
    /// An interface is no more, and nobody waits for it; the kernel carries what it can.
    #[error("interface {name} is gone (make it again, then start windlass again)")]
    InterfaceGone {
        /// Its name.
        name: String,
    },
    /// A worker failed; the kernel carries every flow.
    #[error("the worker of queue {queue} failed: {reason}")]
    Worker {
        /// Its queue.
        queue: usize,
        /// Why.
        reason: String,
    },
}

impl RunError {
    pub(crate) fn system(what: &'static str, error: &io::Error) -> RunError {
        RunError::System {
            what,
            reason: error.to_string(),
        }
    }

    /// What needs a thread of its own could not be started.
    pub(crate) fn starting(what: &'static str, error: &io::Error) -> RunError {
        // pthread_create(3) says so where there may be no more of them.
        let mend = match error.kind() {
            io::ErrorKind::WouldBlock => {
                " (no more threads are allowed here: raise TasksMax= of the service, or pids.max of the cgroup)"
            }
            _ => "",
        };
        RunError::System {
            what,
            reason: format!("{error}{mend}"),
        }
    }

    pub(crate) fn thread(error: io::Error) -> RunError {
        RunError::starting("starting a thread", &error)
    }
}

impl From<OpenError> for RunError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Interfaces(problems) => RunError::Interfaces(problems),
            other => RunError::Open(other),
        }
    }
}

fn list(problems: &[Problem]) -> String {
    let lines = problems.iter();
    lines
        .map(|p| format!("\n  {}\n    mend it with: {}", p.what, p.fix))
        .collect()
}
