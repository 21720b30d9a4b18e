//! A box that only watches computes the window that the server's own algorithm has, from the server's
//! packets: in virtual time, with one of Windlass's algorithms in the server and the same in the box.

use windlass_cc::Catalog;
use windlass_experiment::observed::{Observed, Sample, Source};
use windlass_experiment::setup::{Change, Direction, Loss};
use windlass_experiment::{Experiment, Settings, Setup, check, rows};
use windlass_lab::backend::Backend;
use windlass_lab::backend::sim::Sim;

const FILE: &str = r#"
version = 1
name = "advice"
[link]
rate_mbit = 10
rtt_ms = 60
queue_bdp = 1
[[flows]]
name = "one"
mb = 200
[run]
duration_s = 20
[record]
series_ms = 20
[[contestant]]
name = "watched"
server.algorithm = { name = "{algorithm}", like = "linux" }
box = { kind = "windlass", mode = "advise", algorithm = { name = "{algorithm}", like = "linux" } }
"#;

/// What the server has, in that.
const OWN: &str = "server.algorithm = { name = \"{algorithm}\", like = \"linux\" }";

const EACH: &str = r#"
[sweep]
algorithm = [
    "reno", "cubic", "bic", "highspeed", "htcp", "hybla", "illinois", "scalable", "vegas", "veno", "westwood", "yeah",
    "compound", "dctcp",
]
[[case]]
name = "1e-3"
link.loss_percent = 0.1
[[case]]
name = "1e-2"
link.loss_percent = 1
[[check]]
name = "the server's window"
each = "algorithm"
metric = "advice_error_percent"
over = "max"
at_most = 5
"#;

fn experiment(rest: &str) -> Experiment {
    experiment_of(FILE, rest)
}

fn experiment_of(file: &str, rest: &str) -> Experiment {
    let text = format!("{file}{rest}");
    let read = Experiment::parse(&text, "advice.toml", Settings::default(), &Catalog::new());
    read.unwrap_or_else(|e| panic!("{e}"))
}

fn run(setups: &[Setup]) -> Vec<Observed> {
    let mut all = Vec::new();
    let mut take = |_, observed: Observed| {
        assert_eq!(observed.error, None);
        all.push(observed);
    };
    Sim.run(setups, &Catalog::new(), &mut take)
        .expect("simulated");
    all
}

fn checked(experiment: &Experiment) -> Vec<check::Verdict> {
    let setups: Vec<Setup> = experiment.runs.iter().map(|r| r.setup.clone()).collect();
    let observed = run(&setups);
    let rows = observed.iter().enumerate();
    let rows: Vec<_> = rows.flat_map(|(i, o)| rows::of(experiment, i, o)).collect();
    check::all(experiment, &rows)
}

#[test]
fn each_algorithm_is_what_its_server_does() {
    let verdicts = checked(&experiment(EACH));
    assert_eq!(verdicts.len(), 14);
    for verdict in verdicts {
        assert!(verdict.pass, "{verdict:?}");
    }
}

#[test]
fn another_algorithm_is_not() {
    let scalable = "server.algorithm = \"scalable\"";
    let file = FILE.replace(OWN, scalable);
    assert_ne!(file, FILE);
    let verdicts = checked(&experiment_of(&file, EACH));
    let off = verdicts.iter().filter(|v| v.value > Some(10.0)).count();
    assert!(off >= 10, "{verdicts:?}");
}

/// One run of a Reno server, changed.
fn reno(change: impl FnOnce(&mut Setup)) -> Observed {
    let experiment = experiment("[sweep]\nalgorithm = [\"reno\"]\n");
    let mut setup = experiment.runs[0].setup.clone();
    change(&mut setup);
    run(&[setup]).remove(0)
}

fn samples(observed: &Observed, source: Source) -> &[Sample] {
    let found = observed.series.iter().find(|s| s.source == source);
    &found.expect("sampled").samples
}

fn window_at(observed: &Observed, source: Source, time_s: f64) -> f64 {
    let samples = samples(observed, source);
    let next = samples.iter().find(|s| s.time_s >= time_s);
    next.and_then(|s| s.cwnd_packets).expect("sampled then")
}

#[test]
fn time_outs_of_the_server_are_seen() {
    const SECOND: u64 = 1_000_000_000;
    let observed = reno(|setup| {
        let link = &mut setup.bottlenecks[0];
        let dark = Direction {
            loss: Loss::Independent { ratio: 1.0 },
            ..link.down
        };
        let change = |at_s: u64, down| Change {
            at_ns: at_s * SECOND,
            down,
            up: link.up,
        };
        link.changes = vec![change(5, dark), change(7, link.down)];
    });
    assert!(observed.flows[0].server_timeouts > Some(1));
    let at = |time_s| [Source::Server, Source::Advice].map(|s| window_at(&observed, s, time_s));
    let [server, advice] = at(4.9);
    assert!(server > 50.0 && (advice / server - 1.0).abs() < 0.05);
    assert_eq!(at(6.9), [1.0, 1.0]);
    let [server, advice] = at(12.0);
    assert!((advice / server - 1.0).abs() < 0.1, "{advice}, {server}");
}

/// A source that has three packets every 20 ms uses nine in flight, whatever window it has.
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let observed = reno(|setup| {
        setup.flows[0].write_bytes = 3 * 1448;
        setup.flows[0].pause_ns = 20_000_000;
    });
    let last = samples(&observed, Source::Advice).last();
    let flight = last.and_then(|s| s.inflight_packets).expect("sampled");
    assert!((8.0..13.0).contains(&flight), "{flight}");
    let [early, late] = [1.0, 19.0].map(|time_s| window_at(&observed, Source::Advice, time_s));
    assert!(early < 40.0 && late == early, "{early}, {late}");
}
