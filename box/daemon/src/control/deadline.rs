//! A connection on which everything must be over at a certain time, however it is divided.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use socket2::Socket;

/// A stream whose reads and writes fail with `TimedOut` once the time has come.
pub(crate) struct Deadline<'a> {
    stream: &'a Socket,
    end: Instant,
}

impl<'a> Deadline<'a> {
    pub(crate) fn new(stream: &'a Socket, limit: Duration) -> Self {
        let end = Instant::now() + limit;
        Deadline { stream, end }
    }

    /// Begins anew.
    pub(crate) fn restart(&mut self, limit: Duration) {
        self.end = Instant::now() + limit;
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.end.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(left),
        }
    }
}

/// The kernel calls a time-out `EAGAIN`.
fn named(result: io::Result<usize>) -> io::Result<usize> {
    result.map_err(|e| match e.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => e,
    })
}

impl Read for Deadline<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        named((&mut &*self.stream).read(buffer))
    }
}

impl Write for Deadline<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        named((&mut &*self.stream).write(buffer))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
