//! Figures of the bridge and of the box side by side, and whether they meet their bars.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;

use serde_json::{Value, json};

/// What a figure of the box has to reach.
#[derive(Clone, Copy, Debug)]
pub enum Bar {
    AtLeast(f64),
    AtMost(f64),
    /// So many times the bridge's, at least.
    OfBridgeAtLeast(f64),
    OfBridgeAtMost(f64),
    /// Shown for comparison.
    None,
}

/// Whether a missed bar fails the test: not yet for those that are still to be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weight {
    Held,
    Aim,
}

struct Row {
    scenario: String,
    figure: String,
    bridge: Option<f64>,
    windlass: f64,
    bar: Bar,
    weight: Weight,
}

impl Row {
    fn ratio(&self) -> Option<f64> {
        self.bridge.filter(|b| *b != 0.0).map(|b| self.windlass / b)
    }

    /// None: there is no bar.
    fn met(&self) -> Option<bool> {
        let bridge = self.bridge.unwrap_or(0.0);
        match self.bar {
            Bar::AtLeast(least) => Some(self.windlass >= least),
            Bar::AtMost(most) => Some(self.windlass <= most),
            Bar::OfBridgeAtLeast(share) => Some(self.windlass >= share * bridge),
            Bar::OfBridgeAtMost(share) => Some(self.windlass <= share * bridge),
            Bar::None => None,
        }
    }

    fn verdict(&self) -> &'static str {
        match self.met() {
            None => "",
            Some(true) => "met",
            Some(false) => "MISSED",
        }
    }

    fn bar_text(&self) -> String {
        match self.bar {
            Bar::AtLeast(least) => format!("≥ {least}"),
            Bar::AtMost(most) => format!("≤ {most}"),
            Bar::OfBridgeAtLeast(share) => format!("≥ {share} × bridge"),
            Bar::OfBridgeAtMost(share) => format!("≤ {share} × bridge"),
            Bar::None => String::new(),
        }
    }

    fn markdown(&self) -> String {
        let number = |n: Option<f64>| n.map_or_else(|| "–".to_owned(), short);
        format!(
            "| {} | {} | {} | {} | {} | {} | {} |",
            self.scenario,
            self.figure,
            number(self.bridge),
            short(self.windlass),
            number(self.ratio()),
            self.bar_text(),
            self.verdict()
        )
    }

    fn json(&self) -> Value {
        json!({
            "scenario": self.scenario,
            "figure": self.figure,
            "bridge": self.bridge,
            "windlass": self.windlass,
            "ratio": self.ratio(),
            "bar": self.bar_text(),
            "met": self.met(),
            "enforced": self.weight == Weight::Held,
        })
    }
}

/// Three digits that count.
fn short(number: f64) -> String {
    match number.abs() {
        n if n >= 100.0 || number.fract() == 0.0 => format!("{number:.0}"),
        n if n >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

const INTRODUCTION: &str = include_str!("intro.md");
const HEAD: &str =
    "| scenario | figure | bridge | Windlass | ratio | bar | |\n|---|---|---|---|---|---|---|\n";

static ROWS: Mutex<Vec<Row>> = Mutex::new(Vec::new());

/// The rows of one scenario.
pub struct Report {
    scenario: String,
    missed: Vec<String>,
}

impl Report {
    pub fn new(scenario: &str) -> Report {
        Report {
            scenario: scenario.to_owned(),
            missed: Vec::new(),
        }
    }

    /// A figure of both.
    pub fn compare(
        &mut self,
        figure: &str,
        [bridge, windlass]: [f64; 2],
        bar: Bar,
        weight: Weight,
    ) {
        self.add(figure, Some(bridge), windlass, bar, weight);
    }

    /// A figure that the bridge does not have.
    pub fn tell(&mut self, figure: &str, windlass: f64, bar: Bar, weight: Weight) {
        self.add(figure, None, windlass, bar, weight);
    }

    fn add(&mut self, figure: &str, bridge: Option<f64>, windlass: f64, bar: Bar, weight: Weight) {
        let row = Row {
            scenario: self.scenario.clone(),
            figure: figure.to_owned(),
            bridge,
            windlass,
            bar,
            weight,
        };
        let line = row.markdown();
        println!("{line}");
        if row.met() == Some(false) && weight == Weight::Held {
            self.missed.push(line);
        }
        let mut rows = ROWS.lock().expect("no panic");
        rows.push(row);
        write_all(&rows);
    }

    /// The test fails if a bar that is held was missed.
    pub fn check(self) {
        assert!(self.missed.is_empty(), "missed: {:#?}", self.missed);
    }
}

/// `results.json` and `faults.md`, after each row: a scenario that fails leaves what it has found.
fn write_all(rows: &[Row]) {
    let folder = match std::env::var_os("WINDLASS_FAULTS_REPORT") {
        Some(named) => PathBuf::from(named),
        None => PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("faults"),
    };
    let mut table = format!("{INTRODUCTION}{HEAD}");
    for row in rows {
        writeln!(table, "{}", row.markdown()).expect("a string");
    }
    let all: Vec<Value> = rows.iter().map(Row::json).collect();
    let text = serde_json::to_string_pretty(&all).expect("JSON");
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join("faults.md"), table))
        .and_then(|()| std::fs::write(folder.join("results.json"), text));
    written.unwrap_or_else(|e| panic!("cannot write to {}: {e}", folder.display()));
}

#[test]
fn bars_are_judged() {
    let row = |bridge, windlass, bar| Row {
        scenario: String::new(),
        figure: String::new(),
        bridge,
        windlass,
        bar,
        weight: Weight::Aim,
    };
    assert_eq!(
        row(Some(100.0), 94.0, Bar::OfBridgeAtLeast(0.95)).met(),
        Some(false)
    );
    assert_eq!(
        row(Some(100.0), 95.0, Bar::OfBridgeAtLeast(0.95)).met(),
        Some(true)
    );
    assert_eq!(row(None, 0.0, Bar::AtMost(0.0)).met(), Some(true));
    assert_eq!(row(None, 1.0, Bar::None).met(), None);
}
