//! A transfer whose every byte is checked.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::Lab;

/// A transfer that stands still for so long has failed. A server that has had no ACK for 13 s tries again after 26.
const PATIENCE: Duration = Duration::from_secs(40);
/// One write of the server, bytes; one a millisecond makes 256 Mbit/s.
const CHUNK: usize = 32_768;

/// The byte at this place of the stream.
fn pattern(at: u64) -> u8 {
    (at ^ (at >> 8) ^ (at >> 16)) as u8
}

/// A server, if nothing else is said in a, sends until it is told to finish; a client in b checks every byte.
pub struct Transfer {
    received: Arc<AtomicU64>,
    /// Longest time without a byte, ms.
    stall: Arc<AtomicU64>,
    finish: Arc<AtomicBool>,
    server: JoinHandle<u64>,
    client: JoinHandle<u64>,
}

impl Transfer {
    pub fn start(lab: &Lab, port: u16) -> Transfer {
        Transfer::between(lab, ("a", "10.77.0.1"), "b", port)
    }

    pub fn between(
        lab: &Lab,
        (server, address): (&str, &str),
        client: &str,
        port: u16,
    ) -> Transfer {
        let address = SocketAddr::new(address.parse().unwrap(), port);
        let finish = Arc::new(AtomicBool::new(false));
        let received = Arc::new(AtomicU64::new(0));
        let stall = Arc::new(AtomicU64::new(0));
        let (told, count) = (Arc::clone(&finish), Arc::clone(&received));
        let stalled = Arc::clone(&stall);
        let listener = lab.spawn(server, move || TcpListener::bind(address).unwrap());
        let listener = listener.join().unwrap();
        let server = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            // Others may have the port next.
            drop(listener);
            serve(stream, &told)
        });
        let connect = move || TcpStream::connect(address).unwrap();
        let client = lab.spawn(client, move || check(connect(), &count, &stalled));
        Transfer {
            received,
            stall,
            finish,
            server,
            client,
        }
    }

    /// Waits until so many more bytes have come.
    pub fn wait_for(&self, bytes: u64) {
        let end = self.received.load(Ordering::Acquire) + bytes;
        let deadline = Instant::now() + PATIENCE;
        while self.received.load(Ordering::Acquire) < end {
            assert!(!self.client.is_finished(), "the connection broke");
            assert!(Instant::now() < deadline, "the transfer stands still");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Bytes that have come so far.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Acquire)
    }

    /// The longest time without a byte so far.
    pub fn longest_stall(&self) -> Duration {
        Duration::from_millis(self.stall.load(Ordering::Acquire))
    }

    /// Ends it; every byte that was sent must have come.
    pub fn finish(self) {
        self.finish.store(true, Ordering::Release);
        let sent = self.server.join().unwrap();
        assert_eq!(self.client.join().unwrap(), sent);
    }
}

fn serve(mut stream: TcpStream, finish: &AtomicBool) -> u64 {
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    let mut at = 0u64;
    while !finish.load(Ordering::Acquire) {
        let chunk: Vec<u8> = (at..at + CHUNK as u64).map(pattern).collect();
        stream.write_all(&chunk).unwrap();
        at += CHUNK as u64;
        thread::sleep(Duration::from_millis(1));
    }
    at
}

fn check(mut stream: TcpStream, received: &AtomicU64, stall: &AtomicU64) -> u64 {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut buffer = vec![0; 1 << 16];
    let mut at = 0u64;
    let mut last = Instant::now();
    loop {
        let count = match stream.read(&mut buffer) {
            Ok(0) => return at,
            Ok(count) => count,
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => panic!("after {at} bytes: {e}"),
        };
        for (i, byte) in buffer[..count].iter().enumerate() {
            assert_eq!(*byte, pattern(at + i as u64), "byte {}", at + i as u64);
        }
        stall.fetch_max(last.elapsed().as_millis() as u64, Ordering::AcqRel);
        last = Instant::now();
        at += count as u64;
        received.store(at, Ordering::Release);
    }
}
