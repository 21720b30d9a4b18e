//! Captures of simulated boxes.

#![allow(dead_code, reason = "each test uses a part")]

use std::borrow::Cow;
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::blocks::interface_statistics::{
    InterfaceStatisticsBlock, InterfaceStatisticsOption,
};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use windlass_engine::{AlgorithmId, Engine, Limits, Pkt, Tx, Verdict};
use windlass_record::pcapng::Capture;
use windlass_record::verdict::{Rule, judge};
use windlass_record::{Chunk, Collector, Mark, Origin, Recording, Tape, verdict};
use windlass_sim::link::Loss;
use windlass_sim::{EngineBox, HeapPool, Middlebox, Nanos, Scenario, Side, run};

/// Of a capture, which has times since 1970.
const BEGINS: Nanos = 1_700_000_000_000_000_000;
/// All headers, and not all of a full payload.
pub const HEADERS: usize = 122;
pub const WHOLE: usize = 65_535;

/// A frame at one of the interfaces.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub time: Nanos,
    pub side: Side,
    /// Out of the box.
    pub leaves: bool,
    pub bytes: Vec<u8>,
}

/// A box whose both interfaces somebody captures.
pub struct Tapped<M> {
    pub inner: M,
    pub frames: Vec<Frame>,
}

impl<M> Tapped<M> {
    fn note(&mut self, time: Nanos, out: &[(Side, Vec<u8>)]) {
        let left = out.iter().map(|(side, bytes)| Frame {
            time,
            side: *side,
            leaves: true,
            bytes: bytes.clone(),
        });
        self.frames.extend(left);
    }
}

impl<M: Middlebox> Middlebox for Tapped<M> {
    fn on_frame(&mut self, now: Nanos, side: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        self.frames.push(Frame {
            time: now,
            side,
            leaves: false,
            bytes: frame.clone(),
        });
        let before = out.len();
        self.inner.on_frame(now, side, frame, out);
        self.note(now, &out[before..]);
    }

    fn poll_at(&self) -> Option<Nanos> {
        self.inner.poll_at()
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        let before = out.len();
        self.inner.on_timer(now, out);
        self.note(now, &out[before..]);
    }

    fn around(&self) -> Option<&dyn Middlebox> {
        Some(&self.inner)
    }
}

/// What somebody captures of an adverse network with a box that enforces.
pub fn adverse(seed: u64) -> Vec<Frame> {
    let mut scenario = Scenario::adverse(seed);
    scenario.limit = 20_000_000_000;
    let all = AlgorithmId::ALL;
    let verdict = Verdict::enforce(all[seed as usize % all.len()]);
    tapped(&scenario, verdict)
}

/// The same of a download of 300 kB that loses two of a hundred.
pub fn lossy() -> Vec<Frame> {
    lossy_of(300_000)
}

/// The same of so many bytes.
pub fn lossy_of(bytes: u64) -> Vec<Frame> {
    tapped(&lossy_scenario(bytes), Verdict::enforce(AlgorithmId::Cubic))
}

pub fn lossy_scenario(bytes: u64) -> Scenario {
    let mut scenario = Scenario::download(bytes, 20.0, 30.0);
    scenario.down.loss = Loss::Bernoulli { ratio: 0.02 };
    scenario.seed = 5;
    scenario
}

fn tapped(scenario: &Scenario, verdict: Verdict) -> Vec<Frame> {
    let mut tapped = Tapped {
        inner: EngineBox::new(Box::new(verdict), Limits::default(), scenario.seed),
        frames: Vec::new(),
    };
    run(scenario, &mut tapped);
    tapped.frames
}

/// A capture as tcpdump and mergecap make it, of which so many bytes of each packet are kept.
pub fn pcapng(frames: &[Frame], snap: usize, dropped: u64) -> Vec<u8> {
    let mut file = PcapNgWriter::new(Vec::new()).expect("a file");
    for name in ["eth1", "eth2"] {
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            snaplen: snap as u32,
            options: vec![
                InterfaceDescriptionOption::IfName(name.into()),
                InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO),
            ],
        };
        file.write_block(&interface.into_block()).expect("written");
    }
    for frame in frames {
        let packet = EnhancedPacketBlock {
            interface_id: frame.side as u32,
            timestamp: Duration::from_nanos(BEGINS + frame.time),
            original_len: frame.bytes.len() as u32,
            data: Cow::Borrowed(&frame.bytes[..frame.bytes.len().min(snap)]),
            options: Vec::new(),
        };
        file.write_block(&packet.into_block()).expect("written");
    }
    let statistics = InterfaceStatisticsBlock {
        interface_id: 0,
        timestamp: Duration::from_nanos(BEGINS),
        options: vec![InterfaceStatisticsOption::IsbIfDrop(dropped)],
    };
    file.write_block(&statistics.into_block()).expect("written");
    file.into_inner()
}

/// What is found of it.
pub fn verdict_of(frames: &[Frame], snap: usize) -> verdict::Verdict {
    verdict_with(frames, snap, 0)
}

pub fn verdict_with(frames: &[Frame], snap: usize, dropped: u64) -> verdict::Verdict {
    let file = pcapng(frames, snap, dropped);
    let capture = Capture::read(&file).expect("a capture");
    judge(&capture, [None, None], Rule::ALL).expect("two sides")
}

/// The rules that are broken, each with the packets that are named.
pub fn broken(verdict: &verdict::Verdict) -> Vec<(&'static str, Vec<u32>)> {
    let findings = verdict.connections.iter().flat_map(|c| &c.findings);
    let broken = findings.filter(|finding| finding.broken > 0);
    broken
        .map(|f| (f.rule, f.places.iter().map(|place| place.packet).collect()))
        .collect()
}

/// A box that records, as a worker does.
pub struct Recorder {
    engine: Engine,
    pool: HeapPool,
    txs: Vec<Tx>,
    pub tape: Tape,
}

impl Recorder {
    pub fn new(bytes: usize, window: Nanos) -> Recorder {
        let verdict = Verdict::enforce(AlgorithmId::Cubic);
        let mut engine = Engine::new(Box::new(verdict), Limits::default(), 0, 1);
        for side in [Side::Inside, Side::Outside] {
            engine.set_partial_checksums(side, false);
        }
        engine.tell_decisions(1);
        Recorder {
            engine,
            pool: HeapPool::new(),
            txs: Vec::new(),
            tape: Tape::new(bytes, window, 1),
        }
    }

    fn deliver(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        self.tape.leave(&self.pool, &self.txs, now);
        if self.tape.is_mark_due(now) {
            self.tape.mark(Mark::default(), now);
        }
        for tx in self.txs.drain(..) {
            out.push((tx.to, self.pool.take(tx.pkt)));
        }
    }

    /// What it has recorded, by way of the chunks that a daemon answers with.
    pub fn recording(&self) -> Recording {
        let mut collector = Collector::default();
        let mut from = 0;
        loop {
            let part = self.tape.read(from, 10_000, Vec::new());
            let chunk = Chunk {
                origin: Origin {
                    inside: "eth1".to_owned(),
                    outside: "eth2".to_owned(),
                    unix_offset_ns: BEGINS,
                    version: "0".to_owned(),
                },
                records: vec![Chunk::encode(&part.bytes)],
                begins_anew: vec![part.from > from && from > 0],
                next: vec![part.next],
                until: vec![part.end],
            };
            collector.add(&chunk).expect("whole records");
            if chunk.is_last() {
                return collector.finish();
            }
            from = part.next;
        }
    }
}

impl Middlebox for Recorder {
    fn on_frame(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        let Some(pkt) = self.pool.insert_of(&frame, now) else {
            return;
        };
        if self.tape.is_mark_due(now) {
            self.tape.mark(Mark::default(), now);
        }
        let pkts: [Pkt; 1] = [pkt];
        self.tape.take(&self.pool, &pkts, now);
        self.engine
            .on_packets(now, from, &pkts, &mut self.pool, &mut self.txs);
        self.tape.came(from, self.engine.decisions(), now);
        self.deliver(now, out);
    }

    fn poll_at(&self) -> Option<Nanos> {
        self.engine.poll_at()
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        self.engine.on_timer(now, &mut self.pool, &mut self.txs);
        self.deliver(now, out);
    }

    fn held_packets(&self) -> usize {
        self.pool.live()
    }
}
