//! The Ethernet header (IEEE 802.3 §3.2): two addresses and the ethertype.
//!
//! The length of an 802.3 frame stands where the ethertype is. It is below 0x0600 and names nothing that is walked.

use super::{Inside, Layer};

/// Length of the header, bytes.
const ETHERNET_BYTES: usize = 14;

/// An Ethernet header.
pub(super) struct Ethernet<'a>(&'a [u8; ETHERNET_BYTES]);

impl<'a> Layer<'a> for Ethernet<'a> {
    #[inline(always)]
    fn view(head: &'a [u8], at: usize) -> Option<Self> {
        head.get(at..)?.first_chunk().map(Ethernet)
    }

    #[inline(always)]
    fn inside(&self) -> Inside {
        Inside {
            ethertype: u16::from_be_bytes([self.0[12], self.0[13]]),
            offset: ETHERNET_BYTES,
        }
    }
}
