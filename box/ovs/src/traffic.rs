//! Which traffic goes through the box: a match on packets towards the servers.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Highest VLAN ID that a network can have (IEEE 802.1Q: 4095 is reserved).
const MAX_VLAN: u16 = 4094;

/// A match on TCP packets towards the servers, in the words of ovs-fields(7):
/// `tcp,nw_dst=10.0.0.0/24,tp_dst=443`. Packets from the servers are those with source and
/// destination exchanged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Traffic {
    ipv6: bool,
    /// Of the network as the bridge's ports have it, tagged on the wire or not.
    vlan: Option<u16>,
    fields: Vec<(Field, String)>,
}

/// What a match can be on; each has one of the source and one of the destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Field {
    kind: Kind,
    of_source: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Mac,
    Ipv4,
    Ipv6,
    Port,
}

/// Why a match cannot be followed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("match `{text}`: {reason}")]
pub struct TrafficError {
    /// The match.
    text: String,
    reason: String,
}

/// Names of fields, those of OpenFlow 1.0 first.
const NAMES: [(&str, Field); 16] = [
    ("dl_src", source(Kind::Mac)),
    ("dl_dst", destination(Kind::Mac)),
    ("nw_src", source(Kind::Ipv4)),
    ("nw_dst", destination(Kind::Ipv4)),
    ("ipv6_src", source(Kind::Ipv6)),
    ("ipv6_dst", destination(Kind::Ipv6)),
    ("tp_src", source(Kind::Port)),
    ("tp_dst", destination(Kind::Port)),
    ("eth_src", source(Kind::Mac)),
    ("eth_dst", destination(Kind::Mac)),
    ("ip_src", source(Kind::Ipv4)),
    ("ip_dst", destination(Kind::Ipv4)),
    ("tcp_src", source(Kind::Port)),
    ("tcp_dst", destination(Kind::Port)),
    ("tcpv6_src", source(Kind::Port)),
    ("tcpv6_dst", destination(Kind::Port)),
];

const fn source(kind: Kind) -> Field {
    Field {
        kind,
        of_source: true,
    }
}

const fn destination(kind: Kind) -> Field {
    Field {
        kind,
        of_source: false,
    }
}

impl Field {
    fn name(self) -> &'static str {
        let found = NAMES.iter().find(|(_, field)| *field == self);
        found.map_or("", |(name, _)| name)
    }

    fn exchanged(self) -> Field {
        Field {
            of_source: !self.of_source,
            ..self
        }
    }
}

impl Traffic {
    /// Nothing tells the two directions of a flow apart.
    pub fn is_symmetric(&self) -> bool {
        self.fields.is_empty()
    }

    /// The network that it is limited to.
    pub(crate) fn vlan(&self) -> Option<u16> {
        self.vlan
    }

    /// The match on packets towards the servers, without VLAN.
    pub(crate) fn towards_servers(&self) -> String {
        self.written(|field| field)
    }

    /// The match on packets from the servers, without VLAN.
    pub(crate) fn of_servers(&self) -> String {
        self.written(Field::exchanged)
    }

    fn written(&self, as_seen: impl Fn(Field) -> Field) -> String {
        let protocol = if self.ipv6 { "tcp6" } else { "tcp" };
        let fields = self.fields.iter();
        let fields = fields.map(|(f, value)| format!(",{}={value}", as_seen(*f).name()));
        format!("{protocol}{}", fields.collect::<String>())
    }

    fn add(&mut self, name: &str, value: &str) -> Result<(), String> {
        if matches!(name, "dl_vlan" | "vlan_vid") {
            let id = value.parse().ok().filter(|id| (1..=MAX_VLAN).contains(id));
            let id = id.ok_or_else(|| format!("`{value}` is no VLAN ID (1 to {MAX_VLAN})"))?;
            return match self.vlan.replace(id) {
                None => Ok(()),
                Some(_) => Err(format!("{name} is given twice")),
            };
        }
        let known = NAMES.iter().find(|(known, _)| *known == name);
        let (_, field) = known.ok_or_else(|| refusal(name))?;
        if self.fields.iter().any(|(f, _)| f == field) {
            return Err(format!("{name} is given twice"));
        }
        if field.kind == Kind::Ipv4 && self.ipv6 || field.kind == Kind::Ipv6 && !self.ipv6 {
            let [right, wrong] = if self.ipv6 {
                ["tcp", "tcp6"]
            } else {
                ["tcp6", "tcp"]
            };
            return Err(format!("{name} goes with `{right}`, not with `{wrong}`"));
        }
        if !is_value(field.kind, value) {
            return Err(format!("`{value}` is no {}", described(field.kind)));
        }
        self.fields.push((*field, value.to_owned()));
        Ok(())
    }
}

fn refusal(name: &str) -> String {
    let why = match name {
        "in_port" => "where servers are is said by --inside PORT",
        "tcp_flags" => "a flow goes through the box with all of its packets",
        "nw_tos" | "ip_dscp" | "nw_ecn" | "ip_ecn" | "nw_ttl" | "ip_frag" | "vlan_tci"
        | "dl_vlan_pcp" | "vlan_pcp" => "the two directions of a flow may differ in it",
        _ => {
            "known are dl_vlan, dl_src, dl_dst, nw_src, nw_dst, ipv6_src, ipv6_dst, tp_src and \
             tp_dst"
        }
    };
    format!("`{name}` cannot be matched on: {why}")
}

fn described(kind: Kind) -> &'static str {
    match kind {
        Kind::Mac => "MAC address (with or without /mask)",
        Kind::Ipv4 => "IPv4 address (with or without /prefix or /mask)",
        Kind::Ipv6 => "IPv6 address (with or without /prefix or /mask)",
        Kind::Port => "TCP port (1 to 65535, or port/0xmask)",
    }
}

fn is_value(kind: Kind, text: &str) -> bool {
    let (value, mask) = match text.split_once('/') {
        Some((value, mask)) => (value, Some(mask)),
        None => (text, None),
    };
    let prefix = |mask: &str, most: u8| mask.parse().is_ok_and(|n: u8| n <= most);
    match kind {
        Kind::Mac => is_mac(value) && mask.is_none_or(is_mac),
        Kind::Ipv4 => {
            let is = |text: &str| Ipv4Addr::from_str(text).is_ok();
            is(value) && mask.is_none_or(|m| prefix(m, 32) || is(m))
        }
        Kind::Ipv6 => {
            let is = |text: &str| Ipv6Addr::from_str(text).is_ok();
            is(value) && mask.is_none_or(|m| prefix(m, 128) || is(m))
        }
        Kind::Port => {
            let number = |text: &str| match text.strip_prefix("0x") {
                Some(hex) => u16::from_str_radix(hex, 16).ok(),
                None => text.parse().ok(),
            };
            match mask {
                None => number(value).is_some_and(|port| port > 0),
                Some(mask) => number(value).is_some() && number(mask).is_some(),
            }
        }
    }
}

fn is_mac(text: &str) -> bool {
    let mut count = 0;
    let good = text.split(':').all(|part| {
        count += 1;
        part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit())
    });
    good && count == 6
}

impl FromStr for Traffic {
    type Err = TrafficError;

    fn from_str(text: &str) -> Result<Traffic, TrafficError> {
        let error = |reason: String| TrafficError {
            text: text.to_owned(),
            reason,
        };
        let mut parts = text.split(',').map(str::trim);
        let ipv6 = match parts.next() {
            Some("tcp") => false,
            Some("tcp6") => true,
            _ => return Err(error("it must begin with `tcp` or `tcp6`".to_owned())),
        };
        let mut traffic = Traffic {
            ipv6,
            vlan: None,
            fields: Vec::new(),
        };
        for part in parts {
            let (name, value) = part
                .split_once('=')
                .ok_or_else(|| error(format!("`{part}` should be FIELD=VALUE")))?;
            traffic.add(name.trim(), value.trim()).map_err(error)?;
        }
        Ok(traffic)
    }
}

/// As it can be read again.
impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.towards_servers())?;
        match self.vlan {
            Some(vlan) => write!(f, ",dl_vlan={vlan}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
