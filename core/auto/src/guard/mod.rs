//! The guard: a share of the flows is only observed, and when governed ones are worse than those beyond doubt, new flows
//! are left alone.
//!
//! What is compared is the logarithm of the time a byte, of transfers to one prefix, of one class of sizes. A flow counts
//! once in a class. Estimates add up to a [`Score`] of the prefix, and those of prefixes to one of the rule, so that
//! prefixes with few flows are judged together.

mod history;
mod kept;
mod place;
mod report;
mod rule;
mod score;
mod state;
mod table;

pub use history::{LogHistogram, STATES};
pub use report::{Gain, GuardReport, HourReport, PlaceReport, RuleReport};
pub use score::Score;
pub use state::State;
pub use table::{Guard, RULES_MAX};

use serde::{Deserialize, Serialize};

use crate::{Drawn, Nanos};

pub(crate) const LOTS: usize = 2;

/// What a flow has drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub(crate) enum Lot {
    /// It is governed.
    Governed = 0,
    /// It is only observed.
    HeldOut = 1,
}

impl Lot {
    fn of(drawn: &Drawn) -> Lot {
        match drawn.held_out {
            true => Lot::HeldOut,
            false => Lot::Governed,
        }
    }
}

/// Share of the flows that is held out, in 65,535ths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Share(u16);

impl Share {
    const ALL: Share = Share(u16::MAX);

    fn of(share: f64) -> Share {
        Share((share.clamp(0.0, 1.0) * f64::from(u16::MAX)) as u16)
    }

    /// What a flow of this rule with this number draws.
    fn draw(self, rule: u16, dice: u64) -> Drawn {
        let held_out = self == Share::ALL || ((dice >> 48) as u16) < self.0;
        Drawn {
            rule,
            share: self.0,
            held_out,
        }
    }

    /// That of a flow to get this lot, 0 to 1; `None`: there is no other.
    fn chance(self, lot: Lot) -> Option<f64> {
        let held_out = f64::from(self.0) / 65_536.0;
        let chance = match lot {
            Lot::HeldOut => held_out,
            Lot::Governed => 1.0 - held_out,
        };
        (self != Share::ALL && self.0 > 0).then_some(chance)
    }
}

/// How the guard judges.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GuardConfig {
    /// Share of the new flows that is held out.
    pub share: f64,
    /// Share until a rule has its first held-out transfers.
    pub first_share: f64,
    /// Share where governing is better beyond doubt.
    pub proven_share: f64,
    /// Probability of ever withdrawing a rule, or any prefix of it, that harms nobody; that of as long as evidence lasts.
    pub error: f64,
    /// Evidence counts half after this time, ns.
    pub half_life: Nanos,
    /// Prefixes that are remembered, of all rules.
    pub prefixes: usize,
}

impl Default for GuardConfig {
    fn default() -> Self {
        const HOUR: Nanos = 3_600_000_000_000;
        GuardConfig {
            share: 0.02,
            first_share: 0.2,
            proven_share: 0.005,
            error: 0.05,
            half_life: 24 * HOUR,
            prefixes: 16_384,
        }
    }
}
