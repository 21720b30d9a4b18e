//! How large flows are in datacenters, and when they begin: the distributions that the literature
//! measures with.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::setup::FlowGroup;

/// Payload of a packet in the published tables, bytes.
const PACKET_BYTES: f64 = 1460.0;

/// Flows that are called mice have no more than this, bytes.
const MICE_BYTES: u64 = 10_000;
const MICE: &str = "-mice";

/// A measured distribution of flow sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// A cluster that answers web searches (Alizadeh et al., DCTCP, SIGCOMM 2010).
    WebSearch,
    /// A cluster that mines data (Greenberg et al., VL2, SIGCOMM 2009).
    DataMining,
}

/// Packets, and the share of flows that have no more of them; as in the tables of pFabric
/// (Alizadeh et al., SIGCOMM 2013).
const WEB_SEARCH: [(f64, f64); 12] = [
    (6.0, 0.0),
    (6.0, 0.15),
    (13.0, 0.2),
    (19.0, 0.3),
    (33.0, 0.4),
    (53.0, 0.53),
    (133.0, 0.6),
    (667.0, 0.7),
    (1333.0, 0.8),
    (3333.0, 0.9),
    (6667.0, 0.97),
    (20000.0, 1.0),
];
const DATA_MINING: [(f64, f64); 9] = [
    (1.0, 0.0),
    (1.0, 0.5),
    (2.0, 0.6),
    (3.0, 0.7),
    (7.0, 0.8),
    (267.0, 0.9),
    (2107.0, 0.95),
    (66667.0, 0.99),
    (666667.0, 1.0),
];

impl Sizes {
    /// By name.
    pub const ALL: [(&'static str, Sizes); 2] = [
        ("web-search", Sizes::WebSearch),
        ("data-mining", Sizes::DataMining),
    ];

    /// The size that this share of the flows does not exceed, bytes.
    fn at(self, share: f64) -> u64 {
        let table: &[(f64, f64)] = match self {
            Sizes::WebSearch => &WEB_SEARCH,
            Sizes::DataMining => &DATA_MINING,
        };
        let next = table
            .partition_point(|(_, s)| *s <= share)
            .clamp(1, table.len() - 1);
        let ((from, low), (to, high)) = (table[next - 1], table[next]);
        let packets = from + (to - from) * (share - low) / (high - low);
        (packets * PACKET_BYTES) as u64
    }
}

impl FlowGroup {
    /// Index of the pair of the transfer with this index.
    pub fn pair_of(&self, index: u32) -> usize {
        self.pair + index as usize % self.pairs.max(1)
    }

    /// Its size, bytes.
    pub fn bytes_of(&self, seed: u64, index: u32) -> u64 {
        let size = |sizes: Sizes| sizes.at(self.chance(seed, index, "size")).min(self.bytes);
        self.sizes.map_or(self.bytes, size).max(1)
    }

    /// What a transfer of so many bytes is called in rows and checks: those of chance sizes are told
    /// apart by them.
    pub fn name_of(&self, bytes: u64) -> String {
        match self.sizes.is_some() && bytes <= MICE_BYTES {
            true => format!("{}{MICE}", self.name),
            false => self.name.clone(),
        }
    }

    /// All that its transfers may be called.
    pub fn names(&self) -> Vec<String> {
        let mut names = vec![self.name.clone()];
        names.extend(self.sizes.map(|_| self.name_of(0)));
        names
    }

    /// Whether the transfer with this index waits until another of the group has ended.
    pub fn waits(&self, index: u32) -> bool {
        self.at_once > 0 && index >= self.at_once
    }

    /// When all of them begin, ns from the start of the run, in order of their index.
    pub fn starts(&self, seed: u64) -> Vec<u64> {
        let mut at = self.start_ns;
        let mut starts = Vec::with_capacity(self.count as usize);
        for index in 0..self.count {
            starts.push(at);
            at += match self.sizes {
                None => self.interval_ns,
                // A Poisson process: what is left to chance is -ln(u).
                Some(_) => {
                    let share = 1.0 - self.chance(seed, index, "start");
                    (-libm::log(share) * self.interval_ns as f64) as u64
                }
            };
        }
        starts
    }

    /// The same for every contestant, from 0 to less than 1.
    fn chance(&self, seed: u64, index: u32, what: &str) -> f64 {
        let digest = Sha256::digest(format!("{seed}\n{}\n{index}\n{what}\n", self.name));
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&digest[..8]);
        (u64::from_be_bytes(bytes) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(sizes: Option<Sizes>) -> FlowGroup {
        FlowGroup {
            name: "mice".to_owned(),
            pair: 3,
            pairs: 4,
            count: 4000,
            bytes: u64::MAX,
            sizes,
            start_ns: 7,
            interval_ns: 1_000_000,
            ..FlowGroup::default()
        }
    }

    #[test]
    fn published_shares_come_out() {
        for (sizes, share, packets) in [
            (Sizes::WebSearch, 0.53, 53.0),
            (Sizes::WebSearch, 0.9, 3333.0),
            (Sizes::DataMining, 0.8, 7.0),
            (Sizes::DataMining, 0.95, 2107.0),
        ] {
            let group = group(Some(sizes));
            let small =
                |index: &u32| group.bytes_of(1, *index) as f64 <= packets * PACKET_BYTES + 1.0;
            let found = (0..group.count).filter(small).count() as f64 / 4000.0;
            assert!(
                (found - share).abs() < 0.02,
                "{sizes:?}: {found} of {share}"
            );
        }
    }

    #[test]
    fn starts_are_so_far_apart_in_the_mean_and_the_seed_decides() {
        let group = group(Some(Sizes::WebSearch));
        let starts = group.starts(5);
        let mean = (starts[3999] - starts[0]) as f64 / 3999.0;
        assert!((mean / 1e6 - 1.0).abs() < 0.05, "{mean}");
        assert_eq!(starts, group.starts(5));
        assert_ne!(starts, group.starts(6));
    }

    #[test]
    fn without_sizes_all_are_alike() {
        let group = FlowGroup {
            bytes: 5000,
            ..group(None)
        };
        assert_eq!(group.starts(1)[..3], [7, 1_000_007, 2_000_007]);
        assert_eq!((group.bytes_of(1, 0), group.bytes_of(9, 77)), (5000, 5000));
        assert_eq!([0, 3, 4, 9].map(|i| group.pair_of(i)), [3, 6, 3, 4]);
    }
}
