//! Attaching and detaching, in good order and in bad.

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::switch::{Switch, wait_for};
use crate::{ATTACH, DETACH};

#[test]
fn what_is_printed_is_what_is_done_and_detaching_undoes_it() {
    let Some(switch) = Switch::start() else {
        return;
    };
    // Of a bridge's ports, the one with the lowest address of a manufacturer's gives it its own.
    switch.run("ip link set m1 address 00:16:3e:ff:00:01");
    wait_for("the bridge's address", || {
        switch
            .vsctl("get Interface br0 mac_in_use")
            .contains("00:16:3e:ff:00:01")
    });
    switch.ofctl("add-flow br0 priority=7,udp,actions=load:1->NXM_NX_REG15[],resubmit(,253)");
    let before = switch.looks();
    let script = switch.windlass(&format!("{ATTACH} --dry-run"));
    let planned: Value = parsed(&switch.windlass(&format!("{ATTACH} --dry-run -j")));
    assert_eq!(planned["done"], false);
    assert_eq!(switch.looks(), before, "a dry run has changed something");

    let printed = switch.windlass(ATTACH);
    let attached = switch.looks();
    assert_ne!(attached, before);
    let identity =
        |s: &Switch| s.vsctl("get Bridge br0 datapath_id -- get Interface br0 mac_in_use");
    let own = identity(&switch);
    assert!(own.contains("00:16:3e:ff:00:01"), "{own}");
    assert_eq!(
        printed.strip_prefix(&script),
        Some("windlass: attached to bridge br0; govern it with: windlass run --ovs br0\n",)
    );
    let undoing = switch.windlass(&format!("{DETACH} --dry-run"));
    assert_eq!(switch.looks(), attached, "a dry run has changed something");
    let undone = switch.windlass(DETACH);
    assert_eq!(
        undone,
        format!("{undoing}windlass: detached from bridge br0\n")
    );
    assert_eq!(switch.looks(), before);
    assert_eq!(identity(&switch), own);

    // By hand, and detached by hand.
    switch.shell(&script);
    assert_eq!(switch.flows(""), attached.flows);
    switch.shell(&switch.windlass(&format!("{DETACH} --dry-run")));
    assert_eq!(switch.looks(), before);
    let report = parsed(&switch.windlass(&format!("{ATTACH} -j")));
    assert_eq!(report["interfaces"]["inside"], "wl0-in");
    assert_eq!(report["commands"], planned["commands"]);
    assert_eq!(
        parsed(&switch.windlass(&format!("{DETACH} -j")))["done"],
        true
    );
    assert_eq!(switch.looks(), before);
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let Some(switch) = Switch::start() else {
        return;
    };
    switch.vsctl("add-port br0 gre0 -- set Interface gre0 type=gre options:remote_ip=flow");
    let before = switch.looks();
    for (command, reason) in [
        (
            "attach --ovs br1 --match tcp,tp_dst=80",
            "no bridge br1 (it has br0)",
        ),
        (
            "attach --ovs br0 --match tcp",
            "name the servers' ports with --inside",
        ),
        (
            "attach --ovs br0 --match tcp --inside m7",
            "no port m7 (it has br0, gre0, m0, m1)",
        ),
        (
            "attach --ovs br0 --match tcp --inside m0 --outside m0",
            "both sides",
        ),
        (
            "attach --ovs br0 --match tcp --inside gre0",
            "gre0 is a tunnel",
        ),
        (
            "attach --ovs br0 --match tcp,tp_dst=80 --priority 65530",
            "at most 65527",
        ),
        (
            "attach --ovs br0 --match tcp,tp_dst=80 --priority 0",
            "priority=0 actions=NORMAL",
        ),
        (
            "attach --ovs br0 --match tcp,tp_dst=80 --register 16",
            "reg0 to reg15",
        ),
        (DETACH, "windlass is not attached to bridge br0"),
        ("detach --ovs br1", "no bridge br1 (it has br0)"),
        ("run --ovs br0", "windlass attach --ovs br0"),
        ("run --ovs br0 --io packet", "not fail-open"),
    ] {
        let said = switch.refused(command);
        assert!(said.contains(reason), "{command}: {said}");
        assert_eq!(switch.looks(), before, "{command}");
    }
    switch.windlass(ATTACH);
    let attached = switch.looks();
    let said = switch.refused("attach --ovs br0 --match tcp,tp_dst=443");
    assert!(
        said.contains("has the box already, for tcp,tp_dst=8001/0xfff0"),
        "{said}"
    );
    assert_eq!(switch.looks(), attached);
    switch.windlass(DETACH);
    assert_eq!(switch.looks(), before);
    let said = switch.refused(DETACH);
    assert!(said.contains("not attached"), "{said}");
}

#[test]
fn an_attach_that_fails_half_way_is_undone() {
    let Some(switch) = Switch::start() else {
        return;
    };
    // Room for so few rules that ours do not find any.
    switch.vsctl(
        "-- --id=@t create Flow_Table flow_limit=4 overflow_policy=refuse \
         -- set Bridge br0 flow_tables:0=@t",
    );
    let before = switch.looks();
    let said = switch.refused(ATTACH);
    assert!(said.contains("windlass is not attached to bridge br0, and the bridge is as it was"));
    assert!(said.contains("OFPFMFC_TABLE_FULL"), "{said}");
    assert_eq!(switch.looks(), before);
    switch.vsctl("clear Bridge br0 flow_tables protocols");
    // With rules put in one after the other.
    switch.vsctl("set Bridge br0 protocols=OpenFlow10,OpenFlow13");
    switch.vsctl(
        "-- --id=@t create Flow_Table flow_limit=9 overflow_policy=refuse \
         -- set Bridge br0 flow_tables:0=@t",
    );
    let before = switch.looks();
    let said = switch.refused(ATTACH);
    assert!(said.contains("and the bridge is as it was"), "{said}");
    assert_eq!(switch.looks(), before);
}

/// As if it had been killed there.
#[test]
fn an_attach_that_ends_anywhere_can_be_detached() {
    let Some(switch) = Switch::start() else {
        return;
    };
    let before = switch.looks();
    let report = parsed(&switch.windlass(&format!("{ATTACH} --dry-run -j")));
    let commands = report["commands"].as_array().unwrap();
    let commands: Vec<&str> = commands.iter().map(|c| c.as_str().unwrap()).collect();
    let mut script = String::new();
    for (count, command) in commands.iter().enumerate() {
        script += &format!("{command}\n");
        switch.shell(&script);
        if count + 1 < commands.len() {
            let said = switch.refused(ATTACH);
            assert!(said.contains("windlass detach --ovs br0"), "{said}");
            let said = switch.refused("run --ovs br0");
            assert!(said.contains("has not come to its end"), "{said}");
        }
        switch.windlass(DETACH);
        assert_eq!(switch.looks(), before, "after `{command}`");
    }
}

#[test]
fn a_bridge_or_a_daemon_that_is_gone_can_be_detached_from() {
    let Some(mut switch) = Switch::start() else {
        return;
    };
    let before = switch.looks();
    switch.windlass(ATTACH);
    switch.signal(Signal::SIGTERM);
    switch.windlass(DETACH);
    let said = switch.refused(ATTACH);
    assert!(
        said.contains("ovs-vswitchd does not answer for bridge br0"),
        "{said}"
    );
    switch.start_daemon();
    assert_eq!(switch.looks(), before);

    switch.windlass(ATTACH);
    switch.vsctl("del-br br0");
    let links = || switch.run("ip -o link show");
    assert!(links().contains("wl0-in"));
    switch.windlass(DETACH);
    assert!(!links().contains("wl0"), "{}", links());
    let said = switch.refused(DETACH);
    assert!(said.contains("no bridge br0 (it has none)"), "{said}");
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}
