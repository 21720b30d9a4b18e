//! VLAN tags (IEEE 802.1Q §9.6): priority, drop eligibility and VLAN id, then the next ethertype.

use super::{Inside, Layer, Link};

/// Ethertypes of tags: IEEE 802.1Q (customer) and 802.1ad (service).
pub(crate) const ETHERTYPE_CTAG: u16 = 0x8100;
pub(crate) const ETHERTYPE_STAG: u16 = 0x88a8;

/// Length of what is behind a tag's own ethertype, bytes.
const VLAN_BYTES: usize = 4;
/// The VLAN id; priority and drop eligibility are no part of it.
const VLAN_ID: u16 = 0xfff;

/// A VLAN tag, behind its own ethertype.
pub(super) struct Vlan<'a>(&'a [u8; VLAN_BYTES]);

impl<'a> Layer<'a> for Vlan<'a> {
    #[inline(always)]
    fn view(head: &'a [u8], at: usize) -> Option<Self> {
        head.get(at..)?.first_chunk().map(Vlan)
    }

    #[inline(always)]
    fn inside(&self) -> Inside {
        Inside {
            ethertype: u16::from_be_bytes([self.0[2], self.0[3]]),
            offset: VLAN_BYTES,
        }
    }

    #[inline(always)]
    fn name(&self, link: &mut Link) -> Option<()> {
        let place = link.vlans.get_mut(link.tags)?;
        *place = u16::from_be_bytes([self.0[0], self.0[1]]) & VLAN_ID;
        link.tags += 1;
        Some(())
    }
}
