//! Policies, trials and what is learned.

use super::*;
use windlass_cc::Catalog;
use windlass_engine::{Decide, Side};

#[test]
fn without_workers_every_request_has_an_answer() {
    let fake = Fake::start(false);
    let live = fake.handler.live.write().unwrap().take();
    fake.handler.condition().waiting = Some("interface wan is gone".to_owned());
    for request in [
        Request::Flows(FlowFilter::default()),
        Request::Counters,
        Request::Tenants,
    ] {
        let error = ask(&fake.path(), request).unwrap_err().to_string();
        assert!(error.contains("interface wan is gone"), "{error}");
    }
    assert!(ask(&fake.path(), Request::Bypass { on: true }).is_ok());
    assert!(apply(&fake, "version = 1\n[[rule]]\nname = \"web\"\n").is_ok());
    let Ok(Answer::Status(status)) = ask(&fake.path(), Request::Status) else {
        panic!("no status");
    };
    assert_eq!((status.state.as_str(), status.bypass), ("waiting", true));
    assert_eq!((status.workers, status.inside.as_str()), (0, "lan"));
    assert!(fake.log.lock().unwrap().is_empty());

    *fake.handler.live.write().unwrap() = live;
    fake.handler.condition().waiting = None;
    let rule = || match ask(&fake.path(), Request::Flows(FlowFilter::default())) {
        Ok(Answer::Flows { flows, .. }) => flows[0].rule.clone(),
        _ => panic!("no flows"),
    };
    // These workers have not been told of that policy: their numbers get no name of it.
    assert_eq!(rule(), None);
    assert!(apply(&fake, "version = 1\n[[rule]]\nname = \"web\"\n").is_ok());
    assert_eq!(rule().as_deref(), Some("web"));
}

#[test]
fn a_policy_may_be_narrowed_and_widened_again() {
    let both = "version = 1\n[[rule]]\nports = [80, 443]\n";
    let policy = Config::parse(both, "w.toml", &Catalog::new())
        .unwrap()
        .policy();
    let fake = Fake::with(false, policy);
    for config in [
        "version = 1\n[[rule]]\nports = [443]\n",
        "version = 1\n[default]\nmode = \"off\"\n[[rule]]\nports = [80]\n",
        both,
    ] {
        apply(&fake, config).unwrap();
    }
}

#[test]
fn a_trial_is_begun_shown_and_ended() {
    let fake = Fake::start(false);
    let start = |rule: Option<&str>, arms: &[&str], share_permille| {
        let request = Request::StartTrial {
            rule: rule.map(str::to_owned),
            arms: arms.iter().map(|a| (*a).to_owned()).collect(),
            share_permille,
        };
        ask(&fake.path(), request)
    };
    for (rule, arms, share, expected) in [
        (None, &["bbr"][..], 100, "2 to 8 algorithms, not 1"),
        (None, &["bbr", "cubik"][..], 100, "cubik"),
        (
            Some("web"),
            &["bbr", "cubic"][..],
            100,
            "no rule is called \"web\"",
        ),
        (None, &["bbr", "cubic"][..], 0, "0.1 % to 100 %"),
    ] {
        let error = start(rule, arms, share).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let none = ask(&fake.path(), Request::Trial).unwrap_err().to_string();
    assert!(none.contains("no trial runs"), "{none}");
    assert!(fake.log.lock().unwrap().is_empty());
    let begun = start(Some("default"), &["bbr", "cubic:beta=0.8"], 100).unwrap();
    let Answer::Trial(trial) = begun else {
        panic!("{begun:?}");
    };
    assert_eq!(trial.arms, ["bbr", "cubic:beta=0.8"]);
    assert_eq!((trial.share, &trial.report.flows[..]), (0.1, &[0, 0][..]));
    assert!(
        trial.verdict[0].contains("not enough data yet"),
        "{trial:?}"
    );
    assert_eq!(
        ask(&fake.path(), Request::Trial).unwrap(),
        Answer::Trial(trial.clone())
    );
    // Other rules do not end it.
    assert!(apply(&fake, "version = 1\n").is_ok());
    assert_eq!(
        ask(&fake.path(), Request::StopTrial).unwrap(),
        Answer::Trial(trial)
    );
    assert!(ask(&fake.path(), Request::StopTrial).is_err());
    assert_eq!(
        fake.log.lock().unwrap().len(),
        2 * 3,
        "both workers, three times"
    );
}

#[test]
fn what_the_guard_has_found_is_told() {
    let fake = Fake::start(false);
    let request = Request::Guard { hours: 24 };
    let none = ask(&fake.path(), request).unwrap_err().to_string();
    assert!(none.contains("[guard]"), "{none}");
    let rules = "version = 1\n[guard]\n[[rule]]\nname = \"web\"\nalgorithm = \"bbr\"\n";
    apply(&fake, rules).unwrap();
    let Ok(Answer::Guard(report)) = ask(&fake.path(), Request::Guard { hours: 24 }) else {
        panic!("no answer");
    };
    let [web] = &report.rules[..] else {
        panic!("{report:?}");
    };
    assert_eq!((web.name.as_str(), web.state.name()), ("web", "open"));
    assert_eq!(web.transfers, [0.0, 0.0]);
}

#[test]
fn what_auto_believes_is_told() {
    let fake = Fake::start(false);
    let Ok(Answer::Auto(report)) = ask(&fake.path(), Request::Auto) else {
        panic!("no answer");
    };
    assert_eq!(report.arms, ["bbr", "cubic", "bbr3"]);
    let [anywhere] = &report.prefixes[..] else {
        panic!("{report:?}");
    };
    assert_eq!(
        (anywhere.prefix.as_deref(), anywhere.best.as_str()),
        (None, "bbr")
    );
    assert!(anywhere.sure < 0.9 && anywhere.arms.iter().all(|a| a.transfers == 0.0));
}

#[test]
fn what_is_tried_is_told_with_the_busiest_prefixes() {
    let fake = Fake::start(false);
    let rules = "version = 1\n[auto]\nexplore = 0\n[[rule]]\nname = \"web\"\nalgorithm = \"auto\"\n\
                 [[rule]]\nname = \"rest\"\nalgorithm = \"bbr\"\n";
    apply(&fake, rules).unwrap();
    let trials = || match ask(&fake.path(), Request::Trials) {
        Ok(Answer::Trials(report)) => report,
        other => panic!("{other:?}"),
    };
    let report = trials();
    assert_eq!((report.trial, report.prefixes_omitted), (None, 0));
    let [web] = &report.auto.rules[..] else {
        panic!("{:?}", report.auto);
    };
    assert_eq!((web.rule.as_str(), web.arms.len()), ("web", 3));
    let transfer = windlass_engine::Transfer {
        bytes: 1_000_000,
        duration: 1_000_000_000,
        largest_before: 0,
        complete: true,
    };
    // 300 prefixes, the last of which is the busiest.
    let policy = fake.handler.policy.read().unwrap().clone();
    for prefix in 0..300u32 {
        let flow = format!(
            "10.0.0.1:443>10.{}.{}.7:5555",
            prefix / 250 + 1,
            prefix % 250
        );
        let flow = flow.parse().unwrap();
        let verdict = policy.classify(&flow, Side::Inside, 0).unwrap();
        let verdict = policy.draw(verdict, &flow, 0);
        for _ in 0..if prefix == 299 { 5 } else { 1 } {
            policy.learn(&verdict, &flow, &transfer, 1);
        }
    }
    let report = trials();
    assert_eq!(report.auto.prefixes.len(), 201);
    assert_eq!(report.prefixes_omitted, 100);
    let prefixes = &report.auto.prefixes;
    assert_eq!(prefixes[0].prefix, None);
    assert_eq!(prefixes[1].prefix.as_deref(), Some("10.2.49.0/24"));
    let [web] = &report.auto.rules[..] else {
        panic!("{:?}", report.auto);
    };
    let flows: u64 = web.arms.iter().map(|arm| arm.flows).sum();
    let transfers: u64 = web.arms.iter().map(|arm| arm.transfers).sum();
    assert_eq!((flows, transfers), (300, 304));
    let arms = ["bbr", "cubic"].map(str::to_owned).to_vec();
    let start = Request::StartTrial {
        rule: None,
        arms,
        share_permille: 100,
    };
    ask(&fake.path(), start).unwrap();
    assert_eq!(trials().trial.map(|trial| trial.share), Some(0.1));
}
