//! Every mistake is found where it is, before anything runs, and its remedy named.

use windlass_experiment::{ConfigError, Experiment, Settings};

/// What is left of a file without mistakes.
const GOOD: &str = r#"version = 1
name = "x"
[link]
rate_mbit = 50
rtt_ms = 100
[[flows]]
mb = 1
[sweep]
link.loss_percent = [0, 1]
[[contestant]]
name = "native"
[[contestant]]
name = "boxed"
box.kind = "windlass"
"#;

fn mistake(text: &str) -> ConfigError {
    Experiment::parse(text, "x.toml", Settings::default()).expect_err(text)
}

/// Line of [`GOOD`] to put in the place of another, or to add if that is empty; the text that the
/// mistake points at; a part of what is wrong; a part of the remedy.
type Bad = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const BAD: &[Bad] = &[
    ("version = 1", "", "", "no version", "version = 1"),
    (
        "version = 1",
        "version = 2",
        "2",
        "version 2",
        "version = 1",
    ),
    ("name = \"x\"", "", "", "has no name", "name = \"grid\""),
    (
        "name = \"x\"",
        "name = \"a/b\"",
        "\"a/b\"",
        "cannot be a name",
        "letters",
    ),
    (
        "name = \"x\"",
        "name = \"x\"\nchek = 1",
        "chek",
        "unknown key \"chek\"",
        "did you mean \"check\"",
    ),
    (
        "rtt_ms = 100",
        "rtt_ms = 100\ndrops_not_ect = true",
        "",
        "drops_not_ect without ecn_mark_packets",
        "ecn_mark_packets = 20",
    ),
    (
        "mb = 1",
        "mb = 1\npairs = 2",
        "2",
        "pairs is out of range: 2",
        "1 to 1 pairs",
    ),
    (
        "mb = 1",
        "mb = 1\nsizes = \"web\"",
        "\"web\"",
        "unknown sizes \"web\"",
        "web-search",
    ),
    (
        "",
        "[[probe]]",
        "",
        "[[probe]] has no interval_ms",
        "interval_ms = 1",
    ),
    (
        "",
        "[topology]\nstrides = [1]",
        "[1]",
        "strides are for another kind",
        "kind = \"switch\"",
    ),
    (
        "",
        "[topology]\nkind = \"switch\"\nports = 4\nstrides = [5]",
        "5",
        "strides is out of range: 5",
        "1 to 4 ports",
    ),
    (
        "name = \"native\"",
        "name = \"native\"\nbox.both_ends = true",
        "true",
        "both_ends is for Windlass",
        "kind = \"windlass\"",
    ),
    (
        "[link]",
        "[lnk]",
        "lnk",
        "unknown key \"lnk\"",
        "mean \"link\"",
    ),
    (
        "rate_mbit = 50",
        "rate_mbit = 0",
        "0",
        "out of range: 0",
        "0.01 to 100000 Mbit/s",
    ),
    (
        "rate_mbit = 50",
        "rate_mbit = \"50\"",
        "\"50\"",
        "a number, not a string",
        "rate_mbit = ",
    ),
    (
        "rate_mbit = 50",
        "rate_mbits = 50",
        "",
        "has no rate_mbit",
        "rate_mbit = 50",
    ),
    (
        "rtt_ms = 100",
        "rtt_ms = -1",
        "-1",
        "out of range: -1",
        "0 to 10000 ms",
    ),
    (
        "rtt_ms = 100",
        "rtt_ms = nan",
        "nan",
        "out of range: nan",
        "0 to 10000 ms",
    ),
    (
        "rtt_ms = 100",
        "rtt_ms = 100\nqueue_bdp = 1\nqueue_kb = 9",
        "9",
        "twice",
        "keep one",
    ),
    (
        "rtt_ms = 100",
        "rtt_ms = 100\nreorder_percent = 1",
        "",
        "changes nothing",
        "reorder_ms = 10",
    ),
    (
        "rtt_ms = 100",
        "rtt_ms = 100\nduplicate_percent = 101",
        "101",
        "out of range",
        "0 to 100 percent",
    ),
    (
        "rtt_ms = 100",
        "rtt_ms = 100\ngilbert_elliott = { good_to_bad_percent = 1, bad_to_good_percent = 20 }",
        "{ good_to_bad_percent = 1, bad_to_good_percent = 20 }",
        "contradict",
        "loss_percent = 0",
    ),
    (
        "rtt_ms = 100",
        "rtt_ms = 100\nchange = [{ at_s = 5, rtt_ms = 1 }, { at_s = 5 }]",
        "5",
        "not later",
        "in order of time",
    ),
    (
        "mb = 1",
        "mb = 1\nkb = 3",
        "3",
        "size is given twice",
        "keep one of",
    ),
    ("mb = 1", "count = 1", "", "no size", "mb = 10"),
    ("mb = 1", "mb = 0", "0", "mb is out of range", "MB"),
    (
        "mb = 1",
        "mb = 1\ncount = 0",
        "0",
        "count is out of range",
        "1 to",
    ),
    (
        "mb = 1",
        "mb = 1\npair = 1",
        "1",
        "there is no pair 1",
        "use 0 to 0",
    ),
    (
        "mb = 1",
        "mb = 1\nbackground = true",
        "",
        "all flows are in the background",
        "leave background",
    ),
    (
        "mb = 1",
        "mb = 1\n[[flows]]\nmb = 2",
        "",
        "two [[flows]] are called \"download\"",
        "name",
    ),
    (
        "mb = 1",
        "mb = 1\nwrite_kb = 5",
        "5",
        "go together",
        "write both",
    ),
    (
        "mb = 1",
        "mb = 1\ncongestion_control = \"bbr9\"",
        "\"bbr9\"",
        "unknown congestion_control",
        "bbr",
    ),
    (
        "mb = 1",
        "mb = 1\n[[flows]]\nname = \"b\"\nmb = 2\ngoverned = false",
        "",
        "shares a server with \"download\"",
        "dumbbell",
    ),
    (
        "mb = 1",
        "mb = 1\n[topology]\nkind = \"ring\"",
        "\"ring\"",
        "unknown kind",
        "Known: line",
    ),
    (
        "mb = 1",
        "mb = 1\n[topology]\npairs = 3",
        "3",
        "another kind",
        "kind = \"dumbbell\"",
    ),
    (
        "mb = 1",
        "mb = 1\n[topology]\nextra_rtt_ms = [1, 2]",
        "[1, 2]",
        "2 values",
        "each of the 1 pairs",
    ),
    (
        "mb = 1",
        "mb = 1\n[[cross_traffic]]\nrate_mbit = 5\nbottleneck = 1",
        "1",
        "no bottleneck 1",
        "0 to 0",
    ),
    (
        "mb = 1",
        "mb = 1\n[[cross_traffic]]\nrate_mbit = 5\noff_s = 1",
        "",
        "never be on",
        "on_s",
    ),
    (
        "mb = 1",
        "mb = 1\n[server]\nsack = 1",
        "1",
        "true or false",
        "sack = true",
    ),
    (
        "mb = 1",
        "mb = 1\n[server]\ncongestion_control = \"cubik\"",
        "\"cubik\"",
        "unknown",
        "mean \"cubic\"",
    ),
    (
        "mb = 1",
        "mb = 1\n[run]\nrepetitions = 0",
        "0",
        "out of range",
        "1 to",
    ),
    (
        "mb = 1",
        "mb = 1\n[run]\nrepetitons = 3",
        "repetitons",
        "unknown key",
        "mean \"repetitions\"",
    ),
    (
        "mb = 1",
        "mb = 1\n[run]\nbackend = \"qemu\"",
        "\"qemu\"",
        "unknown backend",
        "sim, netns, vm",
    ),
    (
        "mb = 1",
        "mb = 1\n[run]\nlimit_s = 0",
        "0",
        "out of range",
        "0.1 to",
    ),
    (
        "mb = 1",
        "mb = 1\n[record]\nseries = 10",
        "series",
        "unknown key",
        "mean \"series_ms\"",
    ),
    (
        "mb = 1",
        "mb = 1\n[box]\nkind = \"command\"",
        "",
        "has no command",
        "{inside}",
    ),
    (
        "box.kind = \"windlass\"",
        "box = { kind = \"windlass\", algorithm = \"bbr4\" }",
        "\"bbr4\"",
        "unknown algorithm \"bbr4\"",
        "mean \"bbr\"",
    ),
    (
        "box.kind = \"windlass\"",
        "box = { kind = \"windlass\", policy = \"version = 1\\nrules = 1\" }",
        "\"version = 1\\nrules = 1\"",
        "in line 2 of the policy: unknown key \"rules\"",
        "mean \"rule\"",
    ),
    (
        "box.kind = \"windlass\"",
        "box = { kind = \"windlass\", mode = \"observe\", policy = \"version = 1\" }",
        "\"version = 1\"",
        "stands alone",
        "leave the other out",
    ),
    (
        "box.kind = \"windlass\"",
        "boxx.kind = 1",
        "boxx",
        "no table of the base",
        "mean \"box\"",
    ),
    (
        "box.kind = \"windlass\"",
        "\"box.knd\" = 1",
        "\"box.knd\"",
        "unknown key \"knd\" in [box]",
        "mean \"kind\"",
    ),
    (
        "box.kind = \"windlass\"",
        "run.seed = 2",
        "run.seed",
        "whole experiment",
        "below [run]",
    ),
    (
        "box.kind = \"windlass\"",
        "link.loss_percent = 2",
        "link.loss_percent",
        "also set by [sweep]",
        "only",
    ),
    (
        "box.kind = \"windlass\"",
        "flows.upload.mb = 2",
        "upload",
        "no element \"upload\"",
        "use its index, 0 to 0",
    ),
    (
        "box.kind = \"windlass\"",
        "link.rtt_ms.x = 2",
        "rtt_ms",
        "single value",
        "one step before",
    ),
    (
        "name = \"boxed\"",
        "name = \"native\"",
        "\"native\"",
        "two [[contestant]] are called",
        "another name",
    ),
    (
        "name = \"boxed\"",
        "",
        "",
        "[[contestant]] has no name",
        "name = ",
    ),
    (
        "link.loss_percent = [0, 1]",
        "link.loss_percent = 1",
        "1",
        "needs a list",
        "in its table",
    ),
    (
        "link.loss_percent = [0, 1]",
        "link.loss_percent = []",
        "[]",
        "no values",
        "give it a value",
    ),
    (
        "link.loss_percent = [0, 1]",
        "link.loss_percent = [1, 1.0]",
        "1.0",
        "twice",
        "repetitions",
    ),
    (
        "link.loss_percent = [0, 1]",
        "link.loss_percent = [[1]]",
        "[1]",
        "single values",
        "[[case]]",
    ),
    (
        "link.loss_percent = [0, 1]",
        "link.loss_percent = [0, 200]",
        "200",
        "out of range",
        "0 to 100",
    ),
    (
        "link.loss_percent = [0, 1]",
        "links.rtt_ms = [1]",
        "links",
        "no table",
        "mean \"link\"",
    ),
    (
        "",
        "[[check]]\nname = \"c\"\nat_most = 1\nof = \"bbr\"",
        "\"bbr\"",
        "no contestant is called \"bbr\"",
        "native",
    ),
    (
        "",
        "[[check]]\nname = \"c\"\nof = \"native\"",
        "",
        "has no limit",
        "at_most = 1.0",
    ),
    (
        "",
        "[[check]]\nname = \"c\"\nat_most = 1\nat_least = 2",
        "2",
        "exclude each other",
        "two checks",
    ),
    (
        "",
        "[[check]]\nname = \"c\"\nat_most = 1\nalong = \"case\"",
        "\"case\"",
        "no order",
        "[sweep]",
    ),
    (
        "",
        "[[check]]\nname = \"c\"\nat_most = 1\nof = \"boxed\"\nto = \"native\"\nalong = \"loss_percent\"",
        "\"loss_percent\"",
        "with itself",
        "two checks",
    ),
    (
        "",
        "[[check]]\nname = \"c\"\nat_most = 1\nmetric = \"time\"",
        "\"time\"",
        "unknown metric",
        "seconds",
    ),
    (
        "",
        "[[check]]\nname = \"c\"\nat_most = 1\nwhere = { rtt_ms = 1 }",
        "rtt_ms",
        "not swept",
        "loss_percent",
    ),
    (
        "",
        "[[check]]\nname = \"c\"\nat_most = 1\nwhere = { loss_percent = \">= 2\" }",
        "{ loss_percent = \">= 2\" }",
        "no cell",
        "[sweep]",
    ),
    (
        "",
        "[[check]]\nname = \"c\"\nat_most = 1\nover = \"pooled\"\nto = \"native\"",
        "\"native\"",
        "pooled",
        "leave out",
    ),
    (
        "",
        "[[check]]\nname = \"c\"\nat_most = 1\nmetric = \"share_percent\"",
        "",
        "of which flows",
        "flow = ",
    ),
    (
        "",
        "[[check]]\nname = \"c\"\nat_most = 1\nflow = \"upload\"",
        "\"upload\"",
        "no [[flows]]",
        "download",
    ),
    (
        "",
        "[report]\nreference = \"cubic\"",
        "\"cubic\"",
        "no contestant",
        "native",
    ),
    (
        "",
        "[report]\nheatmap = { x = \"rtt_ms\", y = \"loss_percent\" }",
        "\"rtt_ms\"",
        "not swept",
        "loss_percent",
    ),
    (
        "",
        "[report]\nheatmap = { x = \"loss_percent\", y = \"loss_percent\" }",
        "{ x = \"loss_percent\", y = \"loss_percent\" }",
        "compares with",
        "reference = ",
    ),
    (
        "",
        "[[paper]]\ntitle = \"t\"\nsource = \"s\"\nrows = [{ label = \"l\", of = \"boxed\", value = 1, to = \"native\" }]",
        "\"native\"",
        "go together",
        "write both",
    ),
    (
        "",
        "[[case]]\nname = \"c\"\n\"link.loss_percent\" = 0",
        "\"link.loss_percent\"",
        "also set by [sweep]",
        "only",
    ),
    (
        "",
        "[[case]]\nname = \"c\"\nbox.kind = \"nothing\"",
        "",
        "also set by a [[case]]",
        "only",
    ),
    (
        "mb = 1",
        "mb = 1\n[run]\nlimit_s = 5\nduration_s = 6",
        "6",
        "exclude each other",
        "keep limit_s",
    ),
    (
        "mb = 1",
        "mb = 1\n[run]\nmeasure_from_s = 6",
        "6",
        "fixed length",
        "duration_s",
    ),
    (
        "mb = 1",
        "mb = 1\n[record]\nseries_ms = 100\n[run]\nduration_s = 5\nmeasure_from_s = 6",
        "6",
        "nothing of the run",
        "less than",
    ),
    (
        "mb = 1",
        "mb = 1\ntransport = \"quic\"\nwrite_kb = 1\npause_ms = 1",
        "\"quic\"",
        "does not pause",
        "leave write_kb",
    ),
    (
        "mb = 1",
        "mb = 1\n[run]\nreach_mbit = 6",
        "6",
        "reach_mbit is for runs of a fixed length",
        "duration_s",
    ),
    (
        "mb = 1",
        "mb = 1\n[run]\nduration_s = 5\nreach_mbit = 2",
        "2",
        "had arrived",
        "series_ms = 100",
    ),
    (
        "mb = 1",
        "mb = 1\n[run]\nduration_s = 5\nmeasure_from_s = 2",
        "2",
        "had arrived",
        "series_ms = 100",
    ),
    (
        "link.loss_percent = [0, 1]",
        "rtt_ms = [1, 2]",
        "rtt_ms",
        "no string says {rtt_ms}",
        "link.rtt_ms",
    ),
    (
        "link.loss_percent = [0, 1]",
        "contestant = [1, 2]",
        "contestant",
        "column of every row",
        "another word",
    ),
    (
        "",
        "[[check]]\nname = \"c\"\nat_most = 1\neach = \"rtt_ms\"",
        "\"rtt_ms\"",
        "not swept",
        "loss_percent",
    ),
    (
        "",
        "[[check]]\nname = \"c\"\nat_most = 1\nmetric = \"window_error_percent\"",
        "",
        "compared with whom",
        "to = ",
    ),
    (
        "",
        "[[check]]\nname = \"c\"\nat_most = 1\nto = \"native\"\nminus = \"boxed\"",
        "\"boxed\"",
        "exclude each other",
        "keep to",
    ),
    (
        "",
        "[[finding]]\nname = \"slow\"\nat_most = 1",
        "",
        "has no each",
        "contestant",
    ),
    (
        "",
        "[[finding]]\nname = \"slow\"\neach = \"case\"\nat_most = 1\n[[finding]]\nname = \"slow\"\neach = \"case\"\nat_most = 1",
        "",
        "two [[finding]]",
        "another name",
    ),
    (
        "",
        "[[report.map]]\ntitle = \"t\"\nmetric = \"jain\"\nx = \"contestant\"\ny = \"loss\"\ngood = 1\nbad = 0",
        "\"loss\"",
        "not swept",
        "loss_percent",
    ),
    (
        "",
        "[[report.map]]\ntitle = \"t\"\nmetric = \"jain\"\nx = \"case\"\ny = \"case\"\ngood = 1\nbad = 0",
        "\"case\"",
        "are the same",
        "another one",
    ),
    (
        "",
        "[[report.map]]\ntitle = \"t\"\nmetric = \"jain\"\nx = \"case\"\ny = \"contestant\"\ngood = 1\nbad = 1",
        "1",
        "are the same",
        "greater or less",
    ),
    (
        "",
        "[[report.map]]\ntitle = \"t\"\nmetric = \"jain\"\nx = \"case\"\ny = \"contestant\"\ngood = 1\nbad = 0\nother_bad = 0.5",
        "0.5",
        "same side",
        "leave other_bad out",
    ),
    (
        "",
        "[[report.map]]\ntitle = \"t\"\nmetric = \"share_percent\"\nx = \"case\"\ny = \"contestant\"\ngood = 50\nbad = 0",
        "",
        "of which flows",
        "flow = ",
    ),
    (
        "",
        "[[report.map]]\ntitle = \"t\"\nx = \"case\"\ny = \"contestant\"\ngood = 50\nbad = 0",
        "",
        "has no metric",
        "share_percent",
    ),
];

/// Where the mistake must point, in the text with the bad line.
fn place(text: &str, from: usize, at: &str) -> (usize, usize) {
    let start = from + text[from..].find(at).expect("what it points at");
    let before = &text[..start];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    (before.matches('\n').count() + 1, start - line_start + 1)
}

#[test]
fn every_mistake_is_found_and_mended() {
    for (line, bad, at, what, help) in BAD {
        let text = match line.is_empty() {
            true => format!("{GOOD}{bad}\n"),
            false => GOOD.replacen(line, bad, 1),
        };
        let error = mistake(&text);
        assert!(error.what.contains(what), "{bad}: {error}");
        assert!(error.help.contains(help), "{bad}: {error}");
        if !at.is_empty() {
            let from = match line.is_empty() {
                true => GOOD.len(),
                false => GOOD.find(line).expect("a line of the good file"),
            };
            // Behind the key, where the key itself is not meant.
            let key = bad
                .rfind(&format!("= {at}"))
                .map_or_else(|| bad.find(at).unwrap_or(0), |i| i + 2);
            let (line, column) = place(&text, from + key, at);
            assert_eq!((error.line, error.column), (line, column), "{bad}: {error}");
        }
    }
}

#[test]
fn the_base_of_the_table_has_no_mistake() {
    let experiment = Experiment::parse(GOOD, "x.toml", Settings::default()).expect("no mistake");
    assert_eq!(experiment.runs.len(), 4);
}

#[test]
fn the_whole_message_reads_well() {
    let text = GOOD.replace("link.loss_percent = [0, 1]", "link.loss_percent = [0, 200]");
    assert_eq!(
        mistake(&text).to_string(),
        "x.toml:9:25: loss_percent is out of range: 200\n  \
         9 | link.loss_percent = [0, 200]\n    \
           |                         ^^^\n  \
         help: use 0 to 100 percent"
    );
}

#[test]
fn an_absurd_number_of_runs_is_refused() {
    let values: Vec<String> = (1..=400).map(|n| n.to_string()).collect();
    let values = values.join(", ");
    let sweep = format!("link.queue_kb = [{values}]\nlink.rtt_ms = [{values}]");
    let error = mistake(&GOOD.replace("link.loss_percent = [0, 1]", &sweep));
    assert!(error.what.contains("320000 runs"), "{error}");
    assert!(error.help.contains("100000"), "{error}");
}

#[test]
fn no_text_panics() {
    for end in 0..GOOD.len() {
        let _ = Experiment::parse(&GOOD[..end], "x.toml", Settings::default());
        let _ = Experiment::parse(&GOOD[end..], "x.toml", Settings::default());
    }
}
