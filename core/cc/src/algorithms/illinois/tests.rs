use super::*;
use crate::CongestionControl;
use crate::scripted::Scripted;

type Flow = Scripted<IllinoisLaw>;

/// A flow whose RTT has been 100 ms at least and `longest` ms at most.
fn flow(mss: u32, cwnd: u64, ssthresh: u64, longest: u64) -> Flow {
    let mss_bytes = u64::from(mss);
    let parameters = IllinoisParameters::default();
    let mut flow = Flow::new(mss, cwnd * mss_bytes, ssthresh * mss_bytes, parameters);
    flow.path.min_rtt = 100 * MILLISECOND;
    flow.path.max_rtt = longest * MILLISECOND;
    flow
}

/// An ACK that ends a round of a mean RTT of `mean` ms: nothing is in flight after it.
fn end_round(flow: &mut Flow, mean: u64, segments: u64) {
    flow.path.latest_rtt = mean * MILLISECOND;
    flow.ack(segments);
}

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 5e-5, "{value} is not {expected}");
}

mod vectors {
    use super::*;

    /// ns-3 `tcp-illinois-test.cc`: window, threshold, mean and largest RTT and segments
    /// acknowledged; then alpha, beta, the window, and what a loss leaves of it in whole segments.
    /// ns-3 computes with delays in whole milliseconds, so 2 ms stand for its 2.5; and its slow start
    /// takes one segment per call, so that 39 and, after a loss, 27 and 19 stand there for 40, 28
    /// and 20 here.
    #[test]
    fn ns3_all_cases() {
        for (mss, cwnd, ssthresh, mean, longest, acked, alpha, beta, grown, after) in [
            (1446, 38, 40, 102, 105, 2, 0.72794, 0.28571, 40, 28),
            (346, 60, 40, 100, 100, 2, 10.0, 0.125, 60, 52),
            (1446, 38, 40, 108, 110, 2, 0.37308, 0.5, 40, 20),
            (1446, 40, 38, 102, 105, 55, 0.72794, 0.28571, 41, 29),
        ] {
            let mut flow = flow(mss, cwnd, ssthresh, longest);
            end_round(&mut flow, mean, acked);
            close(flow.cc.law.response.alpha, alpha);
            close(flow.cc.law.response.beta, beta);
            assert_eq!(flow.segments(), grown);
            flow.lose();
            assert_eq!(flow.segments(), after);
        }
    }
}

/// The ends of both curves: alpha is continuous at 1 % of the largest delay and 0.3 at all of it;
/// beta 1/8 up to 10 %, 1/2 from 80 % on, the mean of both half-way.
#[test]
fn both_curves() {
    let p = IllinoisParameters::default();
    for (delay, expected) in [(1.0001, 10.0), (100.0, 0.3)] {
        let mut law = IllinoisLaw::new(&Path::new(1000), &p);
        assert!(
            (law.alpha(delay, 100.0, &p) - expected).abs() < 0.01,
            "{delay}"
        );
    }
    for (delay, expected) in [
        (0.0, 0.125),
        (10.0, 0.125),
        (45.0, 0.3125),
        (80.0, 0.5),
        (99.0, 0.5),
    ] {
        close(beta(delay, 100.0, &p), expected);
    }
    // No queue has ever been seen.
    close(beta(0.0, 0.0, &p), 0.125);
}

/// Once there has been a queue, growth is the largest only after five rounds in a row without one.
#[test]
fn one_good_round_does_not_bring_the_largest_growth_back() {
    let mut flow = flow(1000, 100, 100, 200);
    let mut alphas = |rounds: &[u64]| -> Vec<f64> {
        let mut alpha = |mean: &u64| {
            end_round(&mut flow, *mean, 1);
            flow.cc.law.response.alpha
        };
        rounds.iter().map(&mut alpha).collect()
    };
    assert_eq!(alphas(&[100]), [10.0]);
    let queue = alphas(&[150])[0];
    assert!(queue < 1.0, "{queue}");
    assert_eq!(alphas(&[100; 4]), [queue; 4]);
    assert_eq!(alphas(&[150]), [queue]);
    assert_eq!(alphas(&[100; 6]), [queue, queue, queue, queue, 10.0, 10.0]);
}

fn linux(cwnd: u64) -> Flow {
    let parameters = IllinoisParameters {
        profile: Profile::Linux,
        ..IllinoisParameters::default()
    };
    let mut flow = Flow::avoiding(1000, cwnd, parameters);
    flow.path.min_rtt = 100 * MILLISECOND;
    flow.path.max_rtt = 200 * MILLISECOND;
    flow
}

/// The module: rounds without a queue count up to theta wherever they lie.
#[test]
fn linux_counts_good_rounds_that_do_not_follow_one_another() {
    let mut flow = linux(100);
    let alphas = [150, 100, 100, 150, 100, 100, 100].map(|mean| {
        end_round(&mut flow, mean, 1);
        flow.cc.law.response.alpha
    });
    assert!(alphas[..6].iter().all(|alpha| *alpha < 1.0), "{alphas:?}");
    assert_eq!(alphas[6], 10.0);
}

/// The module: alpha in 128ths, beta in 64ths, whole segments taken off.
#[test]
fn linux_has_fixed_point() {
    let mut flow = linux(99);
    end_round(&mut flow, 145, 1);
    // 0.65597 and 0.3125: 83.96 of 128, 20 of 64.
    let expected = Response {
        alpha: 83.0 / 128.0,
        beta: 20.0 / 64.0,
    };
    assert_eq!(flow.cc.law.response, expected);
    // 30.94 of 99.
    assert_eq!(flow.lose(), 69_000);
}

/// The module: the ACK that ends a recovery covers what had been SACKed, and counts for all of it.
#[test]
fn linux_leaps_when_a_recovery_ends() {
    let mut flow = linux(80);
    end_round(&mut flow, 100, 1);
    assert_eq!(flow.lose(), 70_000);
    let event = AckEvent {
        now: flow.now,
        acked: 80_000,
        delivered: 1000,
        cwnd_limited: true,
        ..AckEvent::default()
    };
    flow.cc.on_ack(&event, &flow.path);
    flow.cc.on_recovery_exit(flow.now, &flow.path);
    // 80 segments at 10 a window of 70: 11.
    assert_eq!(flow.cwnd(), 81_000);
}

/// The module: growth starts anew when the window grows.
#[test]
fn linux_drops_what_is_over() {
    let mut flow = linux(100);
    flow.path.latest_rtt = 100 * MILLISECOND;
    let after = [9, 2, 9, 1].map(|segments| {
        flow.ack(segments);
        flow.segments()
    });
    assert_eq!(after, [100, 101, 101, 101]);
    flow.ack(1);
    assert_eq!(flow.segments(), 102);
}

/// A round trip's growth is alpha, ten segments while there is no queue.
#[test]
fn growth_is_alpha_per_round_trip() {
    let mut flow = flow(1000, 1000, 1000, 200);
    flow.path.latest_rtt = 100 * MILLISECOND;
    flow.acks(1000);
    // 9.95, since the window grows meanwhile.
    assert_eq!(flow.segments(), 1009);
    flow.acks(10);
    assert_eq!(flow.segments(), 1010);
}

#[test]
fn small_windows_are_renos() {
    let mut flow = flow(1000, 14, 14, 200);
    end_round(&mut flow, 100, 14);
    assert_eq!(flow.cc.law.response, BASE);
    assert_eq!(flow.segments(), 15);
    assert_eq!(flow.lose(), 7500);
}

/// The mean is that of one round: ACKs in flight when it began do not end it.
#[test]
fn a_round_lasts_until_its_data_is_delivered() {
    let mut flow = flow(1000, 100, 100, 200);
    flow.path.inflight = 10_000;
    end_round(&mut flow, 100, 1);
    flow.path.latest_rtt = 180 * MILLISECOND;
    flow.acks(10);
    assert_eq!(
        (flow.cc.law.samples, flow.cc.law.response.alpha),
        (10, 10.0)
    );
    flow.ack(1);
    assert_eq!(flow.cc.law.samples, 0);
    assert!(flow.cc.law.response.alpha < 1.0);
}

/// A timeout cuts by the beta of before, then everything starts at Reno's; a mistake gives both
/// back.
#[test]
fn a_timeout_resets_the_response() {
    let mut flow = flow(1000, 100, 100, 200);
    end_round(&mut flow, 100, 1);
    let before = flow.cc.law.response;
    flow.cc.on_rto(flow.now, &flow.path);
    let control = flow.cc.control();
    assert_eq!((control.cwnd, control.ssthresh), (1000, 87_500));
    assert_eq!(flow.cc.law.response, BASE);
    flow.cc.on_spurious(flow.now, &flow.path);
    assert_eq!(flow.cwnd(), 100_000);
    assert_eq!(flow.cc.law.response, before);
}

/// Without RTT samples the response stays what it is.
#[test]
fn no_samples_no_change() {
    let mut flow = flow(1000, 100, 100, 200);
    end_round(&mut flow, 150, 1);
    let before = flow.cc.law.response;
    flow.path.latest_rtt = 0;
    flow.acks(100);
    assert_eq!(flow.cc.law.response, before);
}
