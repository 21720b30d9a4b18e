//! The answering end: a listener, and a thread per connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::Socket as Stream;

use super::deadline::Deadline;
use super::handler::Handler;
use super::places::{Place, Places};
use super::protocol::{Answer, Request};
use super::socket::{Name, Socket};
use crate::events::{Draft, EventKind, Events};

/// Longest request line, bytes.
const REQUEST_MAX_BYTES: u64 = 1 << 20;
/// Connections served at once.
const PLACES: usize = 16;
/// From when the daemon is ready for a request until its answer has been taken.
const REQUEST_LIMIT: Duration = Duration::from_secs(10);
/// How often it is looked whether the socket still has its name.
const NAME_INTERVAL_MS: u16 = 1000;
/// After a connection could not be accepted: out of descriptors, most likely, which is no reason to spin.
const REFUSED_PAUSE: Duration = Duration::from_millis(100);

/// The thread that listens. Stops when dropped.
pub(crate) struct Server {
    /// The thread ends when this end is closed.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(socket: Socket, handler: Arc<Handler>) -> io::Result<Server> {
        let (stop, stopped) = UnixStream::pair()?;
        socket.listener.set_nonblocking(true)?;
        let thread = thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || listen(socket, &handler, &stopped))?;
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

fn listen(mut socket: Socket, handler: &Arc<Handler>, stopped: &UnixStream) {
    let places = Arc::new(Places::new(PLACES));
    let mut told = None;
    loop {
        let mut fds =
            [socket.listener.as_fd(), stopped.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let _ = poll(&mut fds, PollTimeout::from(NAME_INTERVAL_MS));
        if fds[1].any().unwrap_or(true) {
            return;
        }
        keep_name(&mut socket, &mut told, &handler.events);
        loop {
            match socket.listener.accept() {
                Ok((stream, _)) => admit(stream.into(), &places, handler),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    thread::sleep(REFUSED_PAUSE);
                    break;
                }
            }
        }
    }
}

/// What has become of the name is told once.
fn keep_name(socket: &mut Socket, told: &mut Option<String>, events: &Events) {
    let path = socket.path().display().to_string();
    match socket.keep_name() {
        Name::Ours => *told = None,
        Name::MadeAgain => {
            *told = None;
            // One that waits for ever is still better than none.
            let _ = socket.listener.set_nonblocking(true);
            let text = format!("control socket {path} had been removed; it is there again");
            events.tell(Draft::new(EventKind::Trouble, text).because("control_socket"));
        }
        Name::Lost(why) if told.as_ref() != Some(&why) => {
            let text = format!("control socket {path}: {why}; nobody can ask this windlass");
            events.tell(Draft::new(EventKind::Trouble, text).because("control_socket"));
            *told = Some(why);
        }
        Name::Lost(_) => {}
    }
}

fn admit(stream: Stream, places: &Arc<Places>, handler: &Arc<Handler>) {
    // What is accepted from a listener that does not block blocks, on Linux.
    let Some(place) = places.take(&stream) else {
        let why = "too many requests are being answered: try again later";
        let _ = refuse(&stream, why);
        return;
    };
    let handler = Arc::clone(handler);
    // A connection that breaks concerns only its other end.
    let serve = move || _ = serve(&stream, &place, &handler);
    let _ = thread::Builder::new()
        .name("control".to_owned())
        .spawn(serve);
}

fn serve(stream: &Stream, place: &Place, handler: &Handler) -> io::Result<()> {
    let mut reader = BufReader::new(Deadline::new(stream, REQUEST_LIMIT));
    loop {
        reader.get_mut().restart(REQUEST_LIMIT);
        let mut line = String::new();
        let read = reader.by_ref().take(REQUEST_MAX_BYTES).read_line(&mut line);
        match read {
            Err(e) if e.kind() == io::ErrorKind::TimedOut => {
                let why = format!(
                    "a request and its answer may take {} s in all",
                    REQUEST_LIMIT.as_secs()
                );
                return refuse(stream, &why);
            }
            Ok(0) => return Ok(()),
            read => _ = read?,
        }
        if !line.ends_with('\n') {
            let why = format!("a request is one line of at most {REQUEST_MAX_BYTES} bytes");
            return refuse(stream, &why);
        }
        place.set_busy(true);
        let answer = match serde_json::from_str(&line) {
            Ok(request) => {
                let takes_long = matches!(request, Request::Upgrade { .. });
                let answer = handler.answer(request);
                if takes_long {
                    reader.get_mut().restart(REQUEST_LIMIT);
                }
                answer
            }
            Err(e) => Answer::Error {
                error: format!("not a request: {e}"),
            },
        };
        place.set_busy(false);
        let sent = send(reader.get_mut(), &answer);
        // Whether it was taken or not: another process may govern by now.
        handler.upgrade.leave_if_done();
        sent?;
    }
}

/// Nobody is waited for: the line goes where there is room for it.
fn refuse(mut stream: &Stream, why: &str) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    let error = why.to_owned();
    send(&mut stream, &Answer::Error { error })
}

fn send(stream: &mut impl Write, answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    stream.write_all(&line)
}
