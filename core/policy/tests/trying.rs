//! What rules with `algorithm = "auto"` have tried, and what becomes of that when rules change.

use windlass_cc::{AlgorithmId, Catalog, SECOND};
use windlass_engine::{Comparison, Decide, Mode, Side, Transfer, Verdict};
use windlass_policy::{Config, Policy, Tried};
use windlass_wire::FlowKey;

const FLOWS: u32 = 4000;

fn policy(text: &str) -> Policy {
    let config = Config::parse(&format!("version = 1\n{text}"), "w.toml", &Catalog::new());
    let mut policy = config.unwrap_or_else(|e| panic!("{e}")).policy();
    policy.set_seed(7);
    policy
}

/// A download from port 443, of a prefix of its own.
fn flow(client: u32) -> FlowKey {
    let text = format!("10.0.0.1:443>198.51.{}.7:{}@0", client % 200, 1000 + client);
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn drawn(policy: &Policy, client: u32) -> Verdict {
    let verdict = policy.classify(&flow(client), Side::Inside, 0);
    policy.draw(verdict.expect("a rule governs it"), &flow(client), 0)
}

fn total(arms: &[Tried], of: impl Fn(&Tried) -> u64) -> u64 {
    arms.iter().map(of).sum()
}

const RULES: &str = "[auto]\narms = [\"cubic\", \"bbr\"]\nexplore = 0.1\n\
    [[rule]]\nname = \"other\"\nports = [80]\nalgorithm = \"auto\"\n\
    [[rule]]\nname = \"web\"\nports = [443]\nalgorithm = \"auto\"\n\
    [[rule]]\nname = \"rest\"\nalgorithm = \"bbr\"\n";

#[test]
fn a_rule_counts_what_its_flows_got_and_what_came_of_it() {
    let policy = policy(RULES);
    let transfer = Transfer {
        bytes: 1_000_000,
        duration: 2 * SECOND,
        largest_before: 0,
        complete: true,
    };
    for client in 0..FLOWS {
        let verdict = drawn(&policy, client);
        assert_eq!(verdict.arm.map(|arm| arm.by), Some(Comparison::Auto));
        if client < 10 {
            policy.learn(&verdict, &flow(client), &transfer, SECOND);
        }
    }
    let [other, web] = &policy.tried()[..] else {
        panic!("{:?}", policy.tried());
    };
    assert_eq!((other.rule.as_str(), web.rule.as_str()), ("other", "web"));
    assert_eq!(other.arms, [Tried::default(); 2]);
    assert_eq!(total(&web.arms, |arm| arm.flows), u64::from(FLOWS));
    // A tenth of the flows explores, each of which gets another than the best.
    let explored = total(&web.arms, |arm| arm.explored);
    assert!((300..=500).contains(&explored), "{web:?}");
    let rarer = web.arms.iter().min_by_key(|arm| arm.flows).expect("two");
    assert_eq!(rarer.flows, rarer.explored, "{web:?}");
    assert_eq!(total(&web.arms, |arm| arm.transfers), 10);
    let busy = web.arms.iter().find(|arm| arm.transfers > 0).expect("one");
    assert_eq!(busy.goodput_bps(), Some(4_000_000));
    assert_eq!(Tried::default().goodput_bps(), None);
}

#[test]
fn rules_that_keep_their_name_keep_their_counts_unless_other_algorithms_are_tried() {
    let before = policy(RULES);
    drawn(&before, 1);
    let flows = |policy: &Policy, name: &str| {
        let tried = policy.tried();
        let rule = tried.iter().find(|rule| rule.rule == name);
        rule.map(|rule| total(&rule.arms, |arm| arm.flows))
    };
    let mut after = policy(&RULES.replace("\"other\"", "\"another\""));
    after.inherit(&before, 0);
    assert_eq!(
        (flows(&after, "web"), flows(&after, "another")),
        (Some(1), Some(0))
    );
    // What runs under the rules before counts on.
    drawn(&before, 2);
    assert_eq!(flows(&after, "web"), Some(2));
    let mut after = policy(&RULES.replace("\"cubic\"", "\"reno\""));
    after.inherit(&before, 0);
    assert_eq!(flows(&after, "web"), Some(0));
}

/// Of two arms, one leaves flows to their server. A transfer of such a flow counts for that arm, and a rule that sees to
/// something else governs every flow.
#[test]
fn an_arm_may_leave_flows_to_their_server_unless_the_rule_binds_them() {
    let rules = |bound: &str| {
        format!(
            "[auto]\narms = [\"observe\", \"bbr\"]\npriors = \"order\"\nexplore = 0\n\
             [[rule]]\nname = \"web\"\nalgorithm = \"auto\"\n{bound}"
        )
    };
    let free = policy(&rules(""));
    let verdict = drawn(&free, 1);
    assert_eq!(verdict.mode, Mode::Observe);
    let transfer = Transfer {
        bytes: 1_000_000,
        duration: 2 * SECOND,
        largest_before: 0,
        complete: true,
    };
    free.learn(&verdict, &flow(1), &transfer, SECOND);
    let tried = &free.tried()[0].arms;
    assert_eq!((tried[0].flows, tried[0].transfers), (1, 1));
    assert_eq!((tried[1].flows, tried[1].transfers), (0, 0));

    for bound in ["cap_mbit = 10\n", "police = true\n"] {
        let verdict = drawn(&policy(&rules(bound)), 1);
        assert_eq!(verdict.mode, Mode::Enforce, "{bound}");
        assert_eq!(verdict.algorithm, AlgorithmId::Bbr.into(), "{bound}");
    }
}

/// Once transfers that were left alone have been the fastest to a prefix, its flows are left alone.
#[test]
fn a_prefix_whose_server_is_faster_alone_is_left_to_it() {
    let text = "[auto]\narms = [\"bbr\", \"observe\"]\nexplore = 0.5\n\
                [[rule]]\nname = \"web\"\nalgorithm = \"auto\"\n";
    let policy = policy(text);
    let client = 7;
    let mut modes = Vec::new();
    for n in 0..200u64 {
        let now = n * SECOND;
        let verdict = policy.classify(&flow(client), Side::Inside, now);
        let verdict = policy.draw(verdict.expect("a rule"), &flow(client), now);
        let alone = verdict.mode == Mode::Observe;
        let transfer = Transfer {
            bytes: 1_000_000,
            duration: if alone { SECOND } else { 2 * SECOND },
            largest_before: 0,
            complete: true,
        };
        policy.learn(&verdict, &flow(client), &transfer, now);
        modes.push(verdict.mode);
    }
    assert_eq!(modes[0], Mode::Enforce, "bbr is worth more to begin with");
    let alone = modes[100..].iter().filter(|m| **m == Mode::Observe).count();
    assert!(alone > 90, "{alone} of 100");
}
