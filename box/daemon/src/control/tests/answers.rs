//! What is asked and answered.

use windlass_cc::Catalog;
use windlass_engine::{HeldBack, Watched};

use super::*;
use crate::advice::{advice_on, advice_until};

#[test]
fn flows_of_all_workers_come_with_units_and_rule() {
    let fake = Fake::start(false);
    let Ok(Answer::Flows { mut flows, omitted }) =
        ask(&fake.path(), Request::Flows(FlowFilter::default()))
    else {
        panic!("no flows");
    };
    flows.sort_by(|a, b| a.flow.cmp(&b.flow));
    assert_eq!((flows.len(), omitted), (2, 4));
    let flow = &flows[0];
    assert_eq!(flow.flow, "10.0.0.1:443>192.0.2.7:5000");
    assert_eq!(flow.rule.as_deref(), Some("default"));
    assert_eq!(
        (flow.figures.srtt_us, flow.figures.min_rtt_us),
        (25_500, 20_000)
    );
    assert_eq!(flow.figures.pacing_rate_bps, Some(10_000_000));
    assert_eq!(flow.figures.ssthresh_bytes, None);
    assert_eq!(
        (flow.phase.as_str(), flow.limited_by.as_str()),
        ("probe_bw", "cwnd")
    );
}

/// A window of 20 packets on a path of 50 Mbit/s and 100 ms that loses one in a hundred.
fn advised(port: u16) -> FlowInfo {
    let watched = Watched {
        held_back_by: Some(HeldBack::Window),
        bytes: 3_000_000,
        duration: 10_000_000_000,
        first: true,
        delivery_rate: 300_000,
        min_rtt: 100_000_000,
        bottleneck: Some(6_250_000),
        loss_ratio: 0.01,
        queue_delay: 0,
        overflowed: false,
    };
    FlowInfo {
        mode: windlass_engine::Mode::Advise,
        watched: Some(watched),
        ..info(port)
    }
}

#[test]
fn advised_flows_come_with_what_enforcing_would_bring() {
    let idle = FlowInfo {
        watched: None,
        ..advised(2)
    };
    let advice = advice_on(&[advised(1), info(3), idle]);
    let [Some(first), None, None] = &advice[..] else {
        panic!("{advice:?}");
    };
    assert_eq!((first.goodput_bps, first.transfer_ms), (2_400_000, 10_000));
    assert_eq!(first.path_loss_ppm, 10_000);
    let speedup = first.predicted_speedup_percent.unwrap();
    let predicted = first.predicted_goodput_bps.unwrap();
    assert!((600..1200).contains(&speedup), "{first:?}");
    assert!(
        predicted.abs_diff(24_000 * speedup) < predicted / 50,
        "{first:?}"
    );
    assert!(!first.predicted_at_least && first.unpredicted.is_none());

    let waiting = |port| {
        let watched = advised(port).watched.map(|watched| Watched {
            held_back_by: Some(HeldBack::Application),
            ..watched
        });
        FlowInfo {
            watched,
            ..advised(port)
        }
    };
    let advice = advice_on(&[waiting(1)]);
    let first = advice[0].as_ref().unwrap();
    assert_eq!(
        first.unpredicted.as_deref(),
        Some("limited by the application")
    );
    assert_eq!(first.predicted_ms, None);

    let late = advice_until(&[advised(1)], std::time::Instant::now());
    let late = late[0].as_ref().unwrap();
    assert_eq!(
        late.unpredicted.as_deref(),
        Some("too many flows are advised on")
    );
    assert_eq!((late.goodput_bps, late.predicted_ms), (2_400_000, None));
}

#[test]
fn counters_are_summed_and_named() {
    let fake = Fake::start(false);
    let Ok(Answer::Counters {
        engine,
        driver,
        xdp,
        recorder,
    }) = ask(&fake.path(), Request::Counters)
    else {
        panic!("no counters");
    };
    assert_eq!(engine["packets"], 10);
    assert_eq!(engine["passed_no_syn"], 0);
    assert_eq!(driver["inside_rx_packets"], 0);
    assert_eq!(xdp["taken"], 7);
    assert!(recorder.is_empty(), "there is none");
}

#[test]
fn tenants_are_summed_over_the_workers() {
    let fake = Fake::start(false);
    let Ok(Answer::Tenants { tenants }) = ask(&fake.path(), Request::Tenants) else {
        panic!("no tenants");
    };
    let blue = crate::TenantReport {
        name: "blue".to_owned(),
        cap_bps: Some(16_000_000),
        bytes_sent: 14,
        policed_packets: 2,
        policed_bytes: 2896,
    };
    assert_eq!(tenants, [blue]);
}

#[test]
fn bypass_reaches_all_workers_before_the_kernel_takes_over() {
    let fake = Fake::start(false);
    for on in [true, false] {
        let answer = ask(&fake.path(), Request::Bypass { on }).unwrap();
        assert_eq!(answer, Answer::Bypass { on });
        let Ok(Answer::Status(status)) = ask(&fake.path(), Request::Status) else {
            panic!("no status");
        };
        assert_eq!(
            (status.bypass, status.workers, status.connections),
            (on, 2, 6)
        );
        assert_eq!(status.pid, std::process::id());
    }
    let log = fake.log.lock().unwrap().join(", ");
    assert_eq!(
        log,
        "worker true, worker true, kernel true, kernel false, worker false, worker false"
    );
}

#[test]
fn another_policy_reaches_all_workers_and_names_the_flows() {
    let fake = Fake::start(false);
    let config = "version = 1\n[[rule]]\nname = \"web\"\nports = [443]\nalgorithm = \"reno\"\n";
    assert_eq!(apply(&fake, config).unwrap(), Answer::Applied { rules: 1 });
    let log = fake.log.lock().unwrap().join(", ");
    assert_eq!(log, "policy Some([443]), policy Some([443])");
    let Ok(Answer::Flows { flows, .. }) = ask(&fake.path(), Request::Flows(FlowFilter::default()))
    else {
        panic!("no flows");
    };
    assert_eq!(flows[0].rule.as_deref(), Some("web"));
}

/// What is refused changes nothing: a mistake in the file, and ports that the XDP program leaves
/// to the kernel.
#[test]
fn a_policy_that_cannot_be_followed_is_refused() {
    let web = "version = 1\n[[rule]]\nports = [443]\n";
    let policy = Config::parse(web, "w.toml", &Catalog::new())
        .unwrap()
        .policy();
    let fake = Fake::with(false, policy);
    for (config, expected) in [
        (
            "version = 1\n[[rule]]\nalgorithm = \"cubik\"\n",
            "w.toml:3:13: unknown algorithm",
        ),
        ("version = 1\n", "w.toml governs every port"),
        (
            "version = 1\n[[rule]]\nports = [443, 80]\n",
            "governs port 80",
        ),
    ] {
        let error = apply(&fake, config).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert!(fake.log.lock().unwrap().is_empty());
    assert!(apply(&fake, web).is_ok());
}

#[test]
fn a_deaf_worker_makes_an_error_in_time_and_the_kernel_takes_over_all_the_same() {
    let fake = Fake::start(true);
    let start = Instant::now();
    let error = ask(&fake.path(), Request::Bypass { on: true }).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(3));
    assert!(
        matches!(&error, AskError::Refused(why) if why.contains("not answered")),
        "{error}"
    );
    assert!(fake.log.lock().unwrap().contains(&"kernel true".to_owned()));
    let Ok(Answer::Status(status)) = ask(&fake.path(), Request::Status) else {
        panic!("no status");
    };
    assert_eq!((status.workers, status.troubles.len()), (2, 1));
    assert!(
        status.troubles[0].what.contains("not answered"),
        "{status:?}"
    );
}

#[test]
fn what_is_no_request_is_told_so() {
    let fake = Fake::start(false);
    for text in [
        "{\"request\":\"reboot\"}\n",
        "nonsense\n",
        "\u{0}\n",
        "{}\n",
    ] {
        let answer = fake.raw(text);
        assert!(
            answer.contains("\"answer\":\"error\""),
            "{text:?}: {answer}"
        );
        assert!(answer.contains("not a request"), "{text:?}: {answer}");
    }
    let endless = fake.raw(&"x".repeat(1 << 20));
    assert!(endless.contains("at most 1048576 bytes"), "{endless}");
}

#[test]
fn several_requests_share_a_connection() {
    let fake = Fake::start(false);
    let mut stream = UnixStream::connect(fake.path()).unwrap();
    stream
        .write_all(b"{\"request\":\"bypass\",\"on\":true}\n{\"request\":\"bypass\",\"on\":false}\n")
        .unwrap();
    let mut lines = BufReader::new(stream).lines();
    assert_eq!(
        lines.next().unwrap().unwrap(),
        "{\"answer\":\"bypass\",\"on\":true}"
    );
    assert_eq!(
        lines.next().unwrap().unwrap(),
        "{\"answer\":\"bypass\",\"on\":false}"
    );
}

/// The kernel forwards its queue; nobody is to wait for its answer.
#[test]
fn a_worker_that_has_panicked_is_told_and_the_others_answer() {
    let fake = Fake::start(true);
    let flows = || ask(&fake.path(), Request::Flows(FlowFilter::default()));
    assert!(
        flows().is_err(),
        "one that is silent is no worker that has panicked"
    );
    fake.workers.hearts()[1].stop();
    let lost = "the worker of queue 1 has panicked (so)".to_owned();
    fake.handler.condition().lost_workers.push(lost.clone());
    fake.handler.condition().workers_panicked += 1;
    let Ok(Answer::Flows { flows, .. }) = flows() else {
        panic!("no flows");
    };
    assert_eq!(flows.len(), 1);
    let Ok(Answer::Status(status)) = ask(&fake.path(), Request::Status) else {
        panic!("no status");
    };
    assert_eq!((status.workers, status.connections), (1, 3));
    assert_eq!(status.troubles.len(), 1);
    assert_eq!(status.troubles[0].what, lost);
    let figures = crate::metrics::collect(&fake.handler).state;
    assert_eq!(
        (
            figures.workers,
            figures.workers_answer,
            figures.workers_panicked
        ),
        (1, 1, 1)
    );
}
