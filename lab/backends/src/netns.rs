//! Network namespaces: made, entered, configured, removed.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use nix::errno::Errno;
use nix::mount::{MntFlags, umount2};
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use windlass_io::interface::disable_segment_offloads;

use crate::command::{run, run_with_input};

/// Where `ip netns` keeps the names.
const FOLDER: &str = "/run/netns";
const IPV6_OFF: [(&str, &str); 2] = [
    ("net.ipv6.conf.all.disable_ipv6", "1"),
    ("net.ipv6.conf.default.disable_ipv6", "1"),
];

/// A named network namespace. Dropping it kills the processes in it and removes it.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes one, with the loopback interface up and without IPv6, whose own packets would
    /// disturb the count of a measured link.
    ///
    /// # Errors
    /// When the name is taken or a command fails.
    pub fn create(name: &str) -> Result<Namespace> {
        let namespace = Namespace::create_all([name.to_owned()], "")?.remove(0);
        namespace.ip("link set lo up")?;
        Ok(namespace)
    }

    /// Makes several without IPv6, and runs the lines of `batch` behind that (`ip -batch`).
    ///
    /// # Errors
    /// When a name is taken or a command fails; nothing is left then.
    pub fn create_all(
        names: impl IntoIterator<Item = String>,
        batch: &str,
    ) -> Result<Vec<Namespace>> {
        let all: Vec<Namespace> = names.into_iter().map(|name| Namespace { name }).collect();
        if let Some(taken) = all.iter().find(|n| path(&n.name).exists()) {
            let name = taken.name.clone();
            all.into_iter().for_each(std::mem::forget);
            bail!("the network namespace {name} exists already (remove it: ip netns del {name})");
        }
        let adds = all.iter().map(|n| format!("netns add {}\n", n.name));
        let text = adds.chain([batch.to_owned()]).collect::<String>();
        run_with_input(Command::new("ip").args(["-batch", "-"]), &text)?;
        if Path::new("/proc/sys/net/ipv6").exists() {
            for namespace in &all {
                namespace.set_sysctls(&IPV6_OFF)?;
            }
        }
        Ok(all)
    }

    /// Its name, as `ip netns` shows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A command that will run inside.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(program);
        command
    }

    /// Runs `ip` on it; the words must have no spaces in them.
    ///
    /// # Errors
    /// When `ip` does not succeed.
    pub fn ip(&self, words: &str) -> Result<String> {
        run(Command::new("ip")
            .args(["-n", &self.name])
            .args(words.split_whitespace()))
    }

    /// Runs several lines of `ip` on it.
    ///
    /// # Errors
    /// When one of them does not succeed; with its number.
    pub fn ip_batch(&self, lines: &str) -> Result<()> {
        let mut ip = Command::new("ip");
        run_with_input(ip.args(["-n", &self.name, "-batch", "-"]), lines)?;
        Ok(())
    }

    /// The file that stands for it in setns(2).
    ///
    /// # Errors
    /// When the namespace is gone.
    pub fn open(&self) -> Result<File> {
        open(&self.name)
    }

    /// Moves the calling thread, and only it, into the namespace.
    ///
    /// # Errors
    /// Without root, or when the namespace is gone.
    pub fn enter_thread(&self) -> Result<()> {
        enter(&self.open()?)
            .with_context(|| format!("cannot enter the network namespace {}", self.name))
    }

    /// Runs something inside, on a thread of its own.
    ///
    /// # Errors
    /// When the namespace cannot be entered; those of `work`.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                self.enter_thread()?;
                work()
            });
            thread.join().map_err(|_| anyhow!("a thread panicked"))?
        })
    }

    /// Sets a `net.*` sysctl and reads it back.
    ///
    /// # Errors
    /// When the kernel refuses the value or keeps another.
    pub fn set_sysctl(&self, key: &str, value: &str) -> Result<()> {
        self.set_sysctls(&[(key, value)])
    }

    /// Sets `net.*` sysctls and reads them back.
    ///
    /// # Errors
    /// When the kernel refuses a value or keeps another.
    pub fn set_sysctls<V: AsRef<str> + Sync>(&self, all: &[(&str, V)]) -> Result<()> {
        self.inside(|| {
            for (key, value) in all {
                let value = value.as_ref();
                let file = PathBuf::from("/proc/sys").join(key.replace('.', "/"));
                let kept =
                    std::fs::write(&file, value).and_then(|()| std::fs::read_to_string(&file));
                let kept = kept.with_context(|| format!("cannot set {key} in {}", self.name))?;
                if !kept.split_whitespace().eq(value.split_whitespace()) {
                    bail!("{key} in {} is {kept:?}, not {value:?}", self.name);
                }
            }
            Ok(())
        })
    }

    /// Turns off what joins or splits segments behind the back of a link (TSO, GSO, GRO, that of
    /// UDP), and
    /// checks that it is off: with them "1 % loss" is not 1 % of the packets.
    ///
    /// # Errors
    /// When one of them stays on.
    pub fn disable_segment_offloads(&self, interfaces: &[&str]) -> Result<()> {
        self.inside(|| {
            for name in interfaces {
                let left = disable_segment_offloads(name);
                let left = left.with_context(|| format!("offloads of {name} in {}", self.name))?;
                if left.tso || left.gso || left.gro || left.udp_gso {
                    bail!(
                        "an offload of {name} in {} cannot be turned off: {left:?}",
                        self.name
                    );
                }
            }
            Ok(())
        })
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        remove(&self.name);
    }
}

/// The file that stands for the namespace of this name.
pub(crate) fn open(name: &str) -> Result<File> {
    let path = path(name);
    File::open(&path).with_context(|| format!("cannot open {}", path.display()))
}

/// All named network namespaces of the host.
pub fn names() -> Vec<String> {
    let entries = std::fs::read_dir(FOLDER).into_iter().flatten().flatten();
    entries
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Moves the calling thread into the network namespace of this file.
///
/// # Errors
/// `EPERM` without `CAP_SYS_ADMIN`.
pub fn enter(file: &File) -> Result<(), Errno> {
    setns(file, CloneFlags::CLONE_NEWNET)
}

/// Kills the processes in a namespace, except this one, and removes it, if it is there.
pub(crate) fn remove(name: &str) {
    let path = path(name);
    let Ok(file) = std::fs::metadata(&path) else {
        return;
    };
    for pid in pids_inside(&file) {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
    let _ = umount2(&path, MntFlags::MNT_DETACH);
    if let Err(e) = std::fs::remove_file(&path) {
        eprintln!("cannot remove the network namespace {name}: {e}");
    }
}

/// The processes in the namespace of this file, except this one.
fn pids_inside(namespace: &Metadata) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    let others = pids.filter(|pid| *pid != Pid::this().as_raw());
    let inside = |pid: &i32| {
        std::fs::metadata(format!("/proc/{pid}/ns/net"))
            .is_ok_and(|m| (m.dev(), m.ino()) == (namespace.dev(), namespace.ino()))
    };
    others.filter(inside).collect()
}

fn path(name: &str) -> PathBuf {
    Path::new(FOLDER).join(name)
}
