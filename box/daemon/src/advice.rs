//! What enforcing would make of a flow that is advised on, as operators see it.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use windlass_cc::{MILLISECOND, rate_over};
use windlass_engine::{FlowInfo, Forecast, Mode, Unpredicted};

use crate::report::bits;

/// How long forecasts may keep an answer waiting: one takes up to some ten milliseconds, and whoever asks waits for
/// five seconds. Flows whose turn does not come are shown without, and say so.
const FORECASTING_MAX: Duration = Duration::from_secs(2);
const NO_TURN: &str = "too many flows are advised on";

/// What enforcing would make of a flow, and what is known of its path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AdviceReport {
    /// What holds its sender back: `window`, `application` or `receiver`.
    pub held_back_by: Option<String>,
    /// What the sender has carried in the transfer under way, or else in the last one.
    pub transfer_bytes: u64,
    /// How long that took.
    pub transfer_ms: u64,
    /// Payload a second of it.
    pub goodput_bps: u64,
    /// How long the rule's algorithm would have taken.
    pub predicted_ms: Option<u64>,
    /// Its payload a second.
    pub predicted_goodput_bps: Option<u64>,
    /// How many times as fast, in hundredths.
    pub predicted_speedup_percent: Option<u64>,
    /// The bottleneck's rate is not known: enforcing may bring more.
    pub predicted_at_least: bool,
    /// Why nothing is predicted.
    pub unpredicted: Option<String>,
    /// What the bottleneck carries, as far as it has shown itself.
    pub bottleneck_bps: Option<u64>,
    /// Lost while no queue stood, of a million packets.
    pub path_loss_ppm: u64,
}

impl AdviceReport {
    /// Runs the model, if it still may.
    fn new(info: &FlowInfo, until: Instant) -> Option<AdviceReport> {
        let watched = info.watched?;
        let forecast = match Instant::now() < until {
            true => Forecast::of(info)?.map_err(Unpredicted::reason),
            false => Err(NO_TURN),
        };
        let goodput = rate_over(watched.bytes, watched.duration);
        let known = AdviceReport {
            held_back_by: watched.held_back_by.map(|by| by.name().to_owned()),
            transfer_bytes: watched.bytes,
            transfer_ms: watched.duration / MILLISECOND,
            goodput_bps: bits(goodput),
            bottleneck_bps: watched.bottleneck.map(bits),
            path_loss_ppm: (watched.loss_ratio * 1e6).round() as u64,
            ..AdviceReport::default()
        };
        Some(match forecast {
            Ok(forecast) => AdviceReport {
                predicted_ms: Some(forecast.duration / MILLISECOND),
                predicted_goodput_bps: Some(bits(forecast.goodput(&watched))),
                predicted_speedup_percent: Some((forecast.speedup(&watched) * 100.0).round() as u64),
                predicted_at_least: forecast.lower_bound,
                ..known
            },
            Err(why) => AdviceReport {
                unpredicted: Some(why.to_owned()),
                ..known
            },
        })
    }
}

/// Of each of these flows.
pub(crate) fn advice_on(flows: &[FlowInfo]) -> Vec<Option<AdviceReport>> {
    advice_until(flows, Instant::now() + FORECASTING_MAX)
}

/// The same, as long as there is time.
pub(crate) fn advice_until(flows: &[FlowInfo], until: Instant) -> Vec<Option<AdviceReport>> {
    let advised = |info: &&FlowInfo| info.mode == Mode::Advise;
    let each = flows.iter().map(|info| {
        let info = Some(info).filter(advised)?;
        AdviceReport::new(info, until)
    });
    each.collect()
}
