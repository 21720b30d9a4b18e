//! Packets that have gone by unseen: see `conn/sight.rs`.

use super::Engine;
use crate::maybe::Maybe;
use crate::{Nanos, Pool, Tx};

impl Engine {
    /// Packets have gone by unseen, because nobody called in time and somebody else forwarded them. Nothing
    /// that was held is sent any more. Each governed connection passes until both of its ends have
    /// been seen to agree, and is followed from there.
    pub fn lose_sight<P: Pool>(&mut self, now: Nanos, pool: &mut P, out: &mut Vec<Tx>) {
        let all: Vec<u32> = self.conns.iter().map(|(index, _)| index as u32).collect();
        self.lose_sight_at(&all, now, pool, out);
    }

    /// The same where it is known of which connections packets have gone by ([`Engine::take_follows`]).
    pub fn lose_sight_of<P: Pool>(
        &mut self,
        numbers: &[u32],
        now: Nanos,
        pool: &mut P,
        out: &mut Vec<Tx>,
    ) {
        let indexes: Vec<u32> = numbers
            .iter()
            .flat_map(|number| self.table.of_number(*number))
            .collect();
        self.lose_sight_at(&indexes, now, pool, out);
    }

    fn lose_sight_at<P: Pool>(
        &mut self,
        indexes: &[u32],
        now: Nanos,
        pool: &mut P,
        out: &mut Vec<Tx>,
    ) {
        for &index in indexes {
            let (mut ctx, conns, wheel) = self.split(now, pool, out);
            let Some(conn) = conns.get_mut(index as usize) else {
                continue;
            };
            conn.lose_sight(&mut ctx);
            ctx.notices.name(conn);
            conn.armed_at = Maybe::NONE;
            Self::arm(wheel, conn, index, now, ctx.limits);
        }
    }
}
