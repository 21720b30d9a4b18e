//! The page: well-formed, self-contained, with everything that was asked for, and not too large.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use windlass_cc::Catalog;
use windlass_experiment::observed::{FlowObserved, Observed, Sample, Series, Source};
use windlass_experiment::setup::PathBox;
use windlass_experiment::{Experiment, Row, Settings, check, rows};
use windlass_report::Results;

const GRID: &str = r#"
version = 1
name = "grid"
title = "A grid & its <maps>"
description = "What it shows."
[link]
rate_mbit = 50
rtt_ms = 100
[[flows]]
mb = 1.2
[run]
repetitions = 3
[sweep]
flows.0.mb = [1.2, 10]
link.rate_mbit = [10, 50, 200]
link.rtt_ms = [10, 40, 100, 200, 300]
link.loss_percent = [0, 0.1, 0.5, 1, 3]
[[contestant]]
name = "native-cubic"
[[contestant]]
name = "native-bbr"
server.congestion_control = "bbr"
[[contestant]]
name = "windlass-bbr"
box = { kind = "windlass", algorithm = "bbr" }
[[contestant]]
name = "windlass-bbr3"
box = { kind = "windlass", algorithm = "bbr3" }
[[check]]
name = "as fast as BBR in the server"
of = ["windlass-bbr", "windlass-bbr3"]
to = "native-bbr"
over = "geometric_mean"
at_most = 0.95
[[check]]
name = "nowhere much slower"
of = ["windlass-bbr", "windlass-bbr3"]
to = "native-bbr"
at_most = 1.08
[report]
reference = "native-bbr"
heatmap = { x = "rtt_ms", y = "loss_percent" }
"#;

const SHARED: &str = r#"
version = 1
name = "shared"
[topology]
kind = "dumbbell"
[link]
rate_mbit = 50
rtt_ms = 40
[[flows]]
name = "ours"
count = 4
mb = 5
[[flows]]
name = "theirs"
mb = 500
pair = 1
background = true
governed = false
[run]
repetitions = 12
[sweep]
link.queue_bdp = [0.5, 1, 4]
[[contestant]]
name = "native-bbr"
server.congestion_control = "bbr"
[[contestant]]
name = "windlass-bbr"
box = { kind = "windlass", algorithm = "bbr" }
[[finding]]
name = "takes its time"
each = "contestant"
at_most = 1
because = "others wait"
[report]
lines = { x = "queue_bdp", metric = "share_percent" }
[[report.map]]
title = "Seconds of <ours>"
metric = "seconds"
flow = "ours"
x = "queue_bdp"
y = "contestant"
good = 0
bad = 100
[[paper]]
title = "Figure 9"
source = "A. Author, A Paper, 2020"
rows = [{ label = "one BDP", where = { queue_bdp = 1 }, of = "windlass-bbr", value = 7.5 }]
"#;

/// Something like a network: the more loss and RTT, the longer.
fn observed(experiment: &Experiment, index: usize) -> Observed {
    let run = &experiment.runs[index];
    let setup = &run.setup;
    let rtt = setup.bottlenecks[0].down.delay_ns as f64 * 2.0 / 1e9;
    let rate = setup.bottlenecks[0].down.rate_bits_per_s as f64 / 8.0;
    let noise = 1.0 + (index * 7919 % 100) as f64 / 700.0;
    let slowness = [3.0, 1.0, 0.93, 0.97][run.contestant];
    let sources: &[Source] = match &setup.path_box {
        PathBox::Windlass { policy } if policy.contains("advise") => {
            &[Source::Server, Source::Advice]
        }
        PathBox::Windlass { .. } => &[Source::Box],
        _ => &[Source::Server],
    };
    let mut observed = Observed::default();
    for (group, flows) in setup.flows.iter().enumerate() {
        for index in 0..flows.count {
            let seconds = (flows.bytes as f64 / rate + 8.0 * rtt) * slowness * noise;
            observed.flows.push(FlowObserved {
                group,
                index,
                seconds,
                received_bytes: flows.bytes,
                intact: !flows.background,
                ..FlowObserved::default()
            });
            let sample = |i: u32| Sample {
                time_s: f64::from(i) * seconds / 200.0,
                cwnd_packets: Some(f64::from(i % 50) * 10.0 + f64::from(index) + 10.0),
                srtt_ms: Some(rtt * 1e3 + f64::from(i % 7)),
                ..Sample::default()
            };
            observed.series.extend(sources.iter().map(|source| Series {
                group,
                index,
                source: *source,
                samples: (0..200).map(sample).collect(),
                algorithms: Vec::new(),
            }));
        }
    }
    observed
}

/// Writes a report of runs like these, and returns the page.
fn page(text: &str, folder: &Path, broken: usize) -> String {
    let read = Experiment::parse(text, "x.toml", Settings::default(), &Catalog::new());
    let experiment = read.unwrap_or_else(|e| panic!("{e}"));
    let runs = 0..experiment.runs.len();
    let came = |run: usize| match run < broken {
        true => Observed {
            error: Some("the guest did not start".to_owned()),
            ..Observed::default()
        },
        false => observed(&experiment, run),
    };
    let observed: BTreeMap<usize, Observed> = runs.map(|run| (run, came(run))).collect();
    let rows = observed
        .iter()
        .flat_map(|(run, came)| rows::of(&experiment, *run, came));
    let rows: Vec<Row> = rows.collect();
    let verdicts = check::all(&experiment, &rows);
    let facts = [("Back end".to_owned(), "none".to_owned())];
    let results = Results {
        experiment: &experiment,
        facts: &facts,
        rows: &rows,
        observed: &observed,
        verdicts: &verdicts,
    };
    let path = windlass_report::write(folder, &results).expect("written");
    fs::read_to_string(path).expect("a page")
}

/// What a test writes stays there to be looked at.
fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Void elements apart, the page is XML; that is close enough to find what is left open.
fn parse(page: &str) {
    let mut xml = page.replacen("<!DOCTYPE html>", "", 1);
    for void in ["meta charset=\"utf-8\"", "br"] {
        xml = xml.replace(&format!("<{void}>"), &format!("<{void}/>"));
    }
    let viewport = "content=\"width=device-width, initial-scale=1\"";
    xml = xml.replace(&format!("{viewport}>"), &format!("{viewport}/>"));
    xml = xml.replace("<details open>", "<details open=\"\">");
    roxmltree::Document::parse(&xml).expect("well-formed");
}

#[test]
fn a_grid_has_its_checks_maps_and_tables() {
    let page = page(GRID, &folder("report-grid"), 0);
    parse(&page);
    assert!(page.contains("A grid &amp; its &lt;maps&gt;"));
    assert!(page.contains("All 2 checks hold") || page.contains("checks fail"));
    // A map for each of three contestants, two sizes and three rates.
    assert_eq!(page.matches("<table class=\"map\"").count(), 3 * 6);
    assert!(page.contains("1800 of 1800 runs done"));
    assert!(
        !page.contains("http://") || !page.contains("src="),
        "needs the network"
    );
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
}

#[test]
fn flows_that_share_have_their_shares_and_series() {
    let folder = folder("report-shared");
    let page = page(SHARED, &folder, 0);
    parse(&page);
    assert!(page.contains("Who got how much"));
    assert!(page.contains("cwnd_packets"));
    assert!(page.contains("Beside the paper: Figure 9"));
    assert!(page.contains("share_percent over queue_bdp"));
    assert_eq!(page.matches("<table class=\"map\"").count(), 1);
    assert!(page.contains("Seconds of &lt;ours&gt;") && page.contains("takes its time ("));
    let findings = fs::read_to_string(folder.join("findings.md")).expect("findings.md");
    assert!(
        findings.contains("| contestant ↓ queue_bdp → | 0.5 | 1 | 4 |"),
        "{findings}"
    );
    let paper = fs::read_to_string(folder.join("paper.md")).expect("paper.md");
    assert!(
        paper.contains("| one BDP | windlass-bbr | 7.500 |"),
        "{paper}"
    );
    assert!(folder.join("series.csv").exists() && folder.join("rows.csv").exists());
}

/// Mice and elephants have a distribution each.
#[test]
fn groups_of_flows_have_their_own_distributions() {
    let text = r#"
version = 1
name = "two-sizes"
[link]
rate_mbit = 50
rtt_ms = 20
[[flows]]
name = "elephants"
mb = 4
count = 20
[[flows]]
name = "mice"
kb = 16
count = 20
[[contestant]]
name = "native"
"#;
    let page = page(text, &folder("report-two-sizes"), 0);
    parse(&page);
    let drawn = page.split("Distributions").nth(1).expect("there are some");
    assert!(drawn.contains(">elephants<") && drawn.contains(">mice<"));
}

/// What a box that only watches has computed is drawn over what the server had.
#[test]
fn advice_is_drawn_beside_the_servers_own() {
    let text = SHARED.replace("box = {", "box = { mode = \"advise\", ");
    let watched = page(&text, &folder("report-watched"), 0);
    parse(&watched);
    for label in [
        ": server",
        ": advice",
        "cwnd_packets, as a watching box computes it",
    ] {
        assert!(watched.contains(label), "{label}");
    }
    let governed = page(SHARED, &folder("report-governed"), 0);
    assert!(!governed.contains("as a watching box computes it"));
}

#[test]
fn failures_are_told_and_nothing_breaks() {
    let none_ran = page(SHARED, &folder("report-failed"), usize::MAX);
    parse(&none_ran);
    assert!(none_ran.contains("What failed") && none_ran.contains("the guest did not start"));
    parse(&page(GRID, &folder("report-partial"), 100));
}
