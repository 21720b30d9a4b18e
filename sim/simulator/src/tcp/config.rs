//! What an end point is, what its application does, and what is counted.

use windlass_cc::{MILLISECOND, Nanos};

use super::congestion::{HystartExit, ServerAlgorithm};

/// How much a receiver buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiveBuffer {
    /// Always this much, bytes.
    Fixed(u32),
    /// From `initial` to at most `max` bytes, twice what the application took in the last round
    /// trip (dynamic right-sizing, as Linux does it).
    Autotuned {
        /// First window, bytes.
        initial: u32,
        /// Largest, bytes.
        max: u32,
    },
}

/// Options and limits of one end point. The default is a Linux host with CUBIC.
#[derive(Clone, PartialEq, Debug)]
pub struct EndConfig {
    /// Offer, or agree to, SACK (RFC 2018).
    pub sack: bool,
    /// Offer, or agree to, timestamps (RFC 7323).
    pub timestamps: bool,
    /// Shift count to offer (RFC 7323).
    pub window_scale: Option<u8>,
    /// MSS to announce, payload bytes without options.
    pub mss: u16,
    /// Offer, or agree to, classic ECN (RFC 3168).
    pub ecn: bool,
    /// As a receiver, echo for each packet whether it was marked (RFC 8257 §3.2), as hosts with
    /// DCTCP do; otherwise a mark until the sender says that it has heard (RFC 3168).
    pub echoes_each_mark: bool,
    /// Congestion control of the data that this end sends.
    pub algorithm: ServerAlgorithm,
    /// Initial window, packets.
    pub initial_cwnd_packets: u32,
    /// As a sender, go so far beyond the edge that the peer has shown, bytes: a cheat.
    pub goes_beyond_edge: u64,
    /// Send a tail probe (RFC 8985 §7); needs SACK.
    pub tail_probe: bool,
    /// What the RTO keeps above the smoothed RTT.
    pub min_rto: Nanos,
    /// After some time-outs in a row, try shorter segments (RFC 4821 §7.7).
    pub detects_black_holes: bool,
    /// Buffer for what arrives.
    pub receive_buffer: ReceiveBuffer,
    /// Longest delay of an ACK; 0: every segment is acknowledged at once.
    pub delayed_ack: Nanos,
    /// How fast the application takes data out of the buffer; `None`: at once.
    pub read_bytes_per_s: Option<u64>,
    /// Initial sequence number.
    pub isn: u32,
    /// Timestamp clock at time 0, ms.
    pub timestamp_origin_ms: u32,
}

impl Default for EndConfig {
    fn default() -> Self {
        EndConfig {
            sack: true,
            timestamps: true,
            window_scale: Some(7),
            mss: 1460,
            ecn: false,
            echoes_each_mark: false,
            algorithm: ServerAlgorithm::Cubic { hystart: true },
            initial_cwnd_packets: 10,
            goes_beyond_edge: 0,
            tail_probe: true,
            min_rto: 200 * MILLISECOND,
            detects_black_holes: false,
            receive_buffer: ReceiveBuffer::Autotuned {
                initial: 65_536,
                max: 6 << 20,
            },
            delayed_ack: 40 * MILLISECOND,
            read_bytes_per_s: None,
            isn: 1_000_000,
            timestamp_origin_ms: 5_000,
        }
    }
}

/// One `write()` of an application.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Write {
    /// Bytes of payload.
    pub bytes: u64,
    /// Not before this many bytes have been received from the peer in all.
    pub once_received_bytes: u64,
    /// And not before this long after that, and after the previous write.
    pub pause: Nanos,
}

/// How an application ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Close {
    /// `close()` after the last write.
    AfterWrites,
    /// `close()` once the peer has closed and all is written.
    AfterPeer,
    /// `close()` once this many bytes have been received and all is written.
    AfterReceived {
        /// Bytes received from the peer.
        bytes: u64,
    },
    /// Reset once this many bytes have been received.
    Reset {
        /// Bytes received from the peer.
        once_received_bytes: u64,
    },
}

/// What an application does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct App {
    /// Its writes, in order.
    pub writes: Vec<Write>,
    /// Its end.
    pub close: Close,
}

impl App {
    /// Bytes that it writes in all.
    pub fn total_bytes(&self) -> u64 {
        self.writes.iter().map(|w| w.bytes).sum()
    }

    /// A client that asks with `request_bytes` and waits for the server to close.
    pub fn request(request_bytes: u64) -> App {
        App {
            writes: vec![Write {
                bytes: request_bytes,
                ..Write::default()
            }],
            close: Close::AfterPeer,
        }
    }

    /// A server that answers `request_bytes` with `response_bytes` and closes.
    pub fn response(request_bytes: u64, response_bytes: u64) -> App {
        App {
            writes: vec![Write {
                bytes: response_bytes,
                once_received_bytes: request_bytes,
                pause: 0,
            }],
            close: Close::AfterWrites,
        }
    }
}

/// Probes that one end point has sent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ProbesSent {
    /// Tail probes.
    pub tail: u64,
    /// Window reductions because a tail probe repaired a loss (`TCPLossProbeRecovery`).
    pub tail_recoveries: u64,
    /// Zero-window probes.
    pub window: u64,
}

/// What marks of the network have brought about at one end point.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MarksSeen {
    /// Window reductions because of ECE.
    pub reductions: u64,
    /// Segments received with CE.
    pub ce_received: u64,
    /// Payload bytes delivered by ACKs with ECE, in whole segments (`delivered_ce`).
    pub bytes: u64,
}

/// Segments that one end point did not take.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Refused {
    /// Dropped by PAWS (`PAWSEstab`).
    pub by_paws: u64,
    /// With a wrong checksum, or no TCP at all.
    pub bad_frames: u64,
    /// ACKs of what was never sent.
    pub acks_of_unsent: u64,
    /// Beyond the window shown.
    pub beyond_window: u64,
}

/// The state of the congestion control of one end point.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EndNow {
    /// Smoothed RTT now, ns; 0 before the first sample.
    pub srtt: Nanos,
    /// Smallest RTT, ns; 0 before the first sample.
    pub min_rtt: Nanos,
    /// Delivery rate of the newest sample, bytes/s.
    pub delivery_rate: u64,
    /// Rate at which it paces, or by which it measures its bursts, bytes/s; `None` before either.
    pub pacing_rate: Option<u64>,
    /// Segments thought to be in the network now.
    pub packets_in_flight: u32,
    /// Congestion window now, packets.
    pub cwnd_packets: u32,
    /// The reaction to a loss or a mark is under way.
    pub in_recovery: bool,
    /// Slow-start threshold now, packets; `u32::MAX` is infinite.
    pub ssthresh_packets: u32,
}

/// Counts of one end point; the names are those of `nstat` and `ss` where they have one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EndStats {
    /// Segments sent, pure ACKs included.
    pub segments_sent: u64,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Payload bytes sent again.
    pub bytes_retransmitted: u64,
    /// Segments sent again.
    pub segments_retransmitted: u64,
    /// Segments received with a good checksum.
    pub segments_received: u64,
    /// Payload bytes received in order.
    pub bytes_received: u64,
    /// Payload bytes received more than once.
    pub bytes_duplicate: u64,
    /// Recovery episodes begun by SACK or duplicate ACKs.
    pub recoveries: u64,
    /// Segments retransmitted in such episodes.
    pub fast_retransmits: u64,
    /// Retransmission timeouts of data.
    pub rto: u64,
    /// Probes sent.
    pub probes: ProbesSent,
    /// Reductions undone (`TCPLossUndo`, `TCPFullUndo`, `TCPDSACKUndo`).
    pub undos: u64,
    /// DSACK blocks received.
    pub dsacks_received: u64,
    /// What marks have brought about.
    pub marks: MarksSeen,
    /// What it did not take.
    pub refused: Refused,
    /// SYN or SYN-ACK retransmissions.
    pub syn_retransmits: u64,
    /// Largest congestion window, packets.
    pub max_cwnd_packets: u32,
    /// How HyStart ended slow start, if it did.
    pub hystart_exit: Option<HystartExit>,
    /// How it stands now.
    pub now: EndNow,
}
