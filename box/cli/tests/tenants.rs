//! What a tenant sends outside of governed flows counts against its limit: datagrams of a real socket, and a connection that
//! was there before Windlass. Needs root.

#[allow(dead_code)]
mod netns;

use std::fs;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use netns::{Daemon, Lab, PLACE, Transfer, lab};

/// Bytes a second of the tenant: 40 Mbit/s.
const CAP: f64 = 5e6;
const DATAGRAM: usize = 1_400;
/// Five times the limit.
const BEGIN_INTERVAL: Duration = Duration::from_micros(56);
const WHILE: Duration = Duration::from_secs(2);
/// Longer than a time-out that has been doubled four times.
const RECOVERS_WITHIN: Duration = Duration::from_secs(20);
const PORT: u16 = 6_000;

/// A server in a sends datagrams to a client in b until this is dropped.
struct Flood {
    sent: Arc<AtomicU64>,
    received: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Flood {
    fn start(lab: &Lab) -> Flood {
        let bind = |address: &'static str| move || UdpSocket::bind((address, PORT)).unwrap();
        let from = lab.spawn("a", bind("10.77.0.1")).join().unwrap();
        let to = lab.spawn("b", bind("10.77.0.2")).join().unwrap();
        to.set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        let (sent, received) = (Arc::default(), Arc::default());
        let over = Arc::default();
        let (sends, receives) = (Arc::clone(&sent), Arc::clone(&received));
        let ends = [Arc::clone(&over), Arc::clone(&over)];
        let [stops, falls_silent] = ends;
        let sender = thread::spawn(move || send(&from, &sends, &stops));
        let receiver = thread::spawn(move || receive(&to, &receives, &falls_silent));
        Flood {
            sent,
            received,
            over,
            threads: vec![sender, receiver],
        }
    }

    /// Bytes a second that are sent and that arrive, of payload.
    fn rates(&self) -> [f64; 2] {
        let counts = || [&self.sent, &self.received].map(|n| n.load(Ordering::Acquire));
        let (began, before) = (Instant::now(), counts());
        thread::sleep(WHILE);
        let (took, after) = (began.elapsed().as_secs_f64(), counts());
        [0, 1].map(|i| (after[i] - before[i]) as f64 / took)
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn send(from: &UdpSocket, sent: &AtomicU64, over: &AtomicBool) {
    let began = Instant::now();
    let mut number = 0;
    while !over.load(Ordering::Acquire) {
        let due = BEGIN_INTERVAL * number;
        thread::sleep(due.saturating_sub(began.elapsed()));
        // A full socket is part of a flood.
        if from.send_to(&[7; DATAGRAM], ("10.77.0.2", PORT)).is_ok() {
            sent.fetch_add(DATAGRAM as u64, Ordering::AcqRel);
        }
        number += 1;
    }
}

fn receive(to: &UdpSocket, received: &AtomicU64, over: &AtomicBool) {
    let mut datagram = [0; 2_000];
    while !over.load(Ordering::Acquire) {
        if let Ok(len) = to.recv(&mut datagram) {
            assert_eq!(datagram[..len], [7; DATAGRAM]);
            received.fetch_add(len as u64, Ordering::AcqRel);
        }
    }
}

fn config(lab: &Lab, mode: &str, counts: &str) -> PathBuf {
    let file = lab.folder.path().join("windlass.toml");
    let text = format!(
        "version = 1\n[[tenant]]\nname = \"blue\"\nprefixes = [\"10.77.0.1/32\"]\ncap_mbit = 40\n{counts} = \"limit\"\n\
         [[rule]]\nalgorithm = \"cubic\"\nmode = \"{mode}\"\n"
    );
    fs::write(&file, text).unwrap();
    file
}

fn ping(lab: &Lab) -> bool {
    let mut command = lab.command("b", "ping");
    command.args(["-c", "3", "-i", "0.2", "-q", "10.77.0.1"]);
    command.output().unwrap().status.success()
}

#[test]
fn datagrams_count_against_the_limit_of_a_tenant() {
    for how in [
        &PLACE[..],
        &["--inside", "m0", "--outside", "m1", "--io", "packet"],
    ] {
        let Some(lab) = lab() else { return };
        let file = config(&lab, "enforce", "non_tcp");
        let started = [how, &["--config", file.to_str().unwrap()]].concat();
        let daemon = Daemon::with(&lab, &started);
        let flood = Flood::start(&lab);
        thread::sleep(Duration::from_millis(300));
        let [sent, alone] = flood.rates();
        assert!(sent > 2.0 * CAP, "{sent} B/s are sent");
        // The whole of it, unless the flood comes in bursts: a virtual machine may wake a sender that sleeps every 17 ms.
        assert!((0.3 * CAP..1.03 * CAP).contains(&alone), "{alone} B/s");
        assert!(ping(&lab), "ICMP is not limited");
        let transfer = Transfer::start(&lab, 8001);
        transfer.wait_for(1);
        let before = transfer.received();
        let began = Instant::now();
        let [_, beside] = flood.rates();
        let took = began.elapsed().as_secs_f64();
        let tcp = (transfer.received() - before) as f64 / took;
        eprintln!("{alone:.0} B/s alone; beside a download {beside:.0} and {tcp:.0}");
        assert!(
            (0.3 * CAP..1.03 * CAP).contains(&(beside + tcp)),
            "{beside} + {tcp} B/s"
        );
        transfer.finish();
        drop(flood);
        thread::sleep(Duration::from_millis(100));
        let tenants = daemon.json(&["tenants", "-j"]);
        let dropped = tenants[0]["policed_packets"].as_u64().unwrap();
        assert_eq!(daemon.counter("engine", "non_tcp_dropped"), dropped);
        assert!(dropped > 1_000, "{tenants}");
        // Where nothing is enforced, nothing is dropped.
        let file = config(&lab, "observe", "non_tcp");
        daemon.ask(&["policy", "apply", file.to_str().unwrap()]);
        thread::sleep(Duration::from_millis(100));
        let flood = Flood::start(&lab);
        let before = daemon.counter("engine", "non_tcp_dropped");
        let [_, free] = flood.rates();
        assert!(free > 2.0 * CAP, "{free} B/s");
        assert_eq!(daemon.counter("engine", "non_tcp_dropped"), before);
    }
}

/// Nobody has seen its SYN, so nobody governs it.
#[test]
fn a_connection_from_before_counts_against_the_limit_of_a_tenant() {
    let Some(lab) = lab() else { return };
    lab.bridge_before_the_box();
    let transfer = Transfer::start(&lab, 8001);
    transfer.wait_for(1);
    let file = config(&lab, "enforce", "unknown_tcp");
    let started = [&PLACE[..], &["--config", file.to_str().unwrap()]].concat();
    let daemon = Daemon::with(&lab, &started);
    thread::sleep(Duration::from_millis(500));
    let rate = || {
        let (began, before) = (Instant::now(), transfer.received());
        thread::sleep(WHILE);
        (transfer.received() - before) as f64 / began.elapsed().as_secs_f64()
    };
    let bounded = rate();
    // A sender that loses what is beyond the cap reacts as its algorithm wants.
    assert!((0.01 * CAP..1.03 * CAP).contains(&bounded), "{bounded} B/s");
    assert!(daemon.counter("engine", "ungoverned_dropped") > 0);
    assert_eq!(daemon.counter("engine", "flows_governed"), 0);
    let file = config(&lab, "observe", "unknown_tcp");
    daemon.ask(&["policy", "apply", file.to_str().unwrap()]);
    thread::sleep(Duration::from_millis(500));
    // A sender whose segments were dropped may wait for a time-out that has been doubled several times.
    let deadline = Instant::now() + RECOVERS_WITHIN;
    let mut free = rate();
    while free <= 2.0 * CAP && Instant::now() < deadline {
        free = rate();
    }
    eprintln!("{bounded:.0} B/s at a cap of {CAP:.0}, {free:.0} without");
    assert!(free > 2.0 * CAP, "{free} B/s");
    transfer.finish();
}
