//! What conditions can ask about: a flow when it begins, its path while it runs.

use super::types::Type;

/// Something that has a name in expressions.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: Type,
    /// Its meaning, for people.
    pub meaning: &'static str,
}

/// All that a kind of condition can ask about. A variable is known by its index.
#[derive(Debug)]
pub struct Scope {
    /// What the conditions are about.
    pub title: &'static str,
    /// The variables.
    pub variables: &'static [Variable],
    /// A condition that could be meant.
    pub example: &'static str,
}

impl Scope {
    pub(super) fn find(&self, name: &str) -> Option<(u8, Type)> {
        let at = self.variables.iter().position(|v| v.name == name)?;
        Some((at as u8, self.variables[at].kind))
    }

    pub(super) fn names(&self) -> Vec<&'static str> {
        self.variables.iter().map(|v| v.name).collect()
    }
}

const fn variable(name: &'static str, kind: Type, meaning: &'static str) -> Variable {
    Variable {
        name,
        kind,
        meaning,
    }
}

/// Indices of [`FLOW`].
pub(crate) mod flow {
    pub const SRC: u8 = 0;
    pub const DST: u8 = 1;
    pub const SPORT: u8 = 2;
    pub const DPORT: u8 = 3;
    pub const VLAN: u8 = 4;
    pub const INTERFACE: u8 = 5;
    pub const SIDE: u8 = 6;
    pub const TENANT: u8 = 7;
    pub const TIME: u8 = 8;
}

/// A flow as its handshake shows it, from the sender of the data to its receiver.
pub static FLOW: Scope = Scope {
    title: "match",
    variables: &[
        variable("src", Type::Ip, "address of the sender of the data"),
        variable("dst", Type::Ip, "address of the receiver"),
        variable("sport", Type::Int, "TCP port of the sender"),
        variable("dport", Type::Int, "TCP port of the receiver"),
        variable("vlan", Type::Int, "VLAN id of the outer tag, 0 if untagged"),
        variable(
            "interface",
            Type::String,
            "interface that the sender's packets come in by",
        ),
        variable(
            "side",
            Type::String,
            "side of the sender: \"inside\" or \"outside\"",
        ),
        variable(
            "tenant",
            Type::String,
            "tenant whose prefixes hold the sender, \"\" if none does",
        ),
        variable("time", Type::Timestamp, "when the connection began (UTC)"),
    ],
    example: "cidr(\"10.0.0.0/8\").containsIP(src) && sport == 443",
};

/// Indices of [`PATH`].
pub(crate) mod path {
    pub const RTT: u8 = 0;
    pub const MIN_RTT: u8 = 1;
    pub const RTT_VAR: u8 = 2;
    pub const LOSS_RATIO: u8 = 3;
    pub const CE_RATIO: u8 = 4;
    pub const DELIVERY_RATE: u8 = 5;
    pub const BYTES_ACKED: u8 = 6;
    pub const AGE: u8 = 7;
    pub const APP_LIMITED: u8 = 8;
}

/// The path of a flow that runs.
pub static PATH: Scope = Scope {
    title: "when",
    variables: &[
        variable("rtt", Type::Duration, "smoothed round-trip time (RFC 6298)"),
        variable(
            "min_rtt",
            Type::Duration,
            "smallest round-trip time of the flow",
        ),
        variable(
            "rtt_var",
            Type::Duration,
            "round-trip time variation (RFC 6298)",
        ),
        variable(
            "loss_ratio",
            Type::Double,
            "lost of sent, over the last half to whole dwell",
        ),
        variable(
            "ce_ratio",
            Type::Double,
            "marked CE of delivered, over the same time",
        ),
        variable(
            "delivery_rate",
            Type::Double,
            "largest recent delivery rate, bit/s",
        ),
        variable("bytes_acked", Type::Int, "bytes delivered so far"),
        variable("age", Type::Duration, "time since the flow began"),
        variable(
            "app_limited",
            Type::Bool,
            "the sender, not the network, limits the flow",
        ),
    ],
    example: "loss_ratio > 0.001 && rtt < duration(\"50ms\")",
};
