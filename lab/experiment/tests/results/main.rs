//! Checks, tables and files made of results, against values computed by hand.

mod beside;

use windlass_cc::Catalog;
use windlass_experiment::check::{self, Grouped, Verdict};
use windlass_experiment::observed::{
    FlowObserved, LinkObserved, Observed, Sample, Series, Source, Usage,
};
use windlass_experiment::{Experiment, Row, Settings, finding, output, rows};

const FILE: &str = r#"
version = 1
name = "results"
[link]
rate_mbit = 50
rtt_ms = 100
[[flows]]
name = "a"
mb = 1
[[flows]]
name = "b"
mb = 100
background = true
[run]
repetitions = 3
[sweep]
link.loss_percent = [0, 1]
[[contestant]]
name = "native"
[[contestant]]
name = "boxed"
box.kind = "windlass"
"#;

fn experiment(checks: &str) -> Experiment {
    let read = Experiment::parse(
        &format!("{FILE}{checks}"),
        "x.toml",
        Settings::default(),
        &Catalog::new(),
    );
    read.unwrap_or_else(|e| panic!("{e}"))
}

/// What the results say of the one check.
fn only_verdict(check: &str) -> Verdict {
    let file = experiment(check);
    let mut verdicts = check::all(&file, &all_rows(&file));
    assert_eq!(verdicts.len(), 1);
    verdicts.remove(0)
}

/// By run: the foreground flow's time.
const SECONDS: [f64; 12] = [
    2.0, 1.0, // loss 0, repetition 1: native, boxed
    4.0, 3.0, //
    3.0, 2.0, //
    10.0, 8.0, // loss 1
    20.0, 5.0, //
    30.0, 9.0, //
];

fn observed(run: usize) -> Observed {
    let flow = |group, bytes: u64, intact| FlowObserved {
        group,
        seconds: SECONDS[run],
        received_bytes: bytes,
        intact,
        server_retransmitted_bytes: Some(10_000),
        server_timeouts: Some(run as u64 % 2),
        box_retransmitted_bytes: (run % 2 == 1).then_some(5_000),
        ..FlowObserved::default()
    };
    let sample = |held| Sample {
        held_packets: Some(held),
        srtt_ms: Some(held as f64 / 10.0),
        ..Sample::default()
    };
    Observed {
        flows: vec![flow(0, 1_000_000, true), flow(1, 3_000_000, false)],
        down: vec![LinkObserved {
            offered_packets: 1000,
            lost_packets: 10,
            ..LinkObserved::default()
        }],
        series: vec![Series {
            group: 0,
            index: 0,
            source: Source::Box,
            samples: vec![sample(10), sample(40), sample(20)],
            algorithms: Vec::new(),
        }],
        usage: Some(Usage {
            cpu_s: 0.5,
            span_s: 2.0,
            max_rss_bytes: 5_000_000,
        }),
        ..Observed::default()
    }
}

fn all_rows(experiment: &Experiment) -> Vec<Row> {
    let runs = 0..experiment.runs.len();
    runs.flat_map(|run| rows::of(experiment, run, &observed(run)))
        .collect()
}

fn verdict(check: &str) -> Verdict {
    let experiment = experiment(&format!("[[check]]\nname = \"c\"\n{check}\n"));
    let verdicts = check::all(&experiment, &all_rows(&experiment));
    verdicts.into_iter().next().expect("a verdict")
}

#[track_caller]
fn assert_value(check: &str, value: f64, pass: bool, worst: &str) {
    let verdict = verdict(check);
    let got = verdict.value.expect("a value");
    assert!((got - value).abs() < 1e-9, "{got} is not {value}");
    assert_eq!(verdict.pass, pass, "{verdict:?}");
    assert_eq!(verdict.worst.as_deref(), Some(worst));
}

#[test]
fn ratios_of_medians_by_cell() {
    // Medians: loss 0: native 3, boxed 2; loss 1: native 20, boxed 8.
    let ratio = "of = \"boxed\"\nto = \"native\"\n";
    let worst = "boxed at loss_percent 0: 0.667";
    let geometric = (2.0f64 / 3.0 * 0.4).sqrt();
    assert_value(
        &format!("{ratio}over = \"geometric_mean\"\nat_most = 0.52"),
        geometric,
        true,
        worst,
    );
    assert_value(&format!("{ratio}at_most = 0.6"), 2.0 / 3.0, false, worst);
    assert_value(
        &format!("{ratio}over = \"mean\"\nat_most = 1"),
        (2.0 / 3.0 + 0.4) / 2.0,
        true,
        worst,
    );
    let least = "boxed at loss_percent 1: 0.400";
    assert_value(&format!("{ratio}at_least = 0.4"), 0.4, true, least);
}

#[test]
fn the_slowest_is_compared_with_the_median() {
    // loss 0: 1, 3, 2; loss 1: 8, 5, 9.
    let slowest = "of = \"boxed\"\nmetric = \"slowest_of_median\"\nover = \"max\"\n";
    let worst = "boxed at loss_percent 0: 1.500";
    assert_value(&format!("{slowest}at_most = 2"), 1.5, true, worst);
    assert_value(&format!("{slowest}at_most = 1.4"), 1.5, false, worst);
}

#[test]
fn conditions_choose_the_cells() {
    let only = "boxed at loss_percent 1: 8.000";
    assert_value(
        "of = \"boxed\"\nwhere = { loss_percent = \">= 1\" }\nat_most = 8",
        8.0,
        true,
        only,
    );
    assert_value(
        "of = \"boxed\"\nwhere = { loss_percent = [1, 3] }\nat_most = 7",
        8.0,
        false,
        only,
    );
}

#[test]
fn pooled_values_divide_sums() {
    // Six runs of 1 MB with a time-out each, in the second half of the contestants only.
    let worst = "boxed at loss_percent 1: 100.000";
    let check = "metric = \"timeouts_per_100_mb\"\nover = \"pooled\"\nat_most = 60";
    assert_value(check, 50.0, true, worst);
    let worst = "native at loss_percent 1: 1.000";
    let check = "metric = \"server_retransmitted_percent\"\nof = \"native\"\nover = \"pooled\"\nat_most = 1";
    assert_value(check, 1.0, true, worst);
}

#[test]
fn what_server_and_box_sent_is_told_apart() {
    let worst = "boxed at loss_percent 1: 0.500";
    assert_value(
        "metric = \"sent_twice_percent\"\nof = \"boxed\"\nat_most = 1",
        0.5,
        true,
        worst,
    );
    let worst = "boxed at loss_percent 1: 1.500";
    assert_value(
        "metric = \"retransmitted_percent\"\nat_most = 1",
        1.5,
        false,
        worst,
    );
}

#[test]
fn shares_and_fairness_are_of_runs() {
    // The flows received 1 and 3 MB in the same time.
    let worst = "native at loss_percent 0: 25.000";
    assert_value(
        "metric = \"share_percent\"\nflow = \"a\"\nat_least = 20",
        25.0,
        true,
        worst,
    );
    let worst = "native at loss_percent 0: 0.800";
    assert_value(
        "metric = \"jain\"\nflow = [\"a\", \"b\"]\nat_least = 0.7",
        0.8,
        true,
        worst,
    );
    let worst = "boxed at loss_percent 1: 25.000";
    assert_value("metric = \"cpu_percent\"\nat_most = 30", 25.0, true, worst);
    let worst = "boxed at loss_percent 1: 1.000";
    assert_value(
        "metric = \"link_lost_percent\"\nat_most = 1",
        1.0,
        true,
        worst,
    );
}

#[test]
fn series_give_their_medians() {
    let worst = "boxed at loss_percent 1: 20.000";
    assert_value(
        "metric = \"held_packets_median\"\nat_most = 20",
        20.0,
        true,
        worst,
    );
    let worst = "boxed at loss_percent 1: 2.000";
    assert_value("metric = \"srtt_ms_median\"\nat_most = 2", 2.0, true, worst);
}

#[test]
fn a_check_without_rows_fails_and_says_why() {
    let experiment = experiment("[[check]]\nname = \"c\"\nat_most = 1\n");
    let verdicts = check::all(&experiment, &[]);
    assert!(!verdicts[0].pass);
    assert_eq!(
        verdicts[0].reason.as_deref(),
        Some("there are no rows for it")
    );
    let unknown = verdict("metric = \"box_spurious_percent\"\nat_most = 1");
    assert!(!unknown.pass);
    assert_eq!(
        unknown.reason.as_deref(),
        Some("nothing tells box_spurious_percent here")
    );
}

#[test]
fn a_check_whose_contestant_does_not_run_is_left_out() {
    let mut experiment =
        experiment("[[check]]\nname = \"c\"\nof = \"boxed\"\nto = \"native\"\nat_most = 1\n");
    experiment
        .select(&["boxed".to_owned()], &[])
        .expect("some are left");
    assert_eq!(check::all(&experiment, &[]), []);
}

#[test]
fn failed_flows_fail_a_check_but_not_as_the_yardstick() {
    let experiment = experiment(
        "[[check]]\nname = \"of\"\nof = \"native\"\nat_most = 100\n\
         [[check]]\nname = \"to\"\nof = \"boxed\"\nto = \"native\"\nat_most = 1\n\
         [[check]]\nname = \"failed\"\nmetric = \"failed_percent\"\nover = \"pooled\"\nat_most = 0\n",
    );
    let mut rows = all_rows(&experiment);
    // The first native run at no loss: 2 s.
    rows[0].error = Some("cut off".to_owned());
    let verdicts = check::all(&experiment, &rows);
    assert_eq!(verdicts[0].reason.as_deref(), Some("1 of 12 flows failed"));
    assert!(!verdicts[0].pass);
    // Median of 4 and 3 remains: 2 ÷ 3.5.
    assert!(verdicts[1].pass, "{:?}", verdicts[1]);
    assert!((verdicts[1].value.expect("a value") - 2.0 / 3.5).abs() < 1e-9);
    assert!((verdicts[2].value.expect("a value") - 100.0 / 12.0).abs() < 1e-9);
}

#[test]
fn rows_are_there_for_flows_of_which_nothing_is_known() {
    let experiment = experiment("");
    let broken = Observed {
        error: Some("no such kernel".to_owned()),
        ..Observed::default()
    };
    let rows = rows::of(&experiment, 0, &broken);
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(Row::failed));
    assert_eq!(rows[0].error.as_deref(), Some("no such kernel"));
}

#[test]
fn json_has_the_promised_shape_and_the_same_bytes_each_time() {
    let experiment = experiment("[[check]]\nname = \"c\"\nof = \"boxed\"\nat_most = 8\n");
    let json = || {
        let rows = all_rows(&experiment);
        let verdicts = check::all(&experiment, &rows);
        output::json(&experiment, "sim", &rows, &verdicts).expect("JSON")
    };
    assert_eq!(json(), json());
    let value: serde_json::Value = serde_json::from_str(&json()).expect("JSON");
    assert_eq!(value["experiment"], "results");
    assert_eq!(value["backend"], "sim");
    let row = &value["rows"][23];
    assert_eq!(row["loss_percent"], 1);
    assert_eq!(row["contestant"], "boxed");
    assert_eq!(row["seconds"], 9.0);
    assert_eq!(row["goodput_mbit_s"], 2.666667);
    assert_eq!(row["box_spurious_bytes"], serde_json::Value::Null);
    let check = &value["checks"][0];
    assert_eq!(
        (check["name"].as_str(), check["pass"].as_bool()),
        (Some("c"), Some(true))
    );
    assert_eq!(
        (check["value"].as_f64(), check["limit"].as_f64()),
        (Some(8.0), Some(8.0))
    );
    let keys = json();
    assert!(keys.starts_with("{\n\"experiment\":\"results\",\n\"backend\":\"sim\",\n\"rows\":[\n{\"loss_percent\":0,\"case\":"));
}

#[test]
fn csv_has_a_line_for_each_row_and_each_sample() {
    let experiment = experiment("");
    let rows = all_rows(&experiment);
    let text = output::rows_csv(&experiment, &rows).expect("CSV");
    let text = String::from_utf8(text).expect("UTF-8");
    assert_eq!(text.lines().count(), 1 + 24);
    assert!(text.starts_with("loss_percent,case,contestant,repetition,seed,flow,index,"));
    let columns = text.lines().next().expect("names").split(',').count();
    assert!(text.lines().all(|line| line.split(',').count() == columns));
    let runs: Vec<Observed> = (0..2).map(observed).collect();
    let series = output::series_csv(&experiment, runs.iter().enumerate()).expect("CSV");
    let series = String::from_utf8(series).expect("UTF-8");
    assert_eq!(series.lines().count(), 1 + 2 * 3);
    assert!(
        series.contains("0,,boxed,1,a,0,box,0,,,,,4,,,,,,40"),
        "{series}"
    );
}

#[test]
fn published_values_stand_beside_ours() {
    let experiment = experiment(
        "[[paper]]\ntitle = \"Fig. 1\"\nsource = \"A. Author\"\nstatistic = \"mean\"\n\
         rows = [{ label = \"lossy\", where = { loss_percent = 1 }, of = \"boxed\", value = 3, \
         to = \"native\", to_value = 12 }]\n",
    );
    let rows = all_rows(&experiment);
    let grouped = Grouped::new(&rows);
    let beside = experiment.papers[0].beside(&experiment, &grouped);
    assert_eq!(beside[0].paper, (3.0, Some(0.25)));
    let (here, ratio) = (
        beside[0].here.0.expect("a value"),
        beside[0].here.1.expect("a ratio"),
    );
    // (8 + 5 + 9) ÷ 3, and that by (10 + 20 + 30) ÷ 3.
    assert!((here - 22.0 / 3.0).abs() < 1e-9);
    assert!((ratio - 22.0 / 60.0).abs() < 1e-9);
    let text = experiment.papers[0].markdown(&experiment, &grouped);
    assert!(
        text.contains("| lossy | boxed | 3.000 | 7.333 | native | 0.250 | 0.367 |"),
        "{text}"
    );
}

#[test]
fn findings_are_said_of_those_beyond_the_limit() {
    let file = experiment(
        "[[finding]]\nname = \"is slow\"\neach = \"contestant\"\nover = \"max\"\nat_most = 10\n\
         because = \"nobody waits\"\n\
         [[finding]]\nname = \"is late\"\neach = \"loss_percent\"\nof = \"boxed\"\nto = \"native\"\n\
         where = { loss_percent = 0 }\nat_most = 0.5\n",
    );
    let rows = all_rows(&file);
    let grouped = Grouped::new(&rows);
    let said = finding::all(&file, &grouped);
    let sentences: Vec<(&str, String)> = said
        .iter()
        .map(|s| (s.about.as_str(), s.sentence(&file)))
        .collect();
    assert_eq!(
        sentences,
        [
            ("native", "is slow (20.00 s at loss_percent 1)".to_owned()),
            ("boxed", "nothing found".to_owned()),
            ("0", "is late (0.667)".to_owned()),
        ]
    );
    let text = finding::markdown(&file, &grouped);
    for part in [
        "| native | is slow (20.00 s at loss_percent 1) |",
        "| is slow | native | seconds: most > 10 | nobody waits |",
        "| is late | 0 | seconds ÷ native where loss_percent = 0: most > 0.5 |  |",
        "| native | **20.00** | – |",
        "| boxed | 8.000 | – |",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn maps_have_a_sheet_for_what_is_on_no_axis() {
    let map = |rest: &str| {
        let text = format!("[[report.map]]\ntitle = \"t\"\ngood = 0\nbad = 1\n{rest}");
        let file = experiment(&text);
        let rows = all_rows(&file);
        let sheets = file.charts.maps[0].sheets(&file, &Grouped::new(&rows));
        let sheet = sheets.into_iter();
        sheet.map(|s| (s.title, s.fields)).collect::<Vec<_>>()
    };
    let both = "metric = \"seconds\"\nx = \"loss_percent\"\ny = \"contestant\"\n";
    let fields = vec![vec![Some(3.0), Some(20.0)], vec![Some(2.0), Some(8.0)]];
    assert_eq!(map(both), [(String::new(), fields)]);
    let one = "metric = \"seconds\"\nx = \"loss_percent\"\ny = \"case\"\n";
    let of = |name: &str, a, b| (name.to_owned(), vec![vec![Some(a), Some(b)]]);
    assert_eq!(map(one), [of("native", 3.0, 20.0), of("boxed", 2.0, 8.0)]);
    let ratio = format!("{both}of = \"boxed\"\nminus = \"native\"\nwhere = {{ loss_percent = 1 }}");
    assert_eq!(map(&ratio), [(String::new(), vec![vec![Some(-12.0)]])]);
}

/// Time with loss by that without: 20 ÷ 3 and 8 ÷ 2.
#[test]
fn a_check_along_a_parameter_compares_neighbours() {
    let of = |more: &str| {
        let text = format!("[[check]]\nname = \"c\"\nalong = \"loss_percent\"\n{more}");
        let verdict = only_verdict(&text);
        (verdict.value, verdict.pass, verdict.worst)
    };
    let (value, pass, worst) = of("at_most = 6\n");
    assert_eq!((value, pass), (Some(20.0 / 3.0), false));
    assert_eq!(worst.as_deref(), Some("native at loss_percent 1: 6.667"));
    let (value, pass, _) = of("of = \"boxed\"\nat_most = 6\n");
    assert_eq!((value, pass), (Some(4.0), true));
    let (value, pass, _) = of("where = { loss_percent = 1 }\nat_most = 6\n");
    assert_eq!((value, pass), (None, false));
}

#[test]
fn a_check_for_each_value_has_its_own_cells() {
    let file = experiment("[[check]]\nname = \"c\"\neach = \"loss_percent\"\nat_most = 5\n");
    let verdicts = check::all(&file, &all_rows(&file));
    let said: Vec<_> = verdicts
        .iter()
        .map(|v| (v.name.as_str(), v.value, v.pass))
        .collect();
    assert_eq!(
        said,
        [("c: 0", Some(3.0), true), ("c: 1", Some(20.0), false)]
    );
}
