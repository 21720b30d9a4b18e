//! A machine between a server and a client, with file systems of its own, on which a page is followed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use windlass_lab::command::check_host;
use windlass_lab::openvswitch::{Datapath, NEEDED, OpenVswitch};

use crate::blocks::{Block, root};
use crate::netns::{Lab, PROGRAM};
use crate::traffic::{CLIENT, SERVER, Traffic};

/// What there is before the first command of a page.
#[derive(Default)]
pub struct Given {
    /// /etc/windlass/windlass.toml, if the page takes one for granted.
    pub config: &'static str,
    /// Windlass runs with it, and governs.
    pub runs: bool,
    /// There is a bridge br0 of Open vSwitch with hosts at vm1 and vm2, and eth0 towards the network.
    pub switch: bool,
}

/// Commands that stand in for what is not here, or would not end by itself.
const STAND_INS: [(&str, &str); 3] = [
    ("windlass", include_str!("stand-ins/windlass")),
    ("systemctl", include_str!("stand-ins/systemctl")),
    ("journalctl", include_str!("stand-ins/journalctl")),
];
const FOLLOW: &str = include_str!("stand-ins/follow");
/// A plugin that the pages add.
const PLUGIN: &str = include_str!("../late_loop.wat");

pub struct Place {
    lab: Lab,
    traffic: Traffic,
    _switch: Option<OpenVswitch>,
}

impl Place {
    pub fn new(given: &Given) -> Place {
        let lab = Lab::bare();
        lab.add_host("server", ("eth0", "10.0.0.1/8"), "eth1");
        lab.add_host("client", ("eth0", "192.0.2.7/24"), "eth2");
        for (place, network) in [("server", "192.0.2.0/24"), ("client", "10.0.0.0/8")] {
            let namespace = lab.name(place);
            lab.ip(&["-n", &namespace, "route", "add", network, "dev", "eth0"]);
            real_packets(&lab, place);
        }
        let folder = lab.folder.path().to_owned();
        for name in ["bin", "work", "said"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        for (name, script) in STAND_INS {
            let path = folder.join("bin").join(name);
            fs::write(&path, script).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(folder.join("follow"), FOLLOW).unwrap();
        fs::write(folder.join("windlass.toml"), given.config).unwrap();
        let work = folder.join("work");
        for name in ["policies", "experiments", "sdk", "packaging"] {
            let mut copy = Command::new("cp");
            copy.arg("-r").arg(root().join(name)).arg(&work);
            assert!(copy.status().unwrap().success());
        }
        let example = "version = 1\n[[rule]]\nname = \"web\"\nports = [443]\n";
        fs::write(work.join("windlass.toml"), example).unwrap();
        let plugin = PLUGIN.replace("name = 'late_loop'", "name = 'mine'     ");
        fs::write(work.join("mine.wasm"), wat::parse_str(plugin).unwrap()).unwrap();
        let traffic = Traffic::start(&lab);
        let switch = given.switch && check_host(&NEEDED).is_ok();
        Place {
            traffic,
            _switch: switch.then(|| switch_of(&lab)),
            lab,
        }
    }

    fn folder(&self) -> PathBuf {
        self.lab.folder.path().to_owned()
    }

    /// Runs the blocks one after the other, and compares what is said with what they show. `WINDLASS_SHOW` prints what is said.
    pub fn follow(self, given: &Given, blocks: &[&Block]) {
        for (at, block) in blocks.iter().enumerate() {
            fs::write(self.folder().join(format!("{at}.sh")), block.script()).unwrap();
        }
        let mut follow = self.lab.command("m", "unshare");
        follow.args([
            "--mount",
            "--pid",
            "--fork",
            "--kill-child=SIGKILL",
            "--mount-proc",
        ]);
        follow
            .args(["bash", "-e"])
            .arg(self.folder().join("follow"));
        follow.arg(self.folder()).arg(blocks.len().to_string());
        follow.arg(if given.runs { "runs" } else { "rests" });
        follow
            .env("WINDLASS", PROGRAM)
            .env("SERVER", SERVER)
            .env("CLIENT", CLIENT);
        let done: Output = follow.output().unwrap();
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        for (at, block) in blocks.iter().enumerate() {
            let said = fs::read_to_string(self.folder().join(format!("said/{at}")));
            let said = said.unwrap_or_default();
            let place = format!("{}:{}", block.page, block.line);
            let fine = self.folder().join(format!("said/{at}.done")).exists();
            assert!(fine, "{place}: fails\n{}\n{said}\n{told}", block.text);
            let missing = block.missing_from(&said);
            assert!(missing.is_empty(), "{place}: not said: {missing:?}\n{said}");
            let shown = std::env::var_os("WINDLASS_SHOW").map_or("", |_| said.as_str());
            eprintln!(
                "{place}: {} line(s) run\n{shown}",
                block.script().lines().count()
            );
        }
        assert!(done.status.success(), "{told}");
        self.traffic.end();
    }
}

/// Segments as they are on a wire, with whole checksums.
fn real_packets(lab: &Lab, place: &str) {
    let mut ethtool = lab.command(place, "ethtool");
    let offloads = ["-K", "eth0", "tx", "off", "tso", "off", "gso", "off"];
    assert!(ethtool.args(offloads).output().unwrap().status.success());
}

fn switch_of(lab: &Lab) -> OpenVswitch {
    let hosts = [
        ("net", "10.1.0.1/24", "eth0"),
        ("guest", "10.1.0.2/24", "vm1"),
        ("other", "10.1.0.3/24", "vm2"),
    ];
    for (place, address, port) in hosts {
        lab.add_host(place, ("eth0", address), port);
        real_packets(lab, place);
    }
    let switch = OpenVswitch::start(lab.folder.path(), Some(&lab.name("m"))).unwrap();
    switch.add_bridge("br0", Datapath::Userspace).unwrap();
    for (_, _, port) in hosts {
        switch
            .run(&format!("ovs-vsctl --timeout=10 add-port br0 {port}"))
            .unwrap();
    }
    switch
}

/// Programs that a block calls and that are not here, by the first words of its lines.
pub fn missing_tools(block: &Block) -> Vec<String> {
    let script = block.script();
    let lines = script.lines().map(|line| line.trim_start_matches('('));
    let called = lines.filter_map(|line| line.split_whitespace().next());
    let beside = PathBuf::from(PROGRAM).with_file_name("windlass-lab");
    let mut missing: Vec<String> = Vec::new();
    let outside = [
        "tcpdump", "mergecap", "tshark", "curl", "clang", "cargo", "promtool",
    ];
    for tool in called.filter(|tool| outside.contains(tool)) {
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {tool}")])
            .output();
        if !found.unwrap().status.success() {
            missing.push(tool.to_owned());
        }
    }
    let needs_lab = script
        .lines()
        .any(|l| l.starts_with("windlass lab") || l.starts_with("windlass-lab"));
    if needs_lab && !beside.exists() {
        missing.push("windlass-lab (cargo build -p windlass-lab)".to_owned());
    }
    missing
}
