//! What a packet costs in the engine: ns a data packet and an ACK with 1, 10,000 and 1,000,000
//! flows, and bytes an idle flow. Packets are made and freed outside the clock; what is timed is
//! `on_packet` and `on_timer`. `cargo bench -p windlass-sim --bench engine [-- FLOWS…]`.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::alloc::System;
use std::time::Instant;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use windlass_cc::Catalog;
use windlass_engine::{AlgorithmId, Decide, Engine, Limits, Nanos, Pkt, Pool, Side, Tx, Verdict};
use windlass_policy::{Config, Policy};
use windlass_sim::HeapPool;
use windlass_wire::{Addr, Flags, FlowKey, FrameSpec, OptionWriter, Timestamps};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn live_bytes() -> i64 {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated as i64 - stats.bytes_deallocated as i64
}

fn allocations() -> u64 {
    let stats = ALLOCATOR.stats();
    (stats.allocations + stats.reallocations) as u64
}

const BATCH: usize = 4096;
const MSS: u32 = 1448;
const RTT: Nanos = 20_000_000;

struct Bench {
    engine: Engine,
    pool: HeapPool,
    out: Vec<Tx>,
    now: Nanos,
    /// Next sequence number of each server, and the next that its client acknowledges.
    sent: Vec<u32>,
    acked: Vec<u32>,
    payload: Vec<u8>,
    /// Data comes with partial checksums, as from a virtual machine: there is nothing to verify.
    partial: bool,
    allocations: u64,
}

fn key(flow: usize) -> FlowKey {
    FlowKey {
        src: Addr(0xffff_0a00_0000 + (flow >> 15) as u128),
        dst: Addr(0xffff_c0a8_0000 + (flow & 0xff) as u128),
        src_port: 443,
        dst_port: 1024 + (flow & 0x7fff) as u16,
        ..FlowKey::default()
    }
}

fn stamps(now: Nanos) -> Vec<u8> {
    let ms = (now / 1_000_000) as u32 + 1;
    OptionWriter::new()
        .nop()
        .nop()
        .timestamps(Timestamps { val: ms, ecr: ms })
        .into()
}

impl Bench {
    fn new(flows: usize, policy: Box<dyn Decide>, partial: bool) -> Self {
        let limits = Limits {
            flows: flows + 1,
            // All servers are in one.
            flows_per_prefix: flows + 1,
            ..Limits::default()
        };
        let mut bench = Bench {
            engine: Engine::new(policy, limits, 0, 1),
            pool: HeapPool::new(),
            out: Vec::new(),
            now: 1_000_000_000,
            sent: vec![1; flows],
            acked: vec![1; flows],
            payload: vec![0x5a; MSS as usize],
            partial,
            allocations: 0,
        };
        for flow in 0..flows {
            bench.handshake(flow);
        }
        bench
    }

    #[allow(clippy::too_many_arguments)]
    fn frame(
        &self,
        flow: usize,
        from: Side,
        seq: u32,
        ack: u32,
        flags: Flags,
        options: Vec<u8>,
        payload: Vec<u8>,
    ) -> Vec<u8> {
        let key = if from == Side::Inside {
            key(flow)
        } else {
            key(flow).reversed()
        };
        let spec = FrameSpec {
            key,
            seq,
            ack,
            flags,
            window: 60_000,
            options,
            payload,
            ..FrameSpec::default()
        };
        match self.partial && !spec.payload.is_empty() {
            true => spec.build_partial(),
            false => spec.build(),
        }
    }

    fn handshake(&mut self, flow: usize) {
        let syn = || -> Vec<u8> {
            OptionWriter::new()
                .mss(1460)
                .sack_permitted()
                .timestamps(Timestamps { val: 1001, ecr: 0 })
                .nop()
                .window_scale(7)
                .into()
        };
        let frames = [
            (
                Side::Outside,
                self.frame(flow, Side::Outside, 0, 0, Flags::SYN, syn(), Vec::new()),
            ),
            (
                Side::Inside,
                self.frame(
                    flow,
                    Side::Inside,
                    0,
                    1,
                    Flags::SYN.with(Flags::ACK),
                    syn(),
                    Vec::new(),
                ),
            ),
            (
                Side::Outside,
                self.frame(
                    flow,
                    Side::Outside,
                    1,
                    1,
                    Flags::ACK,
                    stamps(self.now),
                    Vec::new(),
                ),
            ),
        ];
        for (from, frame) in frames {
            let pkt = self.pool.insert(&frame).expect("no limit");
            self.engine
                .on_packet(self.now, from, pkt, &mut self.pool, &mut self.out);
        }
        self.drain();
    }

    fn drain(&mut self) {
        for tx in self.out.drain(..) {
            self.pool.free(tx.pkt);
        }
    }

    fn insert(&mut self, frames: &[Vec<u8>]) -> Vec<Pkt> {
        frames
            .iter()
            .map(|f| self.pool.insert(f).expect("no limit"))
            .collect()
    }

    /// One data packet for each entry of the batch and, an RTT later, its ACK. ns for each kind.
    fn round(&mut self, flows: &[usize]) -> (f64, f64) {
        let mut data = Vec::new();
        for &flow in flows {
            let seq = self.sent[flow];
            let payload = self.payload.clone();
            data.push(self.frame(
                flow,
                Side::Inside,
                seq,
                1,
                Flags::ACK,
                stamps(self.now),
                payload,
            ));
            self.sent[flow] = seq.wrapping_add(MSS);
        }
        let data_ns = self.time(Side::Inside, &data);
        self.now += RTT;
        let mut acks = Vec::new();
        for &flow in flows {
            let ack = self.acked[flow].wrapping_add(MSS);
            acks.push(self.frame(
                flow,
                Side::Outside,
                1,
                ack,
                Flags::ACK,
                stamps(self.now),
                Vec::new(),
            ));
            self.acked[flow] = ack;
        }
        let ack_ns = self.time(Side::Outside, &acks);
        self.now += 1_000_000;
        (data_ns, ack_ns)
    }

    /// As a driver does it: what is taken in one turn has just been written.
    fn time(&mut self, from: Side, frames: &[Vec<u8>]) -> f64 {
        let mut spent = 0;
        for chunk in frames.chunks(64) {
            let pkts = self.insert(chunk);
            let allocated = allocations();
            let start = Instant::now();
            self.engine
                .on_packets(self.now, from, &pkts, &mut self.pool, &mut self.out);
            self.now += 64_000;
            self.engine
                .on_timer(self.now, &mut self.pool, &mut self.out);
            spent += start.elapsed().as_nanos();
            self.allocations += allocations() - allocated;
        }
        self.drain();
        spent as f64 / frames.len() as f64
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

struct Row {
    data_ns: f64,
    ack_ns: f64,
    idle_bytes: f64,
    allocations: f64,
}

fn measure(flows: usize, policy: Box<dyn Decide>, partial: bool) -> Row {
    let before = live_bytes();
    let mut bench = Bench::new(flows, policy, partial);
    let idle_bytes = (live_bytes() - before) as f64 / flows as f64;
    assert_eq!(bench.engine.counters().flows_governed, flows as u64);
    let mut order: Vec<usize> = (0..flows).collect();
    // A fixed shuffle: flows are met in no order that memory would like.
    let mut state = 7u64;
    for i in (1..flows).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        order.swap(i, (state >> 33) as usize % (i + 1));
    }
    // A flow alone sends a window of ten segments at a time.
    let batch = flows.clamp(10, BATCH);
    let rounds = if flows == 1 { 2000 } else { 60 };
    let (mut data, mut acks) = (Vec::new(), Vec::new());
    let mut at = 0;
    let (mut packets, mut counted) = (0, 0);
    for round in 0..rounds {
        let chosen: Vec<usize> = (0..batch).map(|i| order[(at + i) % flows]).collect();
        at = (at + batch) % flows;
        let (d, a) = bench.round(&chosen);
        if round == rounds / 2 {
            counted = bench.allocations;
            packets = 0;
        }
        packets += 2 * batch;
        if round >= rounds / 4 {
            data.push(d);
            acks.push(a);
        }
    }
    Row {
        data_ns: median(&mut data),
        ack_ns: median(&mut acks),
        idle_bytes,
        allocations: (bench.allocations - counted) as f64 / packets as f64,
    }
}

/// `count` rules, of which the last matches; with conditions on the path if `switches`.
fn rules(count: usize, switches: bool) -> Policy {
    let mut text = "version = 1\n".to_owned();
    for n in 1..count {
        text.push_str(&format!(
            "[[rule]]\nmatch = 'cidr(\"172.16.{}.0/24\").containsIP(src) && dport == {n}'\n",
            n % 256
        ));
    }
    text.push_str("[[rule]]\nname = \"last\"\nalgorithm = \"bbr\"\n");
    if switches {
        text.push_str("[[rule.switch]]\nwhen = \"loss_ratio > 0.5\"\nalgorithm = \"cubic\"\n");
        text.push_str("[[rule.switch]]\nwhen = \"rtt > duration('1h')\"\nalgorithm = \"reno\"\n");
    }
    Config::parse(&text, "bench", &Catalog::new())
        .expect("a policy")
        .policy()
}

/// Packets of flows whose connection met many rules, beside those of flows that met one.
fn measure_rules(flows: usize) {
    println!("\n| rules, {flows} flows | ns a decision | ns a data packet | ns an ACK |");
    println!("| ---: | ---: | ---: | ---: |");
    for (name, count, switches) in [
        ("1", 1, false),
        ("1,000", 1000, false),
        ("1, with switches", 1, true),
        ("1,000, with switches", 1000, true),
    ] {
        let policy = rules(count, switches);
        let start = Instant::now();
        let keys = (0..2000).map(key);
        let governed = keys.filter(|k| policy.decide(k, Side::Inside, 0).is_some());
        let governed = governed.count();
        let decision = start.elapsed().as_nanos() as f64 / 2000.0;
        assert_eq!(governed, 2000);
        let row = measure(flows, Box::new(policy), false);
        println!(
            "| {name} | {decision:.0} | {:.0} | {:.0} |",
            row.data_ns, row.ack_ns
        );
    }
}

fn main() {
    let asked: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|a| a.parse().ok())
        .collect();
    let counts = if asked.is_empty() {
        vec![1, 10_000, 1_000_000]
    } else {
        asked
    };
    let algorithm: AlgorithmId = "bbr".parse().expect("it is registered");
    println!(
        "| flows | ns a data packet | ns an ACK | bytes an idle flow | allocations a packet |"
    );
    println!("| ---: | ---: | ---: | ---: | ---: |");
    let rows = counts
        .iter()
        .flat_map(|&flows| [(flows, true), (flows, false)]);
    for (flows, partial) in rows {
        let row = measure(flows, Box::new(Verdict::enforce(algorithm)), partial);
        let what = if partial { ", partial checksums" } else { "" };
        println!(
            "| {flows}{what} | {:.0} | {:.0} | {:.0} | {:.3} |",
            row.data_ns, row.ack_ns, row.idle_bytes, row.allocations
        );
    }
    measure_rules(counts[0].max(1000));
}
