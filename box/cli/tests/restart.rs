//! A process that ends in whatever way, and one that begins in its place: connections are governed again.

#[allow(dead_code)]
mod netns;

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use netns::{Chats, Daemon, MEGABYTE, PLACE, Transfer, lab};

const CHATS: usize = 10;
const PAUSE: Duration = Duration::from_millis(20);

fn governed(daemon: &Daemon) -> usize {
    let flows = daemon.json(&["flow", "show", "-j"]);
    let flows = flows.as_array().unwrap();
    let governed = flows.iter().filter(|flow| flow["passed"] == Value::Null);
    governed.count()
}

fn wait_governed(daemon: &Daemon, all: usize) -> Duration {
    let began = Instant::now();
    while governed(daemon) < all {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{} of {all}",
            governed(daemon)
        );
        thread::sleep(PAUSE);
    }
    began.elapsed()
}

/// Of a connection in mid-flow nothing is known. Its windows tell what unit they are in, when its client reads slowly.
#[test]
fn a_stranger_is_governed_once_it_is_understood() {
    let Some(lab) = lab() else { return };
    let address = SocketAddr::new([10, 77, 0, 1].into(), 8001);
    lab.bridge_before_the_box();
    let listener = lab.spawn("a", move || TcpListener::bind(address).unwrap());
    let listener = listener.join().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // Until the client has had enough.
        while stream.write_all(&[7; 32_768]).is_ok() {}
    });
    let over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&over);
    let client = lab.spawn("b", move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut bytes = vec![0; 300_000];
        while !told.load(Ordering::Acquire) {
            stream.read_exact(&mut bytes).unwrap();
            thread::sleep(Duration::from_millis(30));
        }
    });
    thread::sleep(Duration::from_millis(700));
    let config = lab.folder.path().join("windlass.toml");
    fs::write(
        &config,
        "version = 1\n[limits]\nstrangers_per_second = 100\n",
    )
    .unwrap();
    let config = config.to_str().unwrap();
    let daemon = Daemon::start(&lab, &[&PLACE[..], &["--config", config]].concat());
    wait_governed(&daemon, 1);
    let flow = daemon.flow(8001);
    let kernel = lab
        .command("b", "ss")
        .args(["-tin", "dport", "=", ":8001"])
        .output()
        .unwrap();
    let kernel = String::from_utf8(kernel.stdout).unwrap();
    // `wscale:` has that of the peer, and its own.
    let own = kernel
        .split("wscale:")
        .nth(1)
        .and_then(|rest| rest.split([',', ' ']).nth(1));
    assert_eq!(
        own.map(str::parse),
        Some(Ok(flow["wscale"].as_u64().unwrap())),
        "{kernel}"
    );
    over.store(true, Ordering::Release);
    client.join().unwrap();
    assert_eq!(daemon.counter("engine", "strangers_understood"), 1);
}

#[test]
fn connections_are_governed_again() {
    let Some(lab) = lab() else { return };
    let mut daemon = Daemon::start(&lab, &PLACE);
    let talk = Chats::start(&lab, CHATS);
    let transfers: Vec<Transfer> = (8001..8004)
        .map(|port| Transfer::start(&lab, port))
        .collect();
    transfers
        .iter()
        .for_each(|transfer| transfer.wait_for(MEGABYTE));
    let all = CHATS + transfers.len();
    wait_governed(&daemon, all);
    // Each second chat is silent until the end.
    let speak = CHATS / 2 + transfers.len();
    for signal in [Signal::SIGKILL, Signal::SIGTERM, Signal::SIGKILL] {
        // It writes down once a second what it knows.
        thread::sleep(Duration::from_millis(1_700));
        kill(Pid::from_raw(daemon.child.id() as i32), signal).unwrap();
        daemon.child.wait().unwrap();
        transfers
            .iter()
            .for_each(|transfer| transfer.wait_for(MEGABYTE / 2));
        daemon = Daemon::start(&lab, &PLACE);
        let took = wait_governed(&daemon, speak);
        println!("after {signal}: {speak} flows governed again after {took:?}");
        transfers
            .iter()
            .for_each(|transfer| transfer.wait_for(MEGABYTE));
    }
    let stall = transfers.iter().map(Transfer::longest_stall).max().unwrap();
    println!("longest stall {stall:?}");
    transfers.into_iter().for_each(Transfer::finish);
    talk.finish();
    let adopted = daemon.counter("engine", "adopted");
    assert_eq!(adopted, all as u64, "with those that were silent");
}

/// A guest that is moved to another machine, or a container with a clock of its own: the one process has another clock than the
/// other and than the kernel. What the first one has written down is of no use to the second, and both measure as ever.
#[test]
fn a_process_with_another_clock_begins_anew() {
    let Some(lab) = lab() else { return };
    let time_s = ["--time", "--monotonic", "3", "true"];
    let can = Command::new("unshare").args(time_s).status();
    if !can.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: needs unshare and time namespaces");
    }
    let transfer = {
        let daemon = Daemon::ahead(&lab, 3, &PLACE);
        let transfer = Transfer::start(&lab, 8001);
        transfer.wait_for(2 * MEGABYTE);
        let flow = daemon.flow(8001);
        for field in ["min_rtt_us", "srtt_us"] {
            let us = flow[field].as_u64().expect("an RTT");
            assert!((1..1_000_000).contains(&us), "{field} {us}");
        }
        // It writes down once a second what it knows.
        thread::sleep(Duration::from_millis(1_700));
        assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
        transfer
    };
    for seconds in [0, 100_000, 0] {
        let daemon = Daemon::ahead(&lab, seconds, &PLACE);
        transfer.wait_for(2 * MEGABYTE);
        let fresh = Transfer::start(&lab, 8100 + (seconds > 0) as u16);
        fresh.wait_for(2 * MEGABYTE);
        fresh.finish();
        let adopted = daemon.counter("engine", "adopted");
        assert_eq!(adopted, 0, "with a clock that is {seconds} s ahead");
        thread::sleep(Duration::from_millis(1_700));
        assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
    }
    assert!(transfer.longest_stall() < Duration::from_secs(1));
    transfer.finish();
}
