//! Rules with conditions in CEL: on the flow, and on its path while it runs.

use windlass_cc::{AlgorithmId, Catalog, MILLISECOND, SECOND};
use windlass_engine::{Choice, Decide, LivePath, Side};
use windlass_policy::{Config, ConfigFile, Overrides, Policy};
use windlass_wire::FlowKey;

fn config(text: &str) -> Config {
    Config::parse(&format!("version = 1\n{text}"), "w.toml", &Catalog::new())
        .unwrap_or_else(|e| panic!("{e}"))
}

fn flow(text: &str) -> FlowKey {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn algorithm(policy: &Policy, text: &str, sender: Side, now: u64) -> Option<AlgorithmId> {
    Some(policy.decide(&flow(text), sender, now)?.algorithm.id())
}

#[test]
fn rules_match_by_expressions_beside_their_lists() {
    let mut policy = config(
        r#"
        [box]
        inside = "lan0"
        outside = "wan0"
        [[tenant]]
        name = "blue"
        prefixes = ["10.1.0.0/16", "2001:db8:1::/48"]
        [[tenant]]
        name = "red"
        [[rule]]
        name = "blue at night"
        match = "tenant == 'blue' && (time.getHours() >= 22 || time.getHours() < 6)"
        algorithm = "ledbat"
        [[rule]]
        name = "from outside"
        sender = "both"
        match = "interface == 'wan0' && dport in [5000, 5001]"
        algorithm = "reno"
        [[rule]]
        name = "far web"
        ports = [443]
        match = 'cidr("192.0.2.0/24").containsIP(dst)'
        algorithm = "hybla"
        tenant = "red"
        [[rule]]
        algorithm = "cubic"
        "#,
    )
    .policy();
    const HOUR: u64 = 3600 * SECOND;
    // The engine's clock began at 10 in the morning.
    policy.set_clock(5 * SECOND, 10 * HOUR + 5 * SECOND);
    let of = |text, sender, now| algorithm(&policy, text, sender, now);
    let blue = "10.1.2.3:80>198.51.100.1:4000";
    assert_eq!(of(blue, Side::Inside, HOUR), Some(AlgorithmId::Cubic));
    assert_eq!(of(blue, Side::Inside, 12 * HOUR), Some(AlgorithmId::Ledbat));
    assert_eq!(of(blue, Side::Inside, 20 * HOUR), Some(AlgorithmId::Cubic));
    let upload = "198.51.100.1:4000>10.1.2.3:5001";
    assert_eq!(of(upload, Side::Outside, 0), Some(AlgorithmId::Reno));
    assert_eq!(of(upload, Side::Inside, 0), Some(AlgorithmId::Cubic));
    let far = "10.1.2.3:443>192.0.2.9:4000";
    assert_eq!(of(far, Side::Inside, 0), Some(AlgorithmId::Hybla));
    let tenant = |text: &str| {
        let verdict = policy.decide(&flow(text), Side::Inside, 0).unwrap();
        verdict.tenant.and_then(|id| policy.tenant_name(id))
    };
    assert_eq!(tenant(blue), Some("blue"));
    assert_eq!(tenant(far), Some("red"), "a rule has the last word");
    assert_eq!(tenant("10.2.2.3:80>192.0.2.9:4000"), None);
}

const ALGORITHM_1: &str = r#"
[[rule]]
name = "algorithm 1"
algorithm = "bbr"
hysteresis = 0.2
[[rule.switch]]
when = "loss_ratio < 0.0001"
algorithm = "hybla"
[[rule.switch]]
when = "rtt < duration('50ms')"
algorithm = "illinois"
"#;

fn path(rtt_ms: u64, loss_ratio: f64) -> LivePath {
    LivePath {
        rtt: rtt_ms * MILLISECOND,
        loss_ratio,
        ..LivePath::default()
    }
}

#[test]
fn the_path_chooses_and_what_is_in_force_is_kept_longer() {
    let policy = config(ALGORITHM_1).policy();
    let verdict = policy
        .decide(&flow("10.0.0.1:443>192.0.2.7:5555"), Side::Inside, 0)
        .unwrap();
    assert_eq!(verdict.algorithm.id(), AlgorithmId::Bbr);
    let switching = verdict.switching.unwrap();
    assert_eq!(switching.dwell, 2 * SECOND);
    for (rtt, loss, in_force, condition, algorithm) in [
        (80, 0.0, None, Some(0), AlgorithmId::Hybla),
        (80, 0.01, None, None, AlgorithmId::Bbr),
        (80, 0.01, Some(0), None, AlgorithmId::Bbr),
        (40, 0.01, None, Some(1), AlgorithmId::Illinois),
        (55, 0.01, None, None, AlgorithmId::Bbr),
        (55, 0.01, Some(1), Some(1), AlgorithmId::Illinois),
        (61, 0.01, Some(1), None, AlgorithmId::Bbr),
        (40, 0.000_11, Some(0), Some(0), AlgorithmId::Hybla),
        (40, 0.000_11, Some(1), Some(1), AlgorithmId::Illinois),
    ] {
        assert_eq!(
            policy.choose(switching.list, in_force, &path(rtt, loss)),
            Some(Choice {
                condition,
                algorithm: algorithm.into()
            }),
            "{rtt} ms, {loss}, {in_force:?}"
        );
    }
    assert_eq!(policy.choose(7, None, &path(1, 0.0)), None);
}

/// A rule takes the default's conditions with the default's algorithm, or neither; a flag that
/// names an algorithm ends all choosing.
#[test]
fn conditions_belong_to_the_algorithm_that_they_replace() {
    let text = r#"
        [default]
        algorithm = "cubic"
        dwell_ms = 0
        [[default.switch]]
        when = "age > duration('1m')"
        algorithm = "ledbat"
        [[rule]]
        ports = [80]
        [[rule]]
        ports = [81]
        algorithm = "reno"
        [[rule]]
        ports = [82]
        algorithm = "reno"
        [[rule.switch]]
        when = "true"
        algorithm = { name = "cubic", beta = 0.5 }
    "#;
    let mut config = config(text);
    let lists = |config: &Config| -> Vec<Option<u16>> {
        let of = |rule: &windlass_policy::Rule| Some(rule.verdict?.switching?.list);
        config.rules.iter().map(of).collect()
    };
    assert_eq!(lists(&config), [Some(0), None, Some(1)]);
    assert_eq!(config.switch_lists[0].dwell, 0);
    assert_eq!(config.switch_lists[1].otherwise.id(), AlgorithmId::Reno);
    config.override_with(&Overrides {
        algorithm: Some(AlgorithmId::Reno),
        ..Overrides::default()
    });
    assert_eq!(lists(&config), [None, None, None]);
}

#[test]
fn a_decision_is_explained() {
    let policy = config(&format!(
        "[[rule]]\nname = \"a\"\nports = [80, 8080]\n[[rule]]\nname = \"b\"\n\
         match = \"dport == 1\"\n[[rule]]\nname = \"c\"\nservers = [\"10.9.0.0/16\"]\n{ALGORITHM_1}"
    ))
    .policy();
    let key = flow("10.0.0.1:443>192.0.2.7:5555");
    let explained = policy.explain(&key, Side::Inside, 0, Some(&path(80, 0.01)));
    let why = explained.judged.iter().map(|j| j.why_not.as_deref());
    assert_eq!(
        why.collect::<Vec<_>>(),
        [
            Some("ports: neither 443 nor 5555 is 80, 8080"),
            Some("match: dport == 1 is false"),
            Some("servers: 10.0.0.1 is not in 10.9.0.0/16"),
            None
        ]
    );
    let switching = explained.switching.unwrap();
    assert_eq!(switching.algorithm.id(), AlgorithmId::Bbr);
    assert_eq!(
        switching.asked,
        [
            ("loss_ratio = 0.01".to_owned(), false),
            ("rtt = 80 ms".to_owned(), false)
        ]
    );
    let explained = policy.explain(&key, Side::Outside, 0, None);
    assert_eq!(explained.verdict, None);
    assert_eq!(explained.judged.len(), 4);
}

fn file(name: &str, text: &str) -> ConfigFile {
    ConfigFile {
        name: name.to_owned(),
        text: text.to_owned(),
    }
}

/// Further files add rules and tenants, in their order; a mistake is told with its file.
#[test]
fn a_configuration_may_have_several_files() {
    let first = "version = 1\n[[rule]]\nname = \"a\"\ntenant = \"blue\"\nports = [1]\n";
    let first = file("w.toml", first);
    let second = file(
        "conf.d/10.toml",
        "version = 1\n[[tenant]]\nname = \"blue\"\n",
    );
    let third = file("conf.d/20.toml", "version = 1\n[[rule]]\nname = \"b\"\n");
    let all = [first.clone(), second.clone(), third];
    let config = Config::parse_all(&all, &Catalog::new()).unwrap_or_else(|e| panic!("{e}"));
    let names: Vec<&str> = config.rules.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    for (text, what) in [
        (
            "version = 1\n[box]\n",
            "conf.d/20.toml:2:2: unknown key \"box\"",
        ),
        (
            "version = 1\n[[rule]]\nname = \"a\"\n",
            "conf.d/20.toml:2:1: two rules are called \"a\"",
        ),
        ("[[rule]]\n", "conf.d/20.toml:1:1: the file has no version"),
        (
            "version = 1\n[[rule]]\ntenant = \"red\"\n",
            "conf.d/20.toml:3:10: there is no tenant",
        ),
    ] {
        let all = [first.clone(), second.clone(), file("conf.d/20.toml", text)];
        let error = Config::parse_all(&all, &Catalog::new())
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(what), "{error}");
    }
}
