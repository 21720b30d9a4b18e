//! What an engine shows to whoever asks.

use windlass_wire::FlowKey;

use super::Engine;
use crate::conn::Conn;
use crate::counters::{Counters, PassReason};
use crate::{FlowInfo, Histograms, TenantInfo};

impl Engine {
    /// What has been counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How its measurements are distributed.
    pub fn histograms(&self) -> &Histograms {
        &self.histograms
    }

    /// What each tenant has sent, in the order of the policy.
    pub fn tenants(&self) -> impl Iterator<Item = &TenantInfo> + '_ {
        self.tenants.iter().map(|account| &account.info)
    }

    /// Connections in the table.
    pub fn connections(&self) -> usize {
        self.conns.len() + self.half_open.len()
    }

    /// Bytes held for repair.
    pub fn held_bytes(&self) -> u64 {
        self.held.bytes
    }

    /// Packets held for repair.
    pub fn held_packets(&self) -> u64 {
        self.held.packets
    }

    /// Every governed flow.
    pub fn flows(&self) -> impl Iterator<Item = FlowInfo> + '_ {
        self.flows_of_each().flatten()
    }

    /// The governed flows of each connection.
    pub fn flows_of_each(&self) -> impl Iterator<Item = impl Iterator<Item = FlowInfo> + '_> + '_ {
        self.conns.iter().map(|(_, conn)| self.infos(conn))
    }

    /// The governed flows of the connections from this place of the table on, with their places: whoever comes again with
    /// the next place sees each connection once that was there all the time.
    pub fn flows_from(
        &self,
        place: usize,
    ) -> impl Iterator<Item = (usize, impl Iterator<Item = FlowInfo> + '_)> + '_ {
        let places = place..self.conns.capacity();
        let there = places.filter_map(|at| Some((at, self.conns.get(at)?)));
        there.map(|(at, conn)| (at, self.infos(conn)))
    }

    /// Their numbers are those of the policy in charge. What rests, passes because of the bypass while that is on.
    fn infos<'a>(&self, conn: &'a Conn) -> impl Iterator<Item = FlowInfo> + use<'a> {
        let rests = self.told.bypass && conn.is_resting();
        let edition = self.policy.edition();
        conn.infos().map(move |info| FlowInfo {
            edition,
            pass: match rests {
                true => Some(PassReason::Bypass),
                false => info.pass,
            },
            ..info
        })
    }

    /// The flow of this name, if it is governed.
    pub fn flow(&self, key: &FlowKey) -> Option<FlowInfo> {
        let index = self.whole(&key.canonical().0)?;
        let conn = self.conns.get(index as usize)?;
        self.infos(conn).find(|info| info.key == *key)
    }
}
