//! A chooser finds the best arm of each destination, stays within its share and its memory, and
//! forgets; a trial says what it can say and no more.

use windlass_auto::{Chooser, ChooserConfig, Finding, Trial};

use crate::dice::{Dice, transfer};

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400 * SECOND;
/// Any arm is allowed.
const ALL: fn(usize) -> bool = |_| true;

fn config(explore: f64) -> ChooserConfig {
    ChooserConfig {
        priors: vec![[0.1; 3], [0.0; 3], [0.0; 3]],
        explore,
        half_life: DAY,
        prefixes: 1000,
        tail_weight: 0.5,
    }
}

/// Goodput of each arm, Mbit/s, at each of three prefixes.
const WORTH: [[f64; 3]; 3] = [[10.0, 20.0, 15.0], [20.0, 10.0, 15.0], [10.0, 11.0, 30.0]];

/// `flows` flows to the three prefixes in turn; how many of each prefix got each arm.
fn learn(chooser: &mut Chooser, dice: &mut Dice, flows: usize, at: u64) -> [[usize; 3]; 3] {
    let mut got = [[0; 3]; 3];
    for n in 0..flows {
        let prefix = n % 3;
        let (arm, _) = chooser.choose(prefix as u128, dice.next(), ALL);
        got[prefix][arm] += 1;
        let transfer = dice.transfer(WORTH[prefix][arm], 0.3);
        chooser.learn(prefix as u128, arm, &transfer, at);
    }
    got
}

#[test]
fn every_prefix_gets_the_arm_that_is_best_for_it() {
    let mut dice = Dice(1);
    let mut chooser = Chooser::new(config(0.2));
    assert_eq!(chooser.choose(7, u64::MAX, ALL), (0, false), "the prior");
    learn(&mut chooser, &mut dice, 300, 0);
    for (prefix, best) in [(0, 1), (1, 0), (2, 2)] {
        assert_eq!(chooser.choose(prefix, u64::MAX, ALL), (best, false));
        let beliefs = chooser.beliefs(0);
        let belief = beliefs.iter().find(|b| b.prefix == Some(prefix)).unwrap();
        let (arm, sure) = belief.best();
        assert!(arm == best && sure > 0.95, "{belief:?}");
        let lead = belief.arms[best].score - belief.arms[1 - best.min(1)].score;
        assert!((0.2..1.5).contains(&lead), "{lead}");
    }
    let got = learn(&mut chooser, &mut dice, 3000, 0);
    for (prefix, best) in [(0, 1), (1, 0), (2, 2)] {
        // One in five explores, as long as there is something that could be better.
        assert!((970..=1000).contains(&got[prefix][best]), "{got:?}");
    }
}

/// Logarithms of goodput lost beside the best arm by the first `flows` flows, each to another of so many
/// prefixes in turn, mean of a hundred runs.
fn lost(priors: [f64; 3], flows: u32, prefixes: u32) -> f64 {
    const WORTH: [f64; 3] = [10.0, 30.0, 20.0];
    let runs = (0..100).map(|run| {
        let mut dice = Dice(100 + run);
        let mut chooser = Chooser::new(ChooserConfig {
            priors: priors.map(|prior| [prior; 3]).to_vec(),
            ..config(0.1)
        });
        let lost = (0..flows).map(|n| {
            let prefix = u128::from(n % prefixes);
            let (arm, _) = chooser.choose(prefix, dice.next(), ALL);
            let transfer = dice.transfer(WORTH[arm], 0.3);
            chooser.learn(prefix, arm, &transfer, 0);
            (WORTH[1] / WORTH[arm]).ln()
        });
        lost.sum::<f64>()
    });
    runs.sum::<f64>() / 100.0
}

/// After so many flows until none that does not explore gets another arm than the best, of a hundred
/// runs the median and the ninetieth.
fn unlearned(priors: [f64; 3]) -> (u32, u32) {
    let runs = (0..100).map(|run| {
        let mut dice = Dice(500 + run);
        let mut chooser = Chooser::new(ChooserConfig {
            priors: priors.map(|prior| [prior; 3]).to_vec(),
            ..config(0.1)
        });
        let mut last = 0;
        for n in 0..400 {
            let (arm, explores) = chooser.choose(1, dice.next(), ALL);
            if arm != 1 && !explores {
                last = n + 1;
            }
            let transfer = dice.transfer([10.0, 30.0, 20.0][arm], 0.3);
            chooser.learn(1, arm, &transfer, 0);
        }
        last
    });
    let mut runs: Vec<u32> = runs.collect();
    runs.sort_unstable();
    (runs[50], runs[90])
}

/// With a prior that is right, the first thirty flows to a new place lose little; one that is wrong by
/// a factor of e costs as many flows as it takes for some of them to explore, and no more after that.
#[test]
fn a_good_prior_saves_the_first_flows_and_a_wrong_one_is_unlearned() {
    let none = [0.0, -0.01, -0.02];
    let [good, wrong] = [[-0.5, 0.5, 0.2], [0.5, -0.5, 0.2]];
    let [with, without, misled] = [good, none, wrong].map(|priors| lost(priors, 30, 1));
    eprintln!("lost in 30 flows: {with:.2} with, {without:.2} without, {misled:.2} misled");
    assert!(with < 0.5 * without, "{with} {without}");
    let later = [none, wrong].map(|priors| lost(priors, 300, 1) - lost(priors, 150, 1));
    eprintln!("from the 150th to the 300th: {later:.2?}");
    assert!(
        (later[1] - later[0]).abs() < 0.2 * later[0].max(1.0),
        "{later:?}"
    );
    let [(right, _), (median, most)] = [good, wrong].map(unlearned);
    eprintln!("unlearned after {median} flows, 90 of 100 times after {most}");
    assert!(
        right <= 5 && median <= 40 && most <= 80,
        "{right} {median} {most}"
    );
    // What one place unlearns, others need not: 30 prefixes of ten flows each.
    let [without, misled] = [none, wrong].map(|priors| lost(priors, 300, 30));
    eprintln!("300 flows to 30 places: {without:.1} without, {misled:.1} misled");
    assert!(misled < 3.0 * without, "{misled} {without}");
}

#[test]
fn no_more_flows_explore_than_the_share() {
    let mut dice = Dice(2);
    let chooser = Chooser::new(config(0.05));
    let explores = (0..100_000)
        .filter(|_| chooser.choose(1, dice.next(), ALL).1)
        .count();
    assert!((4_700..5_300).contains(&explores), "{explores}");
    let never = Chooser::new(config(0.0));
    assert!((0..10_000).all(|_| !never.choose(1, dice.next(), ALL).1));
}

/// What has been found to be much worse at a prefix is left alone there until the evidence has faded; of what is not
/// known, what promises more is tried rather than what promises less.
#[test]
fn exploring_is_for_what_could_be_best() {
    let mut dice = Dice(7);
    let mut chooser = Chooser::new(ChooserConfig {
        priors: vec![[0.7; 3], [0.4; 3], [-0.2; 3], [0.0; 3]],
        ..config(1.0)
    });
    let mut tried = [0; 4];
    for _ in 0..10_000 {
        let (arm, explores) = chooser.choose(1, dice.next(), ALL);
        assert!(explores);
        tried[arm] += 1;
    }
    // As the squares of 1.49, 0.82 and 1.
    let expected = [0, 5702, 1717, 2562].map(|n: i32| n..=n);
    for (count, expected) in tried.iter().zip(expected) {
        let off = (count - expected.start()).abs();
        assert!(off < 200, "{tried:?}");
    }
    for _ in 0..30 {
        for (arm, mbit) in [40.0, 40.0, 1.0, 20.0].into_iter().enumerate() {
            let transfer = dice.transfer(mbit, 0.3);
            chooser.learn(1, arm, &transfer, 0);
        }
    }
    let mut later = |chooser: &Chooser| {
        let mut tried = [0; 4];
        for _ in 0..1000 {
            tried[chooser.choose(1, dice.next(), ALL).0] += 1;
        }
        tried
    };
    let [one, other, far, half] = later(&chooser);
    assert_eq!((one + other, far, half), (1000, 0, 0));
    let transfer = transfer(1_000_000, SECOND / 5);
    chooser.learn(1, 0, &transfer, 8 * DAY);
    let [one, other, far, half] = later(&chooser);
    assert!(
        far < half && half < one.max(other),
        "{one} {other} {far} {half}"
    );
    assert!(half > 0);
}

/// An arm that a flow may not have is neither its best nor explored.
#[test]
fn only_what_is_allowed_is_chosen() {
    let mut dice = Dice(9);
    let mut chooser = Chooser::new(config(0.5));
    for (arm, mbit) in [10.0, 20.0, 30.0].into_iter().enumerate() {
        for _ in 0..20 {
            chooser.learn(1, arm, &dice.transfer(mbit, 0.3), 0);
        }
    }
    assert_eq!(chooser.choose(1, u64::MAX, ALL), (2, false));
    let not_the_best = |arm| arm != 2;
    assert_eq!(chooser.choose(1, u64::MAX, not_the_best), (1, false));
    for _ in 0..1000 {
        assert_ne!(chooser.choose(1, dice.next(), not_the_best).0, 2);
        assert_eq!(chooser.choose(1, dice.next(), |arm| arm == 0), (0, false));
    }
}

/// A place that was never seen takes what the arms are worth elsewhere, and learns its own.
#[test]
fn what_is_known_elsewhere_is_where_a_new_prefix_begins() {
    let mut dice = Dice(3);
    let mut chooser = Chooser::new(config(0.3));
    for n in 0..600u32 {
        let prefix = u128::from(n % 20);
        let (arm, _) = chooser.choose(prefix, dice.next(), ALL);
        let transfer = dice.transfer([10.0, 10.0, 25.0][arm], 0.2);
        chooser.learn(prefix, arm, &transfer, 0);
    }
    assert_eq!(chooser.choose(999, u64::MAX, ALL), (2, false));
    for _ in 0..40 {
        let arm = (dice.next() % 3) as usize;
        let transfer = dice.transfer([30.0, 10.0, 10.0][arm], 0.2);
        chooser.learn(999, arm, &transfer, 0);
    }
    assert_eq!(chooser.choose(999, u64::MAX, ALL), (0, false));
    assert_eq!(chooser.choose(3, u64::MAX, ALL), (2, false));
}

#[test]
fn an_even_goodput_is_worth_more_than_a_slightly_larger_one() {
    let mut dice = Dice(4);
    let mut chooser = Chooser::new(ChooserConfig {
        priors: vec![[0.0; 3]; 2],
        ..config(0.0)
    });
    for _ in 0..500 {
        let (wild, even) = (dice.transfer(21.0, 0.8), dice.transfer(20.0, 0.1));
        chooser.learn(1, 0, &wild, 0);
        chooser.learn(1, 1, &even, 0);
    }
    assert_eq!(chooser.choose(1, u64::MAX, ALL).0, 1);
}

#[test]
fn evidence_fades_and_a_changed_path_is_found_out() {
    let mut dice = Dice(5);
    let mut chooser = Chooser::new(config(0.2));
    learn(&mut chooser, &mut dice, 3000, 0);
    assert_eq!(chooser.choose(0, u64::MAX, ALL).0, 1);
    let later = 10 * DAY;
    for _ in 0..60 {
        let (arm, _) = chooser.choose(0, dice.next(), ALL);
        let transfer = dice.transfer([10.0, 5.0, 40.0][arm], 0.3);
        chooser.learn(0, arm, &transfer, later);
    }
    assert_eq!(chooser.choose(0, u64::MAX, ALL).0, 2);
}

#[test]
fn memory_is_bounded_and_the_longest_unseen_goes() {
    let mut chooser = Chooser::new(config(0.0));
    let transfer = transfer(1_000_000, SECOND);
    for n in 0..50_000u32 {
        chooser.learn(u128::from(n), 1, &transfer, u64::from(n));
        chooser.learn(u128::MAX, 1, &transfer, u64::from(n));
    }
    assert_eq!(chooser.prefixes(), 1000);
    let beliefs = chooser.beliefs(50_000);
    assert!(
        beliefs.iter().any(|b| b.prefix == Some(u128::MAX)),
        "it was always in use"
    );
}

#[test]
fn what_was_learned_survives_a_restart_and_a_change_of_arms() {
    let mut dice = Dice(6);
    let mut chooser = Chooser::new(config(0.2));
    learn(&mut chooser, &mut dice, 600, 5 * DAY);
    let names = |names: &[&str]| -> Vec<String> { names.iter().map(|n| (*n).to_owned()).collect() };
    let old = names(&["bbr", "cubic", "hybla"]);
    let text = serde_json::to_string(&chooser.keep(&old, 5 * DAY)).unwrap();
    // Another order, one less, one new; and a clock that begins anew.
    let new = names(&["hybla", "reno", "cubic"]);
    let mut restarted = Chooser::new(config(0.0));
    let mut reader = serde_json::Deserializer::from_str(&text);
    restarted.recall(&mut reader, &new, 100).unwrap();
    assert_eq!(restarted.choose(0, u64::MAX, ALL).0, 2, "cubic");
    assert_eq!(restarted.choose(2, u64::MAX, ALL).0, 0, "hybla");
    assert_eq!(restarted.prefixes(), 3);
    for damaged in [
        "",
        "{}",
        &text[..text.len() / 2],
        &text.replace("\"version\":1", "\"version\":2"),
    ] {
        let mut reader = serde_json::Deserializer::from_str(damaged);
        assert!(restarted.recall(&mut reader, &new, 100).is_err());
    }
    assert_eq!(restarted.choose(0, u64::MAX, ALL).0, 2, "nothing was lost");
}

/// A trial in which the second arm is `factor` times as fast.
fn trial(dice: &mut Dice, transfers: usize, factor: f64) -> Trial {
    let mut trial = Trial::new(2, 0.5);
    for _ in 0..transfers {
        let Some(arm) = trial.draw(dice.next()) else {
            continue;
        };
        trial.begin(arm);
        let mbit = [20.0, 20.0 * factor][arm];
        let transfer = dice.transfer(mbit, 0.5);
        trial.learn(arm, &transfer, dice.next());
    }
    trial
}

#[test]
fn a_trial_finds_what_there_is() {
    let mut dice = Dice(7);
    let found = trial(&mut dice, 8000, 1.25).report();
    assert_eq!(found.flows.len(), 2);
    let taking_part: u64 = found.flows.iter().sum();
    assert!((3800..4200).contains(&taking_part), "{found:?}");
    let [(1, finding)] = &found.findings[..] else {
        panic!("{found:?}");
    };
    let Finding::Ratio { ratio, low, high } = finding else {
        panic!("{found:?}");
    };
    assert!(
        *low < 0.8 && 0.8 < *high && (ratio - 0.8).abs() < 0.04,
        "{finding:?}"
    );
    let words = finding.words("bbr", "cubic");
    assert!(
        words.starts_with("bbr is faster than cubic by 2"),
        "{words}"
    );
    for arm in &found.arms {
        assert_eq!((arm.sizes.as_str(), arm.quantiles.len()), ("medium", 3));
        for q in &arm.quantiles {
            assert!(q.low_s <= q.s && q.s <= q.high_s, "{q:?}");
        }
        let median = [0.4, 0.32][arm.arm];
        let q = arm.quantiles[0];
        assert!(q.low_s < median && median < q.high_s, "{q:?}");
    }
}

#[test]
fn a_trial_says_when_it_does_not_know() {
    let mut dice = Dice(8);
    let few = trial(&mut dice, 40, 2.0).report();
    assert!(matches!(few.findings[0].1, Finding::NotEnough { missing } if missing > 0));
    let words = few.findings[0].1.words("bbr", "cubic");
    assert!(words.contains("not enough data yet"), "{words}");
    let some = trial(&mut dice, 200, 1.02).report();
    let words = some.findings[0].1.words("bbr", "cubic");
    assert!(words.contains("no difference can be told yet"), "{words}");
    let many = trial(&mut dice, 100_000, 1.0).report();
    let words = many.findings[0].1.words("bbr", "cubic");
    assert!(words.contains("as fast as each other"), "{words}");
}

/// 95 % means 95 %: of equal arms, one trial in twenty finds a difference.
#[test]
fn a_trial_is_wrong_as_often_as_it_says() {
    let mut dice = Dice(9);
    let wrong = (0..400).filter(|_| {
        let report = trial(&mut dice, 400, 1.0).report();
        matches!(report.findings[0].1, Finding::Ratio { low, high, .. } if low > 1.0 || high < 1.0)
    });
    let wrong = wrong.count();
    assert!((8..=36).contains(&wrong), "{wrong} of 400");
}
