//! Reno and CUBIC on a simulated bottleneck, recovery by PRR included.

mod link;

use link::codel::CoDel;
use link::{Flow, Link, MSS, run_until, utilisation};
use windlass_cc::{AlgorithmId, MILLISECOND, Phase, SECOND, Settings, Value};

const LINK: Link = Link {
    // 50 Mbit/s, 40 ms and a queue of one BDP.
    rate: 6_250_000,
    rtt: 40 * MILLISECOND,
    queue: 250_000,
    loss_per_million: 0,
    supply: 0,
};

/// With a queue of a BDP neither halving (Reno) nor a decrease to 0.7 (CUBIC) empties the pipe.
#[test]
fn a_queue_of_one_bdp_keeps_the_link_busy() {
    for id in [AlgorithmId::Reno, AlgorithmId::Cubic] {
        let mut flow = Flow::new(id, LINK, 1);
        flow.run(3 * SECOND, |_, _| {});
        let drops = flow.drops;
        let mut least = u64::MAX;
        let share = utilisation(&mut flow, 60 * SECOND, |s| {
            least = least.min(s.control.cwnd)
        });
        assert!(share >= 950, "{id}: {share}");
        assert!(flow.drops > drops, "{id} never fills the queue");
        assert!(least >= flow.bdp() / 2, "{id}: {least}");
    }
}

/// RFC 9406: slow start ends by the rise of the RTT, before anything is lost.
#[test]
fn hystart_ends_slow_start_without_loss() {
    let deep = Link {
        queue: 4_000_000,
        ..LINK
    };
    let mut flow = Flow::new(AlgorithmId::Cubic, deep, 1);
    let css = run_until(&mut flow, Phase::ConservativeSlowStart, 5 * SECOND);
    assert!(
        css.is_some_and(|s| s.control.cwnd < 4 * flow.bdp()),
        "{css:?}"
    );
    run_until(&mut flow, Phase::Avoidance, 5 * SECOND).expect("slow start ends");
    assert_eq!(flow.drops, 0);
}

/// A source at a tenth of the link never makes the window grow far beyond what it uses.
#[test]
fn a_short_source_does_not_inflate_the_window() {
    let link = Link {
        supply: LINK.rate / 10,
        ..LINK
    };
    for id in [AlgorithmId::Reno, AlgorithmId::Cubic] {
        let mut flow = Flow::new(id, link, 1);
        flow.run(20 * SECOND, |_, _| {});
        let used = link.supply * 40 / 1000;
        let cwnd = flow.controller.control().cwnd;
        // Slow start doubles once more after the source has fallen behind.
        assert!(cwnd <= 4 * used, "{id}: {cwnd} for {used}");
    }
}

/// The window over time, as (seconds, segments), over frames of 1502 bytes that wait in a CoDel queue, as in
/// ns-3; at `mbit`, and at another rate from 10 s on.
fn ns3_cubic(settings: Settings, rtt_ms: u64, mbit: [u64; 2], begin_ms: u64) -> Vec<(f64, f64)> {
    let payload = |mbit: u64| mbit * 125_000 * MSS / 1502;
    let link = Link {
        rate: payload(mbit[0]),
        rtt: rtt_ms * MILLISECOND,
        queue: u64::MAX,
        ..LINK
    };
    let mut flow = Flow::new(settings, link, 1);
    flow.codel = Some(CoDel::default());
    let mut windows = Vec::new();
    for (mbit, span_ms) in [(mbit[0], 10_000 - begin_ms), (mbit[1], 10_000)] {
        flow.set_rate(payload(mbit));
        flow.run(span_ms * MILLISECOND, |_, s| {
            let at = (s.now - SECOND + begin_ms * MILLISECOND) as f64 / 1e9;
            windows.push((at, s.control.cwnd as f64 / MSS as f64));
        });
    }
    windows
}

/// `ns3tcp-cubic-test-suite.cc`: the flow begins at 0.1 s, and HyStart ends its slow start.
fn ns3_suite(rtt_ms: u64, mbit: [u64; 2], fast: bool, friendly: bool) -> Vec<(f64, f64)> {
    let mut settings = Settings::from(AlgorithmId::Cubic);
    for (name, value) in [
        ("fast_convergence", Value::Flag(fast)),
        ("reno_friendly", Value::Flag(friendly)),
        ("slow_start", Value::Choice("hystart")),
    ] {
        settings.set(name, value).expect("a parameter of cubic");
    }
    ns3_cubic(settings, rtt_ms, mbit, 100)
}

fn least_and_most(windows: &[(f64, f64)], from: f64, to: f64) -> (f64, f64) {
    let within = windows.iter().filter(|(at, _)| (from..to).contains(at));
    within.fold((f64::MAX, 0.0), |(least, most), (_, w)| {
        (w.min(least), w.max(most))
    })
}

/// The windows from which it was reduced: PRR takes a round trip for it.
fn peaks(windows: &[(f64, f64)]) -> Vec<f64> {
    let (mut peaks, mut highest) = (Vec::new(), 0.0f64);
    for (_, window) in windows {
        if *window < 0.8 * highest {
            peaks.push(highest);
            highest = 0.0;
        }
        highest = highest.max(*window);
    }
    peaks
}

/// Cases 1 and 2 (5 ms, 100 Mbit/s, without and with fast convergence): 60 to 110 segments from 1 to 19 s
/// (0.7 of 85 is 59.5); 84 to 89 before a reduction, at 9 s there, and in the flat part of case 2's first curve 83 to 88. When
/// the reductions come depends on when slow start ends, so that is looked for wherever it is.
#[test]
fn vectors_cubic_ns3_on_a_short_path() {
    for fast in [false, true] {
        let windows = ns3_suite(5, [100, 100], fast, false);
        let (least, most) = least_and_most(&windows, 1.0, 19.0);
        assert!(least >= 59.5 && most <= 110.0, "{fast}: {least} {most}");
        let peaks = peaks(&windows);
        assert!(peaks.len() >= 2, "{fast}: {peaks:?}");
        for peak in &peaks {
            assert!((83.0..=89.0).contains(peak), "{fast}: {peaks:?}");
        }
    }
}

/// Cases 3 and 4 (20 ms, 50 and from 10 s on 100 Mbit/s): alone, CUBIC stays at 107 to 123 segments from
/// 11 to 15 s and has 169 to 215 from 17.5 to 18.5 s; with its Reno-friendly part 150 to 220 by 13 to 15 s.
#[test]
fn vectors_cubic_ns3_when_a_path_becomes_faster() {
    let alone = ns3_suite(20, [50, 100], true, false);
    let (least, most) = least_and_most(&alone, 11.0, 15.0);
    assert!(least >= 107.0 && most <= 123.0, "{least} {most}");
    let (least, most) = least_and_most(&alone, 17.5, 18.5);
    assert!(least >= 169.0 && most <= 215.0, "{least} {most}");
    let friendly = ns3_suite(20, [50, 100], true, true);
    let (least, most) = least_and_most(&friendly, 13.0, 15.0);
    assert!(least >= 150.0 && most <= 220.0, "{least} {most}");
}

/// `tcp-validation.cc` "cubic-50ms-no-ecn" (50 ms, 50 Mbit/s; the flow begins at 5 s): after slow start,
/// which its delayed ACKs end lower than ours, it is reduced from 236 and 234 segments, and not below 225.
#[test]
fn vectors_cubic_ns3_on_50_ms() {
    let windows = ns3_cubic(AlgorithmId::Cubic.into(), 50, [50, 50], 5000);
    let late: Vec<(f64, f64)> = windows.into_iter().filter(|(at, _)| *at > 9.0).collect();
    let peaks = peaks(&late);
    assert!(peaks.len() >= 2, "{peaks:?}");
    for peak in &peaks {
        assert!((225.0..240.0).contains(peak), "{peaks:?}");
    }
}
