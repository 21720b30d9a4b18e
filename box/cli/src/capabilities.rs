//! What the process may do.

use std::fs;

/// Linux capabilities by number (`include/uapi/linux/capability.h`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Capability(pub u32, pub &'static str);

const NET_ADMIN: Capability = Capability(12, "CAP_NET_ADMIN");
const NET_RAW: Capability = Capability(13, "CAP_NET_RAW");
const SYS_ADMIN: Capability = Capability(21, "CAP_SYS_ADMIN");
const PERFMON: Capability = Capability(38, "CAP_PERFMON");
const BPF: Capability = Capability(39, "CAP_BPF");
pub(crate) const IPC_LOCK: Capability = Capability(14, "CAP_IPC_LOCK");

/// The effective capabilities.
pub(crate) struct Effective(u64);

impl Effective {
    /// Those of this process; none if `/proc` is not there.
    pub(crate) fn get() -> Effective {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        Effective::parse(&status)
    }

    fn parse(status: &str) -> Effective {
        let line = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
        let bits = line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
        Effective(bits.unwrap_or(0))
    }

    pub(crate) fn has(&self, capability: Capability) -> bool {
        self.0 & (1 << capability.0) != 0
    }

    /// What `windlass run` needs and is not there. `CAP_SYS_ADMIN` stands for `CAP_BPF` and for
    /// `CAP_PERFMON`, without which the kernel takes no program that computes where in a packet it reads.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let needed = [NET_ADMIN, NET_RAW, BPF, PERFMON].into_iter();
        let stands_for = |c: &Capability| [BPF, PERFMON].contains(c) && self.has(SYS_ADMIN);
        needed
            .filter(|c| !self.has(*c) && !stands_for(c))
            .map(|c| c.1)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_from_the_status() {
        let of = |hex: &str| Effective::parse(&format!("Name:\tx\nCapEff:\t{hex}\nCapBnd:\t0\n"));
        assert!(of("000001ffffffffff").missing().is_empty());
        assert_eq!(
            of("0000000000000000").missing(),
            ["CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_BPF", "CAP_PERFMON"]
        );
        // NET_ADMIN, NET_RAW, SYS_ADMIN.
        assert!(of("0000000000203000").missing().is_empty());
        assert!(of("0000000000004000").has(IPC_LOCK));
    }
}
