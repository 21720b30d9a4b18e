//! Random bytes one way through a TCP connection, and their hash at either end.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use sha2::{Digest, Sha256};
use windlass_lab::netns::Namespace;
use windlass_sim::Rng;

use crate::lab::Lab;

/// SHA-256.
type Hash = [u8; 32];

/// A stream that stands still for so long has failed.
const PATIENCE: Duration = Duration::from_secs(30);
const CHUNK_BYTES: usize = 1 << 16;
/// The random numbers of the content, apart from those of the link.
const CONTENT: u64 = 0x73_6f_61_6b;

/// Where the sender is, seen from the box.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    Inside,
    Outside,
}

/// One direction of one connection.
pub struct Stream {
    pub name: String,
    pub sender: Side,
    received: Arc<AtomicU64>,
    stall_ms: Arc<AtomicU64>,
    sending: JoinHandle<Result<Hash>>,
    receiving: JoinHandle<Result<(Hash, Duration)>>,
    bytes: u64,
}

impl Stream {
    /// Bytes that have come so far.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Acquire)
    }

    /// The longest time for which nothing came.
    pub fn longest_stall(&self) -> Duration {
        Duration::from_millis(self.stall_ms.load(Ordering::Acquire))
    }

    /// Waits for its end. How long it took; an error when it broke, stood still or was falsified.
    pub fn finish(self) -> Result<Duration> {
        let panicked = |_| anyhow!("a thread panicked");
        let received = self.receiving.join().map_err(panicked)?;
        let sent = self.sending.join().map_err(panicked)?.context("sender")?;
        let at = self.received.load(Ordering::Acquire);
        let (hash, took) = received.with_context(|| format!("receiver, after {at} bytes"))?;
        ensure!(at == self.bytes, "{at} of {} bytes", self.bytes);
        ensure!(hash == sent, "the bytes are not those that were sent");
        Ok(took)
    }

    fn start(
        from: &TcpStream,
        to: &TcpStream,
        name: String,
        sender: Side,
        bytes: u64,
        seed: u64,
    ) -> Result<Stream> {
        let (from, to) = (from.try_clone()?, to.try_clone()?);
        from.set_write_timeout(Some(PATIENCE))?;
        to.set_read_timeout(Some(PATIENCE))?;
        let received = Arc::new(AtomicU64::new(0));
        let stall_ms = Arc::new(AtomicU64::new(0));
        let (count, stall) = (Arc::clone(&received), Arc::clone(&stall_ms));
        let began = Instant::now();
        Ok(Stream {
            name,
            sender,
            received,
            stall_ms,
            sending: thread::spawn(move || send(from, bytes, seed)),
            receiving: thread::spawn(move || {
                let hash = receive(to, &count, &stall)?;
                Ok((hash, began.elapsed()))
            }),
            bytes,
        })
    }
}

/// All streams of a scenario. They begin when all connections are there: a lost SYN costs a second.
pub fn start_all(lab: &Lab, bytes: u64) -> Result<Vec<Stream>> {
    let (server, client) = (&lab.topology.servers[0], &lab.topology.clients[0]);
    let mut connections = Vec::new();
    for [server_address, client_address] in Lab::addresses() {
        let family = if server_address.is_ipv4() {
            "IPv4"
        } else {
            "IPv6"
        };
        let (inner, outer) = connect(server, server_address, client)?;
        connections.push((
            format!("{family} both ways"),
            inner,
            outer,
            &[Side::Inside, Side::Outside][..],
        ));
        let (inner, outer) = connect(server, server_address, client)?;
        connections.push((format!("{family} one way"), inner, outer, &[Side::Inside]));
        let (outer, inner) = connect(client, client_address, server)?;
        connections.push((format!("{family} one way"), inner, outer, &[Side::Outside]));
    }
    let mut streams = Vec::new();
    for (name, inner, outer, senders) in &connections {
        for &sender in *senders {
            let (from, to) = match sender {
                Side::Inside => (inner, outer),
                Side::Outside => (outer, inner),
            };
            let (name, seed) = (format!("{name}, sender {sender:?}"), streams.len() as u64);
            streams.push(Stream::start(from, to, name, sender, bytes, seed)?);
        }
    }
    Ok(streams)
}

/// A connection: its end at the listener, its end at the dialler.
fn connect(at: &Namespace, address: IpAddr, from: &Namespace) -> Result<(TcpStream, TcpStream)> {
    let listener = at.inside(|| Ok(TcpListener::bind((address, 0))?))?;
    let to = listener.local_addr()?;
    let dialler = from.inside(|| Ok(TcpStream::connect(to)?))?;
    Ok((listener.accept()?.0, dialler))
}

fn send(mut stream: TcpStream, bytes: u64, seed: u64) -> Result<Hash> {
    let mut random = Rng::new(seed, CONTENT);
    let mut hash = Sha256::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut left = bytes;
    while left > 0 {
        for word in chunk.chunks_exact_mut(8) {
            word.copy_from_slice(&random.bits().to_le_bytes());
        }
        let piece = &chunk[..left.min(CHUNK_BYTES as u64) as usize];
        hash.update(piece);
        stream.write_all(piece)?;
        left -= piece.len() as u64;
    }
    stream.shutdown(Shutdown::Write)?;
    Ok(hash.finalize().into())
}

fn receive(mut stream: TcpStream, count: &AtomicU64, stall_ms: &AtomicU64) -> Result<Hash> {
    let mut hash = Sha256::new();
    let mut last = Instant::now();
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(hash.finalize().into()),
            Ok(got) => {
                hash.update(&buffer[..got]);
                stall_ms.fetch_max(last.elapsed().as_millis() as u64, Ordering::AcqRel);
                last = Instant::now();
                count.fetch_add(got as u64, Ordering::Release);
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e.into()),
        }
    }
}
