//! Address prefixes.

use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;

use windlass_engine::Senders;
use windlass_wire::Addr;

/// Length of the IPv4-mapped prefix `::ffff:0:0/96` (RFC 4291 §2.5.5.2), bits.
const MAPPED_BITS: u32 = 96;

/// An IPv4 or IPv6 prefix: `10.0.0.0/8`, `2001:db8::/32`, or one address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prefix {
    base: u128,
    mask: u128,
}

impl Prefix {
    /// The prefix with this first address and mask.
    pub(crate) fn of(base: u128, mask: u128) -> Prefix {
        Prefix { base, mask }
    }

    /// Whether the address is in it. An IPv4 address is in no IPv6 prefix shorter than
    /// `::ffff:0:0/96`.
    pub fn contains(self, addr: Addr) -> bool {
        addr.0 & self.mask == self.base && (self.is_v4() || addr.ip().is_ipv6())
    }

    /// The same, for the engine.
    pub(crate) fn senders(&self) -> Senders {
        Senders {
            first: Addr(self.base),
            bits: self.bits(),
        }
    }

    fn bits(self) -> u32 {
        self.mask.leading_ones()
    }

    fn is_v4(self) -> bool {
        self.bits() >= MAPPED_BITS && Addr(self.base).ip().is_ipv4()
    }
}

impl FromStr for Prefix {
    type Err = String;

    /// # Errors
    /// What is wrong and how it would be right.
    fn from_str(text: &str) -> Result<Prefix, String> {
        let (ip, bits) = match text.split_once('/') {
            Some((ip, bits)) => (ip, Some(bits)),
            None => (text, None),
        };
        let ip: IpAddr = ip.parse().map_err(|_| {
            "write an address and a length: \"10.0.0.0/8\" or \"2001:db8::/32\"".to_owned()
        })?;
        let (longest, before) = match ip {
            IpAddr::V4(_) => (32, MAPPED_BITS),
            IpAddr::V6(_) => (128, 0),
        };
        let bits = match bits {
            None => longest,
            Some(bits) => bits
                .parse()
                .ok()
                .filter(|b| *b <= longest)
                .ok_or_else(|| format!("the length of such a prefix is 0 to {longest}"))?,
        };
        let mask = u128::MAX.checked_shl(128 - before - bits).unwrap_or(0);
        let base = Addr::from(ip).0;
        let prefix = Prefix {
            base: base & mask,
            mask,
        };
        if base & !mask != 0 {
            return Err(format!(
                "it has bits set beyond its length: write \"{prefix}\""
            ));
        }
        Ok(prefix)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.bits() - if self.is_v4() { MAPPED_BITS } else { 0 };
        write!(f, "{}/{bits}", Addr(self.base).ip())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addr(text: &str) -> Addr {
        text.parse::<IpAddr>().unwrap().into()
    }

    #[test]
    fn prefixes_contain_their_addresses_and_no_others() {
        for (prefix, inside, outside) in [
            ("10.0.0.0/8", "10.255.255.255", "11.0.0.0"),
            ("0.0.0.0/0", "255.0.0.1", "2001:db8::1"),
            ("::/0", "2001:db8::1", "10.0.0.1"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.6"),
            ("2001:db8::/32", "2001:db8:ffff::", "2001:db9::"),
            ("2001:db8::1/128", "2001:db8::1", "2001:db8::2"),
            ("192.0.2.128/25", "192.0.2.255", "192.0.2.127"),
        ] {
            let parsed: Prefix = prefix.parse().unwrap();
            assert!(parsed.contains(addr(inside)), "{inside} in {prefix}");
            assert!(!parsed.contains(addr(outside)), "{outside} not in {prefix}");
            assert_eq!(parsed.to_string().parse(), Ok(parsed));
        }
    }
}
