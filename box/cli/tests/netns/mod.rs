//! Three namespaces in a row, a box in the middle one, and a transfer from one end to the other.

mod chats;
mod daemon;
mod load;
mod transfer;

use std::fs::File;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};

use nix::sched::{CloneFlags, setns};
use tempfile::TempDir;

#[allow(unused_imports, reason = "each test has its part")]
pub use chats::Chats;
#[allow(unused_imports, reason = "each test has its part")]
pub use daemon::Daemon;
#[allow(unused_imports, reason = "each test has its part")]
pub use load::{Load, Mix};
#[allow(unused_imports, reason = "each test has its part")]
pub use transfer::Transfer;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_windlass");
pub const MEGABYTE: u64 = 1_000_000;
/// Where the box is in a [`Lab`], as `windlass run` takes it.
pub const PLACE: [&str; 4] = ["--inside", "m0", "--outside", "m1"];

/// A lab; none, with the reason printed, where there cannot be one.
pub fn lab() -> Option<Lab> {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: needs root for network namespaces");
        return None;
    }
    Some(Lab::new())
}

/// Namespaces a (10.77.0.1), m and b (10.77.0.2): a0 – m0, m1 – b0. Removed when dropped.
pub struct Lab {
    prefix: String,
    pub folder: TempDir,
}

impl Lab {
    pub fn new() -> Lab {
        let lab = Lab::bare();
        lab.add_host("a", ("a0", "10.77.0.1/24"), "m0");
        lab.add_host("b", ("b0", "10.77.0.2/24"), "m1");
        lab
    }

    /// The interfaces are in a bridge before there is a box.
    pub fn bridge_before_the_box(&self) {
        self.middle(&["link", "add", "lan0", "type", "bridge"]);
        for port in ["m0", "m1"] {
            self.middle(&["link", "set", port, "master", "lan0"]);
        }
        self.middle(&["link", "set", "lan0", "up"]);
    }

    /// With m alone.
    pub fn bare() -> Lab {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let lab = Lab {
            prefix: format!("wlcli-{}-{number}", std::process::id()),
            folder: tempfile::tempdir().unwrap(),
        };
        lab.ip(&["netns", "add", &lab.name("m")]);
        lab.ip(&["-n", &lab.name("m"), "link", "set", "lo", "up"]);
        lab
    }

    /// A namespace with an interface that has a port in the middle.
    pub fn add_host(&self, place: &str, (interface, address): (&str, &str), port: &str) {
        let end = self.name(place);
        self.ip(&["netns", "add", &end]);
        self.ip(&["-n", &end, "link", "set", "lo", "up"]);
        self.add_link(place, (interface, address), port);
    }

    /// The wire of a host that is there.
    pub fn add_link(&self, place: &str, end: (&str, &str), port: &str) {
        self.wire(place, end, ("m", port));
    }

    /// A wire from an interface with an address to a port without one.
    pub fn wire(&self, place: &str, (interface, address): (&str, &str), to: (&str, &str)) {
        let (end, middle, port) = (self.name(place), self.name(to.0), to.1);
        let veth = ["link", "add", interface, "netns", &end, "type", "veth"];
        let peer = ["peer", "name", port, "netns", &middle];
        self.ip(&[veth.as_slice(), &peer].concat());
        self.ip(&["-n", &end, "addr", "add", address, "dev", interface]);
        self.ip(&["-n", &end, "link", "set", interface, "up"]);
        self.ip(&["-n", &middle, "link", "set", port, "up"]);
    }

    pub fn name(&self, place: &str) -> String {
        format!("{}-{place}", self.prefix)
    }

    /// `ip` in the middle.
    pub fn middle(&self, arguments: &[&str]) {
        self.ip(&[&["-n", &self.name("m")], arguments].concat());
    }

    pub fn ip(&self, arguments: &[&str]) {
        let output = Command::new("ip").args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "ip {arguments:?}: {said}");
    }

    /// A command in a namespace; if it is one of Open vSwitch, of one of the lab's own.
    pub fn command(&self, place: &str, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(place), program]);
        command.env("OVS_RUNDIR", self.folder.path());
        command
    }

    /// A thread in a namespace.
    pub fn spawn<T: Send + 'static>(
        &self,
        place: &str,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let namespace = File::open(format!("/run/netns/{}", self.name(place))).unwrap();
        thread::spawn(move || {
            setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
            body()
        })
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let named = std::fs::read_dir("/run/netns").into_iter().flatten();
        let named = named.filter_map(|e| e.ok()?.file_name().into_string().ok());
        for name in named.filter(|name| name.starts_with(&self.name(""))) {
            let _ = Command::new("ip").args(["netns", "del", &name]).status();
        }
    }
}
