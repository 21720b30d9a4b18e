//! A connection of which one end is the kernel's and the other ours, with the engine between them.

use std::net::TcpStream;

use windlass_engine::{
    AlgorithmId, Decide, Engine, Limits, Mode, Nanos, PassReason, Side, Tx, Verdict,
};
use windlass_io::monotonic_ns;
use windlass_sim::HeapPool;
use windlass_wire::{Flags, FlowKey, FrameSpec, OptionWriter, Segment, Timestamps, parse};

use super::bench::{Bench, PEER_MAC};
use super::drops::Dropped;

/// What is the same for the whole of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    pub timestamps: bool,
    /// Window scale (RFC 7323 §2), offered by us; the kernel offers one as well then.
    pub scale: Option<u8>,
    pub sack: bool,
    /// The kernel opens it.
    pub active: bool,
    /// Our initial sequence number, and the kernel's if it opens.
    pub numbers: (u32, Option<u32>),
    /// The window that we say we have, unscaled.
    pub window: u16,
    /// Bytes that the kernel has sent us, and that we have acknowledged.
    pub history: usize,
    /// The kernel's program has not read what we have sent it.
    pub unread: bool,
    /// The engine governs our direction too.
    pub both: bool,
}

/// What the kernel has said.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said {
    pub iss: u32,
    /// After all that it has sent.
    pub nxt: u32,
    /// Its newest ACK number.
    pub ack: u32,
    /// The furthest right edge that it has shown.
    pub edge: u32,
    pub scale: u8,
    pub tsval: u32,
    heard_ack: bool,
}

/// What came of one of our segments.
pub struct Outcome {
    /// Its length, bytes.
    pub payload: u32,
    /// What the kernel threw away meanwhile.
    pub drops: Vec<Dropped>,
    /// What it has said since.
    pub replies: Vec<Segment>,
    /// The engine let the segment mean something.
    pub believed: bool,
}

pub struct Conn {
    pub profile: Profile,
    /// From us to the kernel.
    pub key: FlowKey,
    pub iss: u32,
    /// The number that the kernel expects next.
    pub seq: u32,
    /// Up to here we have acknowledged what the kernel has sent.
    pub una: u32,
    pub kernel: Said,
    /// The TSval of ours that the kernel remembers (RFC 7323 §4.3, TS.Recent).
    pub ts_recent: u32,
    pub stream: Option<TcpStream>,
    /// To the kernel's MAC address.
    mac: [u8; 6],
    engine: Engine,
    pool: HeapPool,
    out: Vec<Tx>,
}

/// Both directions are governed.
struct Both(Verdict);

impl Decide for Both {
    fn classify(&self, _flow: &FlowKey, _sender: Side, _now: Nanos) -> Option<Verdict> {
        Some(self.0)
    }
}

/// Segments that the engine did not let mean anything.
fn refused(engine: &Engine) -> u64 {
    let counters = engine.counters();
    let passed = |reason: PassReason| counters.passed[reason as usize];
    counters.refused() + passed(PassReason::Malformed) + passed(PassReason::OneWay)
}

impl Conn {
    pub fn new(bench: &mut Bench, profile: Profile, key: FlowKey) -> Conn {
        let verdict = Verdict {
            mode: Mode::Observe,
            ..Verdict::enforce(AlgorithmId::Cubic)
        };
        let policy: Box<dyn Decide> = if profile.both {
            Box::new(Both(verdict))
        } else {
            Box::new(verdict)
        };
        let mut engine = Engine::new(policy, Limits::default(), monotonic_ns(), 7);
        // As from a wire: one of 65,536 damaged segments looks as if its checksum were partial.
        engine.set_partial_checksums(Side::Outside, false);
        Conn {
            profile,
            key,
            iss: profile.numbers.0,
            seq: profile.numbers.0,
            una: 0,
            kernel: Said::default(),
            ts_recent: bench.random.number(),
            stream: None,
            mac: bench.mac,
            engine,
            pool: HeapPool::new(),
            out: Vec::new(),
        }
    }

    /// Sends a segment past the engine to the kernel.
    pub fn send(&mut self, bench: &mut Bench, frame: &[u8]) -> Outcome {
        self.drain(bench);
        let before = refused(&self.engine);
        self.feed(Side::Outside, frame);
        let believed = refused(&self.engine) == before;
        let drops = bench.give(frame);
        let replies = self.drain(bench);
        let sent = parse(frame, frame.len() as u32);
        Outcome {
            payload: sent.map_or(0, |segment| segment.payload_len),
            drops,
            replies,
            believed,
        }
    }

    /// Takes what the kernel has sent, past the engine.
    pub fn drain(&mut self, bench: &mut Bench) -> Vec<Segment> {
        let mut buffer = [0; 1 << 16];
        let mut replies = Vec::new();
        while let Some(len) = bench.take(&mut buffer) {
            let frame = &buffer[..len];
            let Ok(segment) = parse(frame, len as u32) else {
                continue;
            };
            if segment.key == self.key.reversed() {
                self.feed(Side::Inside, frame);
                self.hear(&segment);
                replies.push(segment);
            }
        }
        replies
    }

    fn feed(&mut self, from: Side, frame: &[u8]) {
        let now = monotonic_ns();
        let (engine, pool, out) = (&mut self.engine, &mut self.pool, &mut self.out);
        if engine.poll_at().is_some_and(|at| at <= now) {
            engine.on_timer(now, pool, out);
        }
        let pkt = pool.insert(frame).expect("no limit");
        engine.on_packet(now, from, pkt, pool, out);
        for tx in out.drain(..) {
            windlass_engine::Pool::free(pool, tx.pkt);
        }
    }

    fn hear(&mut self, segment: &Segment) {
        if segment.flags.has(Flags::RST) {
            return;
        }
        let end = segment.seq.wrapping_add(segment.seq_len());
        let syn = segment.flags.has(Flags::SYN);
        if syn {
            self.kernel.iss = segment.seq;
            self.kernel.nxt = end;
            // In force only if both offer it.
            let scale = segment
                .options
                .window_scale
                .filter(|_| self.profile.scale.is_some());
            self.kernel.scale = scale.unwrap_or(0);
            self.una = segment.seq;
        }
        if later(end, self.kernel.nxt) {
            self.kernel.nxt = end;
        }
        if let Some(stamps) = segment.options.timestamps {
            self.kernel.tsval = stamps.val;
        }
        if segment.flags.has(Flags::ACK) {
            let scale = if syn { 0 } else { self.kernel.scale };
            let edge = segment.ack.wrapping_add(u32::from(segment.window) << scale);
            if !self.kernel.heard_ack || later(edge, self.kernel.edge) {
                self.kernel.edge = edge;
            }
            self.kernel.ack = segment.ack;
            self.kernel.heard_ack = true;
        }
    }

    /// The furthest that we have ever said we could take, bytes.
    pub fn max_window(&self) -> u32 {
        u32::from(self.profile.window) << self.profile.scale.unwrap_or(0)
    }

    /// A segment from us with these numbers, to be changed.
    pub fn segment(&self, seq: u32, ack: u32, flags: Flags, len: usize) -> FrameSpec {
        FrameSpec {
            key: self.key,
            seq,
            ack: if flags.has(Flags::ACK) { ack } else { 0 },
            flags,
            window: self.profile.window,
            payload: (0..len).map(|i| i as u8).collect(),
            src_mac: PEER_MAC,
            dst_mac: self.mac,
            ..FrameSpec::default()
        }
    }

    /// The timestamps option where it is agreed, behind two NOPs.
    pub fn stamp(&self, val: u32) -> OptionWriter {
        let ecr = self.kernel.tsval;
        if self.profile.timestamps {
            OptionWriter::new()
                .nop()
                .nop()
                .timestamps(Timestamps { val, ecr })
        } else {
            OptionWriter::new()
        }
    }
}

/// Whether number `a` is after `b` (RFC 9293 §3.4).
pub fn later(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}
