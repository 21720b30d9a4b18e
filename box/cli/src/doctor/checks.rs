//! The checks, one subject each.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use nix::sys::resource::{Resource, getrlimit};
use socket2::{Domain, Socket, Type};
use windlass_io::bridge::returning;
use windlass_io::interface::{
    Interface, Problem, Severity, check, check_links, check_packet, governor, occupied,
};

use super::{Finding, State};
use crate::capabilities::{Effective, IPC_LOCK};
use crate::kernel::{self, Configuration};

/// XDP programs on links that die with the process: Linux 5.9.
const KERNEL_MIN: (u32, u32) = (5, 9);
/// Packets of several frames through AF_XDP: Linux 6.6.
const KERNEL_MULTI_BUFFER: (u32, u32) = (6, 6);
/// `AF_XDP` (`include/linux/socket.h`).
const AF_XDP: i32 = 44;
/// Memory that a worker locks as configured by default, bytes.
const LOCKED_BYTES: u64 = 128 << 20;

pub(super) fn privileges(effective: &Effective) -> Finding {
    let missing = effective.missing();
    if missing.is_empty() {
        return Finding::ok(
            "privileges",
            "CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF and CAP_PERFMON",
        );
    }
    let found = format!("not permitted: {}", missing.join(", "));
    Finding::lack("privileges", State::Missing, found, "sudo windlass …")
}

pub(super) fn version(release: &str) -> Finding {
    let mend = "apt-get install linux-image-amd64 (and boot it)";
    match kernel::version(release) {
        Some(v) if v >= KERNEL_MULTI_BUFFER => Finding::ok("kernel", release),
        Some(v) if v >= KERNEL_MIN => Finding::ok(
            "kernel",
            format!("{release} (no jumbo frames: they need 6.6)"),
        ),
        _ => {
            let found = format!("{release}, too old: 5.9 is needed");
            Finding::lack("kernel", State::Missing, found, mend)
        }
    }
}

pub(super) fn bpf() -> Finding {
    match Path::new("/proc/sys/kernel/unprivileged_bpf_disabled").exists() {
        true => Finding::ok("bpf", "the bpf system call is there"),
        false => Finding::lack(
            "bpf",
            State::Missing,
            "no bpf system call",
            "a kernel with CONFIG_BPF_SYSCALL=y (Debian: apt-get install linux-image-amd64)",
        ),
    }
}

pub(super) fn btf() -> Finding {
    match Path::new("/sys/kernel/btf/vmlinux").exists() {
        true => Finding::ok("btf", "/sys/kernel/btf/vmlinux"),
        false => Finding::lack(
            "btf",
            State::Warning,
            "no BTF of the kernel: bpftool shows less",
            "a kernel with CONFIG_DEBUG_INFO_BTF=y",
        ),
    }
}

pub(super) fn af_xdp() -> Finding {
    match Socket::new(Domain::from(AF_XDP), Type::RAW, None) {
        Ok(_) => Finding::ok("af_xdp", "a socket can be made"),
        Err(e) if e.kind() == ErrorKind::PermissionDenied => {
            Finding::lack("af_xdp", State::Missing, e.to_string(), "sudo windlass …")
        }
        Err(e) => Finding::lack(
            "af_xdp",
            State::Missing,
            format!("no socket: {e}"),
            "a kernel with CONFIG_XDP_SOCKETS=y, or windlass run --io packet",
        ),
    }
}

pub(super) fn memlock(effective: &Effective) -> Finding {
    let limit = getrlimit(Resource::RLIMIT_MEMLOCK).map_or(0, |(soft, _)| soft);
    if effective.has(IPC_LOCK) || limit >= LOCKED_BYTES {
        let unlimited = effective.has(IPC_LOCK) || limit == u64::MAX;
        let found = if unlimited {
            "unlimited".to_owned()
        } else {
            windlass_terminal::bytes(limit)
        };
        return Finding::ok("memlock", found);
    }
    let found = format!(
        "{} may be locked, a worker needs {}",
        windlass_terminal::bytes(limit),
        windlass_terminal::bytes(LOCKED_BYTES)
    );
    Finding::lack("memlock", State::Missing, found, "ulimit -l unlimited")
}

pub(super) fn bridging(config: &Configuration) -> Finding {
    let loaded = Path::new("/sys/module/bridge").exists();
    match config.get("CONFIG_BRIDGE") {
        _ if loaded => Finding::ok("bridge", "the kernel can bridge"),
        Some('y') => Finding::ok("bridge", "the kernel can bridge"),
        Some('m') => Finding::lack(
            "bridge",
            State::Warning,
            "the module bridge is not loaded",
            "modprobe bridge",
        ),
        Some(_) => Finding::lack(
            "bridge",
            State::Missing,
            "the kernel cannot bridge",
            "a kernel with CONFIG_BRIDGE, or windlass run --io packet",
        ),
        None => Finding::ok(
            "bridge",
            "not known: the kernel's configuration cannot be seen",
        ),
    }
}

pub(super) fn options(config: &Configuration) -> Vec<Finding> {
    let wanted = [
        ("CONFIG_BPF_SYSCALL", State::Missing),
        ("CONFIG_XDP_SOCKETS", State::Missing),
        ("CONFIG_BPF_JIT", State::Warning),
    ];
    let lacking = wanted
        .into_iter()
        .filter(|(name, _)| config.get(name) == Some('n'));
    lacking
        .map(|(name, state)| {
            let mend = format!("a kernel with {name}=y");
            Finding::lack("config", state, format!("{name} is not set"), mend)
        })
        .collect()
}

/// As `windlass run` would judge: two interfaces in no bridge get one, one that comes back into it is put
/// there.
pub(super) fn interfaces(inside: &str, outside: &str) -> Vec<Finding> {
    let both = [inside, outside].map(|name| Interface::get(name).ok());
    let there = || both.iter().flatten();
    let unbridged = there().count() == 2 && there().all(|i| i.bridge.is_none());
    let back = returning(inside, outside);
    let mut problems = match &back {
        _ if unbridged => check_packet(inside, outside),
        Some(_) => check_links(inside, outside),
        None => check(inside, outside),
    };
    let mut findings = Vec::new();
    let mut free = vec![inside, outside];
    free.retain(|name| match governor(name) {
        Some(pid) => {
            let found =
                format!("{name}: windlass, pid {pid}, governs it (end that before another)");
            findings.push(Finding::ok("interfaces", found));
            false
        }
        None => true,
    });
    problems.extend(occupied(&free));
    let state = |p: &Problem| match p.severity {
        Severity::Refusal => State::Missing,
        Severity::Warning => State::Warning,
    };
    let lack = |p: &Problem| Finding::lack("interfaces", state(p), &p.what, &p.fix);
    findings.extend(problems.iter().map(lack));
    for i in there() {
        let bridge = match &i.bridge {
            Some(bridge) => format!("in {bridge}"),
            None if unbridged => "in no bridge (windlass run makes one)".to_owned(),
            None => match &back {
                Some(back) => format!("in no bridge (windlass run puts it into {})", back.bridge),
                None => "in no bridge".to_owned(),
            },
        };
        let found = format!(
            "{}: {}, MTU {}, {} rx and {} tx queues, {bridge}",
            i.name, i.driver, i.mtu, i.rx_queues, i.tx_queues
        );
        findings.push(Finding::ok("interfaces", found));
    }
    findings
}

pub(super) fn demo_programs() -> Vec<Finding> {
    let programs = [
        ("windlass-lab", "the package windlass-lab, or make build"),
        ("ip", "apt-get install iproute2"),
    ];
    let own = std::env::current_exe().unwrap_or_default();
    let find = |(program, mend): (&'static str, &str)| {
        let path = std::env::var("PATH").unwrap_or_default();
        let beside = own.parent().map(Path::to_owned);
        let system = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];
        let folders = path.split(':').chain(system).map(PathBuf::from);
        let mut files = beside
            .into_iter()
            .chain(folders)
            .map(|folder| folder.join(program));
        match files.find(|file| file.is_file()) {
            Some(file) => Finding::ok("demo", file.display().to_string()),
            None => Finding::lack(
                "demo",
                State::Warning,
                format!("{program} is not installed: windlass demo needs it"),
                mend.to_owned(),
            ),
        }
    };
    programs.into_iter().map(find).collect()
}
