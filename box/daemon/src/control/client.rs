//! The asking end.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::deadline::Deadline;
use super::protocol::{Answer, Request};

/// How long an answer may take: longer than the daemon itself waits for its workers.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// The same for an upgrade: longer than the daemon waits for the other process.
const UPGRADE_LIMIT: Duration = Duration::from_secs(50);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nobody listens.
    #[error(
        "no windlass answers at {}: is `windlass run` running, and with this --control?",
        path.display()
    )]
    NotRunning {
        /// The socket.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// Only its owner may ask.
    #[error("control socket {}: permission denied (ask as the user that runs windlass)", path.display())]
    Denied {
        /// The socket.
        path: PathBuf,
    },
    /// The connection broke, or took too long.
    #[error("control socket {}: {source}", path.display())]
    Broken {
        /// The socket.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The daemon refused.
    #[error("windlass answers: {0}")]
    Refused(String),
}

/// Asks the daemon at `path`. Never returns [`Answer::Error`].
///
/// # Errors
/// See [`AskError`].
pub fn ask(path: &Path, request: Request) -> Result<Answer, AskError> {
    let broken = |source| AskError::Broken {
        path: path.to_owned(),
        source,
    };
    let stream = UnixStream::connect(path).map_err(|source| match source.kind() {
        io::ErrorKind::PermissionDenied => AskError::Denied {
            path: path.to_owned(),
        },
        _ => AskError::NotRunning {
            path: path.to_owned(),
            source,
        },
    })?;
    match exchange(stream, request).map_err(broken)? {
        Answer::Error { error } => Err(AskError::Refused(error)),
        answer => Ok(answer),
    }
}

fn exchange(stream: UnixStream, request: Request) -> io::Result<Answer> {
    let stream = stream.into();
    let limit = match request {
        Request::Upgrade { .. } => UPGRADE_LIMIT,
        _ => ANSWER_LIMIT,
    };
    let mut stream = Deadline::new(&stream, limit);
    writeln!(stream, "{}", serde_json::to_string(&request)?)?;
    let mut line = String::new();
    if BufReader::new(stream).read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_str(&line)?)
}
