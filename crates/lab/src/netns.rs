//! Network namespaces: made, entered, configured, removed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::command::{run, run_line};

/// Where `ip netns` keeps the names.
const FOLDER: &str = "/run/netns";

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
        run_line(&format!("ip netns add {name}"))?;
        let namespace = Namespace {
            name: name.to_owned(),
        };
        if Path::new("/proc/sys/net/ipv6").exists() {
            namespace.set_sysctl("net.ipv6.conf.all.disable_ipv6", "1")?;
            namespace.set_sysctl("net.ipv6.conf.default.disable_ipv6", "1")?;
        }
        namespace.ip("link set lo up")?;
        Ok(namespace)
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

    /// Moves the calling thread, and only it, into the namespace.
    ///
    /// # Errors
    /// Without root, or when the namespace is gone.
    pub fn enter_thread(&self) -> Result<()> {
        let path = path(&self.name);
        let file = File::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
        setns(file, CloneFlags::CLONE_NEWNET)
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
        let file = PathBuf::from("/proc/sys").join(key.replace('.', "/"));
        let kept = self.inside(|| {
            std::fs::write(&file, value)?;
            Ok(std::fs::read_to_string(&file)?)
        });
        let kept = kept.with_context(|| format!("cannot set {key} in {}", self.name))?;
        if !kept.split_whitespace().eq(value.split_whitespace()) {
            bail!("{key} in {} is {kept:?}, not {value:?}", self.name);
        }
        Ok(())
    }

    /// Turns off what joins or splits segments behind the back of a link (TSO, GSO, GRO), and
    /// checks that it is off: with them "1 % loss" is not 1 % of the packets.
    ///
    /// # Errors
    /// When one of them stays on.
    pub fn disable_segment_offloads(&self, interface: &str) -> Result<()> {
        let set = ["-K", interface, "tso", "off", "gso", "off", "gro", "off"];
        run(self.command("ethtool").args(set))?;
        let features = run(self.command("ethtool").args(["-k", interface]))?;
        for feature in [
            "tcp-segmentation-offload",
            "generic-segmentation-offload",
            "generic-receive-offload",
        ] {
            if !features.contains(&format!("\n{feature}: off")) {
                bail!(
                    "{feature} of {interface} in {} cannot be turned off",
                    self.name
                );
            }
        }
        Ok(())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        remove(&self.name);
    }
}

/// All named network namespaces of the host.
pub fn names() -> Vec<String> {
    let entries = std::fs::read_dir(FOLDER).into_iter().flatten().flatten();
    entries
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Kills the processes in a namespace, except this one, and removes it.
pub(crate) fn remove(name: &str) {
    let pids = run_line(&format!("ip netns pids {name}")).unwrap_or_default();
    for pid in pids.lines().filter_map(|l| l.trim().parse::<i32>().ok()) {
        if pid != Pid::this().as_raw() {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
    if let Err(e) = run_line(&format!("ip netns del {name}"))
        && path(name).exists()
    {
        eprintln!("cannot remove the network namespace {name}: {e:#}");
    }
}

fn path(name: &str) -> PathBuf {
    Path::new(FOLDER).join(name)
}
