//! What can happen to a box and around it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use nix::sys::signal::Signal;
use windlass_lab::command::run_line;
use windlass_lab::topology::{INSIDE, OUTSIDE};
use windlass_sim::Rng;

use crate::bed::{Bed, config, wait_until};
use crate::clock::{Clock, STEPS_S};
use crate::daemon::Daemon;
use crate::flood::{Flood, Plan};
use crate::frames::Kind;
use crate::load::Load;
use crate::squeeze::MemoryGroup;
use crate::starve::Spinners;

/// The bridge that the lab joins the box's interfaces with.
const BRIDGE: &str = "wlbr";
const RULES: [&str; 4] = [
    "",
    "[[rule]]\nalgorithm = \"cubic\"\n",
    "[[rule]]\nsender = \"both\"\n",
    "[[rule]]\nmode = \"observe\"\n",
];
const WRONG_RULES: &str = "[[rule]]\nalgorithm = \"cubik\"\n";
/// What a memory cgroup grants beyond what is there.
const SQUEEZE_BYTES: u64 = 16 << 20;
const END_LIMIT: Duration = Duration::from_secs(5);
const FLOOD_MS: u64 = 1_000;
/// Room for the trace: it is soon full.
const DISK: &str = "size=256k";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    Kill,
    Terminate,
    Stop,
    Starve,
    Flap,
    Flood,
    Reload,
    Rules,
    FullDisk,
    LostBridge,
    DeletedBridge,
    DeletedInterface,
    Squeeze,
    ClockStep,
}

impl Fault {
    pub const ALL: [Fault; 14] = [
        Fault::Kill,
        Fault::Terminate,
        Fault::Stop,
        Fault::Starve,
        Fault::Flap,
        Fault::Flood,
        Fault::Reload,
        Fault::Rules,
        Fault::FullDisk,
        Fault::LostBridge,
        Fault::DeletedBridge,
        Fault::DeletedInterface,
        Fault::Squeeze,
        Fault::ClockStep,
    ];
}

/// A bed with a box that is harmed.
pub struct Harm {
    /// Before the lab's folder, which it lies in.
    disk: Disk,
    bed: Bed,
    load: Arc<Load>,
    /// The box's, where there can be one.
    clock: Option<Clock>,
    /// How often the box has ended without being asked to.
    pub ended: u32,
}

impl Harm {
    pub fn new(mut bed: Bed) -> Result<Harm> {
        let disk = Disk::mount(&bed.lab.folder.path().join("disk"))?;
        let load = Arc::new(Load::start(&bed.lab)?);
        let clock = Clock::make(bed.lab.folder.path());
        bed.daemon = Some(start(&bed, &disk, clock.as_ref()));
        Ok(Harm {
            bed,
            load,
            clock,
            disk,
            ended: 0,
        })
    }

    pub fn load(&self) -> Arc<Load> {
        Arc::clone(&self.load)
    }

    pub fn resident_bytes(&self) -> u64 {
        self.bed.resident_bytes()
    }

    pub fn open_files(&self) -> usize {
        self.bed.daemon.as_ref().map_or(0, Daemon::open_files)
    }

    /// Does it, and undoes what does not pass by itself.
    pub fn inflict(&mut self, fault: Fault, random: &mut Rng) {
        self.revive();
        let some_time = Duration::from_millis(random.between(100, 3_000));
        match fault {
            Fault::Kill => self.restart(Signal::SIGKILL),
            Fault::Terminate => self.restart(Signal::SIGTERM),
            Fault::Stop => self.daemon().stop_for(some_time),
            Fault::Starve => {
                let spinners = Spinners::start(random.between(2, 16) as usize);
                std::thread::sleep(some_time);
                drop(spinners);
            }
            Fault::Flap => self.flap(random),
            Fault::Flood => self.flood(random),
            Fault::Reload => self.daemon().signal(Signal::SIGHUP),
            Fault::Rules => self.give_rules(random),
            Fault::FullDisk => self.disk.fill_and_clear(some_time),
            Fault::LostBridge => self.lose_bridge(some_time),
            Fault::DeletedBridge => self.delete_bridge(some_time),
            Fault::DeletedInterface => self.delete_interface(some_time),
            Fault::Squeeze => self.squeeze(some_time).expect("a memory cgroup"),
            Fault::ClockStep => self.set_clock(random),
        }
        self.revive();
    }

    fn start(&self) -> Daemon {
        start(&self.bed, &self.disk, self.clock.as_ref())
    }

    /// It stays so until the next time, in whichever process.
    fn set_clock(&self, random: &mut Rng) {
        if let Some(clock) = &self.clock {
            clock.set(STEPS_S[random.between(0, STEPS_S.len() as u64 - 1) as usize]);
        }
    }

    fn daemon(&self) -> &Daemon {
        self.bed.daemon.as_ref().expect("one that runs")
    }

    fn restart(&mut self, signal: Signal) {
        // How it ends is not asked: a trace that has found the disk full makes its status an error.
        self.daemon().signal(signal);
        let daemon = self.bed.daemon.as_mut().expect("one that runs");
        let ended = wait_until(END_LIMIT, || !daemon.runs());
        assert!(ended.is_some(), "{signal} does not end it");
        self.bed.daemon = Some(self.start());
    }

    /// Another one if it has ended.
    fn revive(&mut self) {
        if let Some(daemon) = &mut self.bed.daemon
            && !daemon.runs()
        {
            self.ended += 1;
            println!("the box has ended: {}", daemon.said());
            self.bed.daemon = Some(self.start());
        }
    }

    fn flap(&self, random: &mut Rng) {
        let interface = if random.chance(0.5) { INSIDE } else { OUTSIDE };
        let middle = &self.bed.lab.topology.middle;
        middle
            .ip(&format!("link set {interface} down"))
            .expect("down");
        std::thread::sleep(Duration::from_millis(random.between(10, 1_000)));
        middle.ip(&format!("link set {interface} up")).expect("up");
    }

    fn flood(&self, random: &mut Rng) {
        let kinds = [
            Kind::Syn,
            Kind::Ack,
            Kind::Udp,
            Kind::Fragment,
            Kind::Damaged,
        ];
        let plan = Plan {
            kind: kinds[random.between(0, kinds.len() as u64 - 1) as usize],
            rate: Some(random.between(1_000, 60_000)),
            frames: u64::MAX,
            port: self.load.port,
            seed: random.bits(),
        };
        let flood = Flood::start(&self.bed.lab, plan).expect("a flood");
        std::thread::sleep(Duration::from_millis(FLOOD_MS));
        flood.stop().expect("a flood");
    }

    /// Others, or some with a mistake.
    fn give_rules(&self, random: &mut Rng) {
        let daemon = self.daemon();
        let wrong = random.chance(0.25);
        let rules = RULES[random.between(0, RULES.len() as u64 - 1) as usize];
        daemon.write_config(if wrong { WRONG_RULES } else { rules });
        let applied = daemon.try_ask(&["policy", "apply", &daemon.config()]);
        assert_eq!(applied.is_err(), wrong, "{applied:?}");
        daemon.write_config("");
    }

    fn lose_bridge(&self, time: Duration) {
        let middle = &self.bed.lab.topology.middle;
        middle
            .ip(&format!("link set {INSIDE} nomaster"))
            .expect("out of the bridge");
        std::thread::sleep(time);
        // It may have been put back meanwhile.
        middle
            .ip(&format!("link set {INSIDE} master {BRIDGE}"))
            .expect("back");
    }

    /// Somebody's own bridge is theirs to make again. The box puts its ports back into it.
    fn delete_bridge(&self, time: Duration) {
        let middle = &self.bed.lab.topology.middle;
        middle.ip(&format!("link del {BRIDGE}")).expect("no bridge");
        std::thread::sleep(time);
        let kind = "type bridge forward_delay 0 mcast_snooping 0";
        for line in [format!("add {BRIDGE} {kind}"), format!("set {BRIDGE} up")] {
            middle.ip(&format!("link {line}")).expect("a bridge");
        }
        self.wait_for_ports();
    }

    /// A guest's interface goes and comes back. The box takes it into the bridge.
    fn delete_interface(&self, time: Duration) {
        self.bed.replace_server_wire(time).expect("a wire");
        self.wait_for_ports();
    }

    fn wait_for_ports(&self) {
        let middle = &self.bed.lab.topology.middle;
        let is_port = |interface: &str| {
            let shown = middle.ip(&format!("-o link show dev {interface}"));
            shown.is_ok_and(|shown| shown.contains(&format!("master {BRIDGE}")))
        };
        let both = || is_port(INSIDE) && is_port(OUTSIDE);
        let waited = wait_until(END_LIMIT, both);
        assert!(
            waited.is_some(),
            "nobody puts the ports back into the bridge"
        );
    }

    /// Little memory to be had. It may be ended for that.
    fn squeeze(&mut self, time: Duration) -> Result<()> {
        let pid = self.daemon().pid();
        let Some(group) = MemoryGroup::around(pid, SQUEEZE_BYTES)? else {
            return Ok(());
        };
        std::thread::sleep(time);
        let home = group.leave(pid);
        let killed = !self.bed.daemon.as_mut().is_some_and(Daemon::runs);
        if killed {
            // As it must be when the kernel has no memory for it.
            println!("the box was ended for want of memory");
            self.bed.daemon = Some(self.start());
            return Ok(());
        }
        home
    }
}

fn start(bed: &Bed, disk: &Disk, clock: Option<&Clock>) -> Daemon {
    let trace = disk.folder.join("trace.jsonl");
    let trace = trace.to_string_lossy();
    let variables = clock.map(Clock::variables);
    let variables = variables.as_ref().map_or(&[][..], |both| &both[..]);
    Daemon::start_under(&bed.lab, &config(), &["--trace", &trace], variables)
}

/// A small one. Dropping it unmounts it.
struct Disk {
    folder: PathBuf,
}

impl Disk {
    fn mount(folder: &Path) -> Result<Disk> {
        std::fs::create_dir(folder)?;
        let shown = folder.display();
        run_line(&format!("mount -t tmpfs -o {DISK} tmpfs {shown}"))?;
        let folder = folder.to_owned();
        Ok(Disk { folder })
    }

    /// Nothing can be written for so long; afterwards there is room.
    fn fill_and_clear(&self, time: Duration) {
        let filler = self.folder.join("filler");
        if let Ok(mut file) = File::create(&filler) {
            while file.write_all(&[0; 4096]).is_ok() {}
        }
        std::thread::sleep(time);
        let _ = std::fs::remove_file(filler);
        if let Ok(trace) = File::options()
            .write(true)
            .open(self.folder.join("trace.jsonl"))
        {
            let _ = trace.set_len(0);
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = run_line(&format!("umount -l {}", self.folder.display()));
    }
}
