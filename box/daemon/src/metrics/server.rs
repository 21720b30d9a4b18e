//! The listener for scrapers, and a thread for each of them.

use std::io::{self, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::Socket as Stream;
use windlass_policy::MetricsListen;

use super::{collect, http, write};
use crate::RunError;
use crate::control::{Deadline, Handler, Place, Places, Socket};

/// Scrapers served at once; the slowest gives way to the next.
const PLACES: usize = 4;
/// From the beginning of a connection until the answer has been taken.
const SCRAPE_LIMIT: Duration = Duration::from_secs(5);
/// After a connection could not be accepted: out of descriptors, most likely, which is no reason to spin.
const REFUSED_PAUSE: Duration = Duration::from_millis(100);

/// What is listened on.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(Socket),
}

impl Listener {
    /// # Errors
    /// [`RunError::Metrics`].
    pub(crate) fn bind(listen: &MetricsListen) -> Result<Listener, RunError> {
        let failed = |reason: String| RunError::Metrics {
            listen: listen.to_string(),
            reason,
        };
        match listen {
            MetricsListen::Tcp(address) => {
                let listener = TcpListener::bind(address).and_then(|listener| {
                    listener.set_nonblocking(true)?;
                    Ok(Listener::Tcp(listener))
                });
                listener.map_err(|e| failed(e.to_string()))
            }
            MetricsListen::Unix(path) => match Socket::bind(Path::new(path)) {
                Ok(socket) => {
                    let ready = socket.listener.set_nonblocking(true);
                    ready.map_err(|e| failed(e.to_string()))?;
                    Ok(Listener::Unix(socket))
                }
                Err(RunError::ControlSocket { source, .. }) => Err(failed(source.to_string())),
                Err(_) => Err(failed("somebody else serves it".to_owned())),
            },
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(listener) => listener.as_fd(),
            Listener::Unix(socket) => socket.listener.as_fd(),
        }
    }

    fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Tcp(listener) => Ok(listener.accept()?.0.into()),
            Listener::Unix(socket) => Ok(socket.listener.accept()?.0.into()),
        }
    }
}

/// The thread that listens. Stops when dropped.
pub(crate) struct Server {
    /// The thread ends when this end is closed.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(listener: Listener, handler: Arc<Handler>) -> io::Result<Server> {
        let (stop, stopped) = UnixStream::pair()?;
        let named = thread::Builder::new().name("metrics".to_owned());
        let thread = named.spawn(move || listen(&listener, &handler, &stopped))?;
        Ok(Server {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn listen(listener: &Listener, handler: &Arc<Handler>, stopped: &UnixStream) {
    let places = Arc::new(Places::new(PLACES));
    loop {
        let fds = [listener.fd(), stopped.as_fd()];
        let mut fds = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let _ = poll(&mut fds, PollTimeout::NONE);
        if fds[1].any().unwrap_or(true) {
            return;
        }
        match listener.accept() {
            Ok(stream) => admit(stream, &places, handler),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => thread::sleep(REFUSED_PAUSE),
        }
    }
}

fn admit(stream: Stream, places: &Arc<Places>, handler: &Arc<Handler>) {
    let Some(place) = places.take(&stream) else {
        // Nobody is waited for: what has no room in the socket is lost.
        let _ = stream.set_nonblocking(true);
        let _ = refuse(
            &stream,
            "503 Service Unavailable",
            "too many scrapers at once",
        );
        return;
    };
    let handler = Arc::clone(handler);
    // A connection that breaks concerns only its other end.
    let serve = move || _ = serve(&stream, &place, &handler);
    let named = thread::Builder::new().name("scrape".to_owned());
    let _ = named.spawn(serve);
}

fn serve(stream: &Stream, place: &Place, handler: &Handler) -> io::Result<()> {
    let mut stream = Deadline::new(stream, SCRAPE_LIMIT);
    let (format, head_only) = match http::read(&mut stream)? {
        http::Request::Metrics { format, head_only } => (format, head_only),
        http::Request::Refused(status, why) => return refuse(stream, status, why),
    };
    place.set_busy(true);
    let body = write(&collect(handler), format).map_err(io::Error::other)?;
    place.set_busy(false);
    let mut answer = http::head("200 OK", format.content_type(), body.len()).into_bytes();
    if !head_only {
        answer.extend_from_slice(body.as_bytes());
    }
    stream.write_all(&answer)
}

fn refuse(mut to: impl Write, status: &str, why: &str) -> io::Result<()> {
    let body = format!("{why}\n");
    let head = http::head(status, "text/plain; charset=utf-8", body.len());
    to.write_all(format!("{head}{body}").as_bytes())
}
