//! Packets that take another way, and ways that take shorter packets only.

use windlass_cc::{MILLISECOND, Nanos};
use windlass_engine::Side;
use windlass_wire::parse;

use super::plan::{either, when};
use crate::rng::Rng;
use crate::too_big;

/// The Ethernet header, which does not count for the size of a packet.
const ETHERNET_BYTES: usize = 14;

/// What an end sends does not come through the box.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Detour {
    /// What comes from here takes the other way.
    pub from: Side,
    /// From then, until then, ns.
    pub since: Nanos,
    /// See [`Detour::since`].
    pub until: Nanos,
    /// It is so long away, and so long back again, in turn, ns.
    pub flaps: Option<(Nanos, Nanos)>,
}

/// From some time on, longer packets vanish beyond the box.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Narrowing {
    /// From then on, ns.
    pub at: Nanos,
    /// On their way there.
    pub toward: Side,
    /// IP packets of so many bytes pass.
    pub packet_bytes: usize,
    /// Their senders are told.
    pub told: bool,
}

impl Detour {
    /// Whether what comes from there goes around the box now.
    pub fn takes(&self, now: Nanos, from: Side) -> bool {
        let away = self
            .flaps
            .is_none_or(|(away, back)| now.saturating_sub(self.since) % (away + back) < away);
        from == self.from && (self.since..self.until).contains(&now) && away
    }

    /// A span in mid-flow.
    pub(super) fn once(rng: &mut Rng) -> Detour {
        let since = when(rng);
        Detour {
            from: either(rng),
            since,
            until: since + when(rng),
            flaps: None,
        }
    }

    /// From the first packet to the last.
    pub(super) fn always(rng: &mut Rng) -> Detour {
        Detour {
            from: either(rng),
            since: 0,
            until: Nanos::MAX,
            flaps: None,
        }
    }

    /// There and back, again and again, in one direction or in both, each in its own time.
    pub(super) fn flapping(rng: &mut Rng) -> Vec<Detour> {
        let first = either(rng);
        let count = if rng.chance(0.3) { 2 } else { 1 };
        [first, first.other()][..count]
            .iter()
            .map(|from| {
                let span = |rng: &mut Rng| rng.log_between(1.0, 2000.0) as Nanos * MILLISECOND;
                Detour {
                    from: *from,
                    since: if rng.chance(0.3) { 0 } else { when(rng) },
                    until: Nanos::MAX,
                    flaps: Some((span(rng), span(rng))),
                }
            })
            .collect()
    }

    /// None, or any of them.
    pub(super) fn random(rng: &mut Rng) -> Vec<Detour> {
        match rng.between(0, 4) {
            0 => vec![Detour::once(rng)],
            1 => vec![Detour::always(rng)],
            2 => Detour::flapping(rng),
            _ => Vec::new(),
        }
    }
}

impl Narrowing {
    /// Whether a packet vanishes on its way.
    pub fn stops(&self, now: Nanos, toward: Side, frame: &[u8]) -> bool {
        now >= self.at && toward == self.toward && frame.len() > self.packet_bytes + ETHERNET_BYTES
    }

    /// What its sender is told.
    pub fn message(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let segment = parse(frame, frame.len() as u32).ok()?;
        self.told
            .then(|| too_big::message(frame, &segment, self.packet_bytes as u16))
    }
}
