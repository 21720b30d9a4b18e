//! Many connections at once: downloads, uploads, and some that are silent. Every byte is looked at, and how long it was under way.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::Lab;

/// What a flow sends at once, bytes: when it was sent, and a pattern.
const CHUNK: usize = 4096;
/// Between two chunks: 0.65 Mbit/s for each flow.
const PAUSE: Duration = Duration::from_millis(50);
const STAMP: usize = size_of::<u64>();
const PATIENCE: Duration = Duration::from_secs(30);
/// The server of all connections.
const ADDRESS: &str = "10.77.0.1:8200";

/// How many connections of each kind.
#[derive(Clone, Copy)]
pub struct Mix {
    pub downloads: usize,
    pub uploads: usize,
    pub silent: usize,
}

impl Mix {
    /// So many in all.
    pub fn of(connections: usize) -> Mix {
        let third = connections / 3;
        Mix {
            downloads: third,
            uploads: third,
            silent: connections - 2 * third,
        }
    }

    pub fn moving(self) -> usize {
        self.downloads + self.uploads
    }

    pub fn all(self) -> usize {
        self.moving() + self.silent
    }
}

/// Connections between a and b.
pub struct Load {
    over: Arc<AtomicBool>,
    /// The longest time that a chunk was under way since this was last asked, µs.
    longest_us: Arc<AtomicU64>,
    received: Arc<AtomicU64>,
    writer: JoinHandle<Vec<u64>>,
    readers: Vec<JoinHandle<io::Result<u64>>>,
    silent: Vec<(TcpStream, TcpStream)>,
}

fn pattern(flow: usize, at: u64) -> u8 {
    (flow as u64 ^ at ^ (at >> 8) ^ (at >> 16)) as u8
}

impl Load {
    pub fn start(lab: &Lab, mix: Mix) -> Load {
        let mut pairs = pairs(lab, mix.all());
        let silent = pairs.split_off(mix.moving());
        let (over, began) = (Arc::new(AtomicBool::new(false)), Instant::now());
        let (longest_us, received) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (mut writers, mut readers) = (Vec::new(), Vec::new());
        for (flow, (server, client)) in pairs.into_iter().enumerate() {
            let (from, to) = match flow < mix.downloads {
                true => (server, client),
                false => (client, server),
            };
            from.set_nonblocking(true).unwrap();
            to.set_read_timeout(Some(PATIENCE)).unwrap();
            writers.push(Writer {
                stream: from,
                flow,
                at: 0,
                waits: Vec::new(),
            });
            let (longest, count) = (Arc::clone(&longest_us), Arc::clone(&received));
            readers.push(thread::spawn(move || {
                read(to, flow, began, &longest, &count)
            }));
        }
        let told = Arc::clone(&over);
        let writer = thread::spawn(move || write_all(writers, began, &told));
        let load = Load {
            over,
            longest_us,
            received,
            writer,
            readers,
            silent,
        };
        load.speak();
        load
    }

    /// The longest time that a chunk was under way since the last call.
    pub fn take_longest(&self) -> Duration {
        Duration::from_micros(self.longest_us.swap(0, Ordering::AcqRel))
    }

    /// Bytes that have come so far.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Acquire)
    }

    /// Nobody's connection is broken.
    pub fn all_live(&self) -> bool {
        !self.readers.iter().any(JoinHandle::is_finished)
    }

    /// The silent ones say a word, which must come.
    fn speak(&self) {
        for (number, (server, client)) in self.silent.iter().enumerate() {
            say(client, server, number as u8);
            say(server, client, number as u8);
        }
    }

    /// All that was sent has come; the silent ones speak for the last time.
    pub fn finish(mut self) {
        self.over.store(true, Ordering::Release);
        let sent = self.writer.join().unwrap();
        for (flow, (reader, sent)) in std::mem::take(&mut self.readers)
            .into_iter()
            .zip(sent)
            .enumerate()
        {
            let received = reader.join().unwrap();
            let received = received.unwrap_or_else(|e| panic!("flow {flow} broke: {e}"));
            assert_eq!(received, sent, "flow {flow}");
        }
        for (number, (server, client)) in self.silent.iter().enumerate() {
            say(client, server, !(number as u8));
        }
    }
}

/// A word, which must come.
fn say(mut from: &TcpStream, mut to: &TcpStream, what: u8) {
    let (word, mut heard) = ([what; 100], [0; 100]);
    from.write_all(&word).unwrap();
    to.set_read_timeout(Some(PATIENCE)).unwrap();
    to.read_exact(&mut heard).expect("a word");
    assert_eq!(heard, word);
}

/// Connected pairs, server first.
fn pairs(lab: &Lab, count: usize) -> Vec<(TcpStream, TcpStream)> {
    let address: SocketAddr = ADDRESS.parse().unwrap();
    let listener = lab.spawn("a", move || TcpListener::bind(address).unwrap());
    let listener = listener.join().unwrap();
    let clients = lab.spawn("b", move || {
        let connect = |_| TcpStream::connect(address).unwrap();
        (0..count).map(connect).collect::<Vec<_>>()
    });
    let mut servers: Vec<TcpStream> = (0..count).map(|_| listener.accept().unwrap().0).collect();
    let clients = clients.join().unwrap();
    let mut pairs = Vec::new();
    for client in clients {
        let own = client.local_addr().unwrap();
        let at = servers
            .iter()
            .position(|server| server.peer_addr().unwrap() == own);
        pairs.push((servers.swap_remove(at.expect("its server")), client));
    }
    pairs
}

struct Writer {
    stream: TcpStream,
    flow: usize,
    /// Bytes so far.
    at: u64,
    /// What the kernel has not taken yet.
    waits: Vec<u8>,
}

impl Writer {
    fn write(&mut self, began: Instant) {
        if self.waits.is_empty() {
            let now = began.elapsed().as_micros() as u64;
            self.waits.extend(now.to_le_bytes());
            let body = self.at + STAMP as u64..self.at + CHUNK as u64;
            self.waits.extend(body.map(|at| pattern(self.flow, at)));
        }
        match self.stream.write(&self.waits) {
            Ok(count) => {
                self.waits.drain(..count);
                self.at += count as u64;
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => {}
            Err(e) => panic!("flow {} broke after {} bytes: {e}", self.flow, self.at),
        }
    }
}

/// Bytes sent by each.
fn write_all(mut writers: Vec<Writer>, began: Instant, over: &AtomicBool) -> Vec<u64> {
    // A part of them at a time, so that packets come evenly.
    const PARTS: u32 = 10;
    let part = writers.len().div_ceil(PARTS as usize).max(1);
    while !over.load(Ordering::Acquire) {
        for part in writers.chunks_mut(part) {
            part.iter_mut().for_each(|writer| writer.write(began));
            thread::sleep(PAUSE / PARTS);
        }
    }
    let deadline = Instant::now() + PATIENCE;
    while let Some(writer) = writers.iter_mut().find(|writer| !writer.waits.is_empty()) {
        assert!(Instant::now() < deadline, "flow {} is stuck", writer.flow);
        writer.write(began);
        thread::sleep(Duration::from_millis(1));
    }
    writers.into_iter().map(|writer| writer.at).collect()
}

/// Until the other end is closed; bytes received.
fn read(
    mut stream: TcpStream,
    flow: usize,
    began: Instant,
    longest: &AtomicU64,
    received: &AtomicU64,
) -> io::Result<u64> {
    let (mut at, mut chunk) = (0u64, [0; CHUNK]);
    loop {
        if stream.read(&mut chunk[..1])? == 0 {
            return Ok(at);
        }
        stream.read_exact(&mut chunk[1..])?;
        let now = began.elapsed().as_micros() as u64;
        let sent = u64::from_le_bytes(chunk[..STAMP].try_into().unwrap());
        for (byte, at) in chunk[STAMP..].iter().zip(at + STAMP as u64..) {
            assert_eq!(*byte, pattern(flow, at), "flow {flow}, byte {at}");
        }
        longest.fetch_max(now.saturating_sub(sent), Ordering::AcqRel);
        at += CHUNK as u64;
        received.fetch_add(CHUNK as u64, Ordering::AcqRel);
    }
}
