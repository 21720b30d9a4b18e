use serde_json::Value;
use windlass_daemon::{FlowReport, TraceLine};

use super::{html, json, table};
use crate::demo::{Case, Facts, LinkCounts, Measured, Options, Run, Summary};
use crate::emulator::{BIN_NS, Bin, Record};
use crate::sample::SocketSample;

fn measured(case: Case, repetition: u32, seconds: f64) -> Measured {
    let bins = (seconds * 1e9) as u64 / BIN_NS;
    let samples = (seconds * 10.0) as u64;
    let trace = match case {
        Case::WindlassBbr => (0..samples)
            .map(|i| TraceLine {
                time_ns: 1_000 + i * 100_000_000,
                flow: FlowReport {
                    cwnd_bytes: 600_000,
                    edge_bytes: 900_000,
                    inflight_bytes: 500_000,
                    ..FlowReport::default()
                },
            })
            .collect(),
        Case::Cubic | Case::NativeBbr => Vec::new(),
    };
    Measured {
        run: Run {
            case,
            repetition,
            seconds,
            sha256_ok: true,
            bytes: 1_000_000,
            http_code: 200,
            error: None,
            server_congestion_control: case.server_algorithm().to_owned(),
            server_retransmissions: 3,
            windlass: None,
            link: LinkCounts::default(),
            emulator_lateness_us_p50: 20,
            emulator_lateness_us_p99: 90,
            emulator_lateness_us_max: 200,
        },
        start_ns: 1_000,
        sockets: (0..samples)
            .map(|i| SocketSample {
                at_ns: 1_000 + i * 100_000_000,
                cwnd: 100 + i,
                mss: 1448,
                srtt_ms: 100.0,
                ..SocketSample::default()
            })
            .collect(),
        record: Record {
            start_ns: 1_000,
            bins: vec![
                Bin {
                    delivered_bytes: 125_000,
                    queue_bytes: 9_000,
                };
                bins as usize
            ],
            lateness_us: vec![20, 90, 200],
            real_time: true,
            ..Record::default()
        },
        trace,
    }
}

fn summary() -> Summary {
    let mut all = Vec::new();
    for (repetition, seconds) in [[40.0, 2.5, 2.4], [60.0, 2.7, 2.6], [50.0, 2.6, 2.8]]
        .into_iter()
        .enumerate()
    {
        for (case, seconds) in Case::ALL.into_iter().zip(seconds) {
            all.push(measured(case, repetition as u32, seconds));
        }
    }
    Summary {
        options: Options {
            algorithm: "bbr<\"&".to_owned(),
            ..Options::default()
        },
        facts: Facts {
            kernel: "Linux <x> & \"y\"".to_owned(),
            ..Facts::default()
        },
        measured: all,
    }
}

#[test]
fn ratios_come_from_medians() {
    let summary = summary();
    assert_eq!(summary.seconds(Case::Cubic).map(|s| s.median), Some(50.0));
    assert_eq!(summary.ratio_to_native_bbr(Case::NativeBbr), Some(1.0));
    assert_eq!(summary.ratio_to_native_bbr(Case::WindlassBbr), Some(1.0));
    assert!(summary.all_ok());
}

#[test]
fn a_failed_run_counts_in_no_median() {
    let mut summary = summary();
    for m in &mut summary.measured {
        if m.run.case == Case::WindlassBbr {
            (m.run.sha256_ok, m.run.error) = (false, Some("timed out".to_owned()));
        }
    }
    assert_eq!(summary.seconds(Case::WindlassBbr), None);
    assert!(!summary.all_ok());
    let rows = table::rows(&summary);
    let row = rows
        .iter()
        .find(|r| r.case == Case::WindlassBbr)
        .expect("a row");
    assert_eq!((row.median.as_str(), row.whole.as_str()), ("–", "0/3"));
    let text = html::text(&summary);
    assert!(text.contains("Not every run went as it should") && text.contains("timed out"));
}

#[test]
fn the_json_has_what_others_read() {
    let text = json::text(&summary()).expect("JSON");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let runs = value["runs"].as_array().expect("an array");
    assert_eq!(runs.len(), 9);
    assert_eq!(runs[0]["case"], "cubic");
    assert_eq!(runs[1]["case"], "native_bbr");
    assert_eq!(runs[2]["case"], "windlass_bbr");
    assert_eq!(runs[2]["seconds"], 2.4);
    assert_eq!(runs[2]["sha256_ok"], true);
    assert_eq!(runs[2].get("error"), None);
    assert_eq!(value["medians"]["cubic"], 50.0);
    assert_eq!(value["medians"]["native_bbr"], 2.6);
    assert_eq!(value["ratio_windlass_to_native_bbr"], 1.0);
    assert_eq!(value["parameters"]["bytes"], 10_000_000);
    assert_eq!(value["parameters"]["queue_bytes"], 625_000);
}

#[test]
fn without_a_yardstick_there_is_no_ratio() {
    let mut summary = summary();
    summary.measured.retain(|m| m.run.case != Case::NativeBbr);
    summary.options.cases = vec![Case::Cubic, Case::WindlassBbr];
    let text = json::text(&summary).expect("JSON");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    assert!(value["ratio_windlass_to_native_bbr"].is_null());
    assert!(value["medians"].get("native_bbr").is_none());
}

#[test]
fn the_table_names_every_case() {
    let text = table::text(&summary());
    assert!(
        text.contains("10 MB over 50 Mbit/s, 100 ms, 1 % loss"),
        "{text}"
    );
    assert!(
        text.contains("CUBIC alone") && text.contains("50.00"),
        "{text}"
    );
    assert!(
        text.contains("40.00–60.00") && text.contains("3/3"),
        "{text}"
    );
}

#[test]
fn the_page_is_well_formed_and_needs_nothing_else() {
    let text = html::text(&summary());
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        ..Default::default()
    };
    let page = roxmltree::Document::parse_with_options(&text, options).expect("well-formed");
    let count = |name: &str| {
        page.descendants()
            .filter(|n| n.tag_name().name() == name)
            .count()
    };
    // Times, throughput, queue, RTT, and a window chart for each case.
    assert_eq!(count("svg"), 7);
    assert_eq!(count("circle"), 9);
    assert_eq!(count("script") + count("link") + count("img"), 0);
    let outside = text.replace("http://www.w3.org/2000/svg", "");
    assert!(!outside.contains("http://") && !outside.contains("https://"));
    assert!(text.contains("Linux &lt;x&gt; &amp; &quot;y&quot;"));
}
