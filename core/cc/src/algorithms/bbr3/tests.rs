use super::*;
use crate::SECOND;

const MSS: u64 = 1000;
const RTT: Nanos = 50 * MILLISECOND;

fn sample(rate: ByteRate, path: &Path) -> RateSample {
    RateSample {
        delivered: 50_000,
        interval: RTT,
        rate,
        prior_delivered: path.delivered,
        tx_in_flight: 100_000,
        lost: 0,
        app_limited: false,
    }
}

/// A flow in ProbeBW on a path of 2 MB/s and 50 ms: a BDP of 100 segments.
fn moved(seed: u64) -> (Bbr3, Path) {
    let mut path = Path::new(MSS as u32);
    path.on_rtt(RTT);
    path.max_bw = 2_000_000;
    path.inflight = 100_000;
    path.delivered = 1_000_000;
    (
        Bbr3::new(
            &crate::Beginning::new(&path, seed),
            &Bbr3Parameters::default(),
        ),
        path,
    )
}

fn ack(now: Nanos) -> AckEvent {
    AckEvent {
        now,
        acked: MSS,
        delivered: MSS,
        inflight_before: 100_000,
        inflight: 99_000,
        rtt: Some(RTT),
        ..AckEvent::default()
    }
}

/// §"Computing BBR.max_inflight" and the table of control behaviour.
#[test]
fn vectors_draft_gains_and_windows_of_the_states() {
    let (mut bbr, path) = moved(1);
    for (state, pacing, window) in [
        (State::Down, 900, 200_000),
        (State::Cruise, 1000, 200_000),
        (State::Refill, 1000, 200_000),
        (State::Up, 1250, 225_000),
        (State::ProbeRtt, 1000, 50_000),
    ] {
        assert_eq!(state.gains(&bbr.parameters).0, pacing);
        assert_eq!(
            bbr.bdp(bbr.model.bw, state.gains(&bbr.parameters).1, &path),
            window
        );
    }
    bbr.state = State::Cruise;
    bbr.set_pacing_rate(UNIT, &path);
    assert_eq!(bbr.pacing_rate, 1_980_000);
}

/// §"ProbeBW_CRUISE": 15 % of the long-term bound is left free, one segment at least.
#[test]
fn headroom() {
    let (mut bbr, path) = moved(1);
    assert_eq!(bbr.inflight_with_headroom(&path), UNBOUNDED);
    bbr.model.inflight_longterm = 100_000;
    assert_eq!(bbr.inflight_with_headroom(&path), 85_000);
    bbr.model.inflight_longterm = 6_000;
    assert_eq!(bbr.inflight_with_headroom(&path), 5_000);
    bbr.model.inflight_longterm = 2_000;
    assert_eq!(bbr.inflight_with_headroom(&path), 4_000);
}

/// §"When not Probing for Bandwidth": max(latest, 0.7 * bound), once per round with loss.
#[test]
fn vectors_draft_the_short_term_model_goes_down_by_beta_at_most() {
    let (mut bbr, path) = moved(1);
    bbr.state = State::Cruise;
    bbr.note_loss(&path);
    bbr.latest.bw = 1_900_000;
    bbr.latest.inflight = 10_000;
    let cwnd = bbr.cwnd;
    bbr.adapt_lower_bounds();
    assert_eq!(bbr.model.bw_shortterm, 1_900_000);
    assert_eq!(bbr.model.inflight_shortterm, cwnd * 7 / 10);
    bbr.latest.bw = 0;
    bbr.adapt_lower_bounds();
    assert_eq!(bbr.model.bw_shortterm, 1_330_000);
}

/// §"Probing for Bandwidth In ProbeBW": more than 2 % lost ends UP and bounds the flight where the
/// losses crossed 2 %, but not below 0.7 of the target.
#[test]
fn vectors_draft_two_percent_loss_ends_a_probe_once() {
    let (mut bbr, mut path) = moved(1);
    bbr.started = true;
    bbr.state = State::Up;
    bbr.probing.is_sample = true;
    bbr.cwnd = 200_000;
    let mut event = ack(SECOND);
    event.lost = 2_000;
    let mut s = sample(2_000_000, &path);
    s.tx_in_flight = 180_000;
    s.lost = 3_000;
    path.lost = 3_000;
    event.rate = Some(s);
    bbr.on_lost(&event, Some(&s), &path);
    assert_eq!(bbr.state, State::Up, "1.7 % is tolerated");
    s.lost = 4_000;
    bbr.on_lost(&event, Some(&s), &path);
    assert_eq!(bbr.state, State::Down);
    // Before the burst: 178 segments, 2 of them lost; 2 % of 178 less 2 is 1.56, over 0.98 1.59.
    assert_eq!(bbr.model.inflight_longterm, 178_000 + 1_591);
    assert!(bbr.probing.prev_too_high);
    s.lost = 50_000;
    bbr.on_lost(&event, Some(&s), &path);
    assert_eq!(
        bbr.model.inflight_longterm, 179_591,
        "one reaction per probe"
    );
}

/// Appendix "Handling Spurious Fast Recovery".
#[test]
fn vectors_draft_a_spurious_loss_gives_the_bounds_and_the_probe_back() {
    let (mut bbr, path) = moved(1);
    bbr.state = State::Up;
    bbr.probing.is_sample = true;
    bbr.note_loss(&path);
    bbr.undo.state = Some(State::Up);
    bbr.model.inflight_longterm = 70_000;
    bbr.start_down(SECOND, &path);
    bbr.on_spurious(SECOND, &path);
    assert_eq!(bbr.model.inflight_longterm, UNBOUNDED);
    assert_eq!(bbr.state, State::Refill);
}

/// Appendix "Skipping PROBE_RTT Due to Application-Limited Sending": five seconds of silence, then data.
#[test]
fn vectors_draft_an_idle_flow_need_not_probe_the_rtt() {
    for (idles, expected) in [(true, State::Cruise), (false, State::ProbeRtt)] {
        let (mut bbr, mut path) = moved(1);
        bbr.state = State::Cruise;
        bbr.on_ack(&ack(SECOND), &path);
        // Within the two seconds for which a probe for bandwidth waits.
        bbr.probing.cycle_stamp = 6 * SECOND;
        path.delivered += MSS;
        let now = 7 * SECOND;
        if idles {
            path.inflight = 0;
            bbr.on_idle_restart(now, 5 * SECOND, &path);
        }
        let event = AckEvent {
            rate: Some(sample(2_000_000, &path)),
            ..ack(now)
        };
        bbr.on_ack(&event, &path);
        assert_eq!(bbr.state, expected);
    }
}

/// Appendix "Handling Spurious RTO Recovery".
#[test]
fn vectors_draft_a_spurious_timeout_gives_the_bounds_and_the_window_back() {
    let (mut bbr, path) = moved(1);
    bbr.state = State::Cruise;
    bbr.cwnd = 150_000;
    bbr.on_rto(SECOND, &path);
    assert_eq!(bbr.cwnd, path.inflight + MSS);
    bbr.model.inflight_shortterm = 50_000;
    bbr.model.bw_shortterm = 500_000;
    bbr.on_spurious(SECOND, &path);
    assert_eq!(
        (bbr.model.inflight_shortterm, bbr.model.bw_shortterm),
        (UNBOUNDED, UNBOUNDED)
    );
    assert_eq!((bbr.cwnd, bbr.state), (150_000, State::Cruise));
}

/// §"Time Scale for Bandwidth Probing": 2 to 3 s, and 62 or 63 rounds (or a window's worth).
#[test]
fn vectors_draft_the_wait_between_probes() {
    let mut waits: Vec<Nanos> = (0..100).map(|seed| moved(seed).0.probing.wait).collect();
    waits.sort_unstable();
    assert!(waits[0] >= 2 * SECOND && waits[99] < 3 * SECOND);
    assert!(waits[0] < 2_100_000_000 && waits[99] > 2_900_000_000);
    let (mut bbr, path) = moved(1);
    bbr.probing.cycle_stamp = 0;
    bbr.probing.rounds_since_up = 62;
    assert!(!bbr.is_time_to_probe(SECOND, &path));
    bbr.probing.rounds_since_up = 63;
    assert!(bbr.is_time_to_probe(SECOND, &path));
}

/// §"ProbeBW_UP": the long-term bound grows by 1, 2, 4… segments per round.
#[test]
fn vectors_draft_the_long_term_bound_rises_exponentially_while_it_is_the_limit() {
    let (mut bbr, mut path) = moved(1);
    bbr.started = true;
    bbr.model.inflight_longterm = 100_000;
    bbr.cwnd = 100_000;
    bbr.state = State::Up;
    bbr.raise_longterm_slope(&path);
    let mut raises = Vec::new();
    for _ in 0..4 {
        let before = bbr.model.inflight_longterm;
        let window = bbr.cwnd / MSS;
        for n in 0..window {
            path.delivered += MSS;
            bbr.rounds.start = n + 1 == window;
            let mut event = ack(SECOND);
            event.cwnd_limited = true;
            bbr.cwnd = bbr.model.inflight_longterm;
            bbr.probe_longterm_upward(&event, &path);
        }
        raises.push((bbr.model.inflight_longterm - before) / MSS);
    }
    assert_eq!(raises, [1, 2, 4, 8]);
}

/// §"Exiting Startup Based on Packet Loss": six ranges and 2 % of a round, a round into recovery.
#[test]
fn vectors_draft_startup_ends_on_sustained_loss() {
    for (ranges, lost, leaves) in [(6, 3_000, true), (5, 3_000, false), (6, 2_000, false)] {
        let mut path = Path::new(MSS as u32);
        path.on_rtt(RTT);
        let mut bbr = Bbr3::new(&crate::Beginning::new(&path, 1), &Bbr3Parameters::default());
        let mut event = ack(RTT);
        event.rate = Some(sample(2_000_000, &path));
        path.delivered += MSS;
        bbr.on_ack(&event, &path);
        bbr.on_congestion(
            &CongestionEvent {
                now: RTT,
                signal: Signal::Loss,
                inflight_before: 100_000,
                lost: MSS,
            },
            &path,
        );
        for n in 2..4 {
            let mut s = sample(2_000_000, &path);
            s.lost = lost;
            path.delivered += 50_000;
            let event = AckEvent {
                in_recovery: true,
                lost: MSS,
                lost_ranges: ranges,
                rate: Some(s),
                ..ack(n * RTT)
            };
            bbr.on_ack(&event, &path);
        }
        assert_eq!(bbr.full.reached, leaves, "{ranges} ranges, {lost} bytes");
    }
}
