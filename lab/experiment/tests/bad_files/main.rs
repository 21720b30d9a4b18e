//! Every mistake is found where it is, before anything runs, and its remedy named.

mod contestants;
mod link;
mod results;
mod traffic;

use windlass_cc::Catalog;
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
    Experiment::parse(text, "x.toml", Settings::default(), &Catalog::new()).expect_err(text)
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

const TABLES: &[&[Bad]] = &[link::BAD, traffic::BAD, contestants::BAD, results::BAD];

/// Every row of every table.
fn bad() -> impl Iterator<Item = &'static Bad> {
    TABLES.iter().copied().flatten()
}

/// Where the mistake must point, in the text with the bad line.
fn place(text: &str, from: usize, at: &str) -> (usize, usize) {
    let start = from + text[from..].find(at).expect("what it points at");
    let before = &text[..start];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    (before.matches('\n').count() + 1, start - line_start + 1)
}

#[test]
fn every_mistake_is_found_and_mended() {
    for (line, bad, at, what, help) in bad() {
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
    let experiment = Experiment::parse(GOOD, "x.toml", Settings::default(), &Catalog::new())
        .expect("no mistake");
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
        let _ = Experiment::parse(&GOOD[..end], "x.toml", Settings::default(), &Catalog::new());
        let _ = Experiment::parse(&GOOD[end..], "x.toml", Settings::default(), &Catalog::new());
    }
}
