//! What an endpoint is given: a controller for each of its paths.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use s2n_quic::provider::congestion_controller::{Endpoint, PathInfo};
use windlass_cc::Settings;
use windlass_cc_quic::QuicController;

use crate::{Observer, PathController};

/// The provider for `with_congestion_controller`: runs one algorithm on every path.
#[derive(Clone, Debug)]
pub struct CongestionControl {
    settings: Settings,
    seed: u64,
    observer: Option<Arc<dyn Observer>>,
}

impl CongestionControl {
    /// An algorithm with its defaults ([`windlass_cc::AlgorithmId`]), or as set.
    pub fn new(settings: impl Into<Settings>) -> Self {
        CongestionControl {
            settings: settings.into(),
            seed: RandomState::new().hash_one("windlass"),
            observer: None,
        }
    }

    /// Sets where the randomness of algorithms that use some (as BBR does) begins, to repeat a run.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Tells `observer` of every change, on all paths.
    #[must_use]
    pub fn with_observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }
}

impl Endpoint for CongestionControl {
    type CongestionController = PathController;

    fn new_congestion_controller(&mut self, path: PathInfo<'_>) -> PathController {
        self.seed = self.seed.wrapping_add(1);
        let controller = QuicController::new(self.settings, path.max_datagram_size, self.seed);
        PathController::new(controller, self.observer.clone())
    }
}
