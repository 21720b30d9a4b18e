//! What rules with `algorithm = "auto"` have tried, and what becomes of that when rules change.

use windlass_cc::{Catalog, SECOND};
use windlass_engine::{Comparison, Decide, Side, Transfer, Verdict};
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
