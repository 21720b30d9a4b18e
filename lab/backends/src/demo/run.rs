//! The figures of one download.

use serde::Serialize;
use windlass_daemon::TraceLine;
use windlass_experiment::observed::LinkObserved;

use super::Case;
use crate::emulator::Record;
use crate::trace::check_governed;

/// What the link did to the packets from server to client.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct LinkCounts {
    /// Packets that came to the link.
    pub offered: u64,
    /// Lost by chance.
    pub lost: u64,
    /// Dropped by a full queue.
    pub dropped: u64,
    /// Longest queue, bytes.
    pub max_queue_bytes: u64,
}

impl From<&LinkObserved> for LinkCounts {
    fn from(link: &LinkObserved) -> Self {
        LinkCounts {
            offered: link.offered_packets,
            lost: link.lost_packets,
            dropped: link.dropped_packets,
            max_queue_bytes: link.max_queue_bytes,
        }
    }
}

/// What Windlass did to the flow.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct BoxCounts {
    /// Segments that the box sent again.
    pub repaired_segments: u64,
    /// Second copies sent.
    pub copied_segments: u64,
    /// Times handed back to the server.
    pub handed_back: u64,
}

/// One download.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Run {
    /// Who.
    pub case: Case,
    /// Counted from 0.
    pub repetition: u32,
    /// From curl's start to the last byte, s.
    pub seconds: f64,
    /// Whether the file arrived, and is the one that was served.
    pub sha256_ok: bool,
    /// Bytes received.
    pub bytes: u64,
    /// HTTP status, 0 without an answer.
    pub http_code: u16,
    /// What went wrong: the download, or Windlass did not govern it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the server's socket was seen to use.
    pub server_congestion_control: String,
    /// Segments that the server's kernel sent again.
    pub server_retransmissions: u64,
    /// The box, if Windlass ran on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windlass: Option<BoxCounts>,
    /// The link.
    pub link: LinkCounts,
    /// How late packets left the emulator: median, µs.
    pub emulator_lateness_us_p50: u32,
    /// Of 99 % of the packets at most, µs.
    pub emulator_lateness_us_p99: u32,
    /// At most, µs.
    pub emulator_lateness_us_max: u32,
}

impl Run {
    pub(super) fn new(case: Case, repetition: u32, seconds: f64, record: &Record) -> Run {
        Run {
            case,
            repetition,
            seconds,
            sha256_ok: false,
            bytes: 0,
            http_code: 0,
            error: None,
            server_congestion_control: case.server_algorithm().to_owned(),
            server_retransmissions: 0,
            windlass: None,
            link: record
                .down
                .first()
                .map_or_else(LinkCounts::default, Into::into),
            emulator_lateness_us_p50: record.lateness(0.5),
            emulator_lateness_us_p99: record.lateness(0.99),
            emulator_lateness_us_max: record.lateness(1.0),
        }
    }

    /// Takes over what the box says of the flow.
    pub(super) fn judge(&mut self, trace: &[TraceLine]) {
        self.windlass = trace.last().map(|last| BoxCounts {
            repaired_segments: last.flow.repaired_segments,
            copied_segments: last.flow.copied_segments,
            handed_back: last.flow.handed_back,
        });
        if let (None, Err(e)) = (&self.error, check_governed(trace)) {
            self.error = Some(format!("{e:#}"));
        }
    }

    /// Whether it may be counted.
    pub fn is_good(&self) -> bool {
        self.sha256_ok && self.error.is_none()
    }
}
