//! What two boxes say to each other.

use serde::{Deserialize, Serialize};
use windlass_engine::{Engine, Introduction};
use windlass_wire::FlowKey;

/// What a box that tells says first, and the other answers with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hello {
    /// [`Engine::STATE_FORMAT`]: it must be the same on both sides.
    pub format: u16,
    pub version: String,
}

impl Hello {
    pub(super) fn own() -> Hello {
        Hello {
            format: Engine::STATE_FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Why the two cannot understand each other.
    pub(super) fn objection(&self) -> Option<String> {
        let own = Hello::own();
        (self.format != own.format).then(|| {
            format!(
                "it is windlass {} with states of format {}, and this is {} with format {}: run the same version on both",
                self.version, self.format, own.version, own.format
            )
        })
    }
}

/// What is told then, ten times a second at least.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct News {
    /// Connections that are governed.
    pub introductions: Vec<Introduction>,
    /// Those that have ended.
    pub ended: Vec<FlowKey>,
}
