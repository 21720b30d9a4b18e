//! Numbers that others assert of the draft's formulas: aws/s2n-quic (a33d369),
//! `quic/s2n-quic-core/src/recovery/bbr/{tests,pacing}.rs`, segments of 1200 bytes. Left out are those
//! in which it follows an older draft: quanta of one segment, a margin on the first pacing rate,
//! Startup ended by three lost ranges.

use super::*;

const MSS: u64 = 1200;

/// 1000 bytes a millisecond over 100 ms.
fn known() -> (Bbr3, Path) {
    let mut path = Path::new(MSS as u32);
    path.on_rtt(100 * MILLISECOND);
    path.max_bw = 1_000_000;
    path.inflight = 100_000;
    (
        Bbr3::new(&crate::Beginning::new(&path, 1), &Bbr3Parameters::default()),
        path,
    )
}

#[test]
fn s2n_quic_bdp_multiple() {
    let unknown = Path::new(MSS as u32);
    let beginning = crate::Beginning::new(&unknown, 1);
    let bbr = Bbr3::new(&beginning, &Bbr3Parameters::default());
    assert_eq!(bbr.bdp(0, UNIT, &unknown), 12_000);
    let (bbr, path) = known();
    assert_eq!(bbr.bdp(1_000_000, 2 * UNIT, &path), 200_000);
    assert_eq!(bbr.bdp(0, 2 * UNIT, &path), 0);
}

#[test]
fn s2n_quic_target_inflight() {
    let (mut bbr, path) = known();
    for (cwnd, target) in [(12_000, 12_000), (200_000, 100_000)] {
        bbr.cwnd = cwnd;
        assert_eq!(bbr.target_inflight(&path), target);
    }
}

#[test]
fn s2n_quic_inflight_with_headroom() {
    let (mut bbr, path) = known();
    assert_eq!(bbr.inflight_with_headroom(&path), UNBOUNDED);
    for (longterm, left) in [(10_000, 8_500), (1000, 4_800)] {
        bbr.model.inflight_longterm = longterm;
        assert_eq!(bbr.inflight_with_headroom(&path), left);
    }
}

#[test]
fn s2n_quic_quantization_budget() {
    let (mut bbr, path) = known();
    bbr.state = State::Cruise;
    // A quantum of 4000 bytes.
    bbr.pacing_rate = 4_000_000;
    assert_eq!(bbr.quantize(6_000, &path), 12_000);
    assert_eq!(bbr.quantize(14_000, &path), 14_000);
    bbr.state = State::Up;
    assert_eq!(bbr.quantize(14_000, &path), 14_000 + 2 * MSS);
}

/// Bytes in flight with the packet, bytes lost with it; its size is 1200.
#[test]
fn s2n_quic_inflight_hi_from_lost_packet() {
    for (flight, lost, level) in [(3000, 1210, 1826), (3000, 3000, 1800), (0, 1200, 0)] {
        assert_eq!(loss::inflight_at_loss(20, flight, lost, MSS), level);
    }
}

#[test]
fn s2n_quic_is_inflight_too_high() {
    let (bbr, _) = known();
    let lost = |lost| RateSample {
        lost,
        tx_in_flight: 100,
        ..RateSample::default()
    };
    assert!(bbr.is_inflight_too_high(Some(&lost(3))));
    assert!(!bbr.is_inflight_too_high(Some(&lost(2))));
}

#[test]
fn s2n_quic_pacing_and_cwnd_gains() {
    let p = Bbr3Parameters::default();
    for (state, gains) in [
        (State::Startup, (2770, 2000)),
        (State::Drain, (500, 2000)),
        (State::Down, (900, 2000)),
        (State::ProbeRtt, (1000, 500)),
    ] {
        assert_eq!(state.gains(&p), gains, "{state:?}");
    }
}

/// 1.25 * 1000 bytes a millisecond * 99 %.
#[test]
fn s2n_quic_set_pacing_rate() {
    let (mut bbr, path) = known();
    bbr.set_pacing_rate(1250, &path);
    assert_eq!(bbr.pacing_rate, 1_237_500);
}

/// The long-term bound of 10,000 bytes and the short-term ones of 5,000 and 4,000, as caps.
#[test]
fn s2n_quic_bound_cwnd_for_model() {
    let (mut bbr, path) = known();
    let mut bounded = |state, longterm, shortterm| {
        bbr.state = state;
        bbr.model.inflight_longterm = longterm;
        bbr.model.inflight_shortterm = shortterm;
        bbr.cwnd = 100_000;
        bbr.bound_cwnd(&path);
        bbr.cwnd
    };
    assert_eq!(bounded(State::Down, 10_000, UNBOUNDED), 10_000);
    assert_eq!(bounded(State::Cruise, 10_000, UNBOUNDED), 8_500);
    assert_eq!(bounded(State::ProbeRtt, 10_000, UNBOUNDED), 8_500);
    assert_eq!(bounded(State::Startup, 10_000, 5_000), 5_000);
    assert_eq!(bounded(State::Startup, 10_000, 4_000), 4_800);
}

/// The window kept: the present one in ordinary times, the larger one in ProbeRTT.
#[test]
fn s2n_quic_save_and_restore_cwnd() {
    let (mut bbr, path) = known();
    for (prior, cwnd, state, kept) in [
        (1000, 2000, State::Startup, 2000),
        (2000, 1000, State::Startup, 1000),
        (2000, 1000, State::ProbeRtt, 2000),
    ] {
        (bbr.prior_cwnd, bbr.cwnd, bbr.state) = (prior, cwnd, state);
        bbr.save_cwnd();
        assert_eq!(bbr.prior_cwnd, kept, "{prior} {cwnd} {state:?}");
    }
    bbr.state = State::Cruise;
    for (prior, cwnd) in [(10_000, 20_000), (20_000, 10_000)] {
        (bbr.prior_cwnd, bbr.cwnd) = (prior, cwnd);
        bbr.restore_cwnd(&path);
        assert_eq!(bbr.cwnd, 20_000);
    }
}
