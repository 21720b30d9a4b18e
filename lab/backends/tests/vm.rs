//! The `vm` back end on a few cells, twice. Skips with the reason where guests cannot run.
//!
//! `WINDLASS_BIN` names the program (otherwise the one of the same build, as `cargo test
//! --workspace` leaves it).

mod program;

use windlass_cc::Catalog;
use windlass_experiment::setup::PathBox;
use windlass_experiment::{Condition, Experiment, Observed, Settings, Setup, check, rows};
use windlass_lab::backend::Backend;
use windlass_lab::backend::vm::Vm;
use windlass_lab::programs::Programs;

use program::program;

const OPEN_VSWITCH: &str = include_str!("../../../experiments/openvswitch.toml");
const EXPERIMENT: &str = include_str!("../../../experiments/smoke.toml");
const LAW: &str = include_str!("../../../experiments/conformance-law.toml");
/// What two runs of the same list may differ by.
const MAX_DIFFERENCE: f64 = 0.01;

#[test]
fn transfers_are_intact_and_take_the_same_time_again() {
    if !guests_can_run() {
        return;
    }
    let setups = setups();
    let first = run(&setups);
    for observed in &first {
        assert_eq!(observed.error, None);
        assert!(observed.flows.iter().all(|flow| flow.intact));
        assert!(!observed.series.is_empty());
    }
    let second = run(&setups);
    for (first, second) in seconds(&first).zip(seconds(&second)) {
        let difference = (first / second - 1.0).abs();
        assert!(difference < MAX_DIFFERENCE, "{first} s, then {second} s");
    }
}

#[test]
fn a_setup_that_kills_its_guest_has_failed_and_the_others_have_not() {
    if !guests_can_run() {
        return;
    }
    let mut setups: Vec<Setup> = setups().into_iter().take(1).collect();
    setups.extend([setups[0].clone(), setups[0].clone(), setups[0].clone()]);
    let panic = ["sh", "-c", "echo c >/proc/sysrq-trigger"];
    setups[0].path_box = PathBox::Command {
        words: panic.map(str::to_owned).to_vec(),
    };
    let all = run(&setups);
    let error = all[0].error.as_deref().expect("it failed");
    assert!(error.contains("Kernel panic"), "{error}");
    for observed in &all[1..] {
        assert_eq!(observed.error, None);
        assert!(observed.flows.iter().all(|flow| flow.intact));
    }
}

/// With the kernel's datapath, which this host need not have.
#[test]
fn the_box_governs_in_a_bridge_of_open_vswitch() {
    if !guests_can_run() {
        return;
    }
    let found = windlass_lab::command::check_host(&windlass_lab::openvswitch::NEEDED);
    if let Err(reason) = found {
        println!("skipped: {reason:#}");
        return;
    }
    let settings = Settings {
        repetitions: Some(1),
        ..Settings::default()
    };
    let experiment = Experiment::parse(OPEN_VSWITCH, "openvswitch.toml", settings, &Catalog::new());
    let experiment = experiment.expect("an experiment");
    let wanted = ["switch-alone", "windlass-in-switch"];
    let wanted = wanted.map(|name| experiment.contestants.iter().position(|c| c == name));
    let runs = experiment.runs.into_iter();
    let runs = runs.filter(|run| wanted.contains(&Some(run.contestant)));
    let setups: Vec<Setup> = runs.map(|run| run.setup).collect();
    let all = run(&setups);
    for observed in &all {
        assert_eq!(observed.error, None);
        assert!(observed.flows.iter().all(|flow| flow.intact));
    }
    let seconds: Vec<f64> = seconds(&all).collect();
    let [alone, governed] = seconds.as_slice() else {
        panic!("{seconds:?}");
    };
    println!("{alone} s without, {governed} s with the box");
    assert!(*governed < 0.2 * alone, "{governed} s beside {alone} s");
}

/// Of `make conformance`, one rate of loss and two of the kernel's modules: of one that counts, and of one
/// that looks at the clock and at round trips too.
#[test]
fn a_law_has_the_kernels_window_on_the_kernels_own_trace() {
    if !guests_can_run() {
        return;
    }
    let experiment = Experiment::parse(
        LAW,
        "conformance-law.toml",
        Settings::default(),
        &Catalog::new(),
    );
    let mut experiment = experiment.expect("an experiment");
    let conditions = ["algorithm=reno,htcp", "case=loss-1e-3"].map(Condition::of_text);
    let conditions: Vec<Condition> = conditions.into_iter().collect::<Result<_, _>>().unwrap();
    experiment.select(&[], &conditions).expect("two runs");
    let setups: Vec<Setup> = experiment.runs.iter().map(|r| r.setup.clone()).collect();
    let all = run(&setups);
    let rows = all.iter().enumerate();
    let rows: Vec<_> = rows
        .flat_map(|(i, o)| rows::of(&experiment, i, o))
        .collect();
    let verdicts = check::all(&experiment, &rows);
    assert_eq!(rows.len(), 2);
    for verdict in verdicts.iter().filter(|v| v.value.is_some()) {
        println!("{verdict:?}");
        assert!(verdict.pass, "{verdict:?}");
    }
    for row in rows {
        let error = row.advice_error_percent.expect("both were watched");
        assert!(error > 0.0, "nobody is that good: {row:?}");
    }
}

fn guests_can_run() -> bool {
    let checked = windlass_guest::check_host();
    if let Err(reason) = &checked {
        println!("skipped: {reason:#}");
    }
    checked.is_ok()
}

fn setups() -> Vec<Setup> {
    let experiment = Experiment::parse(
        EXPERIMENT,
        "smoke.toml",
        Settings::default(),
        &Catalog::new(),
    );
    let runs = experiment.expect("an experiment").runs;
    runs.into_iter().map(|run| run.setup).collect()
}

fn run(setups: &[Setup]) -> Vec<Observed> {
    let mut all = vec![None; setups.len()];
    let result =
        Vm::new(Programs::of(program())).run(setups, &Catalog::new(), &mut |index, observed| {
            assert!(all[index].is_none(), "setup {index} ran twice");
            all[index] = Some(observed);
        });
    result.expect("all have run");
    let all = all.into_iter().enumerate();
    all.map(|(index, came)| came.unwrap_or_else(|| panic!("setup {index} did not run")))
        .collect()
}

fn seconds(all: &[Observed]) -> impl Iterator<Item = f64> {
    all.iter().flat_map(|o| &o.flows).map(|flow| flow.seconds)
}
