//! The XDP program takes exactly the frames that `windlass_wire` takes for TCP, by the same names. The kernel runs the loaded
//! program on each frame (`BPF_PROG_TEST_RUN`). Needs CAP_SYS_ADMIN; skipped without.

#[path = "../../../../core/wire/tests/frames/table.rs"]
mod table;

use std::collections::BTreeMap;

use aya::maps::Array;
use aya::programs::{TestRun, TestRunOptions};
use windlass_engine::{Bounds, Senders, Side};
use windlass_wire::{Flags, flow_of, other_packet, parse};

use windlass_metric::Reading;

use super::{Program, QUEUES_PER_SIDE, Switches, XdpCounters, xdp};
use crate::driver::{DriverConfig, Follows, Prefer};
use table::{Frame, frames, mutations};

const MUTATIONS: usize = 500_000;
/// So many of them at a time: counters are read once for all that should become the same.
const CHUNK: usize = 5_000;
/// The kernel has no shorter frames.
const ETHERNET_BYTES: usize = 14;
/// Where a frame is counted that a worker would get: here no socket is open.
const TAKEN: &str = "passed_no_socket";
/// The number of the one connection that is followed.
const NUMBER: u32 = 7;

/// The program as the kernel has loaded it. It admits no new connections, and takes what is followed.
struct Bench {
    program: Program,
    switches: Switches,
    /// The kernel can be told where the first part of a frame ends (Linux 6.18).
    parts: bool,
}

impl Bench {
    /// `None`, with the reason printed, where the program cannot be loaded.
    fn new() -> Option<Bench> {
        if !may_load() {
            eprintln!("skipped: needs CAP_SYS_ADMIN");
            return None;
        }
        let protocols = std::fs::read_to_string("/proc/net/protocols").unwrap_or_default();
        if !protocols.lines().any(|line| line.starts_with("XDP ")) {
            eprintln!("skipped: this kernel has no AF_XDP");
            return None;
        }
        let mut program = Program::load(1).expect("the verifier takes it");
        program.configure(&everything(), u32::MAX).expect("maps");
        let mut switches = program.switches().expect("maps");
        switches.set_bypass(false).expect("a switch");
        let syns = program.map("syns_of_socket").expect("a map");
        let mut syns: Array<_, [u64; 2]> = Array::try_from(syns).expect("an array");
        for side in [0, 1] {
            let never = [u64::MAX / 2, 1];
            let set = syns.set(side * QUEUES_PER_SIDE, never, 0);
            set.expect("a rate");
        }
        let mut bench = Bench {
            program,
            switches,
            parts: true,
        };
        bench.parts = bench.run(Side::Inside, &[0; 64], 32).is_ok();
        if !bench.parts {
            eprintln!("frames in several parts are skipped: this kernel cannot make them");
        }
        Some(bench)
    }

    fn can_run(&self, frame: &Frame) -> bool {
        frame.first_part >= ETHERNET_BYTES && (self.parts || frame.first_part == frame.bytes.len())
    }

    fn run(&mut self, side: Side, bytes: &[u8], first_part: usize) -> Result<(), String> {
        // `struct xdp_md`: data, data_end, and what is not told.
        let mut context = [0; 24];
        context[4..8].copy_from_slice(&(first_part as u32).to_ne_bytes());
        let options = TestRunOptions {
            data_in: Some(bytes),
            ctx_in: (first_part < bytes.len()).then_some(&context[..]),
            ..TestRunOptions::default()
        };
        let program = xdp(&mut self.program.ebpf, side).map_err(|why| why.to_string())?;
        let done = program.test_run(options).map(drop);
        done.map_err(|why| format!("{why:?}"))
    }

    /// Runs frames, each while the connection is followed that it should be of, and says how each counter grew.
    fn count(&mut self, side: Side, frames: &[&Frame]) -> BTreeMap<&'static str, u64> {
        let before = self.counters();
        for frame in frames {
            let flow = flow_of(frame.head(), frame.len()).ok();
            if let Some(flow) = &flow {
                let followed = self.switches.follow(flow, Some(NUMBER));
                followed.expect("a map");
            }
            let ran = self.run(side, &frame.bytes, frame.first_part);
            ran.unwrap_or_else(|why| panic!("{why}: {frame:02x?}"));
            if let Some(flow) = &flow {
                self.switches.follow(flow, None).expect("a map");
            }
        }
        let after = self.counters();
        let grown = after.each().zip(before.each());
        let count = |reading: Reading| reading.number.expect("counters count");
        let grown = grown.map(|(now, then)| (now.metric.name, count(now) - count(then)));
        grown.filter(|(_, packets)| *packets > 0).collect()
    }

    fn counters(&self) -> XdpCounters {
        self.program.counters().expect("counters")
    }

    /// What the two disagree about.
    fn differences(&mut self, side: Side, frames: &[Frame]) -> Vec<String> {
        let mut groups: BTreeMap<&str, Vec<&Frame>> = BTreeMap::new();
        for frame in frames.iter().filter(|frame| self.can_run(frame)) {
            groups.entry(counter(frame)).or_default().push(frame);
        }
        let mut found = Vec::new();
        for (expected, group) in groups {
            if self.count(side, &group) == BTreeMap::from([(expected, group.len() as u64)]) {
                continue;
            }
            for frame in group {
                let got = self.count(side, &[frame]);
                if got != BTreeMap::from([(expected, 1)]) {
                    found.push(format!(
                        "{}: {expected}, but {got:?}: {frame:02x?}",
                        frame.what
                    ));
                }
            }
        }
        found
    }
}

/// True with CAP_SYS_ADMIN, which root in a container may lack.
fn may_load() -> bool {
    const CAP_SYS_ADMIN: u32 = 21;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    effective.is_some_and(|bits| bits >> CAP_SYS_ADMIN & 1 == 1)
}

/// Every port, and of connections those that are followed.
fn everything() -> DriverConfig {
    DriverConfig {
        inside: String::new(),
        outside: String::new(),
        queue: 0,
        frames: 0,
        frame_size: 0,
        ports: Vec::new(),
        patience_ms: 0,
        follows: Some(Follows::default()),
        seed: 7,
        prefer: Prefer::Auto,
    }
}

/// Where a frame should be counted by what `windlass_wire` says of it.
fn counter(frame: &Frame) -> &'static str {
    match frame.taken_for().as_str() {
        "not IP" | "not TCP" => "passed_not_tcp",
        "fragment" => "passed_fragment",
        "malformed" => "passed_malformed",
        _ => TAKEN,
    }
}

fn show(differences: &[String]) {
    for difference in differences.iter().take(40) {
        eprintln!("{difference}");
    }
    assert!(differences.is_empty(), "{} frames", differences.len());
}

#[test]
fn every_frame_of_the_table_is_taken_or_passed_by_both() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let frames = frames();
    for frame in &frames {
        assert_eq!(frame.taken_for(), frame.verdict, "{}", frame.what);
    }
    for side in [Side::Inside, Side::Outside] {
        show(&bench.differences(side, &frames));
    }
}

#[test]
fn mutations_of_them_are_taken_or_passed_by_both() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let (mut mutations, taken) = (mutations(), bench.counters().passed_no_socket);
    for _ in 0..MUTATIONS / CHUNK {
        let chunk: Vec<Frame> = mutations.by_ref().take(CHUNK).collect();
        show(&bench.differences(Side::Inside, &chunk));
    }
    let taken = bench.counters().passed_no_socket - taken;
    assert!(taken > MUTATIONS as u64 / 10, "only {taken} are taken");
}

/// What is not followed is not taken: it is the name that decides above.
#[test]
fn no_frame_is_taken_by_the_name_of_another_connection() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let frames = frames();
    let other = frames[0].taken_for().parse().expect("a flow");
    bench.switches.follow(&other, Some(NUMBER)).expect("a map");
    for frame in &frames {
        let flow = flow_of(frame.head(), frame.len()).ok();
        let same = flow.is_some_and(|flow| flow.canonical().0 == other.canonical().0);
        if same || !bench.can_run(frame) {
            continue;
        }
        let before = bench.counters().passed_no_socket;
        let ran = bench.run(Side::Inside, &frame.bytes, frame.first_part);
        ran.expect("it runs");
        assert_eq!(bench.counters().passed_no_socket, before, "{frame:02x?}");
    }
}

/// What is no TCP segment is taken of those whose limit it counts against, as `windlass_wire` reads who has sent it.
#[test]
fn packets_without_tcp_are_taken_of_bounded_senders() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let [v4, v6] = networks();
    bench.bound(&[v4, v6], NON_TCP);
    let bounded = |frame: &Frame| {
        let other = other_packet(frame.head(), frame.len()).filter(|other| !other.is_icmp());
        other.is_some_and(|other| v4.contain(other.src) || v6.contain(other.src))
    };
    let all = frames().into_iter().chain(mutations().take(MUTATIONS / 10));
    let refused = |frame: &Frame| matches!(frame.taken_for().as_str(), "not TCP" | "fragment");
    let (mut taken, mut passed) = (0, 0);
    for frame in all.filter(refused) {
        if !bench.can_run(&frame) {
            continue;
        }
        let counts = bench.count(Side::Inside, &[&frame]);
        let here = counts == BTreeMap::from([(TAKEN, 1)]);
        // Nobody's limit counts what is for everybody, or for the box.
        let local = counts == BTreeMap::from([("passed_local", 1)]);
        assert!(here == bounded(&frame) || local, "{counts:?}: {frame:02x?}");
        taken += u32::from(here);
        passed += u32::from(!here);
    }
    assert!(taken > 100 && passed > 100, "{taken} {passed}");
    bench.bound(&[v6], NON_TCP);
    bench.bound(&[], NON_TCP);
    show(&bench.differences(Side::Inside, &frames()));
}

const NON_TCP: Bounds = Bounds {
    non_tcp: true,
    unknown_tcp: false,
};
const UNKNOWN_TCP: Bounds = Bounds {
    non_tcp: false,
    unknown_tcp: true,
};

/// Where the frames' senders are.
fn networks() -> [Senders; 2] {
    let v4 = Senders {
        first: std::net::Ipv4Addr::new(192, 0, 2, 0).into(),
        bits: 96 + 24,
    };
    let v6 = Senders {
        first: std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0).into(),
        bits: 32,
    };
    [v4, v6]
}

impl Bench {
    fn bound(&mut self, senders: &[Senders], bounds: Bounds) {
        let all: Vec<_> = senders.iter().map(|&senders| (senders, bounds)).collect();
        self.switches.bound(&all).expect("a map");
    }

    /// How often a frame would come to a worker while nothing is followed.
    fn takes_unknown(&mut self, frame: &Frame) -> u64 {
        let before = self.counters().passed_no_socket;
        let ran = self.run(Side::Inside, &frame.bytes, frame.first_part);
        ran.expect("it runs");
        self.counters().passed_no_socket - before
    }
}

/// Segments of connections that nobody follows are taken of those whose limit they count against. A SYN that begins one is
/// admitted like any other.
#[test]
fn segments_of_unknown_connections_are_taken_of_bounded_senders() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let [v4, v6] = networks();
    let all = frames().into_iter().chain(mutations().take(MUTATIONS / 50));
    let followable = |frame: &Frame| counter(frame) == TAKEN;
    let all: Vec<Frame> = all
        .filter(followable)
        .filter(|frame| bench.can_run(frame))
        .collect();
    let mut taken = 0;
    for frame in &all {
        // What the program does not read are options.
        let Ok(segment) = parse(frame.head(), frame.len()) else {
            continue;
        };
        let bounded = [v4, v6].iter().any(|all| all.contain(segment.key.src));
        let (syn, other) = (Flags::SYN, [Flags::ACK, Flags::RST]);
        let begins = segment.flags.has(syn) && !other.iter().any(|flag| segment.flags.has(*flag));
        let wanted = bounded && !begins;
        bench.bound(&[v4, v6], UNKNOWN_TCP);
        assert_eq!(
            bench.takes_unknown(frame),
            u64::from(wanted),
            "{frame:02x?}"
        );
        taken += u64::from(wanted);
        bench.bound(&[v4, v6], NON_TCP);
        assert_eq!(bench.takes_unknown(frame), 0, "{frame:02x?}");
    }
    assert!(taken > 100, "{taken} of {}", all.len());
}
