//! All flows at one moment, and how they have moved since the moment before.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use windlass_engine::FlowInfo;
use windlass_wire::FlowKey;

use crate::command::Flows;
use crate::settings::unix_ns;

/// The workers are not asked more often.
const INTERVAL: Duration = Duration::from_millis(900);
/// What nobody has asked for so long is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(30);
/// Rates of a flow that are remembered.
const RATES_MAX: usize = 60;
const NANOS_PER_MILLI: u64 = 1_000_000;
const BITS_PER_BYTE: f64 = 8.0;

/// All flows at one moment.
#[derive(Debug)]
pub(crate) struct Shot {
    /// ms since 1970.
    pub time_ms: u64,
    pub taken: Instant,
    pub flows: Vec<FlowInfo>,
    /// What each of them has moved since the shot before, bit/s; `None`: it was not there then.
    pub rates_bps: Vec<Option<u64>>,
    /// Flows that were not looked at.
    pub omitted: u64,
}

/// How a flow has moved.
#[derive(Debug)]
struct Track {
    bytes_acked: u64,
    rates_bps: VecDeque<u64>,
    /// Number of the shot in which it was seen last.
    seen: u64,
}

#[derive(Debug, Default)]
struct State {
    shot: Option<Arc<Shot>>,
    tracks: HashMap<FlowKey, Track>,
    shots: u64,
    asked: Option<Instant>,
}

/// Takes shots for all who watch.
#[derive(Debug, Default)]
pub(crate) struct Sampler(Mutex<State>);

impl Sampler {
    /// The newest shot; a new one if that is too old. Others who ask meanwhile wait for it.
    ///
    /// # Errors
    /// Those of `ask`, which asks the workers.
    pub(crate) fn shot(
        &self,
        ask: impl FnOnce() -> Result<Flows, String>,
    ) -> Result<Arc<Shot>, String> {
        let mut state = self.lock();
        let now = Instant::now();
        state.asked = Some(now);
        if let Some(shot) = &state.shot
            && now.duration_since(shot.taken) < INTERVAL
        {
            return Ok(Arc::clone(shot));
        }
        let flows = ask()?;
        Ok(state.take(flows, Instant::now()))
    }

    /// The last rates of a flow, oldest first, one a shot.
    pub(crate) fn rates_of(&self, key: &FlowKey) -> Vec<u64> {
        let state = self.lock();
        let track = state.tracks.get(key);
        track.map_or_else(Vec::new, |track| track.rates_bps.iter().copied().collect())
    }

    /// To be called now and then: gives the memory back when nobody watches any more. Does not wait for those who do.
    pub(crate) fn tidy(&self) {
        let Ok(mut state) = self.0.try_lock() else {
            return;
        };
        if state
            .asked
            .is_some_and(|asked| asked.elapsed() > FORGOTTEN_AFTER)
        {
            *state = State::default();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self, all: Flows, now: Instant) -> Arc<Shot> {
        self.shots += 1;
        let passed = self
            .shot
            .as_ref()
            .map(|shot| now.duration_since(shot.taken));
        let rates = all.flows.iter().map(|info| self.track(info, passed));
        let rates_bps = rates.collect();
        let shots = self.shots;
        self.tracks.retain(|_, track| track.seen == shots);
        let shot = Arc::new(Shot {
            time_ms: unix_ns() / NANOS_PER_MILLI,
            taken: now,
            flows: all.flows,
            rates_bps,
            omitted: all.omitted as u64,
        });
        self.shot = Some(Arc::clone(&shot));
        shot
    }

    fn track(&mut self, info: &FlowInfo, passed: Option<Duration>) -> Option<u64> {
        let acked = info.figures.bytes_acked;
        let (shots, known) = (self.shots, self.tracks.get_mut(&info.key));
        // A flow of the same name that has begun anew has moved less.
        let known = known.filter(|track| track.bytes_acked <= acked);
        let (Some(track), Some(passed)) = (known, passed) else {
            let track = Track {
                bytes_acked: acked,
                rates_bps: VecDeque::new(),
                seen: shots,
            };
            self.tracks.insert(info.key, track);
            return None;
        };
        let moved = (acked - track.bytes_acked) as f64 * BITS_PER_BYTE;
        let rate = (moved / passed.as_secs_f64().max(1e-3)).round() as u64;
        track.bytes_acked = acked;
        track.seen = shots;
        if track.rates_bps.len() >= RATES_MAX {
            track.rates_bps.pop_front();
        }
        track.rates_bps.push_back(rate);
        Some(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::tests::info;

    fn flows(acked: &[u64]) -> Flows {
        let one = |(port, acked): (usize, &u64)| {
            let mut info = info(5000 + port as u16);
            info.figures.bytes_acked = *acked;
            info
        };
        Flows {
            flows: acked.iter().enumerate().map(one).collect(),
            omitted: 0,
        }
    }

    #[test]
    fn a_rate_is_what_moved_between_two_shots() {
        let (mut state, now) = (State::default(), Instant::now());
        let second = Duration::from_secs(1);
        assert_eq!(state.take(flows(&[0, 500]), now).rates_bps, [None, None]);
        let shot = state.take(flows(&[125_000, 500, 7]), now + second);
        assert_eq!(shot.rates_bps, [Some(1_000_000), Some(0), None]);
        // The second begins anew, and the third is gone.
        let shot = state.take(flows(&[125_000, 100]), now + 3 * second);
        assert_eq!(shot.rates_bps, [Some(0), None]);
        assert_eq!(state.tracks.len(), 2);
        let key = info(5000).key;
        assert_eq!(state.tracks[&key].rates_bps, [1_000_000, 0]);
        for number in 0..2 * RATES_MAX as u32 {
            state.take(flows(&[125_000]), now + (4 + number) * second);
        }
        assert_eq!(state.tracks[&key].rates_bps.len(), RATES_MAX);
    }

    #[test]
    fn the_workers_are_asked_once_for_all_who_watch() {
        let sampler = Sampler::default();
        let mut asked = 0;
        for _ in 0..10 {
            let ask = || {
                asked += 1;
                Ok(flows(&[1]))
            };
            assert_eq!(sampler.shot(ask).expect("flows").flows.len(), 1);
        }
        assert_eq!(asked, 1);
        sampler.tidy();
        assert!(sampler.lock().shot.is_some(), "it was asked a moment ago");
    }
}
