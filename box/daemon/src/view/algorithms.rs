//! The algorithms beside each other, by the flows that they drive now.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use windlass_engine::FlowInfo;

use super::Shot;

/// The flows of an algorithm, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AlgorithmReport {
    /// Its name.
    pub algorithm: String,
    /// Flows that it drives.
    pub flows: u64,
    /// Of these, so many have moved something in the last second or so.
    pub moving: u64,
    /// What they move together, bit/s.
    pub rate_bps: u64,
    /// What the middle one of those that move moves, bit/s.
    pub median_rate_bps: u64,
    /// Smoothed RTT of the middle flow, µs; 0: none is measured.
    pub median_rtt_us: u64,
    /// By how much that is longer than the flow's smallest, in the middle, µs: about the queue in the path.
    pub median_queue_us: u64,
    /// Segments marked lost.
    pub lost_segments: u64,
    /// Bytes retransmitted by the box, of a million acknowledged.
    pub repaired_ppm: u64,
    /// Times that flows were handed back.
    pub handed_back: u64,
}

impl Shot {
    /// Of each algorithm that drives a flow, by name.
    pub(crate) fn algorithms(&self) -> Vec<AlgorithmReport> {
        let mut by_name: BTreeMap<&str, Vec<(&FlowInfo, Option<u64>)>> = BTreeMap::new();
        for (info, rate) in self.flows.iter().zip(&self.rates_bps) {
            let of_name = by_name.entry(info.algorithm.name()).or_default();
            of_name.push((info, *rate));
        }
        let each = by_name.iter();
        each.map(|(name, flows)| report(name, flows)).collect()
    }
}

fn report(name: &str, flows: &[(&FlowInfo, Option<u64>)]) -> AlgorithmReport {
    let rates: Vec<u64> = flows
        .iter()
        .filter_map(|(_, rate)| rate.filter(|r| *r > 0))
        .collect();
    let figures = || flows.iter().map(|(info, _)| &info.figures);
    let measured = || figures().filter(|f| f.srtt_us > 0);
    let repaired: u64 = figures().map(|f| f.repaired_bytes).sum();
    let acked: u64 = figures().map(|f| f.bytes_acked).sum();
    AlgorithmReport {
        algorithm: name.to_owned(),
        flows: flows.len() as u64,
        moving: rates.len() as u64,
        rate_bps: rates.iter().sum(),
        median_rate_bps: median(rates),
        median_rtt_us: median(measured().map(|f| f.srtt_us).collect()),
        median_queue_us: median(
            measured()
                .map(|f| f.srtt_us.saturating_sub(f.min_rtt_us))
                .collect(),
        ),
        lost_segments: figures().map(|f| f.lost_segments).sum(),
        repaired_ppm: (u128::from(repaired) * 1_000_000 / u128::from(acked.max(1))) as u64,
        handed_back: figures().map(|f| f.handed_back).sum(),
    }
}

fn median(mut numbers: Vec<u64>) -> u64 {
    let middle = numbers.len() / 2;
    match numbers.is_empty() {
        true => 0,
        false => *numbers.select_nth_unstable(middle).1,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use windlass_engine::AlgorithmId;

    use super::*;
    use crate::control::tests::info;

    #[test]
    fn flows_count_for_their_algorithm() {
        let mut flows: Vec<FlowInfo> = (5000..5004).map(info).collect();
        flows[3].algorithm = AlgorithmId::Cubic;
        flows[3].figures.srtt_us = 0;
        let shot = Shot {
            time_ms: 0,
            taken: Instant::now(),
            flows,
            rates_bps: vec![Some(10), Some(0), Some(30), None],
            omitted: 0,
        };
        let [bbr, cubic] = shot.algorithms().try_into().expect("two");
        assert_eq!(
            (bbr.algorithm.as_str(), bbr.flows, bbr.moving),
            ("bbr", 3, 2)
        );
        assert_eq!((bbr.rate_bps, bbr.median_rate_bps), (40, 30));
        assert_eq!((bbr.median_rtt_us, bbr.median_queue_us), (25_500, 5_500));
        assert_eq!((bbr.lost_segments, bbr.repaired_ppm), (9, 28_960));
        assert_eq!((cubic.flows, cubic.moving, cubic.median_rtt_us), (1, 0, 0));
    }
}
