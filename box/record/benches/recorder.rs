//! What the flight recorder costs a packet: the engine with it and without, in turns.
//!
//! `cargo bench -p windlass-record [-- on|off]`. With `on` or `off` only one of both runs, for valgrind:
//! `valgrind --tool=callgrind --toggle-collect='*Load*batch*' target/release/deps/recorder-… on`, and divide by the packets that
//! it prints. Packets are made and freed outside the clock.
#![allow(clippy::disallowed_methods)]

use std::time::Instant;

use windlass_engine::{AlgorithmId, Engine, Limits, Nanos, Pkt, Pool, Side, Tx, Verdict};
use windlass_record::Tape;
use windlass_sim::HeapPool;
use windlass_wire::{Addr, Flags, FlowKey, FrameSpec, OptionWriter, Timestamps};

/// As a worker takes them.
const BATCH: usize = 64;
const FLOWS: usize = 64;
const MSS: u32 = 1448;
const RTT: Nanos = 20_000_000;
const MINUTE: Nanos = 60_000_000_000;
/// More than a processor's cache holds.
const MEMORY_BYTES: usize = 64 << 20;
const WARM_UP: usize = 2_000;
const ROUNDS: usize = 200;
/// Batches of each kind in a round.
const BATCHES: usize = 50;

struct Load {
    engine: Engine,
    pool: HeapPool,
    out: Vec<Tx>,
    now: Nanos,
    sent: [u32; FLOWS],
    tape: Option<Tape>,
}

fn key(flow: usize) -> FlowKey {
    FlowKey {
        src: Addr(0xffff_0a00_0001),
        dst: Addr(0xffff_c0a8_0001),
        src_port: 443,
        dst_port: 1024 + flow as u16,
        ..FlowKey::default()
    }
}

fn frame(
    flow: usize,
    from: Side,
    seq: u32,
    ack: u32,
    flags: Flags,
    now: Nanos,
    len: u32,
) -> Vec<u8> {
    let ms = (now / 1_000_000) as u32 + 1;
    let stamps = Timestamps { val: ms, ecr: ms };
    let options = match flags.has(Flags::SYN) {
        true => OptionWriter::new()
            .mss(1460)
            .sack_permitted()
            .timestamps(stamps)
            .nop()
            .window_scale(7),
        false => OptionWriter::new().nop().nop().timestamps(stamps),
    };
    FrameSpec {
        key: match from {
            Side::Inside => key(flow),
            Side::Outside => key(flow).reversed(),
        },
        seq,
        ack,
        flags,
        window: 60_000,
        options: options.into(),
        payload: vec![0x5a; len as usize],
        ..FrameSpec::default()
    }
    .build()
}

impl Load {
    fn new(records: bool) -> Load {
        let verdict = Verdict::enforce("bbr".parse::<AlgorithmId>().expect("an algorithm"));
        let mut engine = Engine::new(Box::new(verdict), Limits::default(), 0, 1);
        for side in [Side::Inside, Side::Outside] {
            engine.set_partial_checksums(side, false);
        }
        if records {
            engine.tell_decisions(BATCH);
        }
        let mut load = Load {
            engine,
            pool: HeapPool::new(),
            out: Vec::new(),
            now: 1_000_000_000,
            sent: [1; FLOWS],
            tape: records.then(|| Tape::new(MEMORY_BYTES, MINUTE, BATCH)),
        };
        let syn = |flow, from, ack, flags| frame(flow, from, 0, ack, flags, 0, 0);
        for flow in 0..FLOWS {
            let both = Flags::SYN.with(Flags::ACK);
            load.take(Side::Outside, &[syn(flow, Side::Outside, 0, Flags::SYN)]);
            load.take(Side::Inside, &[syn(flow, Side::Inside, 1, both)]);
            let ack = frame(flow, Side::Outside, 1, 1, Flags::ACK, load.now, 0);
            load.take(Side::Outside, &[ack]);
        }
        load
    }

    /// What a worker does with a batch of one side.
    #[inline(never)]
    fn batch(&mut self, side: Side, pkts: &[Pkt]) {
        if let Some(tape) = &mut self.tape {
            tape.take(&self.pool, pkts, self.now);
        }
        self.engine
            .on_packets(self.now, side, pkts, &mut self.pool, &mut self.out);
        if let Some(tape) = &mut self.tape {
            tape.came(side, self.engine.decisions(), self.now);
        }
        self.engine
            .on_timer(self.now, &mut self.pool, &mut self.out);
        if let Some(tape) = &mut self.tape {
            tape.leave(&self.pool, &self.out, self.now);
        }
    }

    /// ns.
    fn take(&mut self, side: Side, frames: &[Vec<u8>]) -> u64 {
        let pkts: Vec<Pkt> = frames
            .iter()
            .map(|f| self.pool.insert(f).expect("no limit"))
            .collect();
        let began = Instant::now();
        self.batch(side, &pkts);
        let took = began.elapsed().as_nanos() as u64;
        for tx in self.out.drain(..) {
            self.pool.free(tx.pkt);
        }
        took
    }

    /// So many batches of data and, a round trip later, of acknowledgements: ns a packet.
    fn round(&mut self, batches: usize) -> f64 {
        let mut took = 0;
        for _ in 0..batches {
            let data: Vec<_> = (0..BATCH)
                .map(|i| i % FLOWS)
                .map(|flow| {
                    let seq = self.sent[flow];
                    self.sent[flow] = seq.wrapping_add(MSS);
                    frame(flow, Side::Inside, seq, 1, Flags::ACK, self.now, MSS)
                })
                .collect();
            took += self.take(Side::Inside, &data);
            self.now += RTT;
            let acks: Vec<_> = (0..BATCH)
                .map(|i| {
                    frame(
                        i % FLOWS,
                        Side::Outside,
                        1,
                        self.sent[i % FLOWS],
                        Flags::ACK,
                        self.now,
                        0,
                    )
                })
                .collect();
            took += self.take(Side::Outside, &acks);
            self.now += 1_000_000;
        }
        took as f64 / (2 * BATCH * batches) as f64
    }
}

/// Median, and the middle half.
fn spread(mut all: Vec<f64>) -> (f64, f64, f64) {
    all.sort_by(f64::total_cmp);
    let at = |quarters: usize| all[(all.len() - 1) * quarters / 4];
    (at(2), at(1), at(3))
}

fn main() {
    let one = std::env::args()
        .skip(1)
        .find(|arg| arg == "on" || arg == "off");
    if let Some(which) = one {
        let mut load = Load::new(which == "on");
        load.round(BATCHES);
        println!("{which}: {} packets", 3 * FLOWS + 2 * BATCH * BATCHES);
        return;
    }
    let mut loads = [false, true].map(Load::new);
    let mut measured = [Vec::new(), Vec::new()];
    for load in &mut loads {
        load.round(WARM_UP);
    }
    for _ in 0..ROUNDS {
        for (load, measured) in loads.iter_mut().zip(&mut measured) {
            measured.push(load.round(BATCHES));
        }
    }
    let pairs = measured[0].iter().zip(&measured[1]);
    let more = spread(pairs.map(|(off, on)| on - off).collect());
    let [off, on] = measured.map(spread);
    println!("ns a packet, median (middle half) of {ROUNDS} rounds in turns");
    for (name, (median, low, high)) in [("off", off), ("on", on), ("on - off", more)] {
        println!("{name:9} {median:7.1} ({low:.1} to {high:.1})");
    }
    if let Some(tape) = &loads[1].tape {
        println!("{:?}", tape.stats());
    }
}
