//! What is lost is there again.

use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::netns::{Daemon, MEGABYTE, Transfer};
use crate::switch::{Switch, wait_for};
use crate::{ATTACH, DETACH, RUN, assert_governed};

/// What is lost must be there again in this time.
const REPAIR: Duration = Duration::from_secs(1);

#[test]
fn rules_lost_with_the_switch_are_there_again_within_a_second() {
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let Some(mut switch) = Switch::start() else {
            return;
        };
        switch.windlass(ATTACH);
        let attached = switch.flows("");
        let daemon = Daemon::start(&switch.lab, &RUN);
        let transfer = Transfer::start(&switch.lab, 8001);
        transfer.wait_for(5 * MEGABYTE);
        assert_governed(&daemon, 8001);

        switch.signal(signal);
        thread::sleep(Duration::from_millis(700));
        let answered = switch.start_daemon();
        wait_for("the rules", || {
            without_learned(&switch) == without_learned_in(&attached)
        });
        let took = answered.elapsed();
        assert!(took < REPAIR, "{took:?} after it answered");
        eprintln!("{signal}: rules there {took:?} after ovs-vswitchd answered");
        transfer.wait_for(5 * MEGABYTE);
        // Meanwhile its packets went by unseen. Both ends agree again, and what was outstanding has arrived.
        wait_for("the flow is governed again", || {
            let flow = daemon.flow(8001);
            flow["passed"] == Value::Null && flow["in_senders_hands"] == false
        });
        let second = Transfer::start(&switch.lab, 8002);
        second.wait_for(5 * MEGABYTE);
        assert_governed(&daemon, 8002);
        transfer.wait_for(5 * MEGABYTE);
        transfer.finish();
        second.finish();
        assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
    }
}

#[test]
fn rules_and_ports_that_somebody_removes_are_there_again() {
    let Some(switch) = Switch::start() else {
        return;
    };
    switch.windlass(ATTACH);
    let attached = switch.flows("");
    let daemon = Daemon::start(&switch.lab, &RUN);
    let transfer = Transfer::start(&switch.lab, 8001);
    transfer.wait_for(MEGABYTE);
    for removal in ["br0", "br0 cookie=0x77696e646c617311/-1", "br0 tcp"] {
        switch.ofctl(&format!("del-flows {removal}"));
        let removed = Instant::now();
        switch.ofctl("add-flow br0 priority=0,actions=NORMAL");
        wait_for("the rules", || {
            without_learned(&switch) == without_learned_in(&attached)
        });
        assert!(removed.elapsed() < REPAIR, "{:?}", removed.elapsed());
        transfer.wait_for(MEGABYTE);
    }
    // An operator's own change is not undone.
    switch.ofctl("add-flow br0 priority=3,udp,actions=drop");
    switch.vsctl("del-port wl0-in-sw");
    wait_for("the port", || switch.vsctl("show").contains("wl0-in-sw"));
    wait_for("the rules", || {
        let rules = without_learned(&switch);
        rules.contains("udp actions=drop") && rules.contains("wl0-in-sw")
    });
    transfer.wait_for(MEGABYTE);
    let second = Transfer::start(&switch.lab, 8002);
    second.wait_for(5 * MEGABYTE);
    assert_governed(&daemon, 8002);
    transfer.finish();
    second.finish();
}

#[test]
fn a_wire_that_is_gone_is_made_again() {
    let Some(mut switch) = Switch::start() else {
        return;
    };
    switch.windlass(ATTACH);
    let mut daemon = Daemon::start(&switch.lab, &RUN);
    let transfer = Transfer::start(&switch.lab, 8001);
    transfer.wait_for(MEGABYTE);
    switch.run("ip link del wl0-in");
    wait_for("windlass ends", || {
        daemon.child.try_wait().unwrap().is_some()
    });
    assert_eq!(daemon.child.wait().unwrap().code(), Some(1));
    // It has not left the traffic without a way.
    transfer.wait_for(5 * MEGABYTE);

    // As after a reboot: the database is all there is.
    switch.signal(Signal::SIGTERM);
    for link in ["wl0-in", "wl0-out", "wl0"] {
        switch.run(&format!("ip link del {link}"));
    }
    switch.start_daemon();
    transfer.wait_for(MEGABYTE);
    let daemon = Daemon::start(&switch.lab, &RUN);
    let second = Transfer::start(&switch.lab, 8002);
    second.wait_for(5 * MEGABYTE);
    transfer.wait_for(MEGABYTE);
    assert_governed(&daemon, 8002);
    transfer.finish();
    second.finish();
}

#[test]
fn an_older_openflow_will_do() {
    let Some(mut switch) = Switch::start() else {
        return;
    };
    switch.vsctl("set Bridge br0 protocols=OpenFlow10,OpenFlow13");
    let before = switch.looks();
    switch.windlass(ATTACH);
    let attached = switch.flows("");
    let daemon = Daemon::start(&switch.lab, &RUN);
    let transfer = Transfer::start(&switch.lab, 8001);
    transfer.wait_for(MEGABYTE);
    switch.signal(Signal::SIGTERM);
    let answered = switch.start_daemon();
    // This OpenFlow has no bundles: the rules come one by one, and a SYN may go by before the last of them.
    wait_for("the rules", || {
        without_learned(&switch) == without_learned_in(&attached)
    });
    assert!(answered.elapsed() < REPAIR, "{:?}", answered.elapsed());
    let second = Transfer::start(&switch.lab, 8002);
    second.wait_for(5 * MEGABYTE);
    assert_governed(&daemon, 8002);
    transfer.finish();
    second.finish();
    switch.windlass(DETACH);
    assert_eq!(switch.looks(), before);
}

fn without_learned(switch: &Switch) -> String {
    without_learned_in(&switch.flows(""))
}

fn without_learned_in(flows: &str) -> String {
    let lines = flows
        .lines()
        .filter(|l| !l.trim_start().starts_with("cookie=0x77696e646c617320"));
    lines.collect::<Vec<_>>().join("\n")
}
