//! Two boxes share the connections of the same hosts: routers spread them by a hash over addresses, protocol and ports (ECMP). The hash of
//! Linux is the same for both directions of a connection, so each box sees all of it. With `net.ipv4.fib_multipath_hash_policy` 1 it would be
//! as well, but not here: a packet from a socket of the same machine brings a hash of its own, which the router then takes.

#[allow(dead_code)]
mod netns;

use std::path::Path;

use nix::sys::signal::Signal;

use netns::{Chats, Daemon, Lab, MEGABYTE, Transfer};

/// Connections, and the fewest of them that one box of two may get: a fair hash gives it fewer once in a thousand billion times.
const CHATS: usize = 60;
const FEWEST: u64 = 6;
/// What policy says: both ends are governed.
const CONFIG: &str = "version = 1\n[[rule]]\nalgorithm = \"bbr\"\nsender = \"both\"\n";

/// Host, its router, and the number of both.
const HOSTS: [(&str, &str, &str); 2] = [("a", "x", "1"), ("b", "y", "2")];

/// Hosts a and b have a router each. From router to router two ways lead, one through the box in m, the other through that in n.
fn two_ways(lab: &Lab) {
    for place in ["n", "a", "b", "x", "y"] {
        lab.ip(&["netns", "add", &lab.name(place)]);
    }
    for (host, router, own) in HOSTS {
        for setting in [
            "net.ipv4.ip_forward=1",
            "net.ipv4.fib_multipath_hash_policy=3",
            "net.ipv4.fib_multipath_hash_fields=55",
            "net.ipv4.conf.all.rp_filter=0",
            "net.ipv4.conf.default.rp_filter=0",
        ] {
            let mut sysctl = lab.command(router, "sysctl");
            let status = sysctl.args(["-qw", setting]).status();
            assert!(status.unwrap().success(), "{setting}");
        }
        lab.wire(host, ("lan", &format!("10.90.{own}.2/24")), (router, "lan"));
        let router_address = format!("10.90.{own}.1");
        let name = lab.name(host);
        let address = format!("10.77.0.{own}/32");
        lab.ip(&["-n", &name, "addr", "add", &address, "dev", "lan"]);
        let name_of_router = lab.name(router);
        let with_length = format!("{router_address}/24");
        lab.ip(&[
            "-n",
            &name_of_router,
            "addr",
            "add",
            &with_length,
            "dev",
            "lan",
        ]);
        let default = ["route", "add", "default", "via", &router_address, "src"];
        let source = format!("10.77.0.{own}");
        lab.ip(&[&["-n", &name][..], &default, &[source.as_str()]].concat());
        let back = format!("10.90.{own}.2");
        lab.ip(&["-n", &name_of_router, "route", "add", &source, "via", &back]);
        for (way, middle) in [("0", "m"), ("1", "n")] {
            let address = format!("10.8{way}.0.{own}/24");
            let (end, port) = (format!("way{way}"), format!("{host}-box"));
            lab.wire(router, (&end, &address), (middle, &port));
        }
    }
}

/// Where the router of a host sends what is for the other one.
fn route(lab: &Lab, router: &str, ways: &[&str]) {
    let other = if router == "x" { "2" } else { "1" };
    let (to, name) = (format!("10.77.0.{other}"), lab.name(router));
    let hops = ways.iter().flat_map(|way| {
        let (via, dev) = (format!("10.8{way}.0.{other}"), format!("way{way}"));
        [
            "nexthop".to_owned(),
            "via".to_owned(),
            via,
            "dev".to_owned(),
            dev,
        ]
    });
    let hops: Vec<String> = hops.collect();
    let mut arguments = vec!["-n", &name, "route", "replace", &to];
    arguments.extend(hops.iter().map(String::as_str));
    lab.ip(&arguments);
}

fn start(lab: &Lab, place: &str) -> Daemon {
    let config = lab.folder.path().join(format!("{place}.toml"));
    std::fs::write(&config, CONFIG).unwrap();
    let config = config.to_str().unwrap();
    let interfaces = ["--inside", "a-box", "--outside", "b-box"];
    let arguments = [&interfaces[..], &["--config", config]].concat();
    Daemon::within(lab, place, &arguments)
}

/// Both boxes on their ways; none, with the reason printed, where there cannot be any.
fn two_boxes() -> Option<(Lab, [Daemon; 2])> {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: needs root for network namespaces");
        return None;
    }
    if !Path::new("/proc/sys/net/ipv4/fib_multipath_hash_fields").exists() {
        eprintln!(
            "skipped: needs a kernel that spreads by chosen fields (Linux 5.14, CONFIG_IP_ROUTE_MULTIPATH)"
        );
        return None;
    }
    let lab = Lab::bare();
    two_ways(&lab);
    let boxes = [start(&lab, "m"), start(&lab, "n")];
    Some((lab, boxes))
}

fn counter(daemon: &Daemon, name: &str) -> u64 {
    daemon.counter("engine", name)
}

#[test]
fn two_boxes_share_the_connections_and_each_sees_both_directions() {
    let Some((lab, boxes)) = two_boxes() else {
        return;
    };
    for router in ["x", "y"] {
        route(&lab, router, &["0", "1"]);
    }
    let talk = Chats::start(&lab, CHATS);
    let transfers: Vec<Transfer> = (8001..8005)
        .map(|port| Transfer::start(&lab, port))
        .collect();
    let all = (CHATS + transfers.len()) as u64;
    transfers
        .iter()
        .for_each(|transfer| transfer.wait_for(MEGABYTE));
    let shares = boxes.each_ref().map(|one| counter(one, "connections"));
    println!("{all} connections: {shares:?}");
    assert_eq!(shares[0] + shares[1], all);
    assert!(shares.iter().all(|share| *share >= FEWEST), "{shares:?}");
    for (one, share) in boxes.iter().zip(shares) {
        assert_eq!(counter(one, "flows_governed"), 2 * share);
        for reason in ["passed_one_way", "passed_no_syn", "passed_unseen_data"] {
            assert_eq!(counter(one, reason), 0, "{reason}");
        }
    }

    // One of them dies. Its bridge carries its share; the other one goes on.
    let [first, second] = boxes;
    first.end(Signal::SIGKILL);
    transfers
        .iter()
        .for_each(|transfer| transfer.wait_for(MEGABYTE));
    transfers.into_iter().for_each(Transfer::finish);
    talk.finish();
    let talk = Chats::start(&lab, CHATS);
    talk.finish();
    let more = counter(&second, "connections") - shares[1];
    println!("of {CHATS} more, the second has {more}");
    assert!((FEWEST..=CHATS as u64 - FEWEST).contains(&more));
}

/// Where the ways back are others, each box sees one direction of many connections. It leaves those alone.
#[test]
fn where_the_way_back_is_another_one_the_boxes_leave_connections_alone() {
    let Some((lab, boxes)) = two_boxes() else {
        return;
    };
    route(&lab, "x", &["0"]);
    route(&lab, "y", &["1"]);
    let talk = Chats::start(&lab, CHATS);
    let transfer = Transfer::start(&lab, 8001);
    transfer.wait_for(MEGABYTE);
    transfer.finish();
    talk.finish();
    for one in &boxes {
        assert_eq!(counter(one, "flows_governed"), 0);
    }
    let seen = boxes.each_ref().map(|one| counter(one, "passed_one_way"));
    assert!(seen.iter().sum::<u64>() > 0, "{seen:?}");
}
