//! What befalls the packets of a link, decided by the seed and by how many came before.

use crate::link_config::{LinkConfig, Loss};
use crate::rng::Rng;

/// Streams of damage begin so much later than those of the other misfortunes.
const DAMAGE_STREAM: u64 = 0x20;

/// One decision stream for each kind of misfortune.
pub(crate) struct Chances {
    loss: Rng,
    reorder: Rng,
    duplicate: Rng,
    jitter: Rng,
    damage: Rng,
    bad_state: bool,
}

/// What was decided for one packet.
pub(crate) struct Draw {
    pub lost: bool,
    /// It arrives after others that left after it.
    pub late: bool,
    pub twice: bool,
    /// Share of the link's jitter, 0 to 1.
    pub jitter: f64,
    /// Which bit of it is flipped, if one is.
    pub damage: Option<u64>,
}

impl Chances {
    /// The four streams of `seed` from `first_stream` on, and that of damage.
    pub fn new(seed: u64, first_stream: u64) -> Self {
        let stream = |index| Rng::new(seed, first_stream + index);
        Chances {
            loss: stream(0),
            reorder: stream(1),
            duplicate: stream(2),
            jitter: stream(3),
            damage: stream(DAMAGE_STREAM),
            bad_state: false,
        }
    }

    /// Decides for the next packet. Every chance is drawn for every packet, or one decision would
    /// shift all later ones.
    pub fn draw(&mut self, config: &LinkConfig) -> Draw {
        Draw {
            lost: self.lost(config.loss),
            late: self.reorder.chance(config.reorder_ratio),
            twice: self.duplicate.chance(config.duplicate_ratio),
            jitter: self.jitter.unit(),
            damage: self.damaged(config.damage_ratio),
        }
    }

    fn damaged(&mut self, ratio: f64) -> Option<u64> {
        let (damaged, bit) = (self.damage.chance(ratio), self.damage.bits());
        damaged.then_some(bit)
    }

    fn lost(&mut self, loss: Loss) -> bool {
        let (step, draw) = (self.loss.unit(), self.loss.unit());
        match loss {
            Loss::None => false,
            Loss::Bernoulli { ratio } => draw < ratio,
            Loss::GilbertElliott {
                good_to_bad,
                bad_to_good,
                loss_good,
                loss_bad,
            } => {
                let leave = if self.bad_state {
                    bad_to_good
                } else {
                    good_to_bad
                };
                self.bad_state ^= step < leave;
                draw < if self.bad_state { loss_bad } else { loss_good }
            }
        }
    }
}
