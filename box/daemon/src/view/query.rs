//! What is wanted of all flows, and what that is.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use windlass_engine::FlowInfo;
use windlass_policy::Policy;

use super::{FlowFilter, Shot};
use crate::FlowReport;

/// Rows in one answer.
pub const ROWS_MAX: usize = 500;

/// By what rows are in order; the largest first, names from A to Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum Order {
    /// What moves now, bit/s.
    #[default]
    Rate,
    /// The name.
    Flow,
    /// The rule's name.
    Rule,
    /// The algorithm's name.
    Algorithm,
    /// Smoothed RTT.
    Rtt,
    /// Congestion window.
    Window,
    /// In flight.
    Flight,
    /// Segments marked lost.
    Lost,
    /// Bytes acknowledged.
    Bytes,
    /// Times handed back.
    HandedBack,
}

impl Order {
    /// All, in the order of columns.
    pub const ALL: [Order; 10] = [
        Order::Rate,
        Order::Flow,
        Order::Rule,
        Order::Algorithm,
        Order::Rtt,
        Order::Window,
        Order::Flight,
        Order::Lost,
        Order::Bytes,
        Order::HandedBack,
    ];
}

/// What is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ViewQuery {
    /// Of which flows.
    pub filter: FlowFilter,
    /// In which order.
    pub order: Order,
    /// The other way around.
    pub reversed: bool,
    /// Rows that are left out before the first.
    pub offset: u64,
    /// Rows that are wanted: [`ROWS_MAX`] at most.
    pub rows: u64,
}

/// A part of the flows, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ViewReport {
    /// When the flows were looked at, ms since 1970.
    pub time_ms: u64,
    /// Flows that there are.
    pub flows: u64,
    /// Of these, so many are wanted.
    pub matching: u64,
    /// Flows that were not looked at, because there are too many.
    pub omitted: u64,
    /// What the wanted flows move together, bit/s.
    pub rate_bps: u64,
    /// Where the first row is in the order.
    pub offset: u64,
    /// The rows.
    pub rows: Vec<ViewRow>,
}

/// A flow, and what it moves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ViewRow {
    /// Acknowledged in the last second or so, bit/s; `null` until it has been seen twice.
    pub rate_bps: Option<u64>,
    /// The flow.
    #[serde(flatten)]
    pub flow: FlowReport,
}

impl Shot {
    /// # Errors
    /// The filter is wrong.
    pub(crate) fn view(&self, query: &ViewQuery, policy: &Policy) -> Result<ViewReport, String> {
        let wanted = query.filter.read(policy)?;
        let all = self.flows.iter().zip(&self.rates_bps);
        let mut matching: Vec<(&FlowInfo, Option<u64>)> = all
            .filter(|(info, _)| wanted.wants(info))
            .map(|(info, rate)| (info, *rate))
            .collect();
        let moved: u64 = matching.iter().filter_map(|(_, rate)| *rate).sum();
        sort(&mut matching, query.order, policy);
        if query.reversed {
            matching.reverse();
        }
        let rows = usize::try_from(query.rows)
            .unwrap_or(ROWS_MAX)
            .min(ROWS_MAX);
        let offset = usize::try_from(query.offset).unwrap_or(usize::MAX);
        let part = matching.iter().skip(offset).take(rows);
        let row = |(info, rate_bps): &(&FlowInfo, Option<u64>)| ViewRow {
            rate_bps: *rate_bps,
            flow: FlowReport::new(info, policy),
        };
        Ok(ViewReport {
            time_ms: self.time_ms,
            flows: self.flows.len() as u64,
            matching: matching.len() as u64,
            omitted: self.omitted,
            rate_bps: moved,
            offset: query.offset,
            rows: part.map(row).collect(),
        })
    }
}

/// Equal ones by their names, so that rows do not dance.
fn sort(flows: &mut [(&FlowInfo, Option<u64>)], order: Order, policy: &Policy) {
    let figure = |info: &FlowInfo| match order {
        Order::Rtt => info.figures.srtt_us,
        Order::Window => info.figures.cwnd_bytes,
        Order::Flight => info.figures.inflight_bytes,
        Order::Lost => info.figures.lost_segments,
        Order::Bytes => info.figures.bytes_acked,
        Order::HandedBack => info.figures.handed_back,
        _ => 0,
    };
    match order {
        Order::Flow => flows.sort_unstable_by_key(|(info, _)| info.key),
        Order::Rule => flows.sort_by_key(|(info, _)| {
            let policy = policy.of(info.edition);
            let name = policy.and_then(|policy| policy.rule_name(info.rule?));
            (name.map(str::to_owned), info.key)
        }),
        Order::Algorithm => flows.sort_by_key(|(info, _)| (info.algorithm.name(), info.key)),
        Order::Rate => flows.sort_unstable_by_key(|(info, rate)| (Reverse(*rate), info.key)),
        _ => flows.sort_unstable_by_key(|(info, _)| (Reverse(figure(info)), info.key)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use windlass_policy::Config;

    use super::*;
    use crate::control::tests::info;

    fn shot() -> Shot {
        let flows = (0..1000u16).map(|number| {
            let mut info = info(5000 + number);
            info.figures.srtt_us = 1000 + u64::from(number) % 10;
            info
        });
        Shot {
            time_ms: 7,
            taken: Instant::now(),
            flows: flows.collect(),
            rates_bps: (0..1000).map(|n| (n > 0).then_some(n)).collect(),
            omitted: 3,
        }
    }

    fn ports(query: &ViewQuery) -> (ViewReport, Vec<String>) {
        let report = shot().view(query, &Config::default().policy());
        let report = report.unwrap_or_else(|e| panic!("{e}"));
        let port = |row: &ViewRow| row.flow.flow.rsplit_once(':').map(|p| p.1.to_owned());
        let ports = report.rows.iter().filter_map(port).collect();
        (report, ports)
    }

    #[test]
    fn rows_are_a_part_of_all_in_order() {
        let query = ViewQuery {
            rows: 3,
            ..ViewQuery::default()
        };
        let (report, first) = ports(&query);
        assert_eq!(first, ["5999", "5998", "5997"]);
        assert_eq!(
            (report.flows, report.matching, report.omitted),
            (1000, 1000, 3)
        );
        assert_eq!(report.rate_bps, 999 * 1000 / 2);
        let next = ViewQuery {
            offset: 3,
            ..query.clone()
        };
        assert_eq!(ports(&next).1, ["5996", "5995", "5994"]);
        let reversed = ViewQuery {
            reversed: true,
            ..query.clone()
        };
        assert_eq!(ports(&reversed).1[0], "5000");
        let by_rtt = ViewQuery {
            order: Order::Rtt,
            ..query.clone()
        };
        assert_eq!(ports(&by_rtt).1, ["5009", "5019", "5029"]);
        let beyond = ViewQuery {
            offset: u64::MAX,
            ..query.clone()
        };
        assert!(ports(&beyond).1.is_empty());
        let too_many = ViewQuery {
            rows: u64::MAX,
            ..query
        };
        assert_eq!(ports(&too_many).1.len(), ROWS_MAX);
    }

    #[test]
    fn only_what_is_wanted_counts() {
        let filter = FlowFilter {
            client: Some("198.51.100.0/24".to_owned()),
            ..FlowFilter::default()
        };
        let query = ViewQuery {
            filter,
            rows: 10,
            ..ViewQuery::default()
        };
        let (report, ports) = ports(&query);
        assert_eq!(
            (report.flows, report.matching, report.rate_bps),
            (1000, 0, 0)
        );
        assert!(ports.is_empty());
    }
}
