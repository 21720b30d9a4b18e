//! An Open vSwitch of one's own: its database, its daemons and their sockets are in a folder, its
//! interfaces in a network namespace. The system's is left alone.

use std::fs::File;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::command::{Needed, check_host, run, run_line};

/// The schema of its database.
pub const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";
const PACKAGE: &str = "openvswitch-switch";
/// What it needs.
pub const NEEDED: [Needed; 9] = [
    ("ip", "iproute2"),
    ("ethtool", "ethtool"),
    ("setpriv", "util-linux"),
    ("ovs-vswitchd", PACKAGE),
    ("ovs-vsctl", PACKAGE),
    ("ovs-ofctl", PACKAGE),
    ("ovs-appctl", PACKAGE),
    ("ovsdb-server", PACKAGE),
    ("ovsdb-tool", PACKAGE),
];
/// How long a daemon may take until it answers.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Sooner after boot, ovs-vswitchd 3.1 counts no processors and starts nobody to handle packets.
const UPTIME_S: f64 = 10.5;

/// Where its packets are switched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Datapath {
    /// In ovs-vswitchd itself. Takes only packets that a wire could carry: no segments to be made,
    /// no checksums to be completed.
    Userspace,
    /// By the module `openvswitch`.
    Kernel,
}

impl Datapath {
    /// What the database calls it.
    pub fn name(self) -> &'static str {
        match self {
            Datapath::Userspace => "netdev",
            Datapath::Kernel => "system",
        }
    }
}

/// A running Open vSwitch. Dropping it ends it.
#[derive(Debug)]
pub struct OpenVswitch {
    folder: PathBuf,
    namespace: Option<String>,
    database: Child,
    daemon: Child,
}

impl OpenVswitch {
    /// Starts one whose files go to `folder`, in a namespace or, without, the caller's.
    ///
    /// # Errors
    /// What is not installed; when a daemon does not answer.
    pub fn start(folder: &Path, namespace: Option<&str>) -> Result<OpenVswitch> {
        check_host(&NEEDED)?;
        std::thread::sleep(until_handlers_can_be()?);
        let file = folder.join("conf.db");
        run(Command::new("ovsdb-tool")
            .arg("create")
            .arg(&file)
            .arg(SCHEMA))?;
        let mut server = command(folder, namespace, "ovsdb-server");
        server.arg(&file);
        server.arg(format!("--remote=punix:{}", socket(folder).display()));
        let database = daemon(server, folder, "ovsdb-server")?;
        // Its process is ended also if the next step fails.
        let mut database = Started(Some(database));
        wait_for(&socket(folder))?;
        let daemon = vswitchd(folder, namespace)?;
        Ok(OpenVswitch {
            folder: folder.to_owned(),
            namespace: namespace.map(str::to_owned),
            database: database.0.take().context("no ovsdb-server")?,
            daemon,
        })
    }

    /// A command where it is; if it is one of Open vSwitch's, it speaks with this one.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        command(&self.folder, self.namespace.as_deref(), program)
    }

    /// Runs a command line whose words have no spaces in them. What it prints.
    ///
    /// # Errors
    /// When it does not succeed.
    pub fn run(&self, line: &str) -> Result<String> {
        let mut words = line.split_whitespace();
        let program = words.next().context("an empty command")?;
        run(self.command(program).args(words))
    }

    /// Makes a bridge.
    ///
    /// # Errors
    /// When ovs-vswitchd does not follow.
    pub fn add_bridge(&self, name: &str, datapath: Datapath) -> Result<()> {
        let datapath = datapath.name();
        let line = format!("add-br {name} -- set Bridge {name} datapath_type={datapath}");
        self.run(&format!("ovs-vsctl --timeout=10 {line}"))?;
        Ok(())
    }

    /// Ends ovs-vswitchd by a signal.
    ///
    /// # Errors
    /// When it has ended before.
    pub fn end_daemon(&mut self, signal: Signal) -> Result<ExitStatus> {
        kill(Pid::from_raw(self.daemon.id() as i32), signal)?;
        Ok(self.daemon.wait()?)
    }

    /// Starts ovs-vswitchd after it has ended.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_daemon(&mut self) -> Result<()> {
        self.daemon = vswitchd(&self.folder, self.namespace.as_deref())?;
        Ok(())
    }

    /// Where ovs-vswitchd takes orders: for `ovs-appctl --target`.
    pub fn target(&self) -> PathBuf {
        self.folder.join("ovs-vswitchd.ctl")
    }
}

impl Drop for OpenVswitch {
    fn drop(&mut self) {
        for child in [&mut self.daemon, &mut self.database] {
            let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM);
            let _ = child.wait();
        }
    }
}

/// A process that is killed unless it is taken out.
struct Started(Option<Child>);

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Whether the kernel switches packets for Open vSwitch, or could.
pub fn kernel_has_module() -> bool {
    Path::new("/sys/module/openvswitch").exists() || run_line("modprobe openvswitch").is_ok()
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("db.sock")
}

fn command(
    folder: &Path,
    namespace: Option<&str>,
    program: impl AsRef<std::ffi::OsStr>,
) -> Command {
    let mut command = match namespace {
        None => Command::new(program),
        Some(namespace) => {
            let mut command = Command::new("ip");
            command.args(["netns", "exec", namespace]).arg(program);
            command
        }
    };
    command.env("OVS_RUNDIR", folder);
    command
}

fn vswitchd(folder: &Path, namespace: Option<&str>) -> Result<Child> {
    let mut command = command(folder, namespace, "ovs-vswitchd");
    command.arg(format!("unix:{}", socket(folder).display()));
    daemon(command, folder, "ovs-vswitchd")
}

fn daemon(mut command: Command, folder: &Path, name: &str) -> Result<Child> {
    let file = |suffix: &str| folder.join(format!("{name}.{suffix}"));
    command.arg(format!("--unixctl={}", file("ctl").display()));
    command.args([
        "--no-chdir",
        &format!("--pidfile={}", file("pid").display()),
    ]);
    let log = File::create(file("log"))?;
    let started = command.stderr(log).spawn();
    started.with_context(|| format!("cannot run {name}"))
}

fn wait_for(socket: &Path) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while UnixStream::connect(socket).is_err() {
        if Instant::now() > deadline {
            bail!("nobody answers at {} within {PATIENCE:?}", socket.display());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

fn until_handlers_can_be() -> Result<Duration> {
    let text = std::fs::read_to_string("/proc/uptime")?;
    let uptime_s: f64 = text.split_whitespace().next().unwrap_or_default().parse()?;
    Ok(Duration::from_secs_f64((UPTIME_S - uptime_s).max(0.0)))
}
