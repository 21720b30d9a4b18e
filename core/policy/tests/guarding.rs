//! Which rules are guarded, who is held out of them, and what becomes of what was found out.

use windlass_auto::guard::State;
use windlass_cc::{AlgorithmId, Catalog, SECOND};
use windlass_engine::{Decide, Drawn, Mode, Side, Transfer, Verdict};
use windlass_policy::{Config, Policy, SharedTrial};
use windlass_wire::FlowKey;

fn policy(text: &str) -> Policy {
    let config = Config::parse(&format!("version = 1\n{text}"), "w.toml", &Catalog::new());
    let mut policy = config.unwrap_or_else(|e| panic!("{e}")).policy();
    policy.set_seed(7);
    policy
}

/// The data of a server inside to a client of its own.
fn flow(client: u32) -> FlowKey {
    let (high, low) = (client / 60_000, client % 60_000 + 1_000);
    let text = format!("10.0.0.1:443>192.0.2.{high}:{low}@0");
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn verdict(policy: &Policy, flow: &FlowKey) -> Verdict {
    let verdict = policy.classify(flow, Side::Inside, 0);
    verdict.expect("a rule governs it")
}

fn drawn(policy: &Policy, flow: &FlowKey) -> Option<Drawn> {
    policy.hold_out(&verdict(policy, flow), flow)
}

fn held_out(policy: &Policy, flows: u32) -> u32 {
    let held_out = |flow| drawn(policy, &flow).is_some_and(|drawn| drawn.held_out);
    (0..flows).map(flow).filter(|f| held_out(*f)).count() as u32
}

#[test]
fn rules_are_guarded_that_do_not_slow_down_at_each_loss_unless_they_say_otherwise() {
    for (rule, guarded) in [
        ("algorithm = \"bbr\"", true),
        ("algorithm = \"auto\"", true),
        ("algorithm = \"cubic\"", false),
        ("algorithm = \"cubic\"\nguard = true", true),
        ("algorithm = \"bbr\"\nguard = false", false),
        ("algorithm = \"bbr\"\nmode = \"advise\"", false),
        ("algorithm = \"bbr\"\ncap_mbit = 10", false),
        ("algorithm = \"bbr\"\npolice = true", false),
        ("algorithm = \"bbr\"\nfeedback = \"boxes\"", false),
    ] {
        let text = format!("[guard]\n[[rule]]\nname = \"all\"\n{rule}\n");
        let drawn = drawn(&policy(&text), &flow(1));
        assert_eq!(drawn.is_some(), guarded, "{rule}");
    }
    let mut blue = "[guard]\n[[tenant]]\nname = \"blue\"\nprefixes = [\"10.0.0.0/8\"]\n".to_owned();
    let rule = "[[rule]]\nname = \"all\"\nalgorithm = \"bbr\"\n";
    assert!(drawn(&policy(&format!("{blue}{rule}")), &flow(1)).is_some());
    blue += "cap_mbit = 5\n";
    assert!(drawn(&policy(&format!("{blue}{rule}")), &flow(1)).is_none());
    let without = policy("[[rule]]\nname = \"all\"\nalgorithm = \"bbr\"\n");
    assert_eq!(drawn(&without, &flow(1)), None);
}

const ALL: &str =
    "[guard]\nfirst_share = 0.1\nprefix_v4 = 32\n[[rule]]\nname = \"all\"\nalgorithm = \"bbr\"\n";

#[test]
fn a_flow_that_is_held_out_is_only_observed_whatever_worker_it_meets_and_when() {
    let policy = policy(ALL);
    let one_of_four = policy.for_one_of(4);
    let mut count = 0;
    for flow in (0..20_000).map(flow) {
        let drawn = drawn(&policy, &flow).unwrap();
        assert_eq!(
            Some(drawn),
            one_of_four.hold_out(&verdict(&one_of_four, &flow), &flow)
        );
        let decided = policy.decide(&flow, Side::Inside, 99 * SECOND).unwrap();
        assert_eq!(decided.drawn, Some(drawn), "whenever it begins");
        let expected = if drawn.held_out {
            Mode::Observe
        } else {
            Mode::Enforce
        };
        assert_eq!(decided.mode, expected);
        count += u32::from(drawn.held_out);
    }
    assert!((1_800..2_200).contains(&count), "one of ten: {count}");
}

/// The data of both ends of a connection are held out, or those of neither: half a comparison is none.
#[test]
fn both_directions_of_a_connection_draw_the_same() {
    let policy = policy(
        "[guard]\nfirst_share = 0.5\n[[rule]]\nname = \"all\"\nsender = \"both\"\nalgorithm = \"bbr\"\n",
    );
    let mut held_out = 0;
    for flow in (0..200).map(flow) {
        let there = drawn(&policy, &flow).unwrap();
        let back = flow.reversed();
        let verdict = policy.classify(&back, Side::Outside, 0).unwrap();
        let back = policy.hold_out(&verdict, &back).unwrap();
        assert_eq!(there.held_out, back.held_out);
        held_out += u32::from(back.held_out);
    }
    assert!((60..140).contains(&held_out));
}

#[test]
fn a_trial_compares_all_flows_of_its_rule_so_none_is_held_out() {
    let mut policy = policy(ALL);
    let arms = vec![AlgorithmId::Reno.into(), AlgorithmId::Bbr.into()];
    policy.set_trial(Some(SharedTrial::new(Some("all".to_owned()), arms, 0.5)));
    assert_eq!(drawn(&policy, &flow(1)), None);
    policy.set_trial(None);
    assert!(drawn(&policy, &flow(1)).is_some());
}

/// Flows of client 0: with a governed one, a transfer takes `slowdown` times as long.
fn live_through(policy: &Policy, flows: u32, slowdown: u64) {
    for (at, flow) in (0..flows).map(|n| (u64::from(n) * SECOND, flow(n))) {
        let verdict = policy.decide(&flow, Side::Inside, at).unwrap();
        policy.begin(&verdict, &flow, at);
        let factor = if verdict.mode == Mode::Observe {
            1
        } else {
            slowdown
        };
        let transfer = Transfer {
            bytes: 100_000,
            // It varies by some 20 %.
            duration: factor * (SECOND + (at * 7 / SECOND % 10) * SECOND / 20),
            largest_before: 0,
            complete: true,
        };
        policy.learn(&verdict, &flow, &transfer, at);
    }
}

fn state_of(policy: &Policy) -> (State, Vec<State>) {
    let report = policy.guard().unwrap().report(0);
    let rule = report.rules.last().unwrap();
    let places = rule.places.iter().map(|place| place.state);
    (rule.state, places.collect())
}

#[test]
fn a_rule_that_harms_is_withdrawn_and_a_reload_forgets_it_only_if_the_rule_does_something_else() {
    let harmful = policy(ALL);
    live_through(&harmful, 400, 2);
    assert_eq!(state_of(&harmful).1, [State::Withdrawn]);
    assert_eq!(held_out(&harmful, 500), 500);

    let mut same = policy(&format!(
        "{ALL}[[rule]]\nname = \"more\"\nalgorithm = \"bbr\"\n"
    ));
    same.inherit(&harmful, 400 * SECOND);
    assert_eq!(held_out(&same, 500), 500);
    let mut other = policy(&ALL.replace("bbr", "compound\"\nguard = true\nredundancy = \"early"));
    other.inherit(&harmful, 400 * SECOND);
    assert!(held_out(&other, 500) < 100);
    // With other prefixes, what was known of the old ones means nothing.
    let mut wider = policy(&ALL.replace("prefix_v4 = 32", "prefix_v4 = 16"));
    wider.inherit(&harmful, 400 * SECOND);
    assert!(held_out(&wider, 500) < 100);

    let helpful = policy(ALL);
    live_through(&helpful, 400, 1);
    assert!(held_out(&helpful, 500) < 100, "{:?}", state_of(&helpful));
}

/// A worker that finds the guard in use by another goes on with the usual share.
#[test]
fn nobody_waits_for_the_guard() {
    let policy = policy(ALL);
    let guard = policy.guard().unwrap().clone();
    let drawn = guard.with_guard(|_| {
        let flow = flow(3);
        let verdict = verdict(&policy, &flow);
        let drawn = policy.hold_out(&verdict, &flow);
        policy.begin(&Verdict { drawn, ..verdict }, &flow, SECOND);
        drawn
    });
    let share = f64::from(drawn.unwrap().share) / 65_535.0;
    assert!((share - 0.02).abs() < 0.001, "{share}");
    assert_eq!(policy.guard().unwrap().report(0).rules[0].hours.len(), 0);
}
