//! What a module may not do: at once when it is added, and later, when it fails in charge of a flow.

mod modules;

use modules::{ON_777, about, wat};
use windlass_cc::plugin::Fault;
use windlass_cc::{
    AckEvent, AlgorithmId, Catalog, CongestionEvent, Controller, MILLISECOND, Path, SECOND,
    Settings, Signal, Value,
};
use windlass_plugin::{FAULTS_MAX, add, statuses};

fn refused(module: &str, catalog: &mut Catalog) -> String {
    add(catalog, module.as_bytes())
        .expect_err("it is refused")
        .to_string()
}

/// A module whose parameters have these names, and 1 for a default.
fn with_parameters(name: &str, parameters: &[&str]) -> String {
    let parameter = |parameter: &&str| {
        format!(
            "[[parameter]]\nname = \"{parameter}\"\nmeaning = \"m\"\nleast = 0\nmost = 9\ndefault = 1\n"
        )
    };
    let parameters: String = parameters.iter().map(parameter).collect();
    wat(&(about(name, 8) + &parameters), "", "")
}

/// No sample is above `max_rtt` while it does not age, and after the first it is known.
#[test]
fn the_largest_round_trip_is_told() {
    let traps_if = |name: &str, condition: &str| {
        let ask = r#"(import "windlass" "getMaxRTT" (func $getMaxRTT (result i64)))
  (import "windlass" "getCRTT" (func $getCRTT (result i64)))"#;
        let trap = format!(r#"(func (export "on_ack") (if {condition} (then unreachable))"#);
        let module = wat(&about(name, 8), "", "")
            .replacen("(import", &format!("{ask}\n  (import"), 1)
            .replace(r#"(func (export "on_ack")"#, &trap);
        add(&mut Catalog::new(), module.as_bytes()).map_err(|error| error.to_string())
    };
    let below = "(i64.lt_s (call $getMaxRTT) (call $getCRTT))";
    assert_eq!(traps_if("t_below", below).map(drop), Ok(()));
    let known = "(i64.gt_s (call $getMaxRTT) (i64.const 0))";
    let error = traps_if("t_known", known).expect_err("it traps");
    assert!(error.contains("on_ack"), "{error}");
}

/// `min_rtt` is infinite before the first sample (Zhang et al., ANRW 2018, §3.1). Modules that speak
/// version 1 are told 0, as they were when they were built.
#[test]
fn an_unknown_round_trip_is_infinite() {
    let ask = r#"(import "windlass" "getMinRTT" (func $getMinRTT (result i64)))"#;
    let traps_if_told = |name: &str, version: i32, told: i64| {
        let trap = format!(
            r#"(func (export "on_start")
                 (if (i64.eq (call $getMinRTT) (i64.const {told})) (then unreachable))"#
        );
        wat(&about(name, 8), "", "")
            .replacen("(import", &format!("{ask}\n  (import"), 1)
            .replace(r#"(func (export "on_start")"#, &trap)
            .replace("(i32.const 2))", &format!("(i32.const {version}))"))
    };
    // Later events are absurd on purpose: the first alone comes before any sample.
    let first = "number 0 (on_start): it trapped";
    for (version, told, other) in [(2, i64::MAX, 0), (1, 0, i64::MAX)] {
        let result = |name: &str, told| {
            let module = traps_if_told(name, version, told);
            add(&mut Catalog::new(), module.as_bytes()).map_err(|error| error.to_string())
        };
        let error = result("t_told", told).expect_err("it traps at once");
        assert!(error.contains(first), "{version}: {error}");
        let other = result("t_other_told", other);
        assert!(
            other.err().is_none_or(|error| !error.contains(first)),
            "{version}"
        );
    }
}

#[test]
fn what_cannot_be_used_is_told() {
    let fine = |name: &str| wat(&about(name, 8), "", "");
    let other = |from: &str, to: &str| {
        let text = fine("t_other");
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    };
    let cases: Vec<(String, &str)> = vec![
        ("no module".into(), "not a module that can be run here"),
        (
            other("\"on_rto\"", "\"on_rtx\""),
            "has no function on_rto: export on_start",
        ),
        (other("(export \"memory\")", ""), "has no export \"memory\""),
        (
            other("(result i32) (i32.const 2))", "(result i32) (i32.const 3))"),
            "speaks version 3 of the interface, and Windlass speaks 1 to 2",
        ),
        (
            other("\"isLoss\"", "\"random\""),
            "imports windlass.random, which there is not",
        ),
        (
            other("(i32.const 8))", "(i32.const 65530))"),
            "address 65530",
        ),
        (other("(i32.const 8))", "(i32.const 12))"), "at address 12"),
        (
            other("(i32.const 4096))", "(i32.const -5))"),
            "no zero byte ends it",
        ),
        (
            other("\"memory\") 1)", "\"memory\") 20)"),
            "not a module that can be run here",
        ),
        (wat("name = 5", "", ""), "windlass_about"),
        (
            wat(&about("t_key", 8).replace("advice", "advise"), "", ""),
            "unknown field `advise`",
        ),
        (
            wat(&about("t state", 8), "", ""),
            "\"t state\" cannot be a name",
        ),
        (fine("auto"), "\"auto\" has a meaning in rules"),
        (fine("observe"), "\"observe\" has a meaning in rules"),
        (
            with_parameters("t_key_of_rules", &["fallback"]),
            "fallback has a meaning in rules",
        ),
        (
            with_parameters("t_twice", &["gain", "beta", "gain"]),
            "two parameters are called gain",
        ),
        (
            with_parameters("t_comma", &["a,b"]),
            "\"a,b\" cannot be a name",
        ),
        (
            wat(&about("t_state", 300), "", ""),
            "300 bytes of state: at most 256",
        ),
        (fine("cubic"), "cubic is an algorithm of Windlass' own"),
        (
            wat(&about("t_loop", 8), "(loop $l (br $l))", ""),
            "it did not end within its instructions",
        ),
        (
            wat(&about("t_trap", 8), "unreachable", ""),
            "(on_ack): it trapped: it reached what",
        ),
        (
            wat(&about("t_zero", 8), "(call $setCwnd (i64.const 0))", ""),
            "(on_ack): it answered nonsense: a window of less than a segment",
        ),
        (
            wat(&about("t_minus", 8), "", "(call $setCwnd (i64.const -1))"),
            "(on_congestion): it answered nonsense",
        ),
        (
            wat(
                &about("t_much", 8),
                "(call $setCwnd (i64.const 1099511627777))",
                "",
            ),
            "a window of more than 2^40 bytes",
        ),
        (
            // Counts the calls of all flows: the window of one depends on the other.
            wat(
                &about("t_shared", 8),
                "(global.set $calls (i64.add (global.get $calls) (i64.const 1)))
                 (call $setCwnd (i64.add (i64.const 100000) (global.get $calls)))",
                "",
            ),
            "keep all that is remembered of a flow in its state",
        ),
        (
            wat(
                &about("t_grow", 8),
                "(drop (memory.grow (i32.const 1)))(drop (memory.grow (i32.const 15)))
                 (if (i32.lt_s (memory.grow (i32.const 1)) (i32.const 0)) (then unreachable))",
                "",
            ),
            "it trapped",
        ),
    ];
    let mut catalog = Catalog::new();
    for (module, expected) in &cases {
        let error = refused(module, &mut catalog);
        assert!(error.contains(expected), "{expected:?} in {error:?}");
        assert!(!error.contains('\n'), "{error:?}");
    }
    let too_large = vec![0; windlass_plugin::MODULE_BYTES_MAX + 1];
    assert!(
        add(&mut catalog, &too_large)
            .unwrap_err()
            .to_string()
            .contains("at most 1048576")
    );
    assert!(catalog.plugins().is_empty(), "nothing refused is known");
}

fn ack(now: u64) -> AckEvent {
    AckEvent {
        now,
        acked: 777,
        delivered: 777,
        inflight_before: 7770,
        inflight: 6993,
        cwnd_limited: true,
        ..AckEvent::default()
    }
}

fn path() -> Path {
    let mut path = Path::new(777);
    path.on_rtt(50 * MILLISECOND);
    path.max_bw = 777_000;
    path.inflight = 6993;
    path.delivered = 77_700;
    path
}

/// A loop, a trap and nonsense, each in the first ACK on a path of the test's own: before that ACK is
/// done, the fallback is in charge and has been told of it.
#[test]
fn the_fallback_takes_over_within_the_ack() {
    let bodies = [
        ("w_loop", "(loop $l (br $l))", Fault::OutOfTime),
        (
            "w_trap",
            "unreachable",
            Fault::Trap("it reached what it calls unreachable (a panic)"),
        ),
        (
            "w_zero",
            "(call $setCwnd (i64.const 776))",
            Fault::Nonsense("a window of less than a segment"),
        ),
        (
            "w_memory",
            "(drop (i64.load (i32.const 2000000)))",
            Fault::Trap("it touched memory that is not its own"),
        ),
    ];
    for (name, body, fault) in bodies {
        let body = format!("(if {ON_777} (then {body}))");
        let id = add(
            &mut Catalog::new(),
            wat(&about(name, 8), &body, "").as_bytes(),
        )
        .expect(name)
        .id;
        let settings = Settings::from(id).with_fallback(AlgorithmId::Reno);
        let path = path();
        let mut flow = Controller::new(settings, &path, 1);
        assert_eq!((flow.id(), flow.take_failed()), (id, None), "{name}");
        flow.on_ack(&ack(SECOND), &path);
        let failed = flow.take_failed().expect(name);
        assert_eq!(
            (failed.plugin.description().name, failed.fault),
            (name, fault)
        );
        assert_eq!(flow.take_failed(), None, "told once");

        // As if the flow had been moved to the fallback, which then saw the ACK.
        let mut moved = Controller::new(id, &path, 1);
        moved.switch(AlgorithmId::Reno, &path, 1);
        moved.on_ack(&ack(SECOND), &path);
        assert_eq!(flow.id(), AlgorithmId::Reno, "{name}");
        assert_eq!(flow.control(), moved.control(), "{name}");
    }
}

#[test]
fn a_loss_that_the_plugin_failed_at_is_the_fallbacks() {
    let body = format!("(if {ON_777} (then unreachable))");
    let id = add(
        &mut Catalog::new(),
        wat(&about("x_loss", 8), "", &body).as_bytes(),
    )
    .expect("a plugin")
    .id;
    let path = path();
    let mut flow = Controller::new(
        Settings::from(id).with_fallback(AlgorithmId::Reno),
        &path,
        1,
    );
    let event = CongestionEvent {
        now: SECOND,
        signal: Signal::Loss,
        inflight_before: 77_700,
        lost: 777,
    };
    flow.on_congestion(&event, &path);
    let mut moved = Controller::new(id, &path, 1);
    moved.switch(AlgorithmId::Reno, &path, 1);
    let before = moved.control().cwnd;
    moved.on_congestion(&event, &path);
    assert_eq!(
        (flow.id(), flow.control()),
        (AlgorithmId::Reno, moved.control())
    );
    assert_eq!(flow.control().ssthresh, before / 2);
}

/// After so many failures it is not asked any more, and says so; a new version begins anew.
#[test]
fn what_fails_again_and_again_is_suspended_until_it_is_replaced() {
    let looping = "(loop $l (br $l))";
    is_suspended("y_suspended", looping, "instructions");
    let nonsense = "(call $setCwnd (i64.const 776))";
    is_suspended("y_nonsense", nonsense, "less than a segment");
}

fn is_suspended(name: &str, body: &str, fault: &str) {
    let body = format!("(if {ON_777} (then {body}))");
    let module = wat(&about(name, 8), &body, "");
    let mut catalog = Catalog::new();
    let id = add(&mut catalog, module.as_bytes()).expect("a plugin").id;
    let path = path();
    let status = |catalog: &Catalog| {
        statuses(catalog)
            .into_iter()
            .find(|s| s.name == name)
            .expect("known")
    };
    assert_eq!(
        (
            status(&catalog).faults,
            status(&catalog).suspended,
            status(&catalog).last_fault
        ),
        (0, false, None)
    );
    for n in 0..FAULTS_MAX {
        let mut flow = Controller::new(id, &path, 1);
        assert_eq!(flow.id(), id, "{n}");
        flow.on_ack(&ack(SECOND), &path);
        assert_eq!(flow.id(), AlgorithmId::Cubic, "{n}");
        // A flow that nobody asks about, such as that of a forecast, does not count.
        assert_eq!(status(&catalog).faults, n);
        assert!(flow.take_failed().is_some());
        assert_eq!(status(&catalog).faults, n + 1);
    }
    let mut flow = Controller::new(id, &path, 1);
    assert_eq!(flow.id(), AlgorithmId::Cubic);
    assert_eq!(flow.take_failed().map(|f| f.fault), Some(Fault::Suspended));
    let said = status(&catalog).last_fault.expect("it failed");
    assert!(status(&catalog).suspended && said.contains(fault), "{said}");

    let mended = wat(&about(name, 8), "", "");
    let newer = add(&mut catalog, mended.as_bytes()).expect("a plugin").id;
    assert_ne!(newer, id);
    assert_eq!(catalog.algorithm(name), Ok(newer));
    assert!(!status(&catalog).suspended);
    assert_eq!(Controller::new(newer, &path, 1).id(), newer);
}

/// What an operator has set stays; what nobody has set is as the newer one has it. An algorithm, its values and who goes on
/// when it fails can be said in one word.
#[test]
fn a_newer_one_brings_its_own_defaults() {
    let mut catalog = Catalog::new();
    let version = |catalog: &mut Catalog, gain: u8, beta: u8| {
        let text = with_parameters("z_newer", &["gain", "beta"]);
        let text = text.replacen("default = 1", &format!("default = {gain}"), 1);
        let text = text.replacen("default = 1", &format!("default = {beta}"), 1);
        add(catalog, text.as_bytes()).expect("a plugin").id
    };
    let older = Settings::from(version(&mut catalog, 2, 3));
    let mut set = older.with_fallback(AlgorithmId::Bbr);
    set.set("beta", Value::Number(4.0)).expect("in range");
    assert_eq!(set.to_string(), "z_newer:beta=4,fallback=bbr");
    assert_eq!(catalog.settings(&set.to_string()), Ok(set));
    let wrong = catalog.settings("z_newer:fallback=z_newer");
    let wrong = wrong.expect_err("a plugin").to_string();
    assert!(wrong.contains("z_newer is a plugin too"), "{wrong}");

    let newer = version(&mut catalog, 5, 6);
    let values = |s: Settings| (s.get("gain"), s.get("beta"), s.fallback());
    let number = |n: u8| Some(Value::Number(f64::from(n)));
    let newest = set.newest();
    assert_eq!(newest.id(), newer);
    let expected = (number(5), number(4), Some(AlgorithmId::Bbr));
    assert_eq!(values(newest), expected);
    assert_eq!(older.newest(), newer.into());
    assert_eq!(newest.newest(), newest);
}

/// A segment that grows under way is none of a plugin's doing.
#[test]
fn a_window_that_a_longer_segment_outgrows_is_no_fault() {
    let body = format!("(if {ON_777} (then (call $setCwnd (i64.const 777))))");
    let id = add(
        &mut Catalog::new(),
        wat(&about("z_mtu", 8), &body, "").as_bytes(),
    )
    .expect("a plugin");
    let mut path = path();
    let mut flow = Controller::new(id.id, &path, 1);
    flow.on_ack(&ack(SECOND), &path);
    assert_eq!(flow.control().cwnd, 777);
    path.mss = 1200;
    flow.on_recovery_exit(SECOND, &path);
    assert_eq!((flow.control().cwnd, flow.take_failed()), (1200, None));
}
