//! Where frames come in and go out, and whose they are.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, bail};
use windlass_experiment::Setup;
use windlass_experiment::setup::{HOSTS_PREFIX_BITS, Pair, client_address, server_address};
use windlass_io::interface::index;
use windlass_io::packet::{Taken, Trunk};
use windlass_sim::network::Toward;

use crate::netns::Namespace;
use crate::topology::{EMULATOR_NEAR, Topology, emulator_far};

/// Where an Ethernet frame without a tag has its type.
const ETHERTYPE_AT: usize = 12;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const ETHERTYPE_IPV6: [u8; 2] = [0x86, 0xdd];
const IP_AT: usize = 14;
const IPV4_SOURCE_AT: usize = IP_AT + 12;

/// The emulator's ends of the wires, open. They may serve one emulator after the other.
#[derive(Debug)]
pub struct Ends {
    pub(super) trunk: Trunk,
    /// Interface index of the end towards the box.
    near: u32,
    /// Interface index of the end towards each client.
    far: Vec<u32>,
}

impl Ends {
    /// Opens those of a topology.
    ///
    /// # Errors
    /// When an interface is missing, or there is no memory for the packets that wait.
    pub fn open(topology: &Topology) -> Result<Ends> {
        let one_far_end = topology.far.is_some();
        Ends::open_in(
            (&topology.net, topology.mtu),
            topology.clients.len(),
            one_far_end,
        )
    }

    /// Opens those between the servers and the box: their near end is toward the servers.
    ///
    /// # Errors
    /// The same; and when there is no such link.
    pub fn open_near(topology: &Topology) -> Result<Ends> {
        let net = topology.near_net.as_ref();
        let net = net.context("there is no link between the servers and the box")?;
        Ends::open_in((net, topology.mtu), topology.clients.len(), true)
    }

    fn open_in((net, mtu): (&Namespace, u16), clients: usize, one_far_end: bool) -> Result<Ends> {
        net.inside(|| {
            let find = |name: &str| index(name).with_context(|| format!("cannot find {name}"));
            let far_end = |client| if one_far_end { 0 } else { client };
            let far = (0..clients).map(|c| find(&emulator_far(far_end(c))));
            Ok(Ends {
                near: find(EMULATOR_NEAR)?,
                far: far.collect::<Result<_>>()?,
                trunk: Trunk::open(mtu.into())
                    .context("cannot open the emulator's packet socket")?,
            })
        })
    }

    /// Packets to addresses that are no host's do not come, and cost the emulator nothing.
    ///
    /// # Errors
    /// When the kernel takes no filter.
    pub fn keep_to_hosts(&mut self) -> Result<()> {
        let kept = self.trunk.keep_to(server_address(0), HOSTS_PREFIX_BITS);
        kept.context("cannot filter what the emulator receives")
    }

    /// Throws away what has come since an emulator ran on them. How many packets came from the box.
    pub fn discard(&mut self) -> usize {
        let (near, mut from_box) = (self.near, 0);
        let mut each = |taken: Taken<'_>| from_box += usize::from(taken.interface == near);
        while self.trunk.receive(usize::MAX, &mut each) > 0 {}
        self.trunk.take_dropped();
        from_box
    }
}

/// Whose packets go where.
pub(super) struct Ports {
    near: u32,
    far: Vec<u32>,
    /// Client of each pair.
    clients: Vec<usize>,
    /// The pair of each server and client, at `server * far.len() + client`.
    pairs: Vec<Option<usize>>,
}

impl Ports {
    pub(super) fn new(setup: &Setup, ends: &Ends) -> Result<Ports> {
        Ok(Ports {
            near: ends.near,
            far: ends.far.clone(),
            clients: setup.pairs.iter().map(|pair| pair.client).collect(),
            pairs: table(&setup.pairs, ends.far.len())?,
        })
    }

    /// The pair that a frame belongs to, and where it is going. With one pair alone, every frame is
    /// its own, whatever it carries.
    pub(super) fn pair(&self, interface: u32, frame: &[u8]) -> Option<(usize, Toward)> {
        let toward = match interface == self.near {
            true => Toward::Clients,
            false if self.far.contains(&interface) => Toward::Servers,
            false => return None,
        };
        if self.clients.len() == 1 {
            return Some((0, toward));
        }
        let (source, destination) = addresses(frame)?;
        let (server, client) = match toward {
            Toward::Clients => (source, destination),
            Toward::Servers => (destination, source),
        };
        let server = host(server, server_address(0))?;
        let client = host(client, client_address(0))?;
        let pair = self.pairs.get(server * self.far.len() + client)?;
        Some(((*pair)?, toward))
    }

    /// The interface by which a packet of the pair leaves.
    pub(super) fn exit(&self, pair: usize, toward: Toward) -> u32 {
        match toward {
            Toward::Clients => self.far[self.clients[pair]],
            Toward::Servers => self.near,
        }
    }
}

fn table(pairs: &[Pair], clients: usize) -> Result<Vec<Option<usize>>> {
    let mut table = Vec::new();
    for (number, pair) in pairs.iter().enumerate() {
        let at = pair.server * clients + pair.client;
        if at >= table.len() {
            table.resize(at + 1, None);
        }
        if let Some(other) = table[at].replace(number) {
            let Pair { server, client, .. } = pair;
            bail!(
                "pairs {other} and {number} are both of server {server} and client {client}, and \
                 their packets look alike: give one of them a host of its own"
            );
        }
    }
    Ok(table)
}

/// Index of the host with this address, where the first one has `first`. Hosts differ in the last
/// byte only.
fn host(address: [u8; 4], first: Ipv4Addr) -> Option<usize> {
    let first = first.octets();
    let same_block = address[..3] == first[..3];
    same_block.then(|| usize::from(address[3]).checked_sub(usize::from(first[3])))?
}

/// Source and destination of an IPv4 packet.
fn addresses(frame: &[u8]) -> Option<([u8; 4], [u8; 4])> {
    if frame.get(ETHERTYPE_AT..IP_AT)? != ETHERTYPE_IPV4 {
        return None;
    }
    let (source, rest) = frame.get(IPV4_SOURCE_AT..)?.split_first_chunk()?;
    Some((*source, *rest.first_chunk()?))
}

/// Whether a link may mark the packet: ECT(0) or ECT(1) (RFC 3168 §5).
pub(super) fn is_ecn_capable(frame: &[u8]) -> bool {
    let bits = match frame.get(ETHERTYPE_AT..IP_AT + 2) {
        Some([a, b, _, traffic_class]) if [*a, *b] == ETHERTYPE_IPV4 => traffic_class & 3,
        Some([a, b, _, traffic_class]) if [*a, *b] == ETHERTYPE_IPV6 => traffic_class >> 4 & 3,
        _ => return false,
    };
    matches!(bits, 1 | 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: u32 = 9;

    /// Two servers, three clients.
    fn ports() -> Ports {
        let pair = |server, client| Pair {
            server,
            client,
            route: Vec::new(),
            extra_delay_ns: 0,
        };
        let pairs = [pair(0, 2), pair(1, 0)];
        Ports {
            near: NEAR,
            far: vec![20, 21, 22],
            clients: pairs.iter().map(|p| p.client).collect(),
            pairs: table(&pairs, 3).expect("no pair twice"),
        }
    }

    fn frame(source: Ipv4Addr, destination: Ipv4Addr) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[12..14].copy_from_slice(&ETHERTYPE_IPV4);
        frame[26..30].copy_from_slice(&source.octets());
        frame[30..34].copy_from_slice(&destination.octets());
        frame
    }

    #[test]
    fn frames_find_their_pair_by_their_addresses() {
        let ports = ports();
        let down = frame(server_address(0), client_address(2));
        let up = frame(client_address(0), server_address(1));
        assert_eq!(ports.pair(NEAR, &down), Some((0, Toward::Clients)));
        assert_eq!(ports.pair(20, &up), Some((1, Toward::Servers)));
        assert_eq!(ports.exit(0, Toward::Clients), 22);
        assert_eq!(ports.exit(1, Toward::Clients), 20);
        assert_eq!(ports.exit(1, Toward::Servers), NEAR);
    }

    #[test]
    fn frames_of_no_pair_are_strays() {
        let ports = ports();
        let down = frame(server_address(0), client_address(2));
        let no_pair = frame(server_address(0), client_address(0));
        let no_host = frame(server_address(0), Ipv4Addr::new(198, 18, 1, 0));
        let foreign = frame(server_address(0), Ipv4Addr::new(10, 0, 0, 1));
        let mut arp = down.clone();
        arp[13] = 6;
        for stray in [&no_pair, &no_host, &foreign, &arp, &down[..33].to_vec()] {
            assert_eq!(ports.pair(NEAR, stray), None);
        }
        assert_eq!(ports.pair(1, &down), None);
    }

    #[test]
    fn one_pair_alone_takes_every_frame() {
        let mut ports = ports();
        ports.clients.truncate(1);
        assert_eq!(ports.pair(NEAR, &[]), Some((0, Toward::Clients)));
        assert_eq!(ports.pair(22, &[]), Some((0, Toward::Servers)));
    }

    #[test]
    fn two_pairs_of_the_same_hosts_are_refused() {
        let pair = Pair {
            server: 1,
            client: 0,
            route: Vec::new(),
            extra_delay_ns: 0,
        };
        let error = table(&[pair.clone(), pair], 1).expect_err("the same twice");
        assert!(error.to_string().contains("server 1"), "{error}");
    }

    #[test]
    fn the_ecn_field() {
        let mut v4 = frame(server_address(0), client_address(0));
        let mut v6 = v4.clone();
        v6[12..14].copy_from_slice(&ETHERTYPE_IPV6);
        for (bits, capable) in [(0, false), (1, true), (2, true), (3, false)] {
            v4[15] = 0xb8 | bits;
            v6[15] = bits << 4 | 0x0f;
            assert_eq!(is_ecn_capable(&v4), capable);
            assert_eq!(is_ecn_capable(&v6), capable);
        }
        v4[13] = 6;
        assert!(!is_ecn_capable(&v4));
        assert!(!is_ecn_capable(&v4[..15]));
    }
}
