//! What a running worker may change in the XDP program's maps.

use std::fmt;
use std::io;

use aya::maps::lpm_trie::{Key, LpmTrie};
use aya::maps::{Array, HashMap, Map, MapData, MapError};
use windlass_engine::{Bounds, Senders, Side};
use windlass_wire::FlowKey;

use super::QUEUES_PER_SIDE;

/// Indices of the map `control`.
#[derive(Clone, Copy)]
pub(super) enum Control {
    Take = 0,
    AllPorts = 1,
    MaxFrame = 2,
    PatienceMs = 3,
    AllFlows = 4,
    PrefixSynNs = 5,
    Seed = 6,
    StrangerNs = 7,
    Bounds = 8,
}

/// What a running worker may change.
pub(crate) struct Switches {
    control: Array<MapData, u32>,
    /// `struct syn_rate` of each socket.
    syns: Array<MapData, [u64; 2]>,
    followed: HashMap<MapData, [u8; FLOW_KEY_BYTES], u32>,
    bounded: LpmTrie<MapData, [u8; 16], u8>,
}

impl fmt::Debug for Switches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Switches").finish_non_exhaustive()
    }
}

impl Switches {
    /// Of the maps `control`, `syns_of_socket`, `followed` and `bounded`.
    pub(super) fn new(
        control: MapData,
        syns: MapData,
        followed: MapData,
        bounded: MapData,
    ) -> io::Result<Switches> {
        Ok(Switches {
            bounded: LpmTrie::try_from(Map::LpmTrie(bounded)).map_err(io::Error::other)?,
            control: Array::try_from(Map::Array(control)).map_err(io::Error::other)?,
            syns: Array::try_from(Map::Array(syns)).map_err(io::Error::other)?,
            followed: HashMap::try_from(Map::HashMap(followed)).map_err(io::Error::other)?,
        })
    }

    /// True: everything passes to the bridge.
    pub(crate) fn set_bypass(&mut self, on: bool) -> io::Result<()> {
        self.set(Control::Take, u32::from(!on))
    }

    /// From now on packets of the connection are taken in both directions, or pass (`None`).
    pub(crate) fn follow(&mut self, key: &FlowKey, number: Option<u32>) -> io::Result<()> {
        let key = flow_key(key);
        let done = match number {
            Some(number) => self.followed.insert(key, number, 0),
            None => self.followed.remove(&key),
        };
        done.map_err(io::Error::other)
    }

    /// Packets of the connection would be taken: nothing has begun or ended it while everything passed.
    pub(crate) fn follows(&self, key: &FlowKey) -> bool {
        let all = self.control.get(&(Control::AllFlows as u32), 0);
        let found = self.followed.get(&flow_key(key), 0);
        all.is_ok_and(|all| all != 0) || !matches!(found, Err(MapError::KeyNotFound))
    }

    /// From now on packets of these senders, and of no others, are taken that belong to no followed connection: what the bounds
    /// of any of them name. Whoever has them knows whose they are.
    pub(crate) fn bound(&mut self, senders: &[(Senders, Bounds)]) -> io::Result<()> {
        let wanted: Vec<_> = senders.iter().map(|(all, _)| senders_key(all)).collect();
        let known: Result<Vec<_>, MapError> = self.bounded.keys().collect();
        let known = known.map_err(io::Error::other)?;
        let same = |a: &Key<[u8; 16]>, b: &Key<[u8; 16]>| {
            (a.prefix_len(), a.data()) == (b.prefix_len(), b.data())
        };
        for key in &wanted {
            self.bounded.insert(key, 1, 0).map_err(io::Error::other)?;
        }
        for old in known {
            if wanted.iter().any(|key| same(key, &old)) {
                continue;
            }
            match self.bounded.remove(&old) {
                // Another worker has done the same.
                Err(MapError::KeyNotFound) => {}
                done => done.map_err(io::Error::other)?,
            }
        }
        let any = |counts: fn(&Bounds) -> bool| senders.iter().any(|(_, bounds)| counts(bounds));
        let non_tcp = u32::from(any(|bounds| bounds.non_tcp));
        let unknown_tcp = u32::from(any(|bounds| bounds.unknown_tcp));
        self.set(Control::Bounds, non_tcp | unknown_tcp << 1)
    }

    /// SYNs of unknown connections that both sockets of a queue take, a second; 0: any number.
    pub(crate) fn set_syn_rate(&mut self, queue: u32, per_second: u32) -> io::Result<()> {
        for side in [Side::Inside, Side::Outside] {
            let index = side.index() as u32 * QUEUES_PER_SIDE + queue;
            let rate = [0, u64::from(ns_each(per_second))];
            self.syns.set(index, rate, 0).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// How long a worker may leave packets unread, ms; 0: for ever.
    pub(crate) fn set_patience(&mut self, ms: u32) -> io::Result<()> {
        self.set(Control::PatienceMs, ms)
    }

    /// Writes an entry of `control`.
    pub(super) fn set(&mut self, which: Control, value: u32) -> io::Result<()> {
        self.control
            .set(which as u32, value, 0)
            .map_err(io::Error::other)
    }
}

/// The time of one at so many a second; 0: any rate.
pub(super) fn ns_each(per_second: u32) -> u32 {
    1_000_000_000u32.checked_div(per_second).unwrap_or(0)
}

/// `struct senders` of the program.
fn senders_key(senders: &Senders) -> Key<[u8; 16]> {
    Key::new(senders.bits, senders.first.0.to_be_bytes())
}

const FLOW_KEY_BYTES: usize = 40;

/// `struct flow` of the program: the smaller end first, as native 64-bit words compare.
fn flow_key(key: &FlowKey) -> [u8; FLOW_KEY_BYTES] {
    let order = |addr: u128, port: u16| {
        let [high, low] = words(addr);
        (high, low, port)
    };
    let kept = order(key.src.0, key.src_port) <= order(key.dst.0, key.dst_port);
    let key = if kept { *key } else { key.reversed() };
    let mut bytes = [0; FLOW_KEY_BYTES];
    bytes[..16].copy_from_slice(&key.src.0.to_be_bytes());
    bytes[16..32].copy_from_slice(&key.dst.0.to_be_bytes());
    let rest = [key.src_port, key.dst_port, key.vlan, key.inner_vlan];
    for (field, value) in bytes[32..].chunks_exact_mut(2).zip(rest) {
        field.copy_from_slice(&value.to_ne_bytes());
    }
    bytes
}

/// The 16 bytes of an address as the program loads them.
fn words(addr: u128) -> [u64; 2] {
    let bytes = addr.to_be_bytes();
    [0, 8].map(|at| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at..at + 8]);
        u64::from_ne_bytes(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use windlass_wire::Addr;

    proptest! {
        #[test]
        fn both_directions_have_one_key(src: u128, dst: u128, src_port: u16, dst_port: u16) {
            let key = FlowKey {
                src: Addr(src),
                dst: Addr(dst),
                src_port,
                dst_port,
                vlan: 7,
                inner_vlan: 0,
            };
            prop_assert_eq!(flow_key(&key), flow_key(&key.reversed()));
        }
    }
}
