//! What must hold for any sequence of packets whatever. Shared by the tests and the fuzzer.

mod traffic;

use std::collections::{BTreeMap, BTreeSet};

use windlass_engine::{
    AlgorithmId, Decide, Engine, Limits, Mode, PassReason, Redundancy, Side, Tx, TxChecksum,
    Verdict,
};
use windlass_sim::HeapPool;
use windlass_wire::{ChecksumState, Flags, FlowKey, Segment, parse, verify_ip, verify_tcp};

use crate::rules::{check_memory, check_nothing_left};

const FLOWS: usize = 3;
/// Timer calls in one step at most; what is left is done in the next.
const TIMER_CALLS: usize = 300;
const STEPS: usize = 600;
/// Window scale of both ends.
const SCALE: u8 = 7;

/// The bytes that drive a run; zeros when they are used up.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn word(&mut self) -> u32 {
        u32::from(self.byte()) << 8 | u32::from(self.byte())
    }

    fn long(&mut self) -> u32 {
        self.word() << 16 | self.word()
    }
}

/// Both directions, or the server's alone.
struct Policy(Verdict, bool);

impl Decide for Policy {
    fn classify(&self, _flow: &FlowKey, sender: Side, _: u64) -> Option<Verdict> {
        (self.1 || sender == Side::Inside).then_some(self.0)
    }
}

/// Two ends as far as sane packets need them. Offsets count from the initial numbers.
#[derive(Clone, Copy, Default)]
struct Ends {
    /// Next offset of server and client.
    next: [u32; 2],
    /// Highest offset acknowledged, by who acknowledges.
    acked: [u32; 2],
    /// Whether they leave checksums partial, once they have sent something.
    partial: [Option<bool>; 2],
}

/// What has come out toward the server of the first flow.
#[derive(Clone, Copy, Default)]
struct Shown {
    ack: u32,
    edge: u64,
    /// Number of the packet that has told the window last (SND.WL1).
    window_seq: u32,
}

struct World {
    engine: Engine,
    pool: HeapPool,
    now: u64,
    txs: Vec<Tx>,
    ends: [Ends; FLOWS],
    /// ACK numbers said, by connection and side.
    said: BTreeMap<(FlowKey, usize), BTreeSet<u32>>,
    /// Data put in, by connection: number, flags that take up a number, payload.
    data: BTreeSet<(FlowKey, u32, u16, Vec<u8>)>,
    shown: Shown,
    /// The first flow has been governed all the time, in one direction, by packets that make sense.
    sane: bool,
}

/// Drives an engine with what `data` says.
///
/// # Panics
/// When something does not hold.
pub fn check(data: &[u8]) {
    let mut input = Input(data);
    let mut world = World::new(&mut input);
    // The first flow makes sense, so it begins with its SYN.
    world.handshake(0, input.byte());
    for _ in 0..STEPS {
        if input.0.is_empty() {
            break;
        }
        world.step(&mut input);
        check_memory(&world.engine, world.pool.live());
    }
    let reason = PassReason::Bypass;
    world
        .engine
        .release(world.now, reason, &mut world.pool, &mut world.txs);
    world.collect();
    check_nothing_left(&world.engine, &world.pool);
}

fn key(flow: usize, from: Side) -> FlowKey {
    let key = FlowKey {
        src: std::net::Ipv4Addr::new(192, 0, 2, 1).into(),
        dst: std::net::Ipv4Addr::new(198, 51, 100, 2).into(),
        src_port: 443,
        dst_port: 40_000 + flow as u16,
        vlan: flow as u16,
        ..FlowKey::default()
    };
    match from {
        Side::Inside => key,
        Side::Outside => key.reversed(),
    }
}

/// The second flow's numbers wrap soon.
fn isn(flow: usize, side: Side) -> u32 {
    [
        [1_000, 3_000_000_000],
        [u32::MAX - 5_000, u32::MAX - 90],
        [0, 1 << 31],
    ][flow][side.index()]
}

impl World {
    fn new(input: &mut Input) -> World {
        let setup = input.byte();
        let algorithms = AlgorithmId::ALL;
        let redundancy = [
            Redundancy::OFF,
            Redundancy::REPAIRS,
            Redundancy::EARLY,
            Redundancy::OFF,
        ];
        let verdict = Verdict {
            mode: [Mode::Enforce, Mode::Enforce, Mode::Observe, Mode::Enforce]
                [usize::from(setup & 3)],
            redundancy: redundancy[usize::from(setup >> 2 & 3)],
            headroom: setup & 16 == 0,
            insert_sack: setup & 32 == 0,
            ..Verdict::enforce(algorithms[usize::from(input.byte()) % algorithms.len()])
        };
        let mut limits = Limits::default();
        if setup & 128 != 0 {
            limits.held_bytes_total = 20_000;
            limits.held_bytes_per_flow = 12_000;
            limits.segments_per_flow = 24;
            limits.sack_ranges_per_flow = 3;
            limits.flows = 2;
        }
        let policy = Policy(verdict, setup & 64 != 0);
        World {
            engine: Engine::new(Box::new(policy), limits, 0, 1),
            pool: HeapPool::new(),
            now: 1_000_000,
            txs: Vec::new(),
            ends: [Ends {
                next: [1, 1],
                acked: [1, 1],
                partial: [None, None],
            }; FLOWS],
            said: BTreeMap::new(),
            data: BTreeSet::new(),
            shown: Shown::default(),
            sane: verdict.mode == Mode::Enforce,
        }
    }

    fn step(&mut self, input: &mut Input) {
        let what = input.byte();
        let flow = usize::from(what >> 4) % FLOWS;
        match what & 15 {
            0 => self.handshake(flow.max(1), input.byte()),
            1..=3 => self.send(flow, Side::Inside, input),
            4 => self.send(flow, Side::Outside, input),
            5..=8 => self.acknowledge(flow, Side::Outside, input),
            9 => self.acknowledge(flow, Side::Inside, input),
            10 => self.resend(flow, input),
            11 | 12 => self.wait(input.byte()),
            13 => self.anything(flow.max(1), input),
            14 => self.garbage(input),
            _ => self.bypass(input.byte()),
        }
    }

    fn put(&mut self, from: Side, frame: Vec<u8>) {
        let parsed = parse(&frame, frame.len() as u32);
        if let Ok(segment) = &parsed {
            self.hear(from, segment, &frame);
        }
        let pkt = self.pool.insert(&frame).expect("no limit");
        self.engine
            .on_packet(self.now, from, pkt, &mut self.pool, &mut self.txs);
        if parsed.is_err() {
            assert_eq!(self.txs.len(), 1, "one frame in, one frame out");
            assert_eq!(
                self.pool.bytes(self.txs[0].pkt),
                frame,
                "not understood means untouched"
            );
        }
        self.collect();
    }

    fn hear(&mut self, from: Side, segment: &Segment, frame: &[u8]) {
        let name = segment.key.canonical().0;
        if segment.flags.has(Flags::ACK) {
            let said = self.said.entry((name, from.index())).or_default();
            said.insert(segment.ack);
        }
        if segment.flags.has(Flags::SYN) {
            // A sender that has been answered knows that its SYN has arrived.
            let said = self.said.entry((name, from.other().index())).or_default();
            said.insert(segment.seq.wrapping_add(1));
        }
        self.data.insert(told(segment, frame));
    }

    fn collect(&mut self) {
        for tx in std::mem::take(&mut self.txs) {
            let frame = self.pool.take(tx.pkt);
            if let Ok(segment) = parse(&frame, frame.len() as u32) {
                // What nobody completes is whole, or damaged: its receiver drops it then.
                let done = tx.checksum == TxChecksum::Done;
                let dropped = done && !is_right(&frame, &segment);
                self.check_out(tx.to, &segment, &frame, dropped);
            }
        }
    }

    fn check_out(&mut self, to: Side, segment: &Segment, frame: &[u8], dropped: bool) {
        let name = segment.key.canonical().0;
        let made = segment.seq_len() == 0 && segment.flags == Flags::ACK;
        assert!(
            made || self.data.contains(&told(segment, frame)),
            "number, flags or payload changed: {segment:?}"
        );
        if made {
            assert!(verify_tcp(frame, segment) || self.data.contains(&told(segment, frame)));
        }
        if segment.flags.has(Flags::ACK) {
            let said = self.said.get(&(name, to.other().index()));
            assert!(
                said.is_some_and(|s| s.contains(&segment.ack)),
                "ACK {} was never said: {segment:?}",
                segment.ack
            );
        }
        let shows = self.sane && !dropped;
        if to == Side::Inside && shows && segment.key == key(0, Side::Outside) {
            self.check_edge(segment);
        }
    }

    /// The client's window is always the same, so an edge that moves left is the box's doing.
    fn check_edge(&mut self, segment: &Segment) {
        let ack = segment.ack.wrapping_sub(isn(0, Side::Inside));
        if segment.flags.has(Flags::SYN) || ack < self.shown.ack {
            return;
        }
        // Of two that acknowledge the same, an older one tells no window (RFC 9293 §3.10.7.4).
        let age = self.shown.window_seq.wrapping_sub(segment.seq) as i32;
        if ack == self.shown.ack && self.shown.edge > 0 && age > 0 {
            return;
        }
        let edge = u64::from(ack) + (u64::from(segment.window) << SCALE);
        // A flow that passes shows the receiver's own edge, which may have been rounded up before.
        let edge_before = self.shown.edge.saturating_sub(1 << SCALE);
        assert!(edge >= edge_before, "edge {edge} after {}", self.shown.edge);
        (self.shown.ack, self.shown.window_seq) = (ack, segment.seq);
        self.shown.edge = self.shown.edge.max(edge);
    }
}

fn is_right(frame: &[u8], segment: &Segment) -> bool {
    let on_wire = Segment {
        checksum: ChecksumState::Full,
        ..*segment
    };
    verify_ip(frame, &on_wire) && verify_tcp(frame, &on_wire)
}

/// What a box may not change: number, SYN, FIN and RST, payload.
fn told(segment: &Segment, frame: &[u8]) -> (FlowKey, u32, u16, Vec<u8>) {
    let flags = segment.flags.0 & (Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0);
    let at = usize::from(segment.at.payload);
    let payload = frame[at..].iter().take(segment.payload_len as usize);
    (segment.key, segment.seq, flags, payload.copied().collect())
}
