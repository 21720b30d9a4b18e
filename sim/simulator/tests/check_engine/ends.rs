//! Two ends that say what they are told, around an engine.

use windlass_engine::{
    AlgorithmId, Decide, Engine, Limits, Nanos, Redundancy, Side, Tx, TxChecksum, Verdict,
};
use windlass_sim::HeapPool;
use windlass_wire::{
    Flags, FlowKey, FrameSpec, OptionWriter, Segment, Timestamps, complete_checksum, parse,
};

pub const MS: Nanos = 1_000_000;
pub const SECOND: Nanos = 1_000_000_000;
pub const SERVER_ISS: u32 = 1_000_000;
pub const CLIENT_ISS: u32 = 2_000_000;
/// Bytes of a segment.
pub const MSS: u32 = 1448;

/// An engine, its memory, the time, and what has come out.
pub struct Bench {
    pub engine: Engine,
    pub pool: HeapPool,
    pub now: Nanos,
    txs: Vec<Tx>,
    pub timer_calls: u64,
    /// Sequence number, ACK number and window of what came out, by side.
    pub out: Vec<(Side, Vec<u8>, TxChecksum)>,
    pub key: FlowKey,
    /// Whether frames go in with partial checksums.
    pub partial: bool,
    pub sack: bool,
    pub scale: u8,
}

pub fn bbr() -> Verdict {
    Verdict::enforce("bbr".parse::<AlgorithmId>().expect("an algorithm"))
}

pub fn early() -> Verdict {
    Verdict {
        redundancy: Redundancy::EARLY,
        ..bbr()
    }
}

impl Bench {
    pub fn new(policy: impl Decide + 'static) -> Bench {
        Bench::with_limits(policy, Limits::default())
    }

    pub fn with_limits(policy: impl Decide + 'static, limits: Limits) -> Bench {
        Bench {
            engine: Engine::new(Box::new(policy), limits, 0, 1),
            pool: HeapPool::new(),
            now: 0,
            txs: Vec::new(),
            timer_calls: 0,
            out: Vec::new(),
            key: FlowKey {
                src: std::net::Ipv4Addr::new(192, 0, 2, 1).into(),
                dst: std::net::Ipv4Addr::new(198, 51, 100, 2).into(),
                src_port: 443,
                dst_port: 40_000,
                ..FlowKey::default()
            },
            partial: false,
            sack: true,
            scale: 7,
        }
    }

    /// A frame of the server's (inside) or of the client's, with numbers that count from its
    /// initial one.
    pub fn spec(&self, from: Side, flags: Flags, seq: u32, ack: u32, len: u32) -> FrameSpec {
        let (key, own, other) = match from {
            Side::Inside => (self.key, SERVER_ISS, CLIENT_ISS),
            Side::Outside => (self.key.reversed(), CLIENT_ISS, SERVER_ISS),
        };
        let stamp = (self.now / MS) as u32 + 1;
        let stamps = OptionWriter::new()
            .nop()
            .nop()
            .timestamps(Timestamps { val: stamp, ecr: 1 });
        FrameSpec {
            key,
            seq: own.wrapping_add(seq),
            ack: other.wrapping_add(ack),
            flags,
            window: 2048,
            options: stamps.into(),
            payload: vec![0x5a; len as usize],
            ..FrameSpec::default()
        }
    }

    pub fn put(&mut self, from: Side, spec: &FrameSpec) {
        let frame = if self.partial {
            spec.build_partial()
        } else {
            spec.build()
        };
        self.put_frame(from, &frame);
    }

    pub fn put_frame(&mut self, from: Side, frame: &[u8]) {
        let pkt = self.pool.insert(frame).expect("no limit");
        self.engine
            .on_packet(self.now, from, pkt, &mut self.pool, &mut self.txs);
        self.collect();
    }

    pub fn collect(&mut self) {
        for tx in self.txs.drain(..) {
            self.out.push((tx.to, self.pool.take(tx.pkt), tx.checksum));
        }
    }

    /// Runs the timers of the next `span`.
    pub fn pass(&mut self, span: Nanos) {
        let until = self.now + span;
        while let Some(at) = self.engine.poll_at().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.timer_calls += 1;
            self.engine
                .on_timer(self.now, &mut self.pool, &mut self.txs);
            self.collect();
        }
        self.now = until;
    }

    /// What came out toward `side`, checksums completed.
    pub fn take(&mut self, side: Side) -> Vec<(Segment, Vec<u8>)> {
        let (mine, others) = std::mem::take(&mut self.out)
            .into_iter()
            .partition(|(to, ..)| *to == side);
        self.out = others;
        let finish = |(_, mut frame, checksum): (Side, Vec<u8>, TxChecksum)| {
            if let TxChecksum::Partial { start, offset } = checksum {
                complete_checksum(&mut frame, usize::from(start), usize::from(offset));
            }
            let segment = parse(&frame, frame.len() as u32).expect("a segment");
            (segment, frame)
        };
        let mine: Vec<(Side, Vec<u8>, TxChecksum)> = mine;
        mine.into_iter().map(finish).collect()
    }

    pub fn syn(&self, from: Side, flags: Flags, ack: u32) -> FrameSpec {
        let mut options = OptionWriter::new()
            .mss(MSS as u16 + 12)
            .window_scale(self.scale);
        if self.sack {
            options = options.sack_permitted().nop();
        }
        let options = options
            .nop()
            .nop()
            .timestamps(Timestamps { val: 1, ecr: 1 });
        FrameSpec {
            window: 65_535,
            options: options.into(),
            ..self.spec(from, flags, 0, ack, 0)
        }
    }

    /// SYN and SYN-ACK, and 100 ms.
    pub fn syns(&mut self) {
        self.put(Side::Outside, &self.syn(Side::Outside, Flags::SYN, 0));
        let both = Flags::SYN.with(Flags::ACK);
        self.put(Side::Inside, &self.syn(Side::Inside, both, 1));
        self.pass(100 * MS);
    }

    /// SYN, SYN-ACK and the third ACK, over 100 ms.
    pub fn handshake(&mut self) {
        self.syns();
        self.client_ack(1);
        self.out.clear();
    }

    pub fn server_data(&mut self, offset: u32, segments: u32) {
        for i in 0..segments {
            let spec = self.spec(Side::Inside, Flags::ACK, offset + i * MSS, 1, MSS);
            self.put(Side::Inside, &spec);
        }
    }

    pub fn client_ack(&mut self, ack: u32) {
        self.put(
            Side::Outside,
            &self.spec(Side::Outside, Flags::ACK, 1, ack, 0),
        );
    }
}
