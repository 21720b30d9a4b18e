//! How much memory the process has, and whether that is as much as it may.

use std::fs;

const PAGE_BYTES: u64 = 4096;
/// There is room again when this many hundredths of what is allowed are in use.
const ROOM_AGAIN_PERCENT: u64 = 95;

/// The memory of the process beside its limit.
#[derive(Debug)]
pub(crate) struct Footprint {
    limit_bytes: u64,
    full: bool,
}

impl Footprint {
    /// With a limit, packet frames included.
    pub(crate) fn new(limit_bytes: u64) -> Footprint {
        Footprint {
            limit_bytes,
            full: false,
        }
    }

    /// New connections have to pass.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Looks, and tells of a change: true if new connections have to pass from now on.
    pub(crate) fn look(&mut self) -> Option<bool> {
        self.compare(resident_bytes()?)
    }

    fn compare(&mut self, resident: u64) -> Option<bool> {
        let full = match self.full {
            false => resident > self.limit_bytes,
            true => resident > self.limit_bytes / 100 * ROOM_AGAIN_PERCENT,
        };
        let changed = full != self.full;
        self.full = full;
        changed.then_some(full)
    }
}

/// `None` where /proc does not say (proc_pid_statm(5)).
fn resident_bytes() -> Option<u64> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * PAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEGABYTE: u64 = 1 << 20;

    #[test]
    fn it_is_full_until_a_twentieth_is_free() {
        let mut footprint = Footprint::new(128 * MEGABYTE);
        assert_eq!(footprint.compare(128 * MEGABYTE), None);
        assert_eq!(footprint.compare(129 * MEGABYTE), Some(true));
        assert_eq!(footprint.compare(125 * MEGABYTE), None);
        assert_eq!(footprint.compare(121 * MEGABYTE), Some(false));
    }

    #[test]
    fn a_process_has_some_memory() {
        let resident = resident_bytes().expect("/proc");
        assert!((MEGABYTE..1 << 40).contains(&resident), "{resident}");
    }
}
