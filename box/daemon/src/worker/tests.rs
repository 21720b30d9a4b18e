use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use windlass_cc::Catalog;
use windlass_engine::{AlgorithmId, FlowInfo, Limits, Pool, Verdict};
use windlass_io::DriverStats;
use windlass_policy::{Config, RecorderConfig};
use windlass_record::Collector;
use windlass_wire::{Addr, Flags, FlowKey, FrameSpec, OptionWriter};

use super::*;
use crate::command::{FLOWS_PER_ANSWER, Workers};
use crate::control::tests::handler;
use crate::control::{Answer, Handler, Request};
use crate::metrics::{self, Format};
use crate::recorder;
use crate::view::{FlowFilter, Wanted};

type Sent = Arc<Mutex<Vec<(Side, Vec<u8>)>>>;

/// Packets on the heap; what is received was put in before.
#[derive(Default)]
struct Memory {
    packets: Vec<(Vec<u8>, u32)>,
    incoming: [VecDeque<Vec<u8>>; 2],
    sent: Sent,
    gone: bool,
    beats: u64,
    missed: u64,
    named: Option<Vec<u32>>,
}

impl Memory {
    fn add(&mut self, bytes: Vec<u8>) -> Pkt {
        self.packets.push((bytes, 1));
        Pkt(self.packets.len() as u32 - 1)
    }
}

impl Pool for Memory {
    fn head(&self, pkt: Pkt) -> &[u8] {
        &self.packets[pkt.0 as usize].0
    }
    fn head_mut(&mut self, pkt: Pkt) -> &mut [u8] {
        &mut self.packets[pkt.0 as usize].0
    }
    fn len(&self, pkt: Pkt) -> u32 {
        self.head(pkt).len() as u32
    }
    fn alloc(&mut self, len: u32) -> Option<Pkt> {
        Some(self.add(vec![0; len as usize]))
    }
    fn resize(&mut self, pkt: Pkt, len: u32) -> bool {
        self.packets[pkt.0 as usize].0.resize(len as usize, 0);
        true
    }
    fn share(&mut self, pkt: Pkt) -> Pkt {
        self.packets[pkt.0 as usize].1 += 1;
        pkt
    }
    fn free(&mut self, pkt: Pkt) {
        self.packets[pkt.0 as usize].1 -= 1;
    }
}

impl Driver for Memory {
    fn share(&self) -> io::Result<Vec<OwnedFd>> {
        Ok(Vec::new())
    }
    fn export(&mut self) -> io::Result<Vec<u8>> {
        Ok(Vec::new())
    }
    fn receive(&mut self, side: Side, max: usize, into: &mut Vec<Pkt>) -> io::Result<usize> {
        let waiting = self.incoming[side.index()].len().min(max);
        for _ in 0..waiting {
            let bytes = self.incoming[side.index()].pop_front().unwrap();
            let pkt = self.add(bytes);
            into.push(pkt);
        }
        match self.gone && waiting == 0 {
            true => Err(io::Error::from_raw_os_error(nix::libc::ENETDOWN)),
            false => Ok(waiting),
        }
    }
    fn transmit(&mut self, out: &mut Vec<Tx>) -> io::Result<()> {
        for tx in out.drain(..) {
            let bytes = self.head(tx.pkt).to_vec();
            self.sent.lock().unwrap().push((tx.to, bytes));
            self.free(tx.pkt);
        }
        Ok(())
    }
    fn beat(&mut self) {
        self.beats += 1;
    }
    fn missed(&self) -> u64 {
        self.missed
    }
    fn wait(&mut self, timeout_ns: Option<u64>) -> io::Result<()> {
        thread::sleep(std::time::Duration::from_nanos(timeout_ns.unwrap_or(0)));
        Ok(())
    }
    fn stats(&self) -> DriverStats {
        DriverStats::default()
    }
    fn missed_since(&self, _: u64) -> Option<Vec<u32>> {
        self.named.clone()
    }
    fn follow(&mut self, _: &FlowKey, _: Option<u32>) {}
    fn limit_syns(&mut self, _: bool) {}
    fn set_bypass(&mut self, _on: bool) -> io::Result<()> {
        Ok(())
    }
}

/// An ARP frame, told apart by its last byte.
fn frame(mark: u8) -> Vec<u8> {
    let mut bytes = vec![0; 60];
    bytes[12..14].copy_from_slice(&[0x08, 0x06]);
    bytes[59] = mark;
    bytes
}

fn engine() -> Engine {
    let verdict = Verdict::enforce(AlgorithmId::Reno);
    Engine::new(Box::new(verdict), Limits::default(), monotonic_ns(), 1)
}

#[test]
fn packets_from_inside_go_first_and_all_leave_by_the_other_side() {
    let mut driver = Memory::default();
    driver.incoming[Side::Outside.index()].extend([frame(1), frame(2)]);
    driver.incoming[Side::Inside.index()].extend([frame(3), frame(4)]);
    let sent = Arc::clone(&driver.sent);
    let (workers, mut commands) = Workers::new(1);
    let worker = Worker::new(driver, engine(), commands.remove(0), None, Events::new().0);
    let thread = thread::spawn(move || worker.run());
    while sent.lock().unwrap().len() < 4 {
        assert!(!thread.is_finished());
        thread::yield_now();
    }
    let status = workers.status().unwrap()[0];
    assert_eq!(status.counters.get("packets"), Some(4));
    assert!(!status.bypass);
    workers.bypass(true).unwrap();
    assert!(workers.status().unwrap()[0].bypass);
    assert!(
        workers
            .flows(&Wanted::default(), 10)
            .unwrap()
            .flows
            .is_empty()
    );
    workers.stop();
    thread.join().unwrap().unwrap();
    let order: Vec<(Side, u8)> = sent
        .lock()
        .unwrap()
        .iter()
        .map(|(s, b)| (*s, b[59]))
        .collect();
    let (inside, outside) = (Side::Inside, Side::Outside);
    assert_eq!(
        order,
        [(outside, 3), (outside, 4), (inside, 1), (inside, 2)]
    );
}

/// The kernel has forwarded what came after them.
#[test]
fn what_was_left_while_a_worker_stood_still_is_passed_on_unseen() {
    let mut driver = Memory {
        missed: 5,
        ..Memory::default()
    };
    driver.incoming[Side::Outside.index()].extend([frame(1), frame(2)]);
    let sent = Arc::clone(&driver.sent);
    let (_workers, mut commands) = Workers::new(1);
    let mut worker = Worker::new(driver, engine(), commands.remove(0), None, Events::new().0);
    assert_eq!(worker.turn().unwrap(), 0, "nothing is left for the engine");
    assert_eq!(sent.lock().unwrap().len(), 2);
    assert_eq!(worker.engine.counters().get("packets"), Some(0));
    assert_eq!((worker.driver.beats, worker.missed), (1, 5));
    // It has been idle for longer than a sender waits.
    worker.driver.missed = 6;
    worker.driver.incoming[Side::Inside.index()].push_back(frame(3));
    worker.turned_at = monotonic_ns() - 2 * STALE_NS;
    worker.turn().unwrap();
    assert_eq!(
        sent.lock().unwrap().len(),
        2,
        "its sender has sent it again"
    );
    assert_eq!(worker.driver.packets[2].1, 0, "and its memory is free");
}

/// A packet or two that have gone by are no reason to forget what all the others do.
#[test]
fn what_waits_while_a_few_packets_go_by_is_taken() {
    let mut driver = Memory {
        missed: 1,
        named: Some(vec![7]),
        ..Memory::default()
    };
    driver.incoming[Side::Outside.index()].extend([frame(1), frame(2)]);
    let (_workers, mut commands) = Workers::new(1);
    let mut worker = Worker::new(driver, engine(), commands.remove(0), None, Events::new().0);
    assert_eq!(worker.turn().unwrap(), 2);
    assert_eq!(worker.engine.counters().get("packets"), Some(2));
    assert_eq!((worker.driver.beats, worker.missed), (2, 1));
}

#[test]
fn a_worker_that_stops_sends_on_what_it_has_received() {
    let mut driver = Memory::default();
    let many = 3 * BATCH_PACKETS;
    driver.incoming[Side::Inside.index()].extend((0..many).map(|i| frame(i as u8)));
    let sent = Arc::clone(&driver.sent);
    let (workers, mut commands) = Workers::new(1);
    workers.stop();
    Worker::new(driver, engine(), commands.remove(0), None, Events::new().0)
        .run()
        .unwrap();
    assert_eq!(sent.lock().unwrap().len(), many);
}

#[test]
fn a_driver_that_fails_ends_the_worker_with_its_error() {
    let mut driver = Memory::default();
    driver.incoming[0].push_back(frame(1));
    driver.gone = true;
    let (_workers, mut commands) = Workers::new(1);
    let ended = Worker::new(driver, engine(), commands.remove(0), None, Events::new().0).run();
    assert_eq!(ended.unwrap_err().raw_os_error(), Some(nix::libc::ENETDOWN));
}

/// The three segments that open this connection, from one of two clients outside to a server inside.
fn handshake(number: u32) -> [(Side, Vec<u8>); 3] {
    let addr = |ip: [u8; 4]| Addr::from(std::net::IpAddr::from(ip));
    let [_, high, middle, low] = (number / 17_000).to_be_bytes();
    let from_server = FlowKey {
        src: addr([10, 0, 0, 1]),
        dst: addr([100, high, middle, low]),
        src_port: 443,
        dst_port: (number % 17_000) as u16 + 10_000,
        vlan: 0,
        inner_vlan: 0,
    };
    let segment = |from, seq, ack, flags: Flags| {
        let key = match from {
            Side::Inside => from_server,
            Side::Outside => from_server.reversed(),
        };
        let options = OptionWriter::new().mss(1460).sack_permitted();
        let spec = FrameSpec {
            key,
            seq,
            ack,
            flags,
            window: 60_000,
            options: match flags.has(Flags::SYN) {
                true => options.nop().window_scale(7).into(),
                false => Vec::new(),
            },
            ..FrameSpec::default()
        };
        (from, spec.build())
    };
    [
        segment(Side::Outside, 0, 0, Flags::SYN),
        segment(Side::Inside, 0, 1, Flags::SYN.with(Flags::ACK)),
        segment(Side::Outside, 1, 1, Flags::ACK),
    ]
}

const CONNECTIONS: u32 = 20_000;

/// An engine with so many connections.
fn with_connections() -> (Memory, Engine) {
    let limits = Limits {
        flows_per_prefix: CONNECTIONS as usize,
        ..Limits::default()
    };
    let verdict = Verdict::enforce(AlgorithmId::Reno);
    let mut engine = Engine::new(Box::new(verdict), limits, monotonic_ns(), 1);
    let (mut driver, mut out) = (Memory::default(), Vec::new());
    for (from, bytes) in (0..CONNECTIONS).flat_map(handshake) {
        let pkt = driver.add(bytes);
        engine.on_packets(monotonic_ns(), from, &[pkt], &mut driver, &mut out);
        out.clear();
    }
    (driver, engine)
}

/// Packets wait for a part, not for the whole. `cargo test -p windlass-daemon all_flows_are -- --nocapture` prints for how
/// long.
#[test]
fn all_flows_are_told_in_short_parts() {
    const LIMIT: Duration = Duration::from_millis(1);
    let (_, engine) = with_connections();
    let mut telling = Telling::default();
    let (answer, answers) = std::sync::mpsc::channel();
    telling.ask(Wanted::default(), usize::MAX, answer.clone());
    telling.ask(Wanted::default(), 1000, answer);
    let mut parts = Vec::new();
    loop {
        let start = Instant::now();
        let more = telling.tell(&engine);
        parts.push(start.elapsed());
        if !more {
            break;
        }
    }
    let all = answers.recv().unwrap();
    let mut keys: Vec<FlowKey> = all.flows.iter().map(|info| info.key).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!((keys.len(), all.omitted), (CONNECTIONS as usize, 0));
    let some = answers.recv().unwrap();
    assert_eq!(some.flows.len() + some.omitted, CONNECTIONS as usize);
    assert_eq!(some.flows.len(), 1000);
    assert!(!telling.tell(&engine), "nobody asks any more");
    parts.sort_unstable();
    let (median, longest) = (parts[parts.len() / 2], parts[parts.len() - 1]);
    eprintln!("{} parts: {median:?}, {longest:?} at most", parts.len());
    assert!(median < LIMIT, "{median:?}");
}

/// What is wanted is found behind more flows than one answer holds.
#[test]
fn a_filter_comes_before_the_cut() {
    let (_, engine) = with_connections();
    let all: Vec<FlowInfo> = engine.flows().collect();
    let last = all.last().expect("there are flows").key.dst;
    let so_many = all.iter().filter(|info| info.key.dst == last).count();
    assert!(all.len() > 4 * FLOWS_PER_ANSWER && so_many < FLOWS_PER_ANSWER);
    let policy = windlass_policy::Config::default().policy();
    let ask = |client: String, most| {
        let filter = FlowFilter {
            client: Some(client),
            ..FlowFilter::default()
        };
        let (mut telling, (answer, answers)) = (Telling::default(), std::sync::mpsc::channel());
        telling.ask(filter.read(&policy).expect("a filter"), most, answer);
        while telling.tell(&engine) {}
        let told = answers.recv().expect("an answer");
        (told.flows.len(), told.omitted)
    };
    assert_eq!(ask(last.to_string(), FLOWS_PER_ANSWER), (so_many, 0));
    assert_eq!(ask(last.to_string(), 0), (0, so_many));
    let rest = all.len() - FLOWS_PER_ANSWER;
    assert_eq!(
        ask("0.0.0.0/0".to_owned(), FLOWS_PER_ANSWER),
        (FLOWS_PER_ANSWER, rest)
    );
}

/// `cargo test -p windlass-daemon a_scrape_with -- --nocapture` prints how long one takes.
#[test]
fn a_scrape_with_20_000_connections_takes_less_than_50_ms() {
    const LIMIT: Duration = Duration::from_millis(50);
    let (driver, engine) = with_connections();
    let (workers, mut commands) = Workers::new(1);
    let worker = Worker::new(driver, engine, commands.remove(0), None, Events::new().0);
    let thread = thread::spawn(move || worker.run());
    let handler = handler(workers.clone(), Config::default().policy(), Arc::default());
    let mut times: Vec<Duration> = (0..21)
        .map(|_| {
            let start = Instant::now();
            let text = metrics::write(&metrics::collect(&handler), Format::OpenMetrics).unwrap();
            let took = start.elapsed();
            assert!(text.contains(&format!("windlass_connections {CONNECTIONS}\n")));
            assert!(text.contains("windlass_engine_flows_governed_total 20000\n"));
            took
        })
        .collect();
    times.sort_unstable();
    let [median, longest] = [times[10], times[20]];
    eprintln!("a scrape with {CONNECTIONS} connections: {median:?}, {longest:?} at most");
    assert!(median < LIMIT, "{median:?}");
    workers.stop();
    thread.join().unwrap().unwrap();
}

/// All that the handler answers with, chunk after chunk.
fn recorded(handler: &Handler, flow: Option<&str>, rule: Option<&str>) -> Result<usize, String> {
    let (mut from, mut until) = (Vec::new(), Vec::new());
    let mut collector = Collector::default();
    loop {
        let request = Request::Record {
            flow: flow.map(str::to_owned),
            rule: rule.map(str::to_owned),
            from,
            until,
        };
        let chunk = match handler.answer(request) {
            Answer::Recorded(chunk) => chunk,
            Answer::Error { error } => return Err(error),
            other => panic!("{other:?}"),
        };
        collector.add(&chunk).unwrap();
        if chunk.is_last() {
            return Ok(collector.finish().entries.len());
        }
        (from, until) = (chunk.next, chunk.until);
    }
}

#[test]
fn what_a_worker_records_is_told_by_connection_and_by_rule() {
    let (workers, mut commands) = Workers::new(1);
    let tape = recorder::tape(&RecorderConfig::default(), 1);
    let worker = Worker::new(
        Memory::default(),
        engine(),
        commands.remove(0),
        None,
        Events::new().0,
    );
    let mut worker = worker.record(tape);
    for (side, bytes) in (0..3).flat_map(handshake) {
        worker.driver.incoming[side.index()].push_back(bytes);
        worker.turn().unwrap();
    }
    let thread = thread::spawn(move || worker.run());
    let rules = "version = 1\n[[rule]]\nname = \"mail\"\nports = [25]\n[[rule]]\nname = \"web\"\nports = [443]\n";
    let policy = Config::parse(rules, "w.toml", &Catalog::new())
        .unwrap()
        .policy();
    let handler = handler(workers.clone(), policy, Arc::default());
    // Each of the three segments of a handshake came once and left once.
    let key = "10.0.0.1:443>100.0.0.0:10001";
    assert_eq!(recorded(&handler, Some(key), None), Ok(6));
    assert_eq!(recorded(&handler, Some(key), Some("web")), Ok(6));
    assert_eq!(recorded(&handler, Some(key), Some("mail")), Ok(0));
    assert_eq!(recorded(&handler, None, Some("web")), Ok(18));
    let refused = recorded(&handler, Some("10.0.0.1"), None).unwrap_err();
    assert!(refused.contains("names no flow"), "{refused}");
    let refused = recorded(&handler, None, Some("nobody")).unwrap_err();
    assert!(refused.contains("no rule is called"), "{refused}");
    let Answer::Counters { recorder, .. } = handler.answer(Request::Counters) else {
        panic!("no counters");
    };
    assert_eq!(
        (recorder["recorded"], recorder["overwritten_early"]),
        (18, 0)
    );
    assert_eq!(recorder["memory_bytes"], 64 << 20);
    workers.stop();
    thread.join().unwrap().unwrap();
}

#[test]
fn without_a_recorder_the_answer_says_what_to_write() {
    let (workers, mut commands) = Workers::new(1);
    let worker = Worker::new(
        Memory::default(),
        engine(),
        commands.remove(0),
        None,
        Events::new().0,
    );
    let thread = thread::spawn(move || worker.run());
    let handler = handler(workers.clone(), Config::default().policy(), Arc::default());
    let refused = recorded(&handler, None, None).unwrap_err();
    assert!(refused.contains("write [recorder]"), "{refused}");
    workers.stop();
    thread.join().unwrap().unwrap();
}

#[test]
fn a_heart_beats_at_idle_turns_but_not_while_packets_pass_the_worker_by() {
    let driver = Memory {
        missed: 5,
        ..Memory::default()
    };
    let (workers, mut commands) = Workers::new(1);
    let heart = &workers.hearts()[0];
    let worker = Worker::new(driver, engine(), commands.remove(0), None, Events::new().0);
    let mut worker = worker.with_heart(Arc::clone(heart));
    worker.turn().unwrap();
    assert_eq!(
        heart.beats(),
        0,
        "it has found nothing, and five packets have passed"
    );
    worker.turn().unwrap();
    assert_eq!(heart.beats(), 1, "nothing has come");
    worker.driver.missed = 9;
    worker.turn().unwrap();
    assert_eq!(heart.beats(), 1);
    worker.driver.missed = 12;
    worker.driver.incoming[Side::Inside.index()].push_back(frame(1));
    worker.driver.incoming[Side::Inside.index()].push_back(frame(2));
    worker.turn().unwrap();
    assert_eq!(heart.beats(), 1, "what was left passes unseen");
}
