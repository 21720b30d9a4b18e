//! The recipes of `docs/placements.md`: their commands are run as they stand there.

// Shared with other tests, which use more of it.
#[allow(dead_code)]
mod netns;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use serde_json::Value;
use windlass_lab::command::check_host;
use windlass_lab::openvswitch::{Datapath, NEEDED, OpenVswitch};

use netns::{Daemon, Lab, MEGABYTE, PROGRAM, Transfer};

const PAGE: &str = include_str!("../../../docs/placements.md");
const PORT: u16 = 443;

/// A recipe's blocks.
struct Recipe {
    setup: String,
    /// What follows `windlass run`.
    run: Vec<String>,
    undo: String,
}

impl Recipe {
    /// The one under this heading, which has nothing else to run.
    fn read(heading: &str) -> Recipe {
        let section = PAGE.split("\n## ").find(|s| s.starts_with(heading));
        let section = section.unwrap_or_else(|| panic!("no section `{heading}`"));
        let block = |kind: &str| {
            let opening = format!("```sh {kind}\n");
            let (_, rest) = section.split_once(&opening).expect("a block of this kind");
            let (block, _) = rest.split_once("```\n").expect("its end");
            block.to_owned()
        };
        let fences = section.matches("```").count();
        assert_eq!(fences, 6, "{heading}: a block that nobody runs");
        let run = block("run");
        let words = run.strip_prefix("windlass run ").expect("windlass run");
        Recipe {
            setup: block("setup"),
            run: words.split_whitespace().map(str::to_owned).collect(),
            undo: block("undo"),
        }
    }

    /// Sets it up, sees that it governs what `server` sends to `client`, also after the one before was
    /// killed, and undoes it.
    fn prove(&self, lab: &Lab, server: (&str, &str), client: &str) {
        let early = Transfer::between(lab, server, client, PORT);
        early.wait_for(MEGABYTE);
        let before = looks(lab);
        let bridge = address_of_bridge(lab);
        shell(lab, &self.setup);
        assert_eq!(address_of_bridge(lab), bridge);
        early.wait_for(MEGABYTE);
        for _ in 0..2 {
            let words: Vec<&str> = self.run.iter().map(String::as_str).collect();
            let daemon = Daemon::start(lab, &words);
            let transfer = Transfer::between(lab, server, client, PORT);
            transfer.wait_for(5 * MEGABYTE);
            let flows = daemon.json(&["flow", "show", "-j"]);
            let governed = |flow: &&Value| flow["passed"].is_null() && flow["sender"] == "inside";
            let flow = flows.as_array().unwrap().iter().find(governed);
            let flow = flow.unwrap_or_else(|| panic!("none is governed: {flows}"));
            assert_eq!(flow["mode"], "enforce", "{flow}");
            assert!(flow["bytes_acked"].as_u64().unwrap() > MEGABYTE, "{flow}");
            assert_eq!(daemon.end(Signal::SIGKILL), None);
            transfer.wait_for(5 * MEGABYTE);
            transfer.finish();
        }
        early.wait_for(MEGABYTE);
        shell(lab, &self.undo);
        assert_eq!(looks(lab), before);
        early.wait_for(MEGABYTE);
        early.finish();
    }
}

/// Runs lines as somebody would type them on the machine in the middle.
fn shell(lab: &Lab, lines: &str) {
    let folder = Path::new(PROGRAM).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut sh = lab.command("m", "sh");
    sh.env("PATH", format!("{}:{path}", folder.display()));
    let sh = sh.args(["-e", "-x"]).stdin(Stdio::piped());
    let mut sh = sh.stdout(Stdio::null()).spawn().unwrap();
    let mut lines_in = sh.stdin.take().unwrap();
    lines_in.write_all(lines.as_bytes()).unwrap();
    drop(lines_in);
    assert!(sh.wait().unwrap().success(), "{lines}");
}

/// By which the machine in the middle is known, if it has a bridge.
fn address_of_bridge(lab: &Lab) -> String {
    let mut cat = lab.command("m", "cat");
    let output = cat.arg("/sys/class/net/br0/address").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Interfaces, addresses, ports of bridges and routes of the middle.
fn looks(lab: &Lab) -> String {
    let what = [
        "-br link show",
        "-br -4 address show",
        "route show",
        "link show type bridge_slave",
    ];
    let namespace = lab.name("m");
    let said = what.map(|words| {
        let mut ip = Command::new("ip");
        let output = ip.args(["-n", &namespace]).args(words.split(' ')).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    });
    said.concat()
}

fn lab() -> Option<Lab> {
    if let Err(reason) = check_host(&[("ip", "iproute2"), ("ethtool", "ethtool")]) {
        eprintln!("skipped: {reason:#}");
        return None;
    }
    Some(Lab::bare())
}

#[test]
fn in_a_virtual_machine_that_routes() {
    let Some(lab) = lab() else { return };
    lab.add_host("client", ("eth0", "192.0.2.2/24"), "eth0");
    lab.add_host("server", ("eth0", "10.0.0.2/24"), "eth1");
    let ip = |place: &str, words: &str| {
        let namespace = lab.name(place);
        lab.ip(&[
            &["-n", &namespace],
            &words.split(' ').collect::<Vec<_>>()[..],
        ]
        .concat());
    };
    ip("m", "address add 192.0.2.1/24 dev eth0");
    ip("m", "address add 10.0.0.1/24 dev eth1");
    ip("m", "route add default via 192.0.2.254 dev eth0");
    ip("client", "route add default via 192.0.2.1");
    ip("server", "route add default via 10.0.0.1");
    shell(&lab, "echo 1 > /proc/sys/net/ipv4/ip_forward");
    let recipe = Recipe::read("In a virtual machine");
    recipe.prove(&lab, ("server", "10.0.0.2"), "client");
}

#[test]
fn in_a_hypervisor_at_its_guests() {
    let Some(lab) = lab() else { return };
    lab.add_host("net", ("eth0", "192.0.2.2/24"), "eth0");
    lab.add_host("guest", ("eth0", "192.0.2.3/24"), "vnet0");
    lab.add_host("other", ("eth0", "192.0.2.4/24"), "vnet1");
    // Addresses as libvirt gives them.
    shell(
        &lab,
        "ip link add br0 type bridge forward_delay 0 mcast_snooping 0\n\
         ip link set eth0 address 00:16:3e:00:00:01\n\
         ip link set vnet0 address fe:54:00:00:00:01\n\
         ip link set vnet1 address fe:54:00:00:00:02\n\
         for port in eth0 vnet0 vnet1; do ip link set $port master br0; done\n\
         ip link set br0 up\n\
         until ip link show br0 | grep -q 'state UP'; do sleep 0.1; done\n",
    );
    let recipe = Recipe::read("In a hypervisor");
    recipe.prove(&lab, ("guest", "192.0.2.3"), "net");
}

#[test]
fn in_a_switch() {
    if let Err(reason) = check_host(&NEEDED) {
        eprintln!("skipped: {reason:#}");
        return;
    }
    let Some(lab) = lab() else { return };
    for (place, address, port) in [
        ("net", "192.0.2.2/24", "eth0"),
        ("guest", "192.0.2.3/24", "vm1"),
        ("other", "192.0.2.4/24", "vm2"),
    ] {
        lab.add_host(place, ("eth0", address), port);
        let mut ethtool = lab.command(place, "ethtool");
        let offloads = ["-K", "eth0", "tx", "off", "tso", "off", "gso", "off"];
        assert!(ethtool.args(offloads).output().unwrap().status.success());
    }
    let switch = OpenVswitch::start(lab.folder.path(), Some(&lab.name("m"))).unwrap();
    switch.add_bridge("br0", Datapath::Userspace).unwrap();
    for port in ["eth0", "vm1", "vm2"] {
        switch
            .run(&format!("ovs-vsctl --timeout=10 add-port br0 {port}"))
            .unwrap();
    }
    let recipe = Recipe::read("In a switch");
    recipe.prove(&lab, ("guest", "192.0.2.3"), "net");
}
