//! An Open vSwitch of the test's own: its database, its daemons and their sockets are in the lab's
//! folder, its interfaces in the lab's middle namespace.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use windlass_lab::command::check_host;
use windlass_lab::openvswitch::{Datapath, NEEDED, OpenVswitch, SCHEMA};

use crate::netns::{Lab, PROGRAM};

/// Set: the kernel's datapath, not that in userspace.
pub const IN_KERNEL: &str = "WINDLASS_OVS_IN_KERNEL";
const PATIENCE: Duration = Duration::from_secs(10);

/// Bridge br0 with a's port m0 and b's port m1. Its daemons end with it.
pub struct Switch {
    ovs: OpenVswitch,
    pub lab: Lab,
}

/// What must be equal before attaching and after detaching.
#[derive(PartialEq, Eq, Debug)]
pub struct Looks {
    show: String,
    pub flows: String,
    groups: String,
    /// Of bridges, ports and interfaces, but for what counts and what is seen of the wire.
    configured: String,
    links: String,
}

impl Switch {
    /// None, with the reason printed, where it cannot be.
    pub fn start() -> Option<Switch> {
        if !can_be() {
            return None;
        }
        let lab = Lab::new();
        let ovs = OpenVswitch::start(lab.folder.path(), Some(&lab.name("m"))).unwrap();
        let switch = Switch { ovs, lab };
        // The userspace datapath sends what it gets: checksums and segments must be real.
        for (place, interface) in [("a", "a0"), ("b", "b0")] {
            switch.real_packets(place, interface);
        }
        switch.add_bridge("br0");
        switch.vsctl("add-port br0 m0 -- add-port br0 m1");
        Some(switch)
    }

    pub fn add_bridge(&self, name: &str) {
        let datapath = match std::env::var_os(IN_KERNEL) {
            Some(_) => Datapath::Kernel,
            None => Datapath::Userspace,
        };
        self.ovs.add_bridge(name, datapath).unwrap();
    }

    /// Has an interface send only what a wire could carry.
    pub fn real_packets(&self, place: &str, interface: &str) {
        let mut ethtool = self.lab.command(place, "ethtool");
        let done = ethtool
            .args(["-K", interface, "tx", "off", "tso", "off", "gso", "off"])
            .output();
        assert!(done.unwrap().status.success(), "ethtool -K {interface}");
    }

    /// Runs a command in the middle; its words have no spaces in them.
    pub fn try_run(&self, line: &str) -> Output {
        let mut words = line.split_whitespace();
        let mut command = self.ovs.command(words.next().unwrap());
        command.args(words).output().unwrap()
    }

    /// What it prints; it must succeed.
    pub fn run(&self, line: &str) -> String {
        self.ovs.run(line).unwrap()
    }

    pub fn vsctl(&self, line: &str) -> String {
        self.run(&format!("ovs-vsctl --timeout=10 {line}"))
    }

    pub fn ofctl(&self, line: &str) -> String {
        self.run(&format!("ovs-ofctl --timeout=10 {line}"))
    }

    /// This program. What it prints; it must succeed.
    pub fn windlass(&self, line: &str) -> String {
        self.run(&format!("{PROGRAM} {line}"))
    }

    /// This program, of which it is expected that it refuses. What it says.
    pub fn refused(&self, line: &str) -> String {
        let output = self.try_run(&format!("{PROGRAM} {line}"));
        assert_eq!(output.status.code(), Some(1), "`{line}`");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Lines for a shell in the middle.
    pub fn shell(&self, script: &str) {
        // Not any `sh`: that of busybox has an `ip` of its own.
        let mut sh = self.ovs.command("dash");
        let sh = sh
            .args(["-e", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        let mut sh = sh.spawn().unwrap();
        sh.stdin
            .take()
            .unwrap()
            .write_all(script.as_bytes())
            .unwrap();
        assert!(sh.wait().unwrap().success(), "{script}");
    }

    pub fn looks(&self) -> Looks {
        let columns = [
            (
                "Bridge",
                "name,datapath_id,external_ids,other_config,ports,protocols,flow_tables",
            ),
            (
                "Port",
                "name,interfaces,tag,trunks,vlan_mode,external_ids,other_config",
            ),
            (
                "Interface",
                "name,mac_in_use,mtu,ofport,external_ids,other_config,type",
            ),
        ];
        let tables = columns
            .map(|(table, columns)| self.vsctl(&format!("--columns={columns} list {table}")));
        let links = self.run("ip -o link show");
        let names = links.lines().filter_map(|l| l.split(": ").nth(1));
        Looks {
            show: self.vsctl("show"),
            flows: self.flows(""),
            groups: self.ofctl("-O OpenFlow13 dump-groups br0"),
            configured: sorted(&tables.concat()),
            links: names.collect::<Vec<_>>().join("\n"),
        }
    }

    /// Rules that match, without counters, in a certain order.
    pub fn flows(&self, matching: &str) -> String {
        sorted(&self.ofctl(&format!("--no-stats --names dump-flows br0 {matching}")))
    }

    /// Packets and bytes that the rules with this text have seen.
    pub fn packets(&self, with: &str) -> u64 {
        let said = self.ofctl("dump-flows br0");
        let lines = said.lines().filter(|l| l.contains(with));
        let count = |line: &str| -> u64 {
            let (_, rest) = line.split_once("n_packets=").unwrap();
            rest.split(',').next().unwrap().parse().unwrap()
        };
        lines.map(count).sum()
    }

    /// Where the bridge has learned addresses: a line for each, its port first.
    pub fn known_addresses(&self) -> String {
        let target = self.ovs.target();
        self.run(&format!(
            "ovs-appctl --target={} fdb/show br0",
            target.display()
        ))
    }

    pub fn signal(&mut self, signal: Signal) {
        self.ovs.end_daemon(signal).unwrap();
    }

    /// Starts ovs-vswitchd after it has ended. When it answered.
    pub fn start_daemon(&mut self) -> Instant {
        self.ovs.start_daemon().unwrap();
        let socket = self.lab.folder.path().join("br0.mgmt");
        wait_for("br0", || UnixStream::connect(&socket).is_ok());
        Instant::now()
    }
}

/// Whether there can be one here; if not, the reason is printed.
pub fn can_be() -> bool {
    if let Err(reason) = check_host(&NEEDED) {
        eprintln!("skipped: {reason:#}");
        return false;
    }
    if !Path::new(SCHEMA).exists() {
        eprintln!("skipped: no {SCHEMA} (apt-get install openvswitch-switch)");
        return false;
    }
    true
}

/// Waits until something holds.
pub fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: not in {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Lines in a certain order, without the header, whose number is another each time.
fn sorted(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.contains("reply"));
    let mut lines: Vec<&str> = lines.collect();
    lines.sort_unstable();
    lines.join("\n")
}
