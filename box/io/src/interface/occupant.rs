//! An XDP program that is on an interface already: whose it is, and how to be rid of it.

use std::fs;

use super::Problem;
use crate::netlink::{self, Xdp};

/// How Windlass's own programs are called; the kernel keeps 15 bytes of a name.
const OWN_NAMES: [&str; 2] = ["windlass_inside", "windlass_outsid"];

/// The interfaces on which an XDP program is in the way of another, with what ends that.
pub fn occupied(names: &[&str]) -> Vec<Problem> {
    let links = netlink::links().unwrap_or_default();
    let named = links.iter().filter(|l| names.contains(&l.name.as_str()));
    named
        .filter_map(|link| {
            let xdp = link.xdp?;
            let program = program_name(xdp.program);
            Some(problem(&link.name, xdp, &program, holder(xdp.program)))
        })
        .collect()
}

/// The process of the Windlass that has its program on this interface.
pub fn governor(name: &str) -> Option<u32> {
    let links = netlink::links().unwrap_or_default();
    let xdp = links.iter().find(|link| link.name == name)?.xdp?;
    let own = OWN_NAMES.contains(&program_name(xdp.program).as_str());
    holder(xdp.program).filter(|_| own).map(|holder| holder.pid)
}

fn problem(interface: &str, xdp: Xdp, program: &str, holder: Option<Holder>) -> Problem {
    let id = xdp.program;
    match holder {
        Some(Holder { pid, .. }) if OWN_NAMES.contains(&program) => Problem::refusal(
            format!("another windlass, pid {pid}, governs {interface} already"),
            format!("kill {pid} (or give this one other interfaces)"),
        ),
        Some(Holder { pid, command }) => Problem::refusal(
            format!(
                "{interface} has an XDP program already: {program}, id {id}, of the process {command}, pid {pid}"
            ),
            format!("kill {pid} (the program goes with its process)"),
        ),
        None => Problem::refusal(
            format!("{interface} has an XDP program already: {program}, id {id}"),
            format!("ip link set dev {interface} {} off", xdp.mode.word()),
        ),
    }
}

/// The process whose link keeps a program on its interface.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Holder {
    pid: u32,
    command: String,
}

/// A program that hangs on a link is there as long as a process has that link open; one that was
/// put there by netlink belongs to nobody.
fn holder(program: u32) -> Option<Holder> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = processes.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    let pid = pids.find(|pid| {
        let files = fs::read_dir(format!("/proc/{pid}/fdinfo"));
        files.into_iter().flatten().flatten().any(|file| {
            fs::read_to_string(file.path()).is_ok_and(|text| is_link_of(&text, program))
        })
    })?;
    let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(Holder {
        pid,
        command: command.trim().to_owned(),
    })
}

/// Whether `/proc/PID/fdinfo/FD` describes an XDP link of this program.
fn is_link_of(text: &str, program: u32) -> bool {
    let value = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| *key == name).map(|(_, v)| v.trim())
    };
    value("link_type") == Some("xdp") && value("prog_id") == Some(program.to_string().as_str())
}

/// What the program is called, as far as the kernel tells.
fn program_name(id: u32) -> String {
    let mut programs = aya::programs::loaded_programs().flatten();
    let found = programs.find(|program| program.id() == id);
    let name = found.and_then(|p| p.name_as_str().map(str::to_owned));
    name.filter(|name| !name.is_empty())
        .unwrap_or_else(|| "without a name".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::XdpMode;

    const INFO: &str = "pos:\t0\nflags:\t02000000\nlink_type:\txdp\nlink_id:\t7\nprog_tag:\tab\nprog_id:\t12\nifindex:\t3\n";

    #[test]
    fn a_link_is_known_by_its_program() {
        assert!(is_link_of(INFO, 12));
        assert!(!is_link_of(INFO, 7) && !is_link_of("prog_id:\t12\n", 12));
    }

    #[test]
    fn whoever_has_put_it_there_is_named_with_what_ends_it() {
        let xdp = Xdp {
            program: 12,
            mode: XdpMode::Generic,
        };
        let held = |command: &str| {
            Some(Holder {
                pid: 70,
                command: command.to_owned(),
            })
        };
        let ours = problem("m0", xdp, "windlass_inside", held("windlass"));
        assert_eq!(ours.what, "another windlass, pid 70, governs m0 already");
        let theirs = problem("m0", xdp, "xdp_pass", held("xdpd"));
        assert!(theirs.what.contains("xdpd, pid 70"), "{theirs:?}");
        assert!(theirs.fix.starts_with("kill 70"), "{theirs:?}");
        let nobodys = problem("m0", xdp, "xdp_pass", None);
        assert_eq!(nobodys.fix, "ip link set dev m0 xdpgeneric off");
    }
}
