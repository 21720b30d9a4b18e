//! What the kernel knows of a TCP connection (`TCP_INFO` and `TCP_CC_INFO`, tcp(7)): the figures of
//! `ss -ti`.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::sys;

/// `struct tcp_info` (linux/tcp.h, 6.12).
#[repr(C)]
#[derive(Clone, Copy)]
struct Raw {
    state: u8,
    ca_state: u8,
    /// Retransmits, probes, backoff, options, window scales, flags.
    bytes: [u8; 6],
    rto_us: u32,
    ato_us: u32,
    snd_mss: u32,
    rcv_mss: u32,
    unacked: u32,
    sacked: u32,
    lost: u32,
    retrans: u32,
    fackets: u32,
    /// Since the last data and ACK, either way.
    last: [u32; 4],
    pmtu: u32,
    rcv_ssthresh: u32,
    rtt_us: u32,
    rttvar_us: u32,
    snd_ssthresh: u32,
    snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt_us: u32,
    rcv_space: u32,
    total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt_us: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    delivery_rate: u64,
    busy_time_us: u64,
    rwnd_limited_us: u64,
    sndbuf_limited_us: u64,
    delivered: u32,
    delivered_ce: u32,
    bytes_sent: u64,
    bytes_retrans: u64,
    dsack_dups: u32,
    reord_seen: u32,
    rcv_ooopack: u32,
    snd_wnd: u32,
    rcv_wnd: u32,
    rehash: u32,
    total_rto: u16,
    total_rto_recoveries: u16,
    total_rto_time_ms: u32,
}

/// A connection at one moment. Packets are segments of its own maximum size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpInfo {
    /// Congestion window, packets.
    pub cwnd_packets: u32,
    /// The reaction to a loss or a mark is under way (`TCP_CA_CWR` and beyond).
    pub in_recovery: bool,
    /// Slow-start threshold, packets; `None` while infinite.
    pub ssthresh_packets: Option<u32>,
    /// Sent and not acknowledged, packets.
    pub unacked_packets: u32,
    /// Of these, known to have arrived.
    pub sacked_packets: u32,
    /// Of these, known to be lost.
    pub lost_packets: u32,
    /// Of the lost ones, sent again.
    pub retrans_packets: u32,
    /// Bytes that wait for their first transmission.
    pub notsent_bytes: u32,
    /// Smoothed RTT, µs; 0 before the first sample.
    pub srtt_us: u32,
    /// Least RTT, µs; `None` before the first sample.
    pub min_rtt_us: Option<u32>,
    /// Pacing rate, bytes/s; `None` if there is none.
    pub pacing_bytes_per_s: Option<u64>,
    /// Latest delivery rate, bytes/s; 0 before the first sample.
    pub delivery_bytes_per_s: u64,
    /// Payload acknowledged, bytes; a SYN or FIN counts as one.
    pub acked_bytes: u64,
    /// Packets sent again.
    pub retransmitted_packets: u32,
    /// Payload sent again, bytes.
    pub retransmitted_bytes: u64,
    /// Time-outs; `None` on kernels before 6.7, which do not count them.
    pub timeouts: Option<u16>,
}

/// The first of the congestion states in which a window is being reduced (`TCP_CA_CWR`).
const CA_CWR: u8 = 2;
/// Value of `tcpi_snd_ssthresh` that stands for infinity (`TCP_INFINITE_SSTHRESH`).
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

impl TcpInfo {
    /// Asks the kernel.
    ///
    /// # Errors
    /// Those of getsockopt(2): the socket is no TCP socket.
    pub fn of(socket: &impl AsFd) -> io::Result<TcpInfo> {
        // SAFETY: a structure of integers, for which zeros are valid.
        let zero: Raw = unsafe { std::mem::zeroed() };
        let fd = socket.as_fd().as_raw_fd();
        let (raw, len) = sys::get_option_len(&fd, libc::IPPROTO_TCP, libc::TCP_INFO, zero)?;
        let counts_timeouts = len >= std::mem::offset_of!(Raw, total_rto_recoveries);
        Ok(TcpInfo {
            cwnd_packets: raw.snd_cwnd,
            in_recovery: raw.ca_state >= CA_CWR,
            ssthresh_packets: Some(raw.snd_ssthresh).filter(|s| *s < INFINITE_SSTHRESH),
            unacked_packets: raw.unacked,
            sacked_packets: raw.sacked,
            lost_packets: raw.lost,
            retrans_packets: raw.retrans,
            notsent_bytes: raw.notsent_bytes,
            srtt_us: raw.rtt_us,
            min_rtt_us: Some(raw.min_rtt_us).filter(|rtt| *rtt != u32::MAX),
            pacing_bytes_per_s: Some(raw.pacing_rate).filter(|rate| *rate != u64::MAX),
            delivery_bytes_per_s: raw.delivery_rate,
            acked_bytes: raw.bytes_acked,
            retransmitted_packets: raw.total_retrans,
            retransmitted_bytes: raw.bytes_retrans,
            timeouts: counts_timeouts.then_some(raw.total_rto),
        })
    }

    /// In the network, as the sender sees it: sent, and neither acknowledged nor known to have
    /// arrived or to be lost, and what was sent again (RFC 6675, "pipe").
    pub fn inflight_packets(&self) -> u32 {
        let gone = self.sacked_packets + self.lost_packets;
        (self.unacked_packets + self.retrans_packets).saturating_sub(gone)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_structure_is_the_kernels() {
        assert_eq!(std::mem::offset_of!(Raw, pacing_rate), 104);
        assert_eq!(std::mem::offset_of!(Raw, delivery_rate), 160);
        assert_eq!(std::mem::offset_of!(Raw, bytes_retrans), 208);
        assert_eq!(std::mem::offset_of!(Raw, total_rto), 240);
    }

    #[test]
    fn a_connection_tells_what_has_been_acknowledged() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let mut near = TcpStream::connect(listener.local_addr().expect("bound")).expect("there");
        let (mut far, _) = listener.accept().expect("a connection");
        near.write_all(&[7; 5000]).expect("sent");
        far.read_exact(&mut [0; 5000]).expect("received");
        // An answer acknowledges all of it.
        far.write_all(&[1]).expect("sent");
        near.read_exact(&mut [0]).expect("received");
        let info = TcpInfo::of(&near).expect("figures");
        assert_eq!((info.acked_bytes, info.unacked_packets), (5001, 0));
        assert_eq!((info.inflight_packets(), info.notsent_bytes), (0, 0));
        assert!(info.cwnd_packets >= 10 && info.srtt_us > 0, "{info:?}");
        assert_eq!((info.retransmitted_bytes, info.in_recovery), (0, false));
        assert!(info.ssthresh_packets.is_none(), "{info:?}");
    }

    #[test]
    fn what_is_in_flight() {
        let info = TcpInfo {
            unacked_packets: 431,
            retrans_packets: 1,
            sacked_packets: 12,
            lost_packets: 2,
            ..TcpInfo::default()
        };
        assert_eq!(info.inflight_packets(), 418);
        let all_sacked = TcpInfo {
            sacked_packets: 500,
            ..info
        };
        assert_eq!(all_sacked.inflight_packets(), 0);
    }
}
