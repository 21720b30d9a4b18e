//! Two boxes on two ways between the same hosts. When the first is gone, the second governs the connections of both.
//!
//! `WINDLASS_CHATS=190` has so many connections beside the transfers.

#[allow(dead_code)]
mod netns;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use netns::{Chats, Daemon, Lab, MEGABYTE, Transfer};

const CHATS_IN_TEST: usize = 20;
const PAUSE: Duration = Duration::from_millis(5);
/// How soon as many flows are governed again. Mostly it is 0.07 to 0.33 s: who has lost a packet with the first box sends it again after
/// 0.2 s (Linux `TCP_RTO_MIN`), and after another 0.4 s if that is lost too.
const GOVERNED_AGAIN: Duration = Duration::from_secs(1);

/// Hosts a and b have a bridge each: one way leads through the box in m, the other through that in n. None is taken yet.
fn two_ways(lab: &Lab) {
    let (m, n) = (lab.name("m"), lab.name("n"));
    lab.ip(&["netns", "add", &n]);
    for (host, address, hardware) in [
        ("a", "10.77.0.1/24", "02:00:00:00:00:01"),
        ("b", "10.77.0.2/24", "02:00:00:00:00:02"),
    ] {
        let name = lab.name(host);
        lab.ip(&["netns", "add", &name]);
        lab.ip(&["-n", &name, "link", "add", "lan0", "type", "bridge"]);
        // A bridge whose only port goes forgets its neighbours, and the kernel may take a second to see that it is back.
        let stays = ["link", "add", "stays", "master", "lan0", "type", "veth"];
        let peer = ["peer", "name", "stays-far"];
        lab.ip(&[&["-n", &name][..], &stays, &peer].concat());
        for end in ["stays", "stays-far"] {
            lab.ip(&["-n", &name, "link", "set", end, "up"]);
        }
        lab.ip(&["-n", &name, "addr", "add", address, "dev", "lan0"]);
        // Else it would have that of another port from then on.
        let own = ["link", "set", "lan0", "address", hardware, "up"];
        lab.ip(&[&["-n", &name][..], &own].concat());
        for (middle, port) in [(&m, "0"), (&n, "1")] {
            let (end, other) = (format!("{host}{port}"), format!("{host}-box"));
            let veth = ["link", "add", &end, "netns", &name, "type", "veth"];
            let peer = ["peer", "name", &other, "netns", middle];
            lab.ip(&[veth.as_slice(), &peer].concat());
            lab.ip(&["-n", &name, "link", "set", &end, "up"]);
            lab.ip(&["-n", middle, "link", "set", &other, "up"]);
        }
    }
    // The two boxes can talk to each other.
    let veth = ["link", "add", "talk", "netns", &m, "type", "veth"];
    let peer = ["peer", "name", "talk", "netns", &n];
    lab.ip(&[veth.as_slice(), &peer].concat());
    for (middle, address) in [(&m, "10.78.0.1/24"), (&n, "10.78.0.2/24")] {
        lab.ip(&["-n", middle, "addr", "add", address, "dev", "talk"]);
        lab.ip(&["-n", middle, "link", "set", "talk", "up"]);
    }
}

/// As spanning tree does: a bridge has one port at a time.
fn take_way(lab: &Lab, host: &str, way: &str) {
    let end = format!("{host}{way}");
    lab.ip(&["-n", &lab.name(host), "link", "set", &end, "master", "lan0"]);
}

fn start(lab: &Lab, place: &str, own: &str, other: &str, digit: &str) -> Daemon {
    let key = lab.folder.path().join(format!("{place}.key"));
    fs::write(&key, digit.repeat(64)).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let config = lab.folder.path().join(format!("{place}.toml"));
    let text = format!(
        "version = 1\n[standby]\nlisten = \"{own}:9471\"\npeer = \"{other}:9471\"\nkey_file = \"{}\"\n\
         [[rule]]\nalgorithm = \"bbr\"\nsender = \"both\"\n",
        key.display()
    );
    fs::write(&config, text).unwrap();
    let config = config.to_str().unwrap();
    let interfaces = ["--inside", "a-box", "--outside", "b-box"];
    Daemon::within(
        lab,
        place,
        &[&interfaces[..], &["--config", config]].concat(),
    )
}

/// Flows that are governed, and that are only known.
fn flows(daemon: &Daemon) -> (usize, usize) {
    let flows = daemon.json(&["flow", "show", "-j"]);
    let flows = flows.as_array().unwrap();
    let governed = flows.iter().filter(|flow| flow["passed"] == Value::Null);
    (governed.count(), flows.len())
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(15), "never {what}");
        thread::sleep(PAUSE);
    }
    began.elapsed()
}

fn chats() -> usize {
    let given = std::env::var("WINDLASS_CHATS");
    given.map_or(CHATS_IN_TEST, |number| number.parse().unwrap())
}

#[test]
fn the_second_box_goes_on_when_the_first_is_gone() {
    let Some(lab) = lab_without_hosts() else {
        return;
    };
    two_ways(&lab);
    let mut first = start(&lab, "m", "10.78.0.1", "10.78.0.2", "7");
    let second = start(&lab, "n", "10.78.0.2", "10.78.0.1", "7");
    second.wait_said("says of which connections it takes care");
    for host in ["a", "b"] {
        take_way(&lab, host, "0");
    }
    let talk = Chats::start(&lab, chats());
    let downloads = (8001..8003).map(|port| Transfer::start(&lab, port));
    let uploads = (8003..8004).map(|port| Transfer::between(&lab, ("b", "10.77.0.2"), "a", port));
    let transfers: Vec<Transfer> = downloads.chain(uploads).collect();
    transfers
        .iter()
        .for_each(|transfer| transfer.wait_for(MEGABYTE));
    // Both directions of each.
    let all = 2 * (chats() + transfers.len());
    wait_for("all governed", || flows(&first).0 == all);
    wait_for("all known to the second", || flows(&second).1 == all);
    assert_eq!(flows(&second).0, 0);

    // The machine of the first box is gone, and the network finds the other way.
    first.child.kill().unwrap();
    for host in ["a", "b"] {
        let (name, end) = (lab.name(host), format!("{host}0"));
        lab.ip(&["-n", &name, "link", "set", &end, "down"]);
        take_way(&lab, host, "1");
    }
    // Half of the chats are silent.
    let speaking = 2 * (chats().div_ceil(2) + transfers.len());
    let again = wait_for("governed again", || flows(&second).0 >= speaking * 95 / 100);
    transfers
        .iter()
        .for_each(|transfer| transfer.wait_for(MEGABYTE));
    let stall = transfers.iter().map(Transfer::longest_stall).max();
    let lately = second.counter("engine", "passed_no_syn");
    transfers.into_iter().for_each(Transfer::finish);
    talk.finish();
    println!(
        "{all} flows, {speaking} of them of who speaks: 95 % governed again after {again:?}, longest stall {:?}",
        stall.unwrap()
    );
    assert!(again < GOVERNED_AGAIN, "{again:?}");
    // Every connection, the silent ones too, when they spoke again.
    let adopted = second.counter("engine", "adopted");
    assert_eq!(
        2 * adopted,
        all as u64,
        "{lately} packets of unknown connections"
    );
}

#[test]
fn whoever_has_another_key_is_not_heard() {
    let Some(lab) = lab_without_hosts() else {
        return;
    };
    two_ways(&lab);
    let first = start(&lab, "m", "10.78.0.1", "10.78.0.2", "7");
    let second = start(&lab, "n", "10.78.0.2", "10.78.0.1", "8");
    second.wait_said("the same key");
    let status = first.wait_status("in trouble", |status| {
        status["troubles"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    });
    let trouble = status["troubles"][0]["what"].as_str().unwrap();
    assert!(
        trouble.contains("10.78.0.2:9471 is not told of connections"),
        "{trouble}"
    );
}

fn lab_without_hosts() -> Option<Lab> {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: needs root for network namespaces");
        return None;
    }
    Some(Lab::bare())
}
