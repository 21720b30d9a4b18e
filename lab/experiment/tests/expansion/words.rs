//! Words of an experiment file that stand for others.

use windlass_cc::Catalog;
use windlass_experiment::setup::PathBox;
use windlass_experiment::{Experiment, Settings};

use super::{FLOWS, LINK, read};

const WORDS: &str = r#"
version = 1
name = "words"
[link]
rate_mbit = "{rate}"
rtt_ms = 100
[[flows]]
name = "of-{algorithm}-{rate}"
mb = 1
[record]
series_ms = 100
[run]
duration_s = 20
measure_from_s = 5
reach_mbit = 2.5
[sweep]
algorithm = ["reno", "bbr3"]
rate = [5, 0.5]
[[contestant]]
name = "native"
server.congestion_control = "{algorithm}"
[[contestant]]
name = "boxed"
box = { kind = "windlass", algorithm = "{algorithm}" }
run.simulated = true
"#;

#[test]
fn words_stand_where_strings_say_them() {
    let experiment = read(WORDS);
    assert_eq!(experiment.parameters, ["algorithm", "rate"]);
    assert_eq!(experiment.runs.len(), 8);
    let last = &experiment.runs[6].setup;
    assert_eq!(last.servers[0].congestion_control, "bbr3");
    assert_eq!(last.bottlenecks[0].down.rate_bits_per_s, 500_000);
    assert_eq!(last.flows[0].name, "of-bbr3-0.5");
    let PathBox::Windlass { policy } = &experiment.runs[7].setup.path_box else {
        panic!("no box");
    };
    assert!(policy.contains("algorithm = \"bbr3\""), "{policy}");
    let named = |run: usize| experiment.runs[run].setup.box_algorithm.clone();
    assert_eq!(named(7).map(|a| a.name), Some("bbr3".to_owned()));
    assert_eq!(named(6), None);
}

#[test]
fn a_mistake_in_a_word_is_shown_where_its_value_stands() {
    let text = WORDS.replace("\"bbr3\"]", "\"bbr4\"]");
    let mistake =
        Experiment::parse(&text, "x.toml", Settings::default(), &Catalog::new()).expect_err("bbr4");
    assert!(
        mistake
            .to_string()
            .contains("algorithm = [\"reno\", \"bbr4\"]"),
        "{mistake}"
    );
}

#[test]
fn runs_of_fixed_length_go_to_their_limit() {
    let setup = &read(WORDS).runs[0].setup;
    assert!(setup.fixed_length && !setup.simulated);
    let s = 1_000_000_000;
    assert_eq!((setup.limit_ns, setup.measure.from_ns), (20 * s, 5 * s));
    assert_eq!(setup.measure.reach_bits_per_s, 2_500_000);
    assert!(read(WORDS).runs[1].setup.simulated);
    assert!(!super::setup(&format!("{LINK}{FLOWS}")).fixed_length);
}
