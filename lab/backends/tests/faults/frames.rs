//! Frames that nobody has asked for: what a flood is made of.

use std::net::Ipv4Addr;

use windlass_experiment::setup::{client_address, server_address};
use windlass_sim::Rng;
use windlass_wire::{parse, verify_tcp};

const ETHERNET_BYTES: usize = 14;
const IPV4_BYTES: usize = 20;
const TCP_AT: usize = ETHERNET_BYTES + IPV4_BYTES;
const TCP: u8 = 6;
const UDP: u8 = 17;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
/// Maximum segment size, SACK permitted, timestamps, no operation, window scale: a Linux SYN.
const SYN_OPTIONS: [u8; 20] = [
    2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 1, 2, 3, 0, 0, 0, 0, 1, 3, 3, 7,
];
const MORE_FRAGMENTS: u16 = 0x2000;

/// What kind of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// SYNs to the listener, each from an address of its own.
    Syn,
    /// ACKs to the listener, of connections that do not exist.
    Ack,
    Udp,
    /// First fragments of TCP segments, and later ones.
    Fragment,
    /// Copies of the client's own packets with some bits turned, whose checksums are wrong: no end
    /// takes them.
    Damaged,
    /// Copies of the client's own packets with right checksums and with sequence and acknowledgement
    /// numbers by chance: hardly one in a million is acceptable.
    Forged,
}

/// Makes them.
pub struct Maker {
    kind: Kind,
    port: u16,
    random: Rng,
}

impl Maker {
    pub fn new(kind: Kind, port: u16, seed: u64) -> Maker {
        Maker {
            kind,
            port,
            random: Rng::new(seed, kind as u64),
        }
    }

    /// Puts the next one into `frame`. `real` is a packet of the client's, for those that are copies.
    pub fn make(&mut self, frame: &mut Vec<u8>, real: &[u8]) {
        match self.kind {
            Kind::Syn => self.tcp(frame, SYN, &SYN_OPTIONS, 0),
            Kind::Ack => self.tcp(frame, ACK, &[], 0),
            Kind::Udp => self.udp(frame),
            Kind::Fragment => {
                let later = self.random.bits() as u16 & 0x3ff;
                self.tcp(frame, ACK, &[0; 20], MORE_FRAGMENTS | later);
            }
            Kind::Damaged => self.damage(frame, real),
            Kind::Forged => self.forge(frame, real),
        }
    }

    fn tcp(&mut self, frame: &mut Vec<u8>, flags: u8, options: &[u8], fragment: u16) {
        let [a, b] = [self.random.bits(), self.random.bits()];
        self.ip(frame, TCP, 20 + options.len(), a as u32, fragment);
        let source_port = 1024 + (a >> 32) as u16 % 64_000;
        frame.extend(source_port.to_be_bytes());
        frame.extend(self.port.to_be_bytes());
        frame.extend((b as u32).to_be_bytes());
        let acknowledged = if flags & ACK == 0 {
            0
        } else {
            (b >> 32) as u32
        };
        frame.extend(acknowledged.to_be_bytes());
        let words = (5 + options.len() / 4) as u8;
        frame.extend([words << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
        frame.extend(options);
        let sum = transport_sum(&frame[ETHERNET_BYTES..], TCP);
        frame[TCP_AT + 16..TCP_AT + 18].copy_from_slice(&sum.to_be_bytes());
    }

    fn udp(&mut self, frame: &mut Vec<u8>) {
        let bits = self.random.bits();
        let payload = 18 + (bits >> 48) as usize % 1000;
        self.ip(frame, UDP, 8 + payload, bits as u32, 0);
        frame.extend(((bits >> 32) as u16).to_be_bytes());
        frame.extend(self.port.to_be_bytes());
        frame.extend((8 + payload as u16).to_be_bytes());
        frame.extend([0, 0]);
        frame.resize(frame.len() + payload, 0x55);
    }

    /// Ethernet and IPv4 from a random address to the server.
    fn ip(&mut self, frame: &mut Vec<u8>, protocol: u8, payload: usize, bits: u32, fragment: u16) {
        let [server, client] = [server_address(0), client_address(0)];
        frame.clear();
        frame.extend(hardware(server));
        frame.extend(hardware(client));
        frame.extend([8, 0, 0x45, 0]);
        frame.extend((IPV4_BYTES as u16 + payload as u16).to_be_bytes());
        frame.extend((bits as u16).to_be_bytes());
        frame.extend(fragment.to_be_bytes());
        frame.extend([64, protocol, 0, 0]);
        // 11.0.0.0 to 74.255.255.255: never the lab's own, nor a loopback or multicast address.
        let source = Ipv4Addr::from(0x0b00_0000 + bits % 0x4000_0000);
        frame.extend(source.octets());
        frame.extend(server.octets());
        let sum = !fold(sum_of(&frame[ETHERNET_BYTES..]));
        frame[ETHERNET_BYTES + 10..ETHERNET_BYTES + 12].copy_from_slice(&sum.to_be_bytes());
    }

    /// Turns one to four bits behind the Ethernet header. Where that leaves the checksum right, turns
    /// one more: no end shall take it.
    fn damage(&mut self, frame: &mut Vec<u8>, real: &[u8]) {
        frame.clear();
        frame.extend_from_slice(real);
        if real.len() < TCP_AT + 20 {
            return;
        }
        for _ in 0..1 + self.random.bits() % 4 {
            let at =
                self.random
                    .between(ETHERNET_BYTES as u64, real.len() as u64 - 1) as usize;
            frame[at] ^= 1 << (self.random.bits() & 7);
        }
        if transport_sum(&frame[ETHERNET_BYTES..], TCP) == 0 {
            frame[TCP_AT + 16] ^= 1;
        }
    }

    fn forge(&mut self, frame: &mut Vec<u8>, real: &[u8]) {
        frame.clear();
        frame.extend_from_slice(real);
        if real.len() < TCP_AT + 20 {
            return;
        }
        let numbers = self.random.bits().to_be_bytes();
        frame[TCP_AT + 4..TCP_AT + 12].copy_from_slice(&numbers);
        complete(frame);
    }
}

/// A packet whose checksum its sender has left to others is completed.
pub fn complete(frame: &mut [u8]) {
    let is_tcp = frame.len() > TCP_AT + 18 && frame[12..14] == [8, 0] && frame[23] == TCP;
    if is_tcp && frame[ETHERNET_BYTES] == 0x45 {
        frame[TCP_AT + 16..TCP_AT + 18].fill(0);
        let sum = transport_sum(&frame[ETHERNET_BYTES..], TCP);
        frame[TCP_AT + 16..TCP_AT + 18].copy_from_slice(&sum.to_be_bytes());
    }
}

/// The hardware address that the lab gives a host.
fn hardware(host: Ipv4Addr) -> [u8; 6] {
    let [_, _, c, d] = host.octets();
    [2, 0, 0, 0, c, d]
}

fn sum_of(bytes: &[u8]) -> u32 {
    let words = bytes.chunks(2);
    words
        .map(|w| u32::from(w[0]) << 8 | w.get(1).map_or(0, |b| u32::from(*b)))
        .sum()
}

fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Checksum of what an IPv4 packet carries (RFC 1071); its own field is zero.
fn transport_sum(packet: &[u8], protocol: u8) -> u16 {
    let length = (packet.len() - IPV4_BYTES) as u32;
    let pseudo = sum_of(&packet[12..IPV4_BYTES]) + u32::from(protocol) + length;
    !fold(pseudo + sum_of(&packet[IPV4_BYTES..]))
}

#[test]
fn floods_are_well_formed() {
    let mut frame = Vec::new();
    for kind in [Kind::Syn, Kind::Ack] {
        Maker::new(kind, 80, 1).make(&mut frame, &[]);
        let segment = parse(&frame, frame.len() as u32).expect("TCP");
        assert!(verify_tcp(&frame, &segment), "{kind:?}");
    }
    let syn = {
        Maker::new(Kind::Syn, 80, 1).make(&mut frame, &[]);
        frame.clone()
    };
    let mut damaged = Maker::new(Kind::Damaged, 80, 1);
    for _ in 0..1000 {
        damaged.make(&mut frame, &syn);
        let segment = parse(&frame, frame.len() as u32);
        assert!(!segment.is_ok_and(|s| verify_tcp(&frame, &s)));
    }
    Maker::new(Kind::Forged, 80, 1).make(&mut frame, &syn);
    let segment = parse(&frame, frame.len() as u32).expect("TCP");
    assert!(verify_tcp(&frame, &segment) && frame != syn);
}
