//! Recovery, moving between algorithms, and the size of what a flow holds.

use windlass_cc::{
    AckEvent, AlgorithmId, CongestionEvent, Controller, MILLISECOND, Path, Phase, SECOND,
    SendEvent, Signal,
};

const MSS: u64 = 1000;

fn loss(inflight_before: u64) -> CongestionEvent {
    CongestionEvent {
        now: SECOND,
        signal: Signal::Loss,
        inflight_before,
        lost: MSS,
    }
}

/// A path of 2 MB/s and 50 ms with `inflight` segments on it.
fn measured(inflight: u64) -> Path {
    let mut path = Path::new(MSS as u32);
    path.on_rtt(50 * MILLISECOND);
    path.max_bw = 2_000_000;
    path.inflight = inflight * MSS;
    path.delivered = 10_000_000;
    path
}

#[test]
fn a_flow_holds_its_state_in_few_bytes() {
    for id in AlgorithmId::ALL {
        println!("{id}: {} bytes", id.state_bytes());
        let path = Path::new(MSS as u32);
        let is_windowed = id.start(&path, 0).uses_prr();
        assert!(!is_windowed || id.state_bytes() <= 256, "{id}");
    }
    println!("controller: {} bytes", size_of::<Controller>());
    assert!(size_of::<Controller>() <= 768);
}

/// RFC 9937: the window goes down from 20 to 10 over the round, one send for every two ACKs, and
/// is the threshold at the end.
#[test]
fn prr_spreads_the_reduction_over_the_round() {
    let mut path = Path::new(MSS as u32);
    path.on_rtt(50 * MILLISECOND);
    let mut controller = Controller::new(AlgorithmId::Reno, &path, 0);
    let grow = AckEvent {
        delivered: 10 * MSS,
        cwnd_limited: true,
        ..AckEvent::default()
    };
    controller.on_ack(&grow, &path);
    assert_eq!(controller.control().cwnd, 20 * MSS);
    path.inflight = 18 * MSS;
    controller.on_congestion(&loss(20 * MSS), &path);
    assert_eq!(controller.control().ssthresh, 10 * MSS);
    let mut sent = 0;
    for _ in 0..15 {
        let event = AckEvent {
            delivered: MSS,
            inflight_before: path.inflight + MSS,
            inflight: path.inflight,
            cwnd_limited: true,
            in_recovery: true,
            ..AckEvent::default()
        };
        controller.on_ack(&event, &path);
        while path.inflight + MSS <= controller.control().cwnd {
            path.inflight += MSS;
            sent += 1;
            let event = SendEvent {
                bytes: MSS,
                inflight: path.inflight,
                ..SendEvent::default()
            };
            controller.on_sent(&event, &path);
        }
        path.inflight -= MSS;
    }
    assert_eq!(sent, 7);
    assert_eq!(path.inflight, 10 * MSS);
    controller.on_recovery_exit(SECOND, &path);
    assert_eq!(controller.control().cwnd, 10 * MSS);
}

/// Entered by a timer, with no ACK to count by: one segment may leave.
#[test]
fn recovery_without_an_ack_lets_the_retransmission_out() {
    let mut path = measured(0);
    let mut controller = Controller::new(AlgorithmId::Cubic, &path, 0);
    path.inflight = 7 * MSS;
    controller.on_congestion(&loss(8 * MSS), &path);
    assert_eq!(controller.control().cwnd, 8 * MSS);
    controller.on_rto(SECOND, &path);
    assert_eq!(controller.control().cwnd, MSS);
}

#[test]
fn a_moved_flow_starts_from_the_path_and_never_in_slow_start() {
    for from in AlgorithmId::ALL {
        for to in AlgorithmId::ALL.iter().filter(|to| *to != from) {
            for (inflight, least, most) in
                [(5, 20, 20), (40, 80, 80), (90, 100, 100), (150, 150, 150)]
            {
                let path = measured(inflight);
                let mut controller = Controller::new(*from, &path, 1);
                controller.switch(*to, &path, 2);
                let control = controller.control();
                assert_eq!(controller.id(), *to);
                let window = control.cwnd / MSS;
                assert!((least..=most).contains(&window), "{from} to {to}: {window}");
                assert!(
                    !matches!(control.phase, Phase::SlowStart | Phase::Startup),
                    "{from} to {to}"
                );
            }
        }
    }
}

/// What loss has left of a path with room is no measure of it: BBR looks for more, from the window
/// that there is. Where a queue stands, or nothing was lost, the measure holds.
#[test]
fn bbr_looks_for_what_loss_has_kept_from_its_predecessor() {
    for (lost, rtt_percent, roomy) in [(MSS, 100, true), (MSS, 150, false), (0, 100, false)] {
        let mut path = measured(40);
        path.lost = lost;
        path.srtt = path.min_rtt * rtt_percent / 100;
        for (from, to, starts) in [
            (AlgorithmId::Cubic, AlgorithmId::Bbr, roomy),
            (AlgorithmId::Hybla, AlgorithmId::Bbr3, roomy),
            (AlgorithmId::Bbr, AlgorithmId::Bbr3, false),
            (AlgorithmId::Cubic, AlgorithmId::Reno, false),
        ] {
            let mut controller = Controller::new(from, &path, 1);
            controller.switch(to, &path, 2);
            let control = controller.control();
            assert_eq!(
                control.phase == Phase::Startup,
                starts,
                "{from} to {to}: {lost}"
            );
            assert_eq!(control.cwnd / MSS, 80, "{from} to {to}");
        }
    }
}

#[test]
fn an_unmeasured_flow_moves_into_slow_start() {
    let path = Path::new(MSS as u32);
    let mut controller = Controller::new(AlgorithmId::Bbr, &path, 1);
    controller.switch(AlgorithmId::Cubic, &path, 1);
    assert_eq!(controller.control().phase, Phase::SlowStart);
    assert_eq!(controller.control().cwnd, 10 * MSS);
}

/// Recovery that is open when the flow moves stays PRR's between window-based algorithms, and
/// ends under one that sets its own window.
#[test]
fn recovery_survives_the_move_where_it_has_a_meaning() {
    let path = measured(50);
    let mut controller = Controller::new(AlgorithmId::Reno, &path, 1);
    controller.on_congestion(&loss(51 * MSS), &path);
    assert_eq!(controller.control().cwnd, 51 * MSS);
    controller.switch(AlgorithmId::Cubic, &path, 1);
    assert_eq!(controller.control().cwnd, 51 * MSS);
    controller.on_recovery_exit(SECOND, &path);
    assert_eq!(controller.control().cwnd, 100 * MSS);
    controller.on_congestion(&loss(51 * MSS), &path);
    controller.switch(AlgorithmId::Bbr3, &path, 1);
    assert_eq!(controller.control().cwnd, 100 * MSS);
}
