//! The answering end: a listener, and a thread per connection.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};

use super::desk::Desk;
use super::protocol::Answer;
use crate::RunError;

/// Connections served at once; further ones are told so and closed.
const CONNECTIONS_MAX: usize = 16;
/// Longest request line, bytes.
const REQUEST_MAX_BYTES: u64 = 1 << 20;
/// A connection that is silent, or does not take its answer, for so long is closed.
const SILENCE_LIMIT: Duration = Duration::from_secs(10);
/// Only the owner may read and write.
const SOCKET_MODE: u32 = 0o600;
/// The folder made for the socket.
const FOLDER_MODE: u32 = 0o755;

/// Makes the socket, in the place of one that nobody serves any more.
pub(crate) fn bind(path: &Path) -> Result<UnixListener, RunError> {
    let failed = |source| RunError::ControlSocket {
        path: path.to_owned(),
        source,
    };
    if let Ok(stream) = UnixStream::connect(path) {
        let pid = getsockopt(&stream, PeerCredentials).map_or(0, |peer| peer.pid());
        return Err(RunError::AnotherRuns {
            path: path.to_owned(),
            pid,
        });
    }
    make(path).map_err(failed)
}

/// It gets its name when it is ready and closed to others.
fn make(path: &Path) -> io::Result<UnixListener> {
    if fs::symlink_metadata(path).is_ok_and(|m| !m.file_type().is_socket()) {
        return Err(io::Error::other(
            "there is a file of this name that is no socket",
        ));
    }
    if let Some(folder) = path.parent().filter(|f| !f.exists()) {
        fs::create_dir_all(folder)?;
        fs::set_permissions(folder, fs::Permissions::from_mode(FOLDER_MODE))?;
    }
    let unfinished = PathBuf::from(format!("{}.{}", path.display(), std::process::id()));
    let listener = UnixListener::bind(&unfinished)?;
    fs::set_permissions(&unfinished, fs::Permissions::from_mode(SOCKET_MODE))?;
    fs::rename(&unfinished, path)?;
    Ok(listener)
}

/// The thread that listens. Stops when dropped.
pub(crate) struct Server {
    path: PathBuf,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(
        listener: UnixListener,
        path: &Path,
        desk: Arc<Desk>,
    ) -> io::Result<Server> {
        let stopping = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stopping);
        let thread = thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || listen(&listener, &desk, &seen))?;
        Ok(Server {
            path: path.to_owned(),
            stopping,
            thread: Some(thread),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Release);
        // A connection wakes the listener up. Without one it is left waiting, which harms nobody.
        let woken = UnixStream::connect(&self.path).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
    }
}

fn listen(listener: &UnixListener, desk: &Arc<Desk>, stopping: &AtomicBool) {
    let connections = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        if stopping.load(Ordering::Acquire) {
            return;
        }
        let Ok(stream) = stream else {
            // Out of file descriptors, most likely: not a reason to spin.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        let place = Place::take(&connections);
        let desk = Arc::clone(desk);
        let serve = move || {
            // A connection that breaks concerns only its other end.
            let _ = match place {
                Some(_place) => serve(stream, &desk),
                None => refuse(stream, "too many connections: try again later"),
            };
        };
        let _ = thread::Builder::new()
            .name("control".to_owned())
            .spawn(serve);
    }
}

/// One of the [`CONNECTIONS_MAX`].
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(taken: &Arc<AtomicUsize>) -> Option<Place> {
        let place = Place(Arc::clone(taken));
        (taken.fetch_add(1, Ordering::AcqRel) < CONNECTIONS_MAX).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn serve(mut stream: UnixStream, desk: &Desk) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE_LIMIT))?;
    stream.set_write_timeout(Some(SILENCE_LIMIT))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut line = String::new();
        let read = reader
            .by_ref()
            .take(REQUEST_MAX_BYTES)
            .read_line(&mut line)?;
        if read == 0 {
            return Ok(());
        }
        if !line.ends_with('\n') {
            let why = format!("a request is one line of at most {REQUEST_MAX_BYTES} bytes");
            return refuse(stream, &why);
        }
        let answer = match serde_json::from_str(&line) {
            Ok(request) => desk.answer(request),
            Err(e) => Answer::Error {
                error: format!("not a request: {e}"),
            },
        };
        send(&mut stream, &answer)?;
    }
}

fn refuse(mut stream: UnixStream, why: &str) -> io::Result<()> {
    let error = why.to_owned();
    send(&mut stream, &Answer::Error { error })
}

fn send(stream: &mut UnixStream, answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    stream.write_all(&line)
}
