//! A connection between two boxes: messages of any length over TCP, which only those who have the key can read or write
//! (the Noise protocol, NNpsk0).

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use snow::{Builder, HandshakeState, TransportState};

use super::key::Key;

const NOISE: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// The longest message of Noise, and what is left in it for what is said.
const FRAME_MAX_BYTES: usize = 65_535;
const TAG_BYTES: usize = 16;
const PART_MAX_BYTES: usize = FRAME_MAX_BYTES - TAG_BYTES - 1;
/// The longest message of ours: some tens of thousands of connections.
const MESSAGE_MAX_BYTES: usize = 32 << 20;
/// How long the other side may take for a step of the handshake, and for what it says later: it speaks ten times a second.
const HANDSHAKE_PATIENCE: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two looks whether this box is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Whether a frame ends a message.
const MORE: u8 = 1;
const LAST: u8 = 0;

/// One end.
pub(super) struct Link {
    wire: Frames,
    noise: TransportState,
    frame: Vec<u8>,
    part: Vec<u8>,
}

fn broken(e: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, e.to_string())
}

/// What goes wrong where the other side has another key, or none.
fn stranger(_: snow::Error) -> io::Error {
    broken("it does not have the same key")
}

impl Link {
    /// The end that has connected.
    pub(super) fn begin(stream: TcpStream, key: &Key, stop: &Arc<AtomicBool>) -> io::Result<Link> {
        let (mut wire, mut noise) = prepare(stream, key, stop, true)?;
        write_step(&mut wire, &mut noise)?;
        read_step(&mut wire, &mut noise)?;
        Link::new(wire, noise)
    }

    /// The end that was connected to.
    pub(super) fn answer(stream: TcpStream, key: &Key, stop: &Arc<AtomicBool>) -> io::Result<Link> {
        let (mut wire, mut noise) = prepare(stream, key, stop, false)?;
        read_step(&mut wire, &mut noise)?;
        write_step(&mut wire, &mut noise)?;
        Link::new(wire, noise)
    }

    /// The other side has said what it is: it may take its time from here on.
    pub(super) fn trust(&mut self) {
        self.wire.patience = PATIENCE;
    }

    fn new(wire: Frames, noise: HandshakeState) -> io::Result<Link> {
        Ok(Link {
            wire,
            noise: noise.into_transport_mode().map_err(broken)?,
            frame: vec![0; FRAME_MAX_BYTES],
            part: Vec::with_capacity(FRAME_MAX_BYTES),
        })
    }

    /// Says something.
    pub(super) fn send<T: Serialize>(&mut self, what: &T) -> io::Result<()> {
        let bytes = postcard::to_allocvec(what).map_err(broken)?;
        let mut parts = bytes.chunks(PART_MAX_BYTES).peekable();
        while let Some(part) = parts.next() {
            self.part.clear();
            self.part
                .push(if parts.peek().is_some() { MORE } else { LAST });
            self.part.extend_from_slice(part);
            let len = self.noise.write_message(&self.part, &mut self.frame);
            let len = len.map_err(broken)?;
            self.wire.write_frame(&self.frame[..len])?;
        }
        Ok(())
    }

    /// What the other side says next.
    pub(super) fn receive<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        let mut message = Vec::new();
        loop {
            let len = self.wire.read_frame(&mut self.frame)?;
            self.part.resize(FRAME_MAX_BYTES, 0);
            let read = self.noise.read_message(&self.frame[..len], &mut self.part);
            let len = read.map_err(stranger)?;
            let (mark, said) = self.part[..len]
                .split_first()
                .ok_or_else(|| broken("an empty frame"))?;
            message.extend_from_slice(said);
            if message.len() > MESSAGE_MAX_BYTES {
                return Err(broken("it says more at once than windlass does"));
            }
            if *mark == LAST {
                return postcard::from_bytes(&message).map_err(broken);
            }
        }
    }
}

fn prepare(
    stream: TcpStream,
    key: &Key,
    stop: &Arc<AtomicBool>,
    begins: bool,
) -> io::Result<(Frames, HandshakeState)> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LOOK))?;
    stream.set_write_timeout(Some(HANDSHAKE_PATIENCE))?;
    let wire = Frames {
        stream,
        stop: Arc::clone(stop),
        patience: HANDSHAKE_PATIENCE,
    };
    let pattern = NOISE.parse().map_err(broken)?;
    let builder = Builder::new(pattern).psk(0, &key.0).map_err(broken)?;
    let noise = match begins {
        true => builder.build_initiator(),
        false => builder.build_responder(),
    };
    Ok((wire, noise.map_err(broken)?))
}

fn write_step(wire: &mut Frames, noise: &mut HandshakeState) -> io::Result<()> {
    let mut frame = [0; 256];
    let len = noise.write_message(&[], &mut frame).map_err(broken)?;
    wire.write_frame(&frame[..len])
}

fn read_step(wire: &mut Frames, noise: &mut HandshakeState) -> io::Result<()> {
    let mut frame = [0; 256];
    let len = wire.read_frame(&mut frame)?;
    let read = noise.read_message(&frame[..len], &mut [0; 256]);
    read.map(drop).map_err(stranger)
}

/// Frames over TCP, each within the time that the other side may take.
struct Frames {
    stream: TcpStream,
    stop: Arc<AtomicBool>,
    patience: Duration,
}

impl Frames {
    fn write_frame(&mut self, frame: &[u8]) -> io::Result<()> {
        let len = u16::try_from(frame.len()).map_err(broken)?;
        self.stream.write_all(&len.to_be_bytes())?;
        self.stream.write_all(frame)
    }

    /// How long it is. From the first byte that is waited for to the last, no more than the patience passes.
    fn read_frame(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let end = Instant::now() + self.patience;
        let mut len = [0; 2];
        self.read_until(end, &mut len)?;
        let len = usize::from(u16::from_be_bytes(len));
        let frame = into
            .get_mut(..len)
            .ok_or_else(|| broken("a frame that is too long"))?;
        self.read_until(end, frame)?;
        Ok(len)
    }

    fn read_until(&mut self, end: Instant, mut into: &mut [u8]) -> io::Result<()> {
        use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
        while !into.is_empty() {
            if self.stop.load(Ordering::Acquire) {
                return Err(io::Error::other("this box stops"));
            }
            if Instant::now() >= end {
                return Err(io::Error::new(
                    TimedOut,
                    "it takes too long to say something",
                ));
            }
            match self.stream.read(into) {
                Ok(0) => return Err(io::Error::other("it has ended the connection")),
                Ok(count) => into = &mut into[count..],
                Err(e) if matches!(e.kind(), Interrupted | TimedOut | WouldBlock) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}
