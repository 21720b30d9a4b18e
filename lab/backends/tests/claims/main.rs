//! Figures of the manual beside what the simulator says now. `claims.toml` beside it has the figures, where they stand, what makes
//! them, and how far off they may be. `WINDLASS_CLAIMS=1` runs the experiments that take minutes (`make claims`), `WINDLASS_CLAIMS=all`
//! the slow ones too (`make soak`), and `WINDLASS_CLAIMS=tcon-fig6` this one; without it, only the pages are read.

mod claim;
mod outcome;
mod page;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use claim::{Claim, all, root};
use outcome::Outcome;

/// Runs an experiment in the simulator. Checks of its own may fail: that is for its own command to say.
fn run(name: &str, select: &[String], folder: &Path) -> Outcome {
    let json = folder.join("results.json");
    let _ = fs::remove_file(&json);
    let mut lab = Command::new(env!("CARGO_BIN_EXE_windlass-lab"));
    lab.current_dir(root());
    lab.args([
        "run",
        &format!("experiments/{name}.toml"),
        "--backend",
        "sim",
        "--json",
    ]);
    let done = lab.arg(&json).args(select).output().unwrap();
    let text = fs::read_to_string(&json);
    let text =
        text.unwrap_or_else(|e| panic!("{name}: {e}: {}", String::from_utf8_lossy(&done.stderr)));
    serde_json::from_str(&text).unwrap()
}

fn timed(claim: &Claim, folder: &Path) -> Outcome {
    let began = Instant::now();
    let outcome = run(&claim.experiment, &claim.select, folder);
    let words = claim.select.join(" ");
    eprintln!(
        "       {} {words}: {:.0} s",
        claim.experiment,
        began.elapsed().as_secs_f64()
    );
    outcome
}

#[test]
fn every_figure_stands_in_its_page() {
    let claims = all();
    assert!(claims.len() > 20, "{}", claims.len());
    for claim in claims {
        assert!(claim.figure().is_finite());
        claim.names_its_experiment();
        assert!(claim.tolerance() > 0.0);
    }
}

#[test]
fn the_simulator_says_what_the_manual_says() {
    let Some(which) = std::env::var_os("WINDLASS_CLAIMS") else {
        eprintln!("skipped: takes minutes; make claims (WINDLASS_CLAIMS=1) does it");
        return;
    };
    let chosen = |claim: &Claim| match which.to_str() {
        Some("all") => true,
        Some("1") => !claim.slow,
        name => name == Some(claim.experiment.as_str()),
    };
    assert!(
        all().iter().any(chosen),
        "WINDLASS_CLAIMS: no such experiment has a claim"
    );
    let folder = tempfile::tempdir().unwrap();
    let mut outcomes: BTreeMap<(String, Vec<String>), Outcome> = BTreeMap::new();
    let mut wrong = 0;
    for claim in all().into_iter().filter(chosen) {
        let outcome = outcomes
            .entry((claim.experiment.clone(), claim.select.clone()))
            .or_insert_with(|| timed(&claim, folder.path()));
        let (said, is) = (claim.figure(), claim.source.value(outcome));
        let far = (is - said).abs() > claim.tolerance();
        wrong += usize::from(far);
        let verdict = if far { "WRONG" } else { "right" };
        eprintln!(
            "{verdict}  {}: \"{}\", {}: {said}, is {is:.4} (± {})",
            claim.page.display(),
            claim.place.row,
            claim.place.column,
            claim.tolerance()
        );
    }
    assert_eq!(
        wrong, 0,
        "figures of the manual are not what the simulator says"
    );
}
