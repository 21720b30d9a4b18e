//! Whole TCP frames from a description, for end points that are simulated and for tests.

use crate::headers::{self, IP_LEN_MAX_BYTES};
use crate::link::{ETHERTYPE_CTAG, ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_STAG};
use crate::options::{NOP, OPTIONS_MAX_BYTES};
use crate::{Addr, ChecksumState, Ecn, Flags, FlowKey};
use core::net::{Ipv4Addr, Ipv6Addr};

/// One TCP frame. The default is an ACK without payload from 192.0.2.1:40000 to 198.51.100.1:443.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameSpec {
    /// Addresses, ports and VLAN tags (0 is no tag; both tags if there is an inner one). IPv4 if
    /// both addresses are.
    pub key: FlowKey,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Flags.
    pub flags: Flags,
    /// Window field, unscaled.
    pub window: u16,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// Encoded TCP options ([`crate::OptionWriter`]), padded here with NOPs. What is beyond the 40th
    /// byte is cut off.
    pub options: Vec<u8>,
    /// Payload, cut off where the IP length field ends.
    pub payload: Vec<u8>,
    /// TTL or hop limit.
    pub ttl: u8,
    /// Ethernet source.
    pub src_mac: [u8; 6],
    /// Ethernet destination.
    pub dst_mac: [u8; 6],
}

impl Default for FrameSpec {
    fn default() -> Self {
        FrameSpec {
            key: FlowKey {
                src: Ipv4Addr::new(192, 0, 2, 1).into(),
                dst: Ipv4Addr::new(198, 51, 100, 1).into(),
                src_port: 40_000,
                dst_port: 443,
                vlan: 0,
                inner_vlan: 0,
            },
            seq: 1,
            ack: 1,
            flags: Flags::ACK,
            window: 65_535,
            ecn: Ecn::NotEct,
            options: Vec::new(),
            payload: Vec::new(),
            ttl: 64,
            src_mac: [2, 0, 0, 0, 0, 1],
            dst_mac: [2, 0, 0, 0, 0, 2],
        }
    }
}

impl FrameSpec {
    /// The frame, without padding, with full checksums.
    pub fn build(&self) -> Vec<u8> {
        self.assemble(ChecksumState::Full)
    }

    /// The frame with the TCP checksum left partial, as veth and virtio hand it over.
    pub fn build_partial(&self) -> Vec<u8> {
        self.assemble(ChecksumState::Partial)
    }

    fn assemble(&self, state: ChecksumState) -> Vec<u8> {
        let v6 = !(is_v4(self.key.src) && is_v4(self.key.dst));
        let mut frame = self.link(if v6 { ETHERTYPE_IPV6 } else { ETHERTYPE_IPV4 });
        let ip = frame.len();
        let ecn = self.ecn.bits();
        let ends = (self.key.src, self.key.dst);
        if v6 {
            let class = u32::from(ecn) << 20;
            frame.extend(headers::ipv6(class, self.ttl, ends.0, ends.1));
        } else {
            frame.extend(headers::ipv4(ecn, self.ttl, ends.0, ends.1));
        }
        self.tcp(&mut frame);
        // The IPv6 length does not count the header.
        let most = ip + IP_LEN_MAX_BYTES + if v6 { 40 } else { 0 };
        let payload = self.payload.len().min(most - frame.len());
        frame.extend_from_slice(&self.payload[..payload]);
        headers::close(&mut frame, ip, v6, ends, state);
        frame
    }

    fn link(&self, ethertype: u16) -> Vec<u8> {
        let mut frame = Vec::with_capacity(128 + self.payload.len());
        frame.extend(self.dst_mac);
        frame.extend(self.src_mac);
        let mut tag = |ethertype: u16, vlan: u16| {
            frame.extend(ethertype.to_be_bytes());
            frame.extend((vlan & 0xfff).to_be_bytes());
        };
        match (self.key.vlan, self.key.inner_vlan) {
            (0, 0) => {}
            (vlan, 0) => tag(ETHERTYPE_CTAG, vlan),
            (outer, inner) => {
                tag(ETHERTYPE_STAG, outer);
                tag(ETHERTYPE_CTAG, inner);
            }
        }
        frame.extend(ethertype.to_be_bytes());
        frame
    }

    fn tcp(&self, frame: &mut Vec<u8>) {
        let options = &self.options[..self.options.len().min(OPTIONS_MAX_BYTES)];
        let padded = options.len().next_multiple_of(4);
        let offset = ((20 + padded) as u16 / 4) << 12;
        frame.extend(self.key.src_port.to_be_bytes());
        frame.extend(self.key.dst_port.to_be_bytes());
        frame.extend(self.seq.to_be_bytes());
        frame.extend(self.ack.to_be_bytes());
        frame.extend((offset | self.flags.0 & 0x1ff).to_be_bytes());
        frame.extend(self.window.to_be_bytes());
        // Checksum, filled in later, and urgent pointer.
        frame.extend([0; 4]);
        frame.extend_from_slice(options);
        frame.resize(frame.len() + padded - options.len(), NOP);
    }
}

fn is_v4(address: Addr) -> bool {
    Ipv6Addr::from(address.0).to_ipv4_mapped().is_some()
}
