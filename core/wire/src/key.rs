//! The names of flows.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::str::FromStr;

use serde::{Deserialize, Serialize};

/// Largest VLAN id (IEEE 802.1Q; 4095 is reserved).
const VLAN_MAX: u16 = 4094;

/// An IPv4 or IPv6 address; IPv4 is kept as ::ffff:a.b.c.d (RFC 4291 §2.5.5.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Addr(pub u128);

impl Addr {
    /// The address as the standard library knows it.
    pub fn ip(self) -> IpAddr {
        let v6 = Ipv6Addr::from(self.0);
        match v6.to_ipv4_mapped() {
            Some(v4) => IpAddr::V4(v4),
            None => IpAddr::V6(v6),
        }
    }
}

impl From<Ipv4Addr> for Addr {
    fn from(a: Ipv4Addr) -> Self {
        Addr(u128::from(a.to_ipv6_mapped()))
    }
}

impl From<Ipv6Addr> for Addr {
    fn from(a: Ipv6Addr) -> Self {
        Addr(u128::from(a))
    }
}

impl From<IpAddr> for Addr {
    fn from(a: IpAddr) -> Self {
        match a {
            IpAddr::V4(v4) => v4.into(),
            IpAddr::V6(v6) => v6.into(),
        }
    }
}

impl fmt::Debug for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.ip(), f)
    }
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.ip(), f)
    }
}

/// The 5-tuple of a TCP packet (protocol understood) and the VLANs it was seen in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct FlowKey {
    /// Source address.
    pub src: Addr,
    /// Destination address.
    pub dst: Addr,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// VLAN id of the outer tag, 0 when untagged.
    pub vlan: u16,
    /// VLAN id of the inner tag (QinQ), 0 when there is none.
    pub inner_vlan: u16,
}

impl FlowKey {
    /// The same connection seen from the other end.
    pub fn reversed(self) -> FlowKey {
        FlowKey {
            src: self.dst,
            dst: self.src,
            src_port: self.dst_port,
            dst_port: self.src_port,
            ..self
        }
    }

    /// One name for both directions: the smaller end first. True when the ends were exchanged.
    pub fn canonical(self) -> (FlowKey, bool) {
        if (self.src, self.src_port) <= (self.dst, self.dst_port) {
            (self, false)
        } else {
            (self.reversed(), true)
        }
    }
}

impl fmt::Debug for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for FlowKey {
    /// `10.0.0.1:443>192.0.2.7:5555`, followed by `@vlan` when tagged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let src = SocketAddr::new(self.src.ip(), self.src_port);
        let dst = SocketAddr::new(self.dst.ip(), self.dst_port);
        write!(f, "{src}>{dst}")?;
        match (self.vlan, self.inner_vlan) {
            (0, 0) => Ok(()),
            (v, 0) => write!(f, "@{v}"),
            (v, i) => write!(f, "@{v}.{i}"),
        }
    }
}

/// Text that is no name of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoFlowKey;

impl fmt::Display for NoFlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "write it as 10.0.0.1:443>192.0.2.7:5555 or [2001:db8::1]:443>[2001:db8::2]:5555, \
             a VLAN behind an @",
        )
    }
}

impl core::error::Error for NoFlowKey {}

/// As it is shown.
impl FromStr for FlowKey {
    type Err = NoFlowKey;

    fn from_str(text: &str) -> Result<FlowKey, NoFlowKey> {
        let (ends, tags) = text.split_once('@').unwrap_or((text, "0"));
        let (vlan, inner_vlan) = tags.split_once('.').unwrap_or((tags, "0"));
        let (src, dst) = ends.split_once('>').ok_or(NoFlowKey)?;
        let end = |text: &str| text.trim().parse::<SocketAddr>().map_err(|_| NoFlowKey);
        let tag = |text: &str| {
            let tag = text.parse().ok().filter(|tag| *tag <= VLAN_MAX);
            tag.ok_or(NoFlowKey)
        };
        let (src, dst) = (end(src)?, end(dst)?);
        Ok(FlowKey {
            src: src.ip().into(),
            dst: dst.ip().into(),
            src_port: src.port(),
            dst_port: dst.port(),
            vlan: tag(vlan)?,
            inner_vlan: tag(inner_vlan)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_read() {
        for text in [
            "10.0.0.1:443>192.0.2.7:5555",
            "[2001:db8::1]:443>[2001:db8::2]:5555@12",
            "10.0.0.1:1>10.0.0.2:2@7.4094",
        ] {
            let key: FlowKey = text.parse().unwrap();
            assert_eq!(key.to_string(), text);
        }
        for wrong in [
            "",
            "10.0.0.1:443",
            "10.0.0.1>10.0.0.2",
            "1.1.1.1:1>2.2.2.2:2@4095",
        ] {
            assert_eq!(wrong.parse::<FlowKey>(), Err(NoFlowKey), "{wrong}");
        }
    }
}
