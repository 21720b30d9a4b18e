//! qlog in JSON text sequences (draft-ietf-quic-qlog-main-schema-13, -quic-events-12; RFC 7464):
//! the recovery metrics, and each change of phase. Written here: the library for it would change
//! how all of this workspace's JSON orders its keys.

use serde::Serialize;
use windlass_cc::{MILLISECOND, Nanos, Phase};
use windlass_cc_s2n_quic::Report;

/// RFC 7464 §2.2.
const RECORD_SEPARATOR: char = '\u{1e}';

#[derive(Serialize)]
struct Head<'a> {
    file_schema: &'a str,
    serialization_format: &'a str,
    title: &'a str,
    trace: TraceHead<'a>,
}

#[derive(Serialize)]
struct TraceHead<'a> {
    common_fields: CommonFields<'a>,
    vantage_point: VantagePoint<'a>,
    event_schemas: [&'a str; 1],
}

#[derive(Serialize)]
struct CommonFields<'a> {
    time_format: &'a str,
    reference_time: ReferenceTime<'a>,
}

#[derive(Serialize)]
struct ReferenceTime<'a> {
    clock_type: &'a str,
    epoch: &'a str,
}

#[derive(Serialize)]
struct VantagePoint<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
}

#[derive(Serialize)]
struct Event<D> {
    /// ms since the connection's first packet.
    time: f64,
    name: &'static str,
    data: D,
}

/// Times in ms, rates in bit/s.
#[derive(Serialize)]
struct Metrics {
    #[serde(skip_serializing_if = "Option::is_none")]
    min_rtt: Option<f64>,
    smoothed_rtt: f64,
    latest_rtt: f64,
    congestion_window: u64,
    bytes_in_flight: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssthresh: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pacing_rate: Option<u64>,
}

#[derive(Serialize)]
struct StateUpdated {
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<&'static str>,
    new: &'static str,
}

fn record(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).unwrap_or_default();
    format!("{RECORD_SEPARATOR}{json}\n")
}

pub(super) fn head(title: &str) -> String {
    record(&Head {
        file_schema: "urn:ietf:params:qlog:file:sequential",
        serialization_format: "application/qlog+json-seq",
        title,
        trace: TraceHead {
            common_fields: CommonFields {
                time_format: "relative_to_epoch",
                reference_time: ReferenceTime {
                    clock_type: "monotonic",
                    epoch: "unknown",
                },
            },
            vantage_point: VantagePoint {
                name: "windlass send",
                kind: "client",
            },
            event_schemas: ["urn:ietf:params:qlog:events:quic-12"],
        },
    })
}

/// Remembers the phase, to tell its changes.
#[derive(Debug, Default)]
pub(super) struct Events {
    state: Option<(Phase, bool)>,
}

impl Events {
    /// The events of one entry.
    pub(super) fn of(&mut self, report: &Report) -> String {
        let time = report.at as f64 / MILLISECOND as f64;
        let state = (report.phase, report.in_recovery);
        let mut text = String::new();
        if self.state != Some(state) {
            let old = self.state.replace(state).map(name);
            text.push_str(&record(&Event {
                time,
                name: "quic:congestion_state_updated",
                data: StateUpdated {
                    old,
                    new: name(state),
                },
            }));
        }
        text.push_str(&record(&Event {
            time,
            name: "quic:recovery_metrics_updated",
            data: metrics(report),
        }));
        text
    }
}

fn name((phase, in_recovery): (Phase, bool)) -> &'static str {
    if in_recovery {
        "recovery"
    } else {
        phase.name()
    }
}

fn metrics(report: &Report) -> Metrics {
    let ms = |nanos: Nanos| nanos as f64 / MILLISECOND as f64;
    let known = |value: u64| Some(value).filter(|v| *v < u64::MAX);
    Metrics {
        min_rtt: known(report.min_rtt).map(ms),
        smoothed_rtt: ms(report.srtt),
        latest_rtt: ms(report.latest_rtt),
        congestion_window: report.window,
        bytes_in_flight: report.inflight,
        ssthresh: known(report.ssthresh),
        pacing_rate: report.pacing_rate.map(|rate| rate * 8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::tests::report;
    use serde_json::{Value, json};

    fn records(text: &str) -> Vec<Value> {
        let records = text.split(RECORD_SEPARATOR).skip(1);
        records
            .map(|r| serde_json::from_str(r.strip_suffix('\n').expect("a line")).expect("JSON"))
            .collect()
    }

    #[test]
    fn it_is_a_sequence_of_json_texts() {
        let mut events = Events::default();
        let mut text = head("cubic to 192.0.2.1:4433");
        text += &events.of(&report(MILLISECOND, 20_000, Phase::SlowStart));
        text += &events.of(&report(2 * MILLISECOND, 30_000, Phase::SlowStart));
        let mut lost = report(3 * MILLISECOND, 15_000, Phase::Avoidance);
        lost.in_recovery = true;
        lost.ssthresh = 15_000;
        text += &events.of(&lost);
        let all = records(&text);
        assert_eq!(
            all[0]["file_schema"],
            "urn:ietf:params:qlog:file:sequential"
        );
        let names: Vec<&str> = all[1..].iter().filter_map(|r| r["name"].as_str()).collect();
        assert_eq!(
            names,
            [
                "quic:congestion_state_updated",
                "quic:recovery_metrics_updated",
                "quic:recovery_metrics_updated",
                "quic:congestion_state_updated",
                "quic:recovery_metrics_updated",
            ]
        );
        assert_eq!(
            all[4]["data"],
            json!({"old": "slow_start", "new": "recovery"})
        );
        assert_eq!(
            all[5],
            json!({"time": 3.0, "name": "quic:recovery_metrics_updated", "data": {
                "min_rtt": 40.0, "smoothed_rtt": 50.0, "latest_rtt": 45.0,
                "congestion_window": 15_000, "bytes_in_flight": 10_000, "ssthresh": 15_000,
                "pacing_rate": 10_000_000,
            }})
        );
    }
}
