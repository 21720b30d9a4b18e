//! The paths of experiments/rough.toml in virtual time: as fast as BBR in the server where timing is irregular. The bars of
//! the file are for the guest and five repetitions; these are for two, and for `make test`.

mod bars;

use windlass_cc::Catalog;
use windlass_experiment::{Experiment, Settings};

const FILE: &str = include_str!("../../../experiments/rough.toml");

const BARS: &str = r#"
[[check]]
name = "intact"
metric = "failed_percent"
over = "pooled"
at_most = 0
[[check]]
name = "on the whole"
of = ["box-off", "box-early"]
to = "bbr"
over = "geometric_mean"
at_most = 1.03
[[check]]
name = "on the worst path"
of = ["box-off", "box-early"]
to = "bbr"
over = "max"
at_most = 1.3
"#;

#[test]
fn behind_the_box_irregular_timing_costs_no_more_than_in_the_server() {
    let (paths, _) = FILE.split_once("[[check]]").expect("it ends with checks");
    let settings = Settings {
        repetitions: Some(2),
        seed: None,
    };
    // The traces stand beside the file.
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/rough.toml");
    let read = Experiment::parse(&format!("{paths}{BARS}"), place, settings, &Catalog::new());
    let experiment = read.unwrap_or_else(|e| panic!("{e}"));
    bars::hold(experiment, &["bbr", "box-off", "box-early"]);
}
