//! Virtual time in this process: no kernel, no root, and the same result to the last bit.

mod flows;
pub(crate) mod network;
mod observe;
mod run;
#[cfg(test)]
mod setup_tests;
mod watch;

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use anyhow::{Result, bail};
use windlass_cc::Catalog;
use windlass_experiment::setup::PathBox;
use windlass_experiment::{Observed, Setup};
use windlass_policy::Config;
use windlass_sim::stalls::Stalls;
use windlass_sim::{EngineBox, Middlebox, NoBox};

pub use run::run;

use network::stall_config;

use super::Backend;
use crate::cleanup::{check_interrupted, interrupted};

/// The simulator. Uses every core; results come in the order of the setups.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sim;

impl Backend for Sim {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn run(
        &mut self,
        setups: &[Setup],
        catalog: &Catalog,
        done: &mut dyn FnMut(usize, Observed),
    ) -> Result<()> {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let next = AtomicUsize::new(0);
        let stopped = AtomicBool::new(false);
        let all_came = thread::scope(|scope| {
            let (sender, results) = mpsc::channel();
            for _ in 0..cores.min(setups.len()) {
                let sender = sender.clone();
                let (next, stopped) = (&next, &stopped);
                scope.spawn(move || work(setups, catalog, next, stopped, &sender));
            }
            drop(sender);
            let all_came = in_order(&results, setups.len(), done);
            stopped.store(true, Ordering::Relaxed);
            all_came
        });
        check_interrupted()?;
        if !all_came {
            bail!("a simulation broke off");
        }
        Ok(())
    }
}

/// Runs those of the setups that are to be simulated whatever the back end.
pub(super) fn run_simulated(
    setups: &[Setup],
    catalog: &Catalog,
    done: &mut dyn FnMut(usize, Observed),
) -> Result<()> {
    let ours = setups.iter().enumerate().filter(|(_, s)| s.simulated);
    let (indices, setups): (Vec<usize>, Vec<Setup>) = ours.map(|(i, s)| (i, s.clone())).unzip();
    Sim.run(&setups, catalog, &mut |at, observed| {
        done(indices[at], observed)
    })
}

/// Runs one setup after the other that nobody else has taken.
fn work(
    setups: &[Setup],
    catalog: &Catalog,
    next: &AtomicUsize,
    stopped: &AtomicBool,
    results: &Sender<(usize, Observed)>,
) {
    while !stopped.load(Ordering::Relaxed) && !interrupted() {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some(setup) = setups.get(index) else {
            return;
        };
        if results.send((index, observe(setup, catalog))).is_err() {
            return;
        }
    }
}

/// Hands out what comes, by index. True if all `count` have come.
fn in_order(
    results: &Receiver<(usize, Observed)>,
    count: usize,
    done: &mut dyn FnMut(usize, Observed),
) -> bool {
    let mut early = BTreeMap::new();
    let mut next = 0;
    for (index, observed) in results {
        early.insert(index, observed);
        while let Some(observed) = early.remove(&next) {
            done(next, observed);
            next += 1;
        }
    }
    next == count
}

/// Runs one setup.
fn observe(setup: &Setup, catalog: &Catalog) -> Observed {
    let failed = |error: String| Observed {
        error: Some(error),
        ..Observed::default()
    };
    match &setup.path_box {
        PathBox::Nothing => run(setup, catalog, &mut NoBox::default(), None),
        PathBox::Windlass { policy } => match Config::parse(policy, "policy", catalog) {
            Ok(config) => {
                let engine = |seed| {
                    let policy = Box::new(config.policy());
                    let engine = EngineBox::new(policy, config.limits, seed);
                    match setup.box_stalls {
                        Some(stalls) => engine.stalling(Stalls::new(stall_config(stalls), seed, 0)),
                        None => engine,
                    }
                };
                let far = setup.both_ends.then(|| engine(!setup.seed));
                let far = far.map(|far| Box::new(far) as Box<dyn Middlebox>);
                run(setup, catalog, &mut engine(setup.seed), far)
            }
            Err(error) => failed(error.to_string()),
        },
        PathBox::Command { words } => failed(format!(
            "\"{}\" cannot run in virtual time: use --backend netns or --backend vm",
            words.join(" ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use windlass_experiment::setup::{Bottleneck, Direction, FlowGroup, Loss, Record};

    use super::*;

    fn setup(path_box: PathBox, seed: u64) -> Setup {
        let down = Direction {
            rate_bits_per_s: 50_000_000,
            delay_ns: 20_000_000,
            jitter_ns: 0,
            loss: Loss::Independent { ratio: 0.02 },
            reorder_ratio: 0.0,
            reorder_extra_ns: 0,
            duplicate_ratio: 0.0,
            queue_bytes: 200_000,
            ecn_mark_bytes: None,
            drops_not_ect: false,
            ..Direction::default()
        };
        let up = Direction {
            loss: Loss::None,
            ..down
        };
        let bottleneck = Bottleneck {
            down,
            up,
            ..Bottleneck::default()
        };
        let downloads = FlowGroup {
            name: "downloads".to_owned(),
            count: 2,
            bytes: 500_000,
            interval_ns: 100_000_000,
            ..FlowGroup::default()
        };
        Setup {
            seed,
            limit_ns: 60_000_000_000,
            path_box,
            record: Record {
                series_interval_ns: 50_000_000,
                usage_interval_ns: 0,
            },
            ..Setup::line(bottleneck, vec![downloads])
        }
    }

    fn windlass(policy: &str) -> PathBox {
        PathBox::Windlass {
            policy: policy.to_owned(),
        }
    }

    fn results(setups: &[Setup]) -> Vec<Observed> {
        let mut all = Vec::new();
        let mut take = |index, observed| {
            assert_eq!(index, all.len());
            all.push(observed);
        };
        Sim.run(setups, &Catalog::new(), &mut take).unwrap();
        all
    }

    #[test]
    fn results_come_in_order_and_are_the_same_byte_for_byte() {
        let policy = "version = 1\n[default]\nalgorithm = \"bbr\"\n";
        let setups: Vec<Setup> = (0..6)
            .flat_map(|seed| [setup(windlass(policy), seed), setup(PathBox::Nothing, seed)])
            .collect();
        let (first, second) = (results(&setups), results(&setups));
        assert_eq!(first.len(), 12);
        let json = |all: &[Observed]| serde_json::to_string(all).unwrap();
        assert_eq!(json(&first), json(&second));
        for (setup, observed) in setups.iter().zip(&first) {
            assert_eq!(observed.error, None);
            assert!(observed.flows.iter().all(|flow| flow.intact));
            let governed = setup.path_box != PathBox::Nothing;
            assert_eq!(observed.counters.contains_key("flows_governed"), governed);
        }
        assert_eq!(first[0].counters["flows_governed"], 2);
    }

    #[test]
    fn those_to_be_simulated_are_found_among_others() {
        let simulated = Setup {
            simulated: true,
            ..setup(PathBox::Nothing, 1)
        };
        let other = setup(PathBox::Nothing, 2);
        let mut came = Vec::new();
        let mut take = |index, observed: Observed| came.push((index, observed.error));
        run_simulated(
            &[other.clone(), simulated, other],
            &Catalog::new(),
            &mut take,
        )
        .unwrap();
        assert_eq!(came, [(1, None)]);
    }

    #[test]
    fn the_policy_governs() {
        let others = "version = 1\n[[rule]]\nservers = [\"198.18.0.77\"]\n";
        let observed = results(&[setup(windlass(others), 1)]);
        assert_eq!(observed[0].counters["flows_governed"], 0);
    }

    #[test]
    fn bad_policies_and_other_programs_are_errors_of_their_runs_alone() {
        let bad = windlass("version = 1\nalgoritm = \"bbr\"\n");
        let other = PathBox::Command {
            words: vec!["pep".to_owned(), "{inside}".to_owned()],
        };
        let observed = results(&[setup(bad, 1), setup(other, 1), setup(PathBox::Nothing, 1)]);
        let said = |index: usize| observed[index].error.clone().unwrap_or_default();
        assert!(said(0).starts_with("policy:2:1: "), "{}", said(0));
        assert!(said(1).contains("\"pep {inside}\""), "{}", said(1));
        assert_eq!(observed[2].error, None);
    }
}
