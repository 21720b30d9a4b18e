//! All connections as bytes: for the process that goes on with them.
//!
//! The packets that are held are not in it. They are named by their handles, and whoever feeds the engine carries them over
//! under the same handles. Nor is the policy: the flows take up the one that the next engine has, as after
//! [`Engine::set_policy`].

use core::fmt;

use crc::{CRC_32_ISCSI, Crc};
use postcard::Deserializer;
use postcard::de_flavors::Slice;
use postcard::de_flavors::crc::CrcModifier;
use serde::{Deserialize, Serialize};
use windlass_cc::Catalog;

use super::Engine;
use crate::conn::{Algorithms, Conn, Folded, Since3, Since4, Since5, Since6};
use crate::context::Held;
use crate::decide::{Decide, Generation};
use crate::tenants::Account;
use crate::{Limits, Nanos, Pkt};

/// Raised whenever a field of a connection, or of what it has, is added, taken away or read otherwise.
const FORMAT: u16 = 6;
/// The oldest that is still written and read: that of the release before.
const OLDEST_FORMAT: u16 = 5;
const CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// Bytes that are not the state of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateError {
    /// Another version has written them.
    Format(u16),
    /// They are not what was written: cut short, or changed.
    Damaged,
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StateError::Format(found) => write!(
                f,
                "the state of the connections has format {found}, and this program reads formats {OLDEST_FORMAT} to {FORMAT}"
            ),
            StateError::Damaged => f.write_str("the state of the connections is damaged"),
        }
    }
}

impl core::error::Error for StateError {}

/// What an engine has beside its connections.
#[derive(Serialize, Deserialize)]
struct Books {
    seed: u64,
    admission_seed: u64,
    generation: Generation,
    held: Held,
    tenants: Vec<Account>,
    bypass: bool,
    connections: usize,
}

/// What has been carried over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Connections.
    pub connections: usize,
    /// Flows whose algorithm could not be read back. It began anew, with what is known of the path.
    pub begun_anew: usize,
}

/// Gives each connection what is written apart from it.
fn restore_apart<'de, T: Deserialize<'de>>(
    conns: &mut [(u32, Conn, Algorithms)],
    input: impl serde::Deserializer<'de>,
    restore: impl Fn(&mut Conn, T),
) -> Result<(), StateError> {
    let apart: Vec<T> = Deserialize::deserialize(input).map_err(|_| StateError::Damaged)?;
    if apart.len() != conns.len() {
        return Err(StateError::Damaged);
    }
    for ((_, conn, _), since) in conns.iter_mut().zip(apart) {
        restore(conn, since);
    }
    Ok(())
}

impl Engine {
    /// The format of [`Engine::export`].
    pub const STATE_FORMAT: u16 = FORMAT;
    /// The oldest that [`Engine::export_as`] writes and [`Engine::import`] reads.
    pub const OLDEST_STATE_FORMAT: u16 = OLDEST_FORMAT;

    /// The state of all connections. This engine is as before: it goes on if nobody takes them over.
    ///
    /// # Panics
    /// Never: every state can be written.
    pub fn export(&self) -> Vec<u8> {
        self.export_as(FORMAT).expect("its own format")
    }

    /// The same in another format, for a process of another release; `None`: this one does not write it.
    ///
    /// # Panics
    /// Never: every state can be written.
    pub fn export_as(&self, format: u16) -> Option<Vec<u8>> {
        if !(OLDEST_FORMAT..=FORMAT).contains(&format) {
            return None;
        }
        let books = Books {
            seed: self.seed,
            admission_seed: self.admission.seed(),
            generation: self.generation,
            held: self.held.clone(),
            tenants: self.tenants.clone(),
            bypass: self.told.bypass,
            connections: self.connections(),
        };
        let half_open: Vec<Conn> = self.half_open.iter().map(Folded::unfold).collect();
        let free = self.conns.capacity()..;
        let conns = self.conns.iter().chain(free.zip(&half_open));
        let conns: Vec<_> = conns
            .map(|(index, conn)| (index as u32, conn, conn.algorithms()))
            .collect();
        let since_3: Vec<Since3> = conns.iter().map(|(_, conn, _)| conn.since_3()).collect();
        let since_4: Vec<Since4> = conns.iter().map(|(_, conn, _)| conn.since_4()).collect();
        let since_5: Vec<Since5> = conns.iter().map(|(_, conn, _)| conn.since_5()).collect();
        let since_6: Vec<Since6> = conns.iter().map(|(_, conn, _)| conn.since_6()).collect();
        let state = (format, books, &conns, since_3, since_4, since_5);
        let written = match format {
            OLDEST_FORMAT => postcard::to_allocvec_crc32(&state, CHECKSUM.digest()),
            _ => postcard::to_allocvec_crc32(&(state, since_6), CHECKSUM.digest()),
        };
        Some(written.expect("plain data"))
    }

    /// An engine that goes on with the connections of another one ([`Engine::export`]), by the same clock. Their held packets
    /// are expected under the same handles, with one reference each ([`Engine::held`]).
    ///
    /// # Errors
    /// The bytes are damaged, or another version has written them.
    pub fn import(
        state: &[u8],
        policy: Box<dyn Decide>,
        catalog: &Catalog,
        limits: Limits,
        now: Nanos,
    ) -> Result<(Engine, Carried), StateError> {
        let damaged = |_| StateError::Damaged;
        let checked = CrcModifier::new(Slice::new(state), CHECKSUM.digest());
        let mut input = Deserializer::from_flavor(checked);
        let format = u16::deserialize(&mut input).map_err(damaged)?;
        if !(OLDEST_FORMAT..=FORMAT).contains(&format) {
            return Err(StateError::Format(format));
        }
        let books = Books::deserialize(&mut input).map_err(damaged)?;
        let mut conns: Vec<(u32, Conn, Algorithms)> =
            Deserialize::deserialize(&mut input).map_err(damaged)?;
        restore_apart(&mut conns, &mut input, Conn::restore_since_3)?;
        restore_apart(&mut conns, &mut input, Conn::restore_since_4)?;
        restore_apart(&mut conns, &mut input, Conn::restore_since_5)?;
        if format > OLDEST_FORMAT {
            restore_apart(&mut conns, &mut input, Conn::restore_since_6)?;
        }
        input.finalize().map_err(damaged)?;
        if conns.len() != books.connections {
            return Err(StateError::Damaged);
        }
        let mut engine = Engine::new(policy, limits, now, books.seed);
        let carried = engine.take_over(books, conns, catalog, now);
        engine.take_up_policy(now);
        Ok((engine, carried))
    }

    fn take_over(
        &mut self,
        books: Books,
        conns: Vec<(u32, Conn, Algorithms)>,
        catalog: &Catalog,
        now: Nanos,
    ) -> Carried {
        let mut carried = Carried {
            connections: conns.len(),
            begun_anew: 0,
        };
        let mut half_open: Vec<Folded> = Vec::new();
        let conns = conns
            .into_iter()
            .filter_map(|(index, mut conn, algorithms)| {
                carried.begun_anew += conn.restore(&algorithms, catalog);
                match conn.fold() {
                    Some(folded) => half_open.push(folded),
                    None => return Some((index as usize, conn)),
                }
                None
            });
        self.conns = conns.collect();
        half_open.sort_by_key(Folded::began);
        self.generation = books.generation;
        self.tenants = books.tenants;
        (self.held, self.told.bypass) = (books.held, books.bypass);
        let buckets = half_open.iter().map(|folded| folded.bucket);
        self.admission
            .restore(books.admission_seed, &self.conns, buckets);
        for folded in half_open {
            let (key, followed) = (folded.key(), folded.followed);
            self.half_open.insert(folded);
            if followed {
                let number = self.table.number(&key);
                self.news.follows.push((key, Some(number)));
            }
        }
        for (index, conn) in &mut self.conns {
            let index = index as u32;
            self.table.insert(&conn.key, index);
            let held = conn.restore_unwritten();
            self.held.restore(conn.books.bucket, held);
            // It is called when the engine before would have called it, which may be earlier than what it wants now: otherwise
            // a packet can leave a tick later.
            if let Some(at) = conn.armed_at.get() {
                Self::arm_at(&mut self.wheel, conn, index, at, now);
            }
            Self::arm(&mut self.wheel, conn, index, now, &self.limits);
            if conn.books.followed {
                let number = self.table.number(&conn.key);
                self.news.follows.push((conn.key, Some(number)));
            }
        }
        carried
    }

    /// The packets that connections hold: one reference each.
    pub fn held(&self) -> impl Iterator<Item = Pkt> + '_ {
        self.conns.iter().flat_map(|(_, conn)| conn.held())
    }
}

#[cfg(test)]
mod tests {
    use windlass_cc::AlgorithmId;

    use super::*;
    use crate::Verdict;

    fn policy() -> Box<dyn Decide> {
        Box::new(Verdict::enforce(AlgorithmId::Bbr))
    }

    fn import(state: &[u8]) -> Result<Carried, StateError> {
        let imported = Engine::import(state, policy(), &Catalog::new(), Limits::default(), 9);
        imported.map(|(_, carried)| carried)
    }

    #[test]
    fn damage_is_noticed_wherever_it_is() {
        let state = Engine::new(policy(), Limits::default(), 5, 3).export();
        assert_eq!(import(&state), Ok(Carried::default()));
        for at in 0..state.len() {
            let mut damaged = state.clone();
            damaged[at] ^= 0x11;
            assert!(import(&damaged).is_err(), "at {at}");
            assert!(import(&state[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn another_format_is_told() {
        let mut state = Engine::new(policy(), Limits::default(), 5, 3).export();
        state[0] = 7;
        let error = import(&state).unwrap_err();
        assert_eq!(error, StateError::Format(7));
        assert!(error.to_string().contains("format 7"));
    }
}
