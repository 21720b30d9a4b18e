//! Which rule a flow meets, and what it gets.

use windlass_cc::{AlgorithmId, Catalog, MILLISECOND, SECOND, Value as Setting};
use windlass_engine::{Decide, Limits, Mode, Redundancy, Side, Verdict};
use windlass_policy::{BoxLimits, Config, Extent, IoMode, Overrides, Policy};
use windlass_wire::FlowKey;

fn config(text: &str) -> Config {
    Config::parse(&format!("version = 1\n{text}"), "w.toml", &Catalog::new())
        .unwrap_or_else(|e| panic!("{e}"))
}

fn flow(src: &str, dst: &str, vlan: u16) -> FlowKey {
    let text = format!("{src}>{dst}@{vlan}");
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn name(policy: &Policy, src: &str, dst: &str, vlan: u16, sender: Side) -> String {
    let explained = policy.explain(&flow(src, dst, vlan), sender, 0, None);
    match explained.judged.last() {
        Some(last) if last.why_not.is_none() => last.rule.clone(),
        _ => "none".to_owned(),
    }
}

const RULES: &str = r#"
[default]
algorithm = "cubic"
mode = "advise"

[[rule]]
name = "backup"
servers = ["10.9.0.0/16"]
govern = false

[[rule]]
name = "tagged"
vlan = 7
algorithm = "reno"

[[rule]]
name = "web"
ports = [443, 80]
servers = ["10.0.0.0/8", "2001:db8::/32"]
clients = ["192.0.2.0/24", "2001:db8:c::/48"]
redundancy = { first_segments = 10, repairs = true, syn_ack = true, delay_ms = 5 }
headroom = false

[[rule]]
name = "uploads"
ports = [8080]
sender = "outside"
mode = "enforce"
insert_sack = false
"#;

#[test]
fn the_first_rule_that_matches_decides() {
    let policy = config(RULES).policy();
    use Side::{Inside, Outside};
    for (src, dst, vlan, sender, expected) in [
        ("10.9.1.1:443", "192.0.2.1:5000", 0, Inside, "backup"),
        ("10.9.1.1:443", "192.0.2.1:5000", 7, Inside, "backup"),
        ("10.1.1.1:22", "198.51.100.1:5000", 7, Inside, "tagged"),
        ("10.1.1.1:22", "198.51.100.1:5000", 8, Inside, "none"),
        ("10.1.1.1:443", "192.0.2.1:5000", 0, Inside, "web"),
        ("10.1.1.1:80", "192.0.2.1:5000", 0, Inside, "web"),
        ("10.1.1.1:5000", "192.0.2.1:80", 0, Inside, "web"),
        ("10.1.1.1:81", "192.0.2.1:5000", 0, Inside, "none"),
        ("10.1.1.1:443", "198.51.100.1:5000", 0, Inside, "none"),
        ("11.1.1.1:443", "192.0.2.1:5000", 0, Inside, "none"),
        (
            "[2001:db8::5]:443",
            "[2001:db8:c::9]:5000",
            0,
            Inside,
            "web",
        ),
        ("[2001:db8::5]:443", "[2001:db9::9]:5000", 0, Inside, "none"),
        ("10.1.1.1:443", "192.0.2.1:5000", 0, Outside, "none"),
        ("192.0.2.1:5000", "10.1.1.1:8080", 0, Outside, "uploads"),
        ("10.1.1.1:8080", "192.0.2.1:5000", 0, Inside, "none"),
    ] {
        assert_eq!(
            name(&policy, src, dst, vlan, sender),
            expected,
            "{src} > {dst} vlan {vlan}"
        );
    }
}

#[test]
fn a_rule_has_the_defaults_it_does_not_replace() {
    let policy = config(RULES).policy();
    let of = |src, dst, vlan, sender| policy.decide(&flow(src, dst, vlan), sender, 0);
    assert_eq!(of("10.9.1.1:443", "192.0.2.1:5000", 0, Side::Inside), None);
    let tagged = of("10.1.1.1:22", "198.51.100.1:5000", 7, Side::Inside).unwrap();
    assert_eq!(
        (tagged.algorithm.id(), tagged.mode),
        (AlgorithmId::Reno, Mode::Advise)
    );
    assert_eq!(
        tagged.redundancy,
        Verdict::enforce(AlgorithmId::Reno).redundancy
    );
    let web = of("10.1.1.1:443", "192.0.2.1:5000", 0, Side::Inside).unwrap();
    assert_eq!(
        (web.algorithm.id(), web.headroom),
        (AlgorithmId::Cubic, false)
    );
    assert_eq!(
        web.redundancy,
        Redundancy {
            repairs: true,
            first_segments: 10,
            syn_ack: true,
            delay: 5 * MILLISECOND,
            budget_permille: 1000,
        }
    );
    let uploads = of("192.0.2.1:5000", "10.1.1.1:8080", 0, Side::Outside).unwrap();
    assert_eq!((uploads.mode, uploads.insert_sack), (Mode::Enforce, false));
}

#[test]
fn without_rules_every_sender_inside_is_governed() {
    let policy = config("").policy();
    let any = flow("203.0.113.1:9", "[2001:db8::1]:10", 99);
    assert_eq!(
        policy.decide(&any, Side::Inside, 0),
        Some(Verdict {
            rule: Some(0),
            ..Verdict::enforce(AlgorithmId::Bbr)
        })
    );
    assert_eq!(policy.decide(&any, Side::Outside, 0), None);
    assert_eq!(policy.governed_ports(), None);
    assert_eq!(config(""), Config::default());
}

#[test]
fn governed_ports_are_those_of_the_rules_that_govern() {
    let ports = |text| config(text).policy().governed_ports();
    assert_eq!(
        ports("[[rule]]\nports = [443, 80, 443]\n"),
        Some(vec![80, 443])
    );
    let two = "[[rule]]\nports = [80]\n[[rule]]\nports = [22]\ngovern = false\n";
    assert_eq!(ports(two), Some(vec![80]));
    assert_eq!(ports("[[rule]]\nports = [80]\n[[rule]]\nvlan = 3\n"), None);
    let open_but_alone = "[[rule]]\nports = [80]\n[[rule]]\ngovern = false\n";
    assert_eq!(ports(open_but_alone), Some(vec![80]));
}

#[test]
fn flags_replace_what_every_rule_says() {
    let mut config = config(RULES);
    config.override_with(&Overrides {
        mode: Some(Extent::Govern(Mode::Observe)),
        algorithm: Some(AlgorithmId::Bbr3),
        redundancy: Some(Redundancy::OFF),
        ports: Some(vec![9000]),
    });
    for rule in &config.rules {
        assert_eq!(rule.ports, [9000]);
        let Some(verdict) = rule.verdict else {
            assert_eq!(rule.name, "backup");
            continue;
        };
        assert_eq!(
            (verdict.mode, verdict.algorithm.id()),
            (Mode::Observe, AlgorithmId::Bbr3)
        );
        assert_eq!(verdict.redundancy, Redundancy::OFF);
    }
    assert_eq!(config.policy().governed_ports(), Some(vec![9000]));
}

/// The port is taken all the same: another policy may govern it.
#[test]
fn flows_are_left_alone_where_the_mode_is_off() {
    use Side::Inside;
    let web = flow("10.0.0.1:443", "192.0.2.7:5555", 0);
    let ssh = flow("10.0.0.1:22", "192.0.2.7:5555", 0);
    let all_off = config("[default]\nmode = \"off\"\n").policy();
    assert_eq!(all_off.decide(&web, Inside, 0), None);
    assert_eq!(all_off.governed_ports(), None);
    assert!(all_off.explain(&web, Inside, 0, None).off);

    let text = "[default]\nmode = \"off\"\nalgorithm = \"reno\"\n[[rule]]\nname = \"web\"\nports = [443]\n\
                mode = \"enforce\"\n[[rule]]\nname = \"ssh\"\nports = [22]\n";
    let mut some_off = config(text);
    let policy = some_off.policy();
    let verdict = policy.decide(&web, Inside, 0).unwrap();
    assert_eq!(
        (verdict.mode, verdict.algorithm.id()),
        (Mode::Enforce, AlgorithmId::Reno)
    );
    assert_eq!(policy.decide(&ssh, Inside, 0), None);
    assert_eq!(policy.governed_ports(), Some(vec![22, 443]));
    let explained = policy.explain(&ssh, Inside, 0, None);
    assert_eq!((explained.verdict, explained.off), (None, true));

    // A flag decides for all rules, in either direction, and what they say of the algorithm stays.
    for (extent, governed) in [(Extent::Off, false), (Extent::Govern(Mode::Observe), true)] {
        some_off.override_with(&Overrides {
            mode: Some(extent),
            ..Overrides::default()
        });
        let policy = some_off.policy();
        for flow in [&web, &ssh] {
            let verdict = policy.decide(flow, Inside, 0);
            assert_eq!(verdict.is_some(), governed, "{extent:?}");
            assert!(verdict.is_none_or(|v| v.algorithm.id() == AlgorithmId::Reno));
        }
    }
}

#[test]
fn box_and_limits_are_read() {
    let config = config(
        r#"
        [box]
        inside = "lan0"
        outside = "wan0"
        frames = 1_000_000
        frame_size = 0x1000
        mode = "generic"
        control_socket = "/run/w.sock"
        [limits]
        flows = 1000
        flows_per_prefix = 100
        half_open = 400
        half_open_per_prefix = 40
        held_bytes_per_flow = 1_000_000
        held_bytes_total = 2_000_000
        held_packets_total = 3000
        held_packets_per_prefix = 2000
        segments_per_flow = 500
        segments_total = 100_000_000
        sack_ranges_per_flow = 64
        idle_timeout_s = 60
        handshake_timeout_s = 5
        closed_linger_s = 2
        shrink_after_s = 3
        strangers = 7
        stranger_timeout_s = 9
        strangers_per_second = 11
        syns_per_second = 500
        syns_per_second_per_prefix = 0
        memory_mb = 64
        "#,
    );
    assert_eq!(config.device.inside.as_deref(), Some("lan0"));
    assert_eq!(config.device.outside.as_deref(), Some("wan0"));
    assert_eq!(
        (config.device.frames, config.device.frame_size),
        (1_000_000, 4096)
    );
    assert_eq!(config.device.mode, IoMode::Generic);
    assert_eq!(config.device.control_socket, "/run/w.sock");
    assert_eq!(
        config.limits,
        Limits {
            flows: 1000,
            flows_per_prefix: 100,
            half_open: 400,
            half_open_per_prefix: 40,
            held_bytes_per_flow: 1_000_000,
            held_bytes_total: 2_000_000,
            held_packets_total: 3000,
            held_packets_per_prefix: 2000,
            segments_per_flow: 500,
            segments_total: 100_000_000,
            sack_ranges_per_flow: 64,
            idle_timeout: 60 * SECOND,
            handshake_timeout: 5 * SECOND,
            closed_linger: 2 * SECOND,
            shrink_after: 3 * SECOND,
            strangers: 7,
            stranger_timeout: 9 * SECOND,
        }
    );
    assert_eq!(
        config.box_limits,
        BoxLimits {
            syns_per_second: 500,
            syns_per_second_per_prefix: 0,
            strangers_per_second: 11,
            memory_mb: 64,
        }
    );
}

#[test]
fn the_degrees_of_redundancy_have_names() {
    for (word, expected) in [
        ("off", Redundancy::OFF),
        ("repairs", Redundancy::REPAIRS),
        ("early", Redundancy::EARLY),
    ] {
        let config = config(&format!("[default]\nredundancy = \"{word}\"\n"));
        assert_eq!(config.rules[0].verdict.unwrap().redundancy, expected);
    }
}

#[test]
fn an_algorithm_is_a_name_or_a_table_with_preset_and_parameters() {
    let text = r#"
[default]
algorithm = { name = "cubic", preset = "abe", beta = 0.5, slow_start = "standard", fast_convergence = false }
[[rule]]
ports = [443]
[[rule]]
algorithm = { name = "bbr", min_rtt_filter_ms = 20000 }
"#;
    let mut config = config(text);
    let algorithm = |config: &Config, n: usize| config.rules[n].verdict.unwrap().algorithm;
    let cubic = algorithm(&config, 0);
    assert_eq!(cubic.id(), AlgorithmId::Cubic);
    for (name, value) in [
        ("ecn_beta", Setting::Number(0.85)),
        ("beta", Setting::Number(0.5)),
        ("c", Setting::Number(0.4)),
        ("slow_start", Setting::Choice("standard")),
        ("fast_convergence", Setting::Flag(false)),
    ] {
        assert_eq!(cubic.get(name), Some(value), "{name}");
    }
    let filter = algorithm(&config, 1).get("min_rtt_filter_ms");
    assert_eq!(filter, Some(Setting::Number(20_000.0)));
    // A flag that names the same algorithm keeps its parameters.
    config.override_with(&Overrides {
        algorithm: Some(AlgorithmId::Cubic),
        ..Overrides::default()
    });
    assert_eq!(algorithm(&config, 0), cubic);
    assert_eq!(algorithm(&config, 1), AlgorithmId::Cubic.into());
}
