//! Traffic through the box, and past it.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::netns::{Daemon, MEGABYTE, Transfer};
use crate::switch::{Switch, wait_for};
use crate::{ATTACH, DETACH, RUN, assert_governed};

#[test]
fn a_transfer_goes_through_the_box_and_goes_on_after_kill_9() {
    let Some(switch) = Switch::start() else {
        return;
    };
    let before = switch.looks();
    switch.windlass(ATTACH);
    let daemon = Daemon::start(&switch.lab, &RUN);
    let transfer = Transfer::start(&switch.lab, 8001);
    transfer.wait_for(5 * MEGABYTE);
    let flow = assert_governed(&daemon, 8001);
    assert_eq!(
        (&flow["mode"], &flow["sender"]),
        (&"enforce".into(), &"inside".into())
    );
    assert!(flow["bytes_acked"].as_u64().unwrap() > MEGABYTE, "{flow}");
    assert!(daemon.counter("engine", "flows_governed") >= 1);
    // Not what is not meant.
    let other = Transfer::start(&switch.lab, 8020);
    other.wait_for(MEGABYTE);
    let flows = daemon.json(&["flow", "show", "-j"]).to_string();
    assert!(!flows.contains(":8020"), "{flows}");
    other.finish();
    learned_where_they_are(&switch);

    assert_eq!(daemon.end(Signal::SIGKILL), None);
    transfer.wait_for(5 * MEGABYTE);
    let daemon = Daemon::start(&switch.lab, &RUN);
    let second = Transfer::start(&switch.lab, 8002);
    second.wait_for(5 * MEGABYTE);
    transfer.wait_for(5 * MEGABYTE);
    assert_governed(&daemon, 8002);

    // Detaching while all is at work.
    switch.windlass(DETACH);
    transfer.wait_for(5 * MEGABYTE);
    second.wait_for(5 * MEGABYTE);
    let mut daemon = daemon;
    wait_for("windlass ends", || {
        daemon.child.try_wait().unwrap().is_some()
    });
    assert_eq!(daemon.child.wait().unwrap().code(), Some(0));
    transfer.finish();
    second.finish();
    assert_eq!(switch.looks(), before);
}

/// Each packet has gone through the box once, and the bridge knows every address at its own port.
fn learned_where_they_are(switch: &Switch) {
    // The datapath tells the tables what it has counted twice a second.
    for rules in ["cookie=0x77696e646c617311", "resubmit(,0)"] {
        wait_for(rules, || switch.packets(rules) > 1000);
    }
    assert_eq!(switch.packets("actions=drop"), 0);
    let known = switch.known_addresses();
    let numbers = |name: &str| switch.vsctl(&format!("get Interface {name} ofport"));
    for (host, interface, port) in [("a", "a0", "m0"), ("b", "b0", "m1")] {
        let mut cat = switch.lab.command(host, "cat");
        let address = cat
            .arg(format!("/sys/class/net/{interface}/address"))
            .output()
            .unwrap();
        let address = String::from_utf8(address.stdout).unwrap();
        let line = known.lines().find(|l| l.contains(address.trim()));
        let line = line.unwrap_or_else(|| panic!("no {address} in {known}"));
        assert_eq!(
            line.split_whitespace().next(),
            Some(numbers(port).trim()),
            "{known}"
        );
    }
}

/// A server at an access port, clients at a trunk and at an access port, and others that the
/// operator's rules keep out.
#[test]
fn the_operators_own_rules_and_networks_hold() {
    let Some(switch) = Switch::start() else {
        return;
    };
    let lab = &switch.lab;
    // b is at another bridge: there is a trunk between the two. c is at an access port of the same
    // network, d of another.
    switch.vsctl("del-port m1");
    switch.add_bridge("br1");
    switch.vsctl("add-port br1 m1 tag=7");
    for (bridge, port, peer) in [("br0", "up", "down"), ("br1", "down", "up")] {
        let settings = format!("type=patch options:peer={peer}");
        switch.vsctl(&format!(
            "add-port {bridge} {port} -- set Interface {port} {settings}"
        ));
    }
    for (place, interface, address, port) in [
        ("c", "c0", "10.77.0.3/24", "m2"),
        ("d", "d0", "10.77.0.4/24", "m3"),
    ] {
        lab.add_host(place, (interface, address), port);
        switch.real_packets(place, interface);
    }
    switch.vsctl("set Port m0 tag=7 -- add-port br0 m2 tag=7 -- add-port br0 m3 tag=8");
    // Two that speak of where a packet comes from, and one of its VLAN, which only untagged frames
    // have there.
    switch.ofctl("add-flow br0 priority=9,in_port=m2,tcp,tp_dst=8003,actions=drop");
    switch.ofctl("add-flow br0 priority=9,in_port=m0,vlan_tci=0,tcp,tp_src=8004,actions=drop");
    let before = switch.looks();
    for sides in [
        "",
        " --inside m0",
        " --inside m0 --outside up,m2",
        " --inside m0 --outside up",
    ] {
        switch.windlass(&format!("{ATTACH}{sides}"));
        let daemon = Daemon::start(lab, &RUN);
        let outside = if sides.ends_with("up") {
            ["b", "b"]
        } else {
            ["b", "c"]
        };
        for (port, client) in [8001, 8002].into_iter().zip(outside) {
            let transfer = Transfer::between(lab, ("a", "10.77.0.1"), client, port);
            transfer.wait_for(5 * MEGABYTE);
            let flow = assert_governed(&daemon, port);
            assert!(flow["flow"].as_str().unwrap().ends_with("@7"), "{flow}");
            transfer.finish();
        }
        assert!(connects(&switch, "b", 8003), "{sides}");
        assert!(
            !connects(&switch, "c", 8003),
            "dropped by its port: {sides}"
        );
        assert!(!connects(&switch, "b", 8004), "dropped by its tag: {sides}");
        assert!(!connects(&switch, "d", 8005), "in another network: {sides}");
        assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
        switch.windlass(DETACH);
        assert_eq!(switch.looks(), before, "{sides}");
    }
}

/// Whether a client in this place reaches a server in a.
fn connects(switch: &Switch, client: &str, port: u16) -> bool {
    let address = SocketAddr::new("10.77.0.1".parse().unwrap(), port);
    let bind = move || TcpListener::bind(address).unwrap();
    let listener = switch.lab.spawn("a", bind).join().unwrap();
    let connect = move || TcpStream::connect_timeout(&address, Duration::from_millis(1500));
    let connected = switch.lab.spawn(client, connect).join().unwrap().is_ok();
    drop(listener);
    connected
}

#[test]
fn packets_whose_port_cannot_be_remembered_go_past_the_box() {
    let Some(switch) = Switch::start() else {
        return;
    };
    switch.lab.add_host("c", ("c0", "10.77.0.3/24"), "m2");
    switch.real_packets("c", "c0");
    switch.vsctl("add-port br0 m2");
    switch.windlass(&format!("{ATTACH} --addresses 2"));
    let daemon = Daemon::start(&switch.lab, &RUN);
    let first = Transfer::start(&switch.lab, 8001);
    first.wait_for(MEGABYTE);
    let second = Transfer::between(&switch.lab, ("a", "10.77.0.1"), "c", 8002);
    second.wait_for(MEGABYTE);
    assert_governed(&daemon, 8001);
    first.finish();
    second.finish();
    assert_eq!(switch.packets("actions=drop"), 0);
}

#[test]
fn a_transfer_over_ipv6_goes_through_the_box() {
    let Some(switch) = Switch::start() else {
        return;
    };
    for (place, interface, address) in [("a", "a0", "fd77::1/64"), ("b", "b0", "fd77::2/64")] {
        let namespace = switch.lab.name(place);
        let add = [
            "-n", &namespace, "addr", "add", address, "dev", interface, "nodad",
        ];
        switch.lab.ip(&add);
    }
    switch.windlass("attach --ovs br0 --match tcp6,ipv6_dst=fd77::1,tp_dst=8001");
    let daemon = Daemon::start(&switch.lab, &RUN);
    let transfer = Transfer::between(&switch.lab, ("a", "fd77::1"), "b", 8001);
    transfer.wait_for(5 * MEGABYTE);
    let flows = daemon.json(&["flow", "show", "-j"]);
    let flow = &flows[0];
    assert!(
        flow["flow"].as_str().unwrap().contains("fd77::1"),
        "{flows}"
    );
    assert_eq!(flow["passed"], Value::Null, "{flow}");
    transfer.finish();
}
