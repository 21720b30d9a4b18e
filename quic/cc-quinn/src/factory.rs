//! What a transport configuration is given: a controller for each path.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::congestion::{Controller, ControllerFactory};
use windlass_cc::{AlgorithmId, Beginning, Path, Settings};
use windlass_cc_quic::QuicController;

use crate::PathController;

/// Makes controllers that run one algorithm, for `congestion_controller_factory`.
#[derive(Clone, Copy, Debug)]
pub struct CongestionControl {
    settings: Settings,
    seed: u64,
}

/// An algorithm that lives by a rate, which quinn would not keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAWindow(pub AlgorithmId);

impl fmt::Display for NotAWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} sets a rate of its own, and quinn paces every algorithm by its window: take one of",
            self.0
        )?;
        CongestionControl::algorithms().try_for_each(|id| write!(f, " {id}"))
    }
}

impl std::error::Error for NotAWindow {}

impl CongestionControl {
    /// An algorithm with its defaults, or as set.
    ///
    /// # Errors
    /// The algorithm's law is no window.
    pub fn new(settings: impl Into<Settings>) -> Result<Self, NotAWindow> {
        let settings = settings.into();
        if !is_window(settings) {
            return Err(NotAWindow(settings.id()));
        }
        Ok(CongestionControl {
            settings,
            seed: RandomState::new().hash_one("windlass"),
        })
    }

    /// Those that can be taken.
    pub fn algorithms() -> impl Iterator<Item = AlgorithmId> {
        let all = AlgorithmId::ALL.iter().copied();
        all.filter(|id| is_window((*id).into()))
    }

    /// Sets where the randomness of algorithms that use some begins, to repeat a run.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

/// Whether it leaves recovery to PRR: those do whose law is a window.
fn is_window(settings: Settings) -> bool {
    settings
        .start(&Beginning::new(&Path::new(1200), 0))
        .uses_prr()
}

impl ControllerFactory for CongestionControl {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let controller = QuicController::new(self.settings, current_mtu, self.seed);
        Box::new(PathController::new(controller, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lives_by_a_rate_is_refused() {
        let carried: Vec<_> = CongestionControl::algorithms().collect();
        for id in AlgorithmId::ALL {
            let by_rate = ["bbr", "bbr3", "mystique_bbr", "copa"].contains(&id.name());
            assert_eq!(CongestionControl::new(*id).is_err(), by_rate, "{id}");
            assert_eq!(carried.contains(id), !by_rate, "{id}");
        }
        let error = CongestionControl::new(AlgorithmId::Bbr).unwrap_err();
        let told = error.to_string();
        assert!(
            told.starts_with("bbr sets a rate of its own") && told.contains(" cubic "),
            "{told}"
        );
    }
}
