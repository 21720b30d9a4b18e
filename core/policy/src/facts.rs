//! What is the case of a flow or of its path, as conditions ask for it.

use windlass_engine::{LivePath, Nanos, Side, TenantId};
use windlass_wire::{Addr, FlowKey};

use crate::cel::Facts;
use crate::cel::scope::{flow, path};

const BITS_PER_BYTE: f64 = 8.0;

/// A flow as its handshake shows it.
pub(crate) struct FlowFacts<'a> {
    pub key: &'a FlowKey,
    pub sender: Side,
    pub interface: &'a str,
    /// The tenant whose prefixes have the sender, and what it is called.
    pub owner: Option<TenantId>,
    pub tenant: &'a str,
    /// Since 1970, UTC.
    pub time: Nanos,
}

impl Facts for FlowFacts<'_> {
    fn number(&self, variable: u8) -> f64 {
        match variable {
            flow::SPORT => f64::from(self.key.src_port),
            flow::DPORT => f64::from(self.key.dst_port),
            flow::VLAN => f64::from(self.key.vlan),
            flow::TIME => self.time as f64,
            _ => f64::NAN,
        }
    }

    fn flag(&self, _variable: u8) -> bool {
        false
    }

    fn text(&self, variable: u8) -> &str {
        match variable {
            flow::INTERFACE => self.interface,
            flow::TENANT => self.tenant,
            flow::SIDE if self.sender == Side::Inside => "inside",
            flow::SIDE => "outside",
            _ => "",
        }
    }

    fn address(&self, variable: u8) -> Addr {
        match variable {
            flow::SRC => self.key.src,
            flow::DST => self.key.dst,
            _ => Addr(0),
        }
    }
}

/// A path that is in use.
pub(crate) struct PathFacts<'a>(pub &'a LivePath);

impl Facts for PathFacts<'_> {
    fn number(&self, variable: u8) -> f64 {
        let path = self.0;
        match variable {
            path::RTT => path.rtt as f64,
            path::MIN_RTT => path.min_rtt as f64,
            path::RTT_VAR => path.rtt_var as f64,
            path::LOSS_RATIO => path.loss_ratio,
            path::CE_RATIO => path.ce_ratio,
            path::DELIVERY_RATE => path.delivery_rate as f64 * BITS_PER_BYTE,
            path::BYTES_ACKED => path.bytes_acked as f64,
            path::AGE => path.age as f64,
            _ => f64::NAN,
        }
    }

    fn flag(&self, variable: u8) -> bool {
        variable == path::APP_LIMITED && self.0.app_limited
    }

    fn text(&self, _variable: u8) -> &str {
        ""
    }

    fn address(&self, _variable: u8) -> Addr {
        Addr(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cel::{FLOW, PATH, Type};

    /// A variable that the facts do not know would make conditions that never hold.
    #[test]
    fn every_variable_is_known() {
        let key = FlowKey {
            src: std::net::Ipv4Addr::new(10, 0, 0, 1).into(),
            dst: std::net::Ipv4Addr::new(10, 0, 0, 2).into(),
            src_port: 443,
            dst_port: 5000,
            vlan: 0,
            inner_vlan: 0,
        };
        let flow = FlowFacts {
            key: &key,
            sender: Side::Inside,
            interface: "lan0",
            owner: None,
            tenant: "blue",
            time: 1,
        };
        let live = LivePath::default();
        let path = PathFacts(&live);
        for (index, variable) in FLOW.variables.iter().enumerate() {
            let index = index as u8;
            match variable.kind {
                Type::String => assert_ne!(flow.text(index), "", "{}", variable.name),
                Type::Ip => assert_ne!(flow.address(index), Addr(0)),
                _ => assert!(!flow.number(index).is_nan(), "{}", variable.name),
            }
        }
        for (index, variable) in PATH.variables.iter().enumerate() {
            if variable.kind != Type::Bool {
                assert!(!path.number(index as u8).is_nan(), "{}", variable.name);
            }
        }
    }
}
