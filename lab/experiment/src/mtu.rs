//! The MTU of every interface of a run, and what follows from it.

use core::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

const ETHERNET_BYTES: u16 = 14;
/// IPv4 and TCP without options.
const HEADER_BYTES: u16 = 40;
/// Timestamps, padded (RFC 7323 appendix A).
const TIMESTAMP_BYTES: u16 = 12;

/// Longest IP packet, bytes. The default is Ethernet's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Mtu(u16);

impl Default for Mtu {
    fn default() -> Self {
        Mtu(1500)
    }
}

impl Mtu {
    /// From what IPv4 hosts must take at least (RFC 791) to jumbo frames, bytes.
    pub const RANGE: RangeInclusive<u64> = 576..=9000;

    /// The nearest to these bytes that there is.
    pub fn nearest(bytes: u64) -> Mtu {
        Mtu(bytes.clamp(*Mtu::RANGE.start(), *Mtu::RANGE.end()) as u16)
    }

    /// Itself, bytes.
    pub fn bytes(self) -> u16 {
        self.0
    }

    /// What a host announces: payload without options, bytes (RFC 6691).
    pub fn mss(self) -> u16 {
        self.0 - HEADER_BYTES
    }

    /// Payload of a full segment with timestamps, bytes.
    pub fn payload_bytes(self) -> f64 {
        f64::from(self.mss() - TIMESTAMP_BYTES)
    }

    /// A full frame from its Ethernet header on, without its checksum, bytes.
    pub fn frame_bytes(self) -> f64 {
        f64::from(self.0 + ETHERNET_BYTES)
    }

    /// Payload of a full frame, of its bytes on the link.
    pub fn payload_share(self) -> f64 {
        self.payload_bytes() / self.frame_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_it() {
        let usual = Mtu::default();
        assert_eq!((usual.bytes(), usual.mss()), (1500, 1460));
        assert_eq!(
            (usual.payload_bytes(), usual.frame_bytes()),
            (1448.0, 1514.0)
        );
        let jumbo = Mtu::nearest(9000);
        assert_eq!((jumbo.mss(), jumbo.frame_bytes()), (8960, 9014.0));
        assert!(jumbo.payload_share() > 0.99);
        assert_eq!(
            (Mtu::nearest(0).bytes(), Mtu::nearest(70_000)),
            (576, jumbo)
        );
    }
}
