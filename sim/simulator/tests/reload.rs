//! Another policy is put in charge of flows that run.
#![allow(clippy::disallowed_methods)]

use windlass_cc::{Catalog, MILLISECOND, SECOND};
use windlass_engine::{Decide, Limits};
use windlass_policy::Config;
use windlass_sim::{EngineBox, Scenario, World};

const SLOW: &str = "[[tenant]]\nname = \"slow\"\ncap_mbit = 1\n";
const FAST: &str = "[[tenant]]\nname = \"fast\"\n";
const GREEN: &str = "[[tenant]]\nname = \"green\"\ncap_mbit = 1\n";

fn policy(text: &str) -> Box<dyn Decide> {
    let text = format!("version = 1\n{text}");
    Box::new(
        Config::parse(&text, "reload.toml", &Catalog::new())
            .expect("a policy")
            .policy(),
    )
}

fn rule(port: u16, tenant: &str, algorithm: &str) -> String {
    format!("[[rule]]\nports = [{port}]\ntenant = \"{tenant}\"\nalgorithm = \"{algorithm}\"\n")
}

/// A download under one policy, the rest of it under another. The box, when it is over.
fn reloaded(before: &str, after: &str) -> EngineBox {
    let scenario = Scenario::download(8_000_000, 20.0, 40.0);
    let mut middle = EngineBox::new(policy(before), Limits::default(), 1);
    let mut world = World::new(&scenario);
    world.run_until(SECOND, &mut middle);
    middle.set_policy(policy(after), world.now());
    world.run_until(scenario.limit, &mut middle);
    let outcome = world.outcome(&middle);
    outcome.assert_intact(&scenario);
    assert!(
        outcome.seconds < 6.0,
        "{} s: another's cap",
        outcome.seconds
    );
    middle
}

/// No rule is for it any more: its bytes are its own tenant's, whose number is another now.
#[test]
fn a_flow_that_is_left_alone_keeps_its_tenant() {
    let before = format!("{SLOW}{FAST}{}", rule(443, "fast", "cubic"));
    let after = format!("{FAST}{GREEN}{}", rule(80, "green", "cubic"));
    let middle = reloaded(&before, &after);
    let sent = |name: &str| {
        let mut all = middle.engine().tenants();
        all.find(|tenant| tenant.name == name)
            .expect("a tenant")
            .bytes_sent
    };
    assert_eq!(sent("green"), 0);
    assert!(sent("fast") >= 8_000_000, "{}", sent("fast"));
}

/// Its tenant has gone: it is nobody's.
#[test]
fn a_flow_whose_tenant_has_gone_is_nobodys() {
    let before = format!("{SLOW}{FAST}{}", rule(443, "fast", "cubic"));
    let after = format!("{SLOW}{GREEN}{}", rule(80, "green", "cubic"));
    let middle = reloaded(&before, &after);
    assert_eq!(
        middle.engine().tenants().map(|t| t.bytes_sent).sum::<u64>(),
        0
    );
}

/// Nor do conditions on the path that another rule has under the number of its old ones move it.
#[test]
fn a_flow_that_is_left_alone_meets_no_other_conditions() {
    let switch = |when: &str| format!("[[rule.switch]]\nwhen = '{when}'\nalgorithm = \"bbr\"\n");
    let before = format!(
        "{FAST}{}{}",
        rule(443, "fast", "reno"),
        switch("loss_ratio > 0.9")
    );
    let after = format!(
        "{FAST}{}{}",
        rule(80, "fast", "reno"),
        switch("rtt > duration(\"1ms\")")
    );
    let scenario = Scenario::download(8_000_000, 20.0, 40.0);
    let mut middle =
        EngineBox::new(policy(&before), Limits::default(), 1).sample_every(50 * MILLISECOND);
    let mut world = World::new(&scenario);
    world.run_until(SECOND, &mut middle);
    middle.set_policy(policy(&after), world.now());
    world.run_until(scenario.limit, &mut middle);
    world.outcome(&middle).assert_intact(&scenario);
    assert!(middle.samples().iter().any(|(at, _)| *at > 2 * SECOND));
    for (at, info) in middle.samples() {
        assert_eq!(info.algorithm.name(), "reno", "at {at} ns");
    }
}
