//! A memory cgroup, of version 1 or 2, in which a process gets little more than it has.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use nix::unistd::Pid;

/// Where the kernel shows its cgroups, and what a version calls its limit of memory.
const VERSIONS: [(&str, &str); 2] = [
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
    ("/sys/fs/cgroup", "memory.max"),
];
/// Version 2 hands on to its children only what is written here.
const HANDED_ON: &str = "cgroup.subtree_control";
const PROCESSES: &str = "cgroup.procs";

/// A group of its own for a process, which has left another one for it.
pub struct MemoryGroup {
    folder: PathBuf,
    home: PathBuf,
}

impl MemoryGroup {
    /// Whether this machine limits memory by cgroups; said if not.
    fn version() -> Option<(&'static Path, &'static str)> {
        let hands_on = |root: &Path| {
            let known = fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
            known.split_whitespace().any(|name| name == "memory")
                && fs::write(root.join(HANDED_ON), "+memory").is_ok()
        };
        let found = VERSIONS.iter().find(|(root, limit)| {
            let root = Path::new(root);
            root.join(limit).exists() || hands_on(root)
        });
        if found.is_none() {
            println!("no memory cgroup: the memory is not made short");
        }
        found.map(|(root, limit)| (Path::new(*root), *limit))
    }

    /// The process `pid` in a group that grants so many bytes. What the process has already stays charged to its old group.
    pub fn around(pid: Pid, bytes: u64) -> Result<Option<MemoryGroup>> {
        let Some((root, limit)) = MemoryGroup::version() else {
            return Ok(None);
        };
        let folder = root.join(format!("wl-faults-{}", std::process::id()));
        let home = root.join(home_of(pid)?.trim_start_matches('/'));
        fs::create_dir(&folder)?;
        let group = MemoryGroup { folder, home };
        fs::write(group.folder.join(limit), bytes.to_string())?;
        fs::write(group.folder.join(PROCESSES), pid.to_string())?;
        Ok(Some(group))
    }

    /// Back to where it was. If the process has ended, this fails.
    pub fn leave(&self, pid: Pid) -> Result<()> {
        let home = self.home.join(PROCESSES);
        fs::write(&home, pid.to_string()).with_context(|| format!("back to {}", home.display()))
    }
}

/// Without a process in it, it can be removed.
impl Drop for MemoryGroup {
    fn drop(&mut self) {
        if let Err(e) = fs::remove_dir(&self.folder) {
            eprintln!("{} stays: {e}", self.folder.display());
        }
    }
}

/// The group that limits the memory of a process, as a path below the mount point.
fn home_of(pid: Pid) -> Result<String> {
    let all = fs::read_to_string(format!("/proc/{pid}/cgroup"))?;
    let found = all.lines().find_map(path_of_memory);
    found.map(str::to_owned).context("no cgroup limits it")
}

/// The path in a line of `/proc/PID/cgroup` (`number:controllers:path`), if its group limits memory. Version 1 comes first where a
/// machine has both.
fn path_of_memory(line: &str) -> Option<&str> {
    let mut parts = line.splitn(3, ':');
    let (number, controllers) = (parts.next()?, parts.next()?);
    let limits = controllers.split(',').any(|name| name == "memory");
    parts.next().filter(|_| limits || number == "0")
}

#[test]
fn the_group_that_limits_memory_is_found() {
    assert_eq!(path_of_memory("4:cpu,memory:/a:b"), Some("/a:b"));
    assert_eq!(path_of_memory("0::/system.slice"), Some("/system.slice"));
    assert_eq!(path_of_memory("3:cpuset:/"), None);
}
