//! The box at a glance.

use std::collections::BTreeMap;
use std::fs;

use serde::{Deserialize, Serialize};

use crate::command::Status;
use crate::control::StatusReport;

/// The box at a glance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct OverviewReport {
    /// When, ms since 1970.
    pub time_ms: u64,
    /// How it stands.
    pub status: StatusReport,
    /// What it has carried since the workers began.
    pub traffic: TrafficReport,
    /// Packets that passed unchanged, by reason: those of engines, and with `xdp_` in front those that the kernel
    /// forwarded.
    pub passed: BTreeMap<String, u64>,
    /// The workers; none if one of them does not answer, or nothing is governed.
    pub workers: Vec<WorkerReport>,
    /// All workers answer.
    pub workers_answer: bool,
}

/// Bytes and packets, only growing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TrafficReport {
    /// Received by the two interfaces, from whom and for whom ever; `null` if the kernel does not say.
    pub wire_bytes: Option<u64>,
    /// Of these, taken by the workers.
    pub taken_bytes: u64,
    /// Payload of governed flows that was sent, first transmissions.
    pub governed_bytes: u64,
    /// Payload that the box has sent again.
    pub resent_bytes: u64,
    /// Segments marked lost.
    pub lost_segments: u64,
    /// Segments retransmitted by the box.
    pub repaired_segments: u64,
    /// Times that flows were handed back.
    pub handed_back: u64,
}

/// A worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WorkerReport {
    /// Its queue.
    pub worker: u64,
    /// Connections tracked.
    pub connections: u64,
    /// Packets taken in.
    pub packets: u64,
    /// Bytes held for repair.
    pub held_bytes: u64,
    /// Packet frames that nobody uses.
    pub frames_free: u64,
    /// Times that reception stood still for want of frames.
    pub rx_starved: u64,
    /// Batches of packets.
    pub batches: u64,
    /// Time that they took together, µs.
    pub batches_us: u64,
    /// Bypass is on.
    pub bypass: bool,
}

impl WorkerReport {
    pub(crate) fn new(worker: usize, status: &Status) -> WorkerReport {
        let batches = &status.worker.batch_time_ns;
        WorkerReport {
            worker: worker as u64,
            connections: status.connections as u64,
            packets: status.counters.packets,
            held_bytes: status.held_bytes,
            frames_free: status.driver.frames.frames_free,
            rx_starved: status.driver.frames.rx_starved,
            batches: batches.count(),
            batches_us: batches.sum() / 1000,
            bypass: status.bypass,
        }
    }
}

/// What the kernel has counted as received on these interfaces of this network namespace (proc_pid_net(5)).
pub(crate) fn wire_bytes(names: [&str; 2]) -> Option<u64> {
    received(
        &fs::read_to_string("/proc/thread-self/net/dev").ok()?,
        names,
    )
}

fn received(table: &str, names: [&str; 2]) -> Option<u64> {
    let of = |name: &str| {
        let line = table.lines().find_map(|line| {
            let (interface, numbers) = line.split_once(':')?;
            (interface.trim() == name).then_some(numbers)
        })?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    Some(of(names[0])?.wrapping_add(of(names[1])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_what_interfaces_have_received() {
        let table = "Inter-|   Receive                |  Transmit\n face |bytes    packets errs |bytes\n\
                        lo: 100 1 0 0 0 0 0 0 100 1\n  m0: 7 1 0\n m1:35 2 0\n";
        assert_eq!(received(table, ["m0", "m1"]), Some(42));
        assert_eq!(received(table, ["m0", "m2"]), None);
        assert!(wire_bytes(["lo", "lo"]).is_some());
    }
}
