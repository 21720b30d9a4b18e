//! A bypass that ends: connections that were governed before are governed again.

#[allow(dead_code)]
mod netns;

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::socket::sockopt::{Linger, ReuseAddr};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect, setsockopt, socket,
};
use serde_json::Value;

use netns::{Chats, Daemon, Lab, MEGABYTE, PLACE, Transfer, lab};

const CHATS: usize = 10;
const BYPASS: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(10);
/// How soon those who speak are governed again.
const GOVERNED_AGAIN: Duration = Duration::from_secs(1);
const PORT: u16 = 8300;

fn start(lab: &Lab) -> Daemon {
    let config = lab.folder.path().join("windlass.toml");
    let rules = "version = 1\n[[rule]]\nalgorithm = \"bbr\"\nsender = \"both\"\n";
    fs::write(&config, rules).unwrap();
    let config = config.to_str().unwrap();
    Daemon::start(lab, &[&PLACE[..], &["--config", config]].concat())
}

/// How many flows pass for this reason, or are governed (`null`), of those whose name contains this.
fn passing(daemon: &Daemon, reason: &Value, name: &str) -> usize {
    let flows = daemon.json(&["flow", "show", "-j"]);
    let flows = flows.as_array().unwrap().iter();
    let so = flows.filter(|f| f["passed"] == *reason && f["flow"].as_str().unwrap().contains(name));
    so.count()
}

fn wait_governed(daemon: &Daemon, name: &str, all: usize) -> Duration {
    let began = Instant::now();
    while passing(daemon, &Value::Null, name) < all {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{} of {all}: {}",
            passing(daemon, &Value::Null, name),
            daemon.ask(&["counters"])
        );
        thread::sleep(PAUSE);
    }
    began.elapsed()
}

/// A server that answers each word with the same, on connections that come one after the other.
fn server(lab: &Lab) -> SocketAddr {
    let address = SocketAddr::new([10, 77, 0, 1].into(), PORT);
    let listener = lab.spawn("a", move || TcpListener::bind(address).unwrap());
    let listener = listener.join().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut word = [0; 100];
                while stream.read_exact(&mut word).is_ok() && stream.write_all(&word).is_ok() {}
            });
        }
    });
    address
}

/// A client that has this port. When it is closed, it resets the connection.
fn client(lab: &Lab, port: u16) -> TcpStream {
    let begin = move || {
        let kind = (SockType::Stream, SockFlag::SOCK_CLOEXEC);
        let fd: OwnedFd = socket(AddressFamily::Inet, kind.0, kind.1, None).unwrap();
        setsockopt(&fd, ReuseAddr, &true).unwrap();
        let now = nix::libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        setsockopt(&fd, Linger, &now).unwrap();
        let own: SocketAddrV4 = format!("10.77.0.2:{port}").parse().unwrap();
        let server: SocketAddrV4 = format!("10.77.0.1:{PORT}").parse().unwrap();
        bind(fd.as_raw_fd(), &SockaddrIn::from(own)).unwrap();
        connect(fd.as_raw_fd(), &SockaddrIn::from(server)).unwrap();
        TcpStream::from(fd)
    };
    let mut stream = lab.spawn("b", begin).join().unwrap();
    say(&mut stream);
    stream
}

fn say(stream: &mut TcpStream) {
    stream.write_all(&[7; 100]).unwrap();
    let mut word = [0; 100];
    stream.read_exact(&mut word).unwrap();
    assert_eq!(word, [7; 100]);
}

#[test]
fn what_was_governed_is_governed_again() {
    let Some(lab) = lab() else { return };
    let daemon = start(&lab);
    server(&lab);
    let talk = Chats::start(&lab, CHATS);
    let downloads = (8001..8003).map(|port| Transfer::start(&lab, port));
    let uploads = (8003..8004).map(|port| Transfer::between(&lab, ("b", "10.77.0.2"), "a", port));
    let transfers: Vec<Transfer> = downloads.chain(uploads).collect();
    let mut silent = client(&lab, 40_001);
    let all_move = |bytes| transfers.iter().for_each(|t| t.wait_for(bytes));
    all_move(MEGABYTE);
    // Both directions of each.
    let all = 2 * (CHATS + transfers.len() + 1);
    wait_governed(&daemon, "", all);
    // Each second chat is silent until the end.
    let speak = 2 * (CHATS / 2 + transfers.len());
    for round in 1..=3 {
        daemon.ask(&["bypass", "on"]);
        thread::sleep(BYPASS);
        assert_eq!(passing(&daemon, &"bypass".into(), ""), all);
        all_move(MEGABYTE);
        daemon.ask(&["bypass", "off"]);
        let took = wait_governed(&daemon, "", speak);
        println!("round {round}: {speak} flows governed again after {took:?}");
        assert!(took < GOVERNED_AGAIN);
        all_move(MEGABYTE);
    }
    assert_eq!(passing(&daemon, &"out_of_sight".into(), ":40001"), 2);
    // After a bypass the ends are believed when they have agreed twice.
    say(&mut silent);
    say(&mut silent);
    let took = wait_governed(&daemon, ":40001", 2);
    println!("the silent one, once it has spoken twice: {took:?}");
    assert!(took < GOVERNED_AGAIN);
    let stall = transfers.iter().map(Transfer::longest_stall).max().unwrap();
    println!("longest stall {stall:?}");
    transfers.into_iter().for_each(Transfer::finish);
    talk.finish();
    // In each round those who speak, and once those who were silent.
    let regained = daemon.counter("engine", "sight_regained");
    let once = (all - speak) / 2;
    assert!(regained >= 3 * (speak / 2 + once) as u64 - 2 * once as u64);
    assert_eq!(daemon.counter("engine", "passed_no_syn"), 0);
}

/// What the box knows of a connection says nothing of the next one that has the same name.
#[test]
fn what_has_begun_anew_is_left_alone() {
    let Some(lab) = lab() else { return };
    let daemon = start(&lab);
    server(&lab);
    let first = client(&lab, 40_002);
    let mut stays = client(&lab, 40_003);
    wait_governed(&daemon, "", 4);
    daemon.ask(&["bypass", "on"]);
    drop(first);
    let mut second = client(&lab, 40_002);
    daemon.ask(&["bypass", "off"]);
    for _ in 0..5 {
        say(&mut second);
        say(&mut stays);
        thread::sleep(PAUSE);
    }
    assert!(wait_governed(&daemon, ":40003", 2) < GOVERNED_AGAIN);
    let flows = daemon.json(&["flow", "show", "-j"]);
    assert_eq!(flows.as_array().unwrap().len(), 2, "{flows}");
    // The next one of that name is new.
    drop(second);
    let mut third = client(&lab, 40_002);
    say(&mut third);
    wait_governed(&daemon, ":40002", 2);
}
