//! What came of a transfer, and how far it is: as `-j` prints it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use windlass_cc_s2n_quic::Report;

/// How far a transfer is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Since the data began.
    pub elapsed: Duration,
    /// Bytes of the file or filling that have arrived, those of an earlier transfer included; a
    /// little too many, since packet headers count.
    pub arrived: u64,
    /// Bytes in all, where that is known.
    pub total: Option<u64>,
    /// Over the last moments, bit/s.
    pub rate_bit_s: f64,
    /// The path, once something has been acknowledged.
    pub path: Option<Report>,
}

/// The path over a transfer.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct PathFigures {
    /// Smallest RTT, ms.
    pub min_rtt_ms: f64,
    /// Smoothed RTT at the end, ms.
    pub srtt_ms: f64,
    /// Largest RTT, ms.
    pub max_rtt_ms: f64,
    /// Window at the end, bytes.
    pub window_bytes: u64,
    /// Largest window, bytes.
    pub max_window_bytes: u64,
    /// Lost, bytes with packet headers.
    pub lost_bytes: u64,
    /// Lost, of what was sent.
    pub lost_percent: f64,
    /// Reported as CE-marked, bytes.
    pub marked_bytes: u64,
}

/// A transfer, as its sender saw it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Sent {
    /// The receiver.
    pub to: SocketAddr,
    /// The algorithm's Linux name.
    pub algorithm: String,
    /// The file's name; `None` for filling.
    pub file: Option<String>,
    /// Its SHA-256, which the receiver has verified.
    pub sha256: Option<String>,
    /// Bytes that were there from an earlier transfer.
    pub resumed_from: u64,
    /// Bytes that arrived in this one.
    pub bytes: u64,
    /// From the first byte to the receiver's word that it has all, s.
    pub seconds: f64,
    /// `bytes` over `seconds`, Mbit/s.
    pub goodput_mbit_s: f64,
    /// The path.
    #[serde(flatten)]
    pub path: PathFigures,
}

/// A transfer, as its receiver saw it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Received {
    /// The sender.
    pub from: SocketAddr,
    /// Where the file is; `None` for filling.
    pub file: Option<PathBuf>,
    /// Its SHA-256, verified.
    pub sha256: Option<String>,
    /// Bytes that were there from an earlier transfer.
    pub resumed_from: u64,
    /// Bytes that arrived in this one.
    pub bytes: u64,
    /// From the first byte to the last, s.
    pub seconds: f64,
    /// `bytes` over `seconds`, Mbit/s.
    pub goodput_mbit_s: f64,
}

/// 0 where no time passed.
pub(crate) fn mbit_s(bytes: u64, elapsed: Duration) -> f64 {
    let seconds = elapsed.as_secs_f64();
    if seconds > 0.0 {
        bytes as f64 * 8e-6 / seconds
    } else {
        0.0
    }
}
