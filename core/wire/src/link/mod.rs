//! From a frame's first byte to its IP header: one loop over link layers.
//!
//! Each layer is a view of its header ([`Layer`]). It says what is inside of it and where that begins.
//! `box/io/bpf/wire/link.h` walks the same layers in the XDP program.

mod ethernet;
mod vlan;

use crate::Unparsed;
use ethernet::Ethernet;
use vlan::Vlan;

pub(crate) use vlan::{ETHERTYPE_CTAG, ETHERTYPE_STAG};

/// Ethertypes of IPv4 and IPv6, at which the walk has arrived.
pub(crate) const ETHERTYPE_IPV4: u16 = 0x0800;
pub(crate) const ETHERTYPE_IPV6: u16 = 0x86dd;

/// Link layers behind the Ethernet header that are walked. What is in more of them does not count as IP.
pub const LINK_LAYERS_MAX: usize = 2;
/// VLAN ids that tell connections apart: that of the outer tag and that of the inner one.
const VLANS_MAX: usize = 2;

/// A view of one layer's header.
trait Layer<'a>: Sized {
    /// The header at `at`, bytes from the first of `head`. `None` if it is cut short.
    fn view(head: &'a [u8], at: usize) -> Option<Self>;

    /// What is inside.
    fn inside(&self) -> Inside;

    /// Adds to `link` what tells connections of this layer apart. `None` if there is no room for it.
    #[inline(always)]
    fn name(&self, _link: &mut Link) -> Option<()> {
        Some(())
    }
}

/// What a layer says is inside of it.
struct Inside {
    /// Its kind. A layer that has other numbers for it (PPP, for example) gives the ethertype all the same.
    ethertype: u16,
    /// Where it begins, bytes behind the beginning of the layer's own header.
    offset: usize,
}

/// How far the walk has come.
#[derive(Default)]
pub(crate) struct Link {
    /// Kind of what is next.
    pub ethertype: u16,
    /// Where that begins, bytes from the frame's first.
    pub at: usize,
    /// VLAN ids from the outside to the inside, 0 where there is no tag.
    pub vlans: [u16; VLANS_MAX],
    /// Tags that were entered.
    tags: usize,
}

impl Link {
    /// Goes into the layer that is next.
    #[inline(always)]
    fn enter<'a, L: Layer<'a>>(&mut self, head: &'a [u8]) -> Result<(), Unparsed> {
        let layer = L::view(head, self.at).ok_or(Unparsed::NotIp)?;
        layer.name(self).ok_or(Unparsed::NotIp)?;
        let inside = layer.inside();
        self.ethertype = inside.ethertype;
        self.at += inside.offset;
        Ok(())
    }
}

/// Walks the link layers of a frame up to what is no link layer, or to the limit.
#[inline(always)]
pub(crate) fn walk(head: &[u8]) -> Result<Link, Unparsed> {
    let mut link = Link::default();
    link.enter::<Ethernet<'_>>(head)?;
    for _ in 0..LINK_LAYERS_MAX {
        match link.ethertype {
            ETHERTYPE_CTAG | ETHERTYPE_STAG => link.enter::<Vlan<'_>>(head)?,
            _ => break,
        }
    }
    Ok(link)
}
