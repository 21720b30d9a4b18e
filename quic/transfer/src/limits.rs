//! Limits, and what s2n-quic is to keep to.

use std::net::SocketAddr;
use std::time::Duration;

use s2n_quic::provider::io;
use s2n_quic::provider::limits::Limits;

use crate::{Error, Result};

/// UDP port of a receiver unless another is named.
pub const DEFAULT_PORT: u16 = 4433;
/// Nothing heard for so long: the other end or the network is gone. Pings ask for signs of life.
pub(crate) const SILENCE: Duration = Duration::from_secs(10);
const PING_EVERY: Duration = Duration::from_secs(2);
/// To get a last word of the other end, or give one to it.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(2);
/// For the packet that closes a connection to leave this host.
pub(crate) const FAREWELL: Duration = Duration::from_millis(50);
/// Bytes in flight and in buffers: what 1 Gbit/s needs at 500 ms.
const WINDOW: u32 = 64 << 20;
/// Wanted of the kernel for a socket, bytes; it gives what `net.core.rmem_max` allows.
const SOCKET_BUFFER: usize = 8 << 20;
/// Holes that a receiver remembers.
const ACK_RANGES: u8 = 100;
/// Bytes of a file name: with what is added to a temporary one it must stay below 255.
pub(crate) const MAX_NAME_BYTES: usize = 220;
/// Bytes that are read or written at a time.
pub(crate) const CHUNK: usize = 256 << 10;
/// Chunks that wait between disk and network.
pub(crate) const CHUNKS_QUEUED: usize = 16;
/// Transfers at a time; more are refused.
pub(crate) const MOST_TRANSFERS: usize = 64;

/// What both ends ask of QUIC.
pub(crate) fn of_connection() -> Result<Limits> {
    let limits = Limits::new()
        .with_max_idle_timeout(SILENCE)
        .and_then(|l| l.with_max_handshake_duration(SILENCE))
        .and_then(|l| l.with_max_keep_alive_period(PING_EVERY))
        .and_then(|l| l.with_data_window(WINDOW.into()))
        .and_then(|l| l.with_unidirectional_data_window(WINDOW.into()))
        .and_then(|l| l.with_max_send_buffer_size(WINDOW))
        .and_then(|l| l.with_max_ack_ranges(ACK_RANGES));
    limits.map_err(|e| Error::Start(format!("QUIC limits: {e}")))
}

/// A socket on this address.
pub(crate) fn socket(address: SocketAddr) -> Result<io::Default> {
    let io = io::Default::builder()
        .with_receive_address(address)
        .and_then(|io| io.with_recv_buffer_size(SOCKET_BUFFER))
        .and_then(|io| io.with_send_buffer_size(SOCKET_BUFFER))
        .and_then(|io| io.build());
    io.map_err(|source| Error::Socket { address, source })
}
