//! A flow, as one box tells another of it.

use serde::{Deserialize, Serialize};
use windlass_cc::{Catalog, Nanos, Path, SECOND, Settings, SettingsByName};

use super::Flow;

/// The algorithm of a flow, and what has been measured of its path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FlowIntroduction {
    /// `None`: that which policy names.
    settings: Option<SettingsByName>,
    srtt: Nanos,
    rttvar: Nanos,
    min_rtt: Nanos,
    max_rtt: Nanos,
    /// Bytes per second.
    max_bw: u64,
}

impl FlowIntroduction {
    /// Nothing is known of its path yet.
    pub(crate) fn unknown() -> FlowIntroduction {
        FlowIntroduction {
            settings: None,
            srtt: 0,
            rttvar: 0,
            min_rtt: Nanos::MAX,
            max_rtt: 0,
            max_bw: 0,
        }
    }

    /// No round trip takes an hour. Of one that was measured, the least is known.
    pub(crate) fn is_sound(&self) -> bool {
        const MOST: Nanos = 3_600 * SECOND;
        let times = [self.srtt, self.rttvar, self.max_rtt];
        let least = self.min_rtt <= MOST || self.srtt == 0;
        least && times.iter().all(|time| *time <= MOST) && self.max_bw <= u64::MAX / 16
    }

    /// The algorithm, if there is one of its name here.
    pub(crate) fn algorithm(&self, catalog: &Catalog) -> Option<Settings> {
        self.settings.as_ref()?.find(catalog)
    }
}

impl Flow {
    /// How another box would be told of it. `None`: it only passes packets.
    pub(crate) fn introduce(&self) -> Option<FlowIntroduction> {
        let path = self.host.path();
        self.hands.pass.is_none().then(|| FlowIntroduction {
            settings: Some(self.verdict.algorithm.by_name()),
            srtt: path.srtt,
            rttvar: path.rttvar,
            min_rtt: path.recent_data_rtt(),
            max_rtt: path.max_rtt,
            max_bw: path.max_bw,
        })
    }

    /// The algorithm begins with what another box has measured of the path.
    pub(crate) fn begin_on(&mut self, told: &FlowIntroduction, now: Nanos) {
        if told.srtt == 0 {
            return;
        }
        let path = self.host.path_mut();
        *path = Path {
            srtt: told.srtt,
            rttvar: told.rttvar,
            latest_rtt: told.srtt,
            max_rtt: told.max_rtt,
            ..*path
        };
        path.expect(told.min_rtt, told.max_bw, now);
        self.host.restart(self.verdict.algorithm, self.setup.seed);
    }
}
