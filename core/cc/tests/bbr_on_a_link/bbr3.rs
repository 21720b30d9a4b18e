//! BBR v3. Vectors are the scenarios of the draft's appendix, each under its title there. Without
//! a link that aggregates ACKs, two of them are not here; those that need the model's own variables
//! are in `src/bbr3/tests.rs`.

use windlass_cc::{AlgorithmId, Nanos, Phase, SECOND, Settings, Value};

use crate::LINK;
use crate::link::{Flow, Link, MSS, Snapshot, run_until};
use crate::scenarios;

const ID: AlgorithmId = AlgorithmId::Bbr3;

/// A flow that has just entered the phase, and will not measure its RTT for a minute.
fn entered(phase: Phase, seed: u64) -> (Flow, Snapshot) {
    let mut settings = Settings::from(ID);
    settings
        .set("probe_rtt_interval_ms", Value::Number(60_000.0))
        .expect("it can be set so");
    let mut flow = Flow::new(settings, LINK, seed);
    let snapshot = run_until(&mut flow, phase, 20 * SECOND).expect("it comes");
    (flow, snapshot)
}

/// The phases from now on, each with what the first ACK in it left.
fn phases(flow: &mut Flow, span: Nanos) -> Vec<Snapshot> {
    let mut all: Vec<Snapshot> = Vec::new();
    flow.run(span, |_, s| {
        if all
            .last()
            .is_none_or(|l| l.control.phase != s.control.phase)
        {
            all.push(s);
        }
    });
    all
}

/// "Exiting STARTUP on Bandwidth Plateau".
#[test]
fn vectors_startup_finds_the_bandwidth_within_2_percent() {
    scenarios::startup_finds_the_bandwidth(ID, 0.5, 0.02);
}

/// "Exiting STARTUP on Loss When Application-Limited": half the link is used, and 15 % lost.
#[test]
fn vectors_startup_ends_on_loss_while_the_source_is_the_limit() {
    for (loss_per_million, ends) in [(150_000, true), (0, false)] {
        let link = Link {
            supply: LINK.rate / 2,
            loss_per_million,
            ..LINK
        };
        let mut flow = Flow::new(ID, link, 1);
        let drain = run_until(&mut flow, Phase::Drain, 4 * SECOND);
        assert_eq!(drain.is_some(), ends, "{loss_per_million}");
    }
}

/// "Exiting DRAIN Based on Inflight".
#[test]
fn vectors_drain_ends_with_a_bdp_in_flight() {
    scenarios::drain_ends_with_a_bdp_in_flight(ID);
}

/// "Exiting DRAIN Based on Time": with less bandwidth than was found the flight does not get down to
/// what the path is thought to hold; after three round trips Drain ends all the same.
#[test]
fn vectors_drain_ends_after_three_rounds() {
    let (mut flow, drain) = entered(Phase::Drain, 2);
    let believed = flow.bdp();
    flow.set_rate(LINK.rate * 55 / 100);
    let next = phases(&mut flow, 5 * SECOND)[1];
    assert_eq!(next.control.phase, Phase::ProbeBwDown);
    assert!(next.inflight > believed, "{} of {believed}", next.inflight);
    let rounds = (next.now - drain.now) as f64 / next.rtt as f64;
    assert!((3.0..5.0).contains(&rounds), "{rounds}");
}

/// "Exiting PROBE_UP on Bandwidth Plateau": three round trips at the least, and nothing lost.
#[test]
fn vectors_up_ends_on_a_plateau() {
    let (mut flow, up) = entered(Phase::ProbeBwUp, 3);
    let down = phases(&mut flow, 5 * SECOND)[1];
    assert_eq!((down.control.phase, flow.drops), (Phase::ProbeBwDown, 0));
    let rounds = (down.now - up.now) / LINK.rtt;
    assert!((2..=6).contains(&rounds), "{rounds}");
}

/// "Exiting PROBE_UP on Loss When Application-Limited", and "Never Exiting PROBE_UP … With No Loss": the
/// source gives half of the link.
#[test]
fn vectors_up_ends_on_loss_alone_while_the_source_is_the_limit() {
    for (loss_per_million, stays) in [(0, true), (100_000, false)] {
        let (mut flow, _) = entered(Phase::ProbeBwUp, 4);
        // The source has a backlog of what it has not been asked for so far: use it up.
        flow.link.supply = LINK.rate / 2;
        flow.link.loss_per_million = loss_per_million;
        let after = phases(&mut flow, 3 * SECOND);
        let first = after.iter().find(|s| s.control.phase != Phase::ProbeBwUp);
        match first {
            None => assert!(stays),
            Some(s) => {
                assert!(!stays, "left for {:?}", s.control.phase);
                // With as little in flight, DOWN may be over at once.
                let past = [Phase::ProbeBwDown, Phase::ProbeBwCruise];
                assert!(past.contains(&s.control.phase), "{:?}", s.control.phase);
            }
        }
    }
}

/// "Exiting PROBE_DOWN on Inflight": no more is under way than the path holds.
#[test]
fn vectors_down_ends_with_a_bdp_in_flight() {
    let (mut flow, _) = entered(Phase::ProbeBwUp, 5);
    let after = phases(&mut flow, 5 * SECOND);
    let [_, down, cruise, ..] = after[..] else {
        panic!("{after:?}");
    };
    assert_eq!(down.control.phase, Phase::ProbeBwDown);
    let gain = down.control.pacing_rate.expect("it paces") as f64 / (LINK.rate as f64 * 0.99);
    assert!((0.88..0.92).contains(&gain), "{gain}");
    assert_eq!(cruise.control.phase, Phase::ProbeBwCruise);
    let slack = 3 * LINK.rate / 1000 + 2 * MSS;
    assert!(
        cruise.inflight <= flow.bdp() * 102 / 100 + slack,
        "{}",
        cruise.inflight
    );
}

/// "Exiting PROBE_DOWN After Max Time": with less bandwidth than it thinks, no CRUISE comes between.
#[test]
fn vectors_down_ends_after_the_wait_between_probes() {
    let (mut flow, _) = entered(Phase::ProbeBwUp, 6);
    let down = run_until(&mut flow, Phase::ProbeBwDown, 5 * SECOND).expect("it comes");
    flow.set_rate(LINK.rate * 85 / 100);
    let next = phases(&mut flow, 5 * SECOND)[1];
    assert_eq!(next.control.phase, Phase::ProbeBwRefill);
    let wait = next.now - down.now;
    assert!(
        (2 * SECOND..3 * SECOND + LINK.rtt).contains(&wait),
        "{wait}"
    );
}

/// "Entering and Exiting PROBE_RTT": every five seconds, with half a BDP.
#[test]
fn vectors_it_probes_the_rtt_every_five_seconds() {
    let (starts, least, bdp) = scenarios::probe_rtts(ID, 45 * SECOND);
    assert!((7..=8).contains(&starts.len()), "{starts:?}");
    for pair in starts.windows(2) {
        let gap = pair[1] - pair[0];
        assert!((5 * SECOND..6 * SECOND).contains(&gap), "{gap}");
    }
    let half = bdp * 48 / 100..=bdp * 52 / 100;
    assert!(half.contains(&least), "{least} of {bdp}");
}

/// "Entering and Exiting PROBE_RTT During STARTUP": a source of a tenth of the link keeps it there.
#[test]
fn vectors_probe_rtt_in_startup_goes_back_to_startup() {
    let link = Link {
        supply: LINK.rate / 10,
        ..LINK
    };
    let mut flow = Flow::new(ID, link, 7);
    let seen = phases(&mut flow, 8 * SECOND);
    let seen: Vec<Phase> = seen.iter().map(|s| s.control.phase).collect();
    assert_eq!(seen, [Phase::Startup, Phase::ProbeRtt, Phase::Startup]);
}

/// "Correctly Managing Sub-Packet BDPs", among others.
#[test]
fn vectors_the_window_never_falls_below_four_segments() {
    scenarios::the_window_never_falls_below_four_segments(ID);
}

/// "Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss".
#[test]
fn vectors_startup_goes_on_while_the_source_is_the_limit() {
    scenarios::startup_goes_on_while_the_source_is_the_limit(ID);
}

/// "Increasing Bandwidth 10x …" and "Decreasing Bandwidth 10x …".
#[test]
fn vectors_the_model_follows_the_link_up_and_down() {
    scenarios::the_model_follows_the_link_up_and_down(ID);
}

/// "Handling Token Bucket Policers".
#[test]
fn vectors_it_settles_below_a_policer() {
    let (share, lost) = scenarios::behind_a_policer(ID);
    assert!(share >= 700, "{share}");
    assert!(lost < 0.05, "{lost}");
}

/// "Handling Application-Limited Sending During PROBE_REFILL": the bandwidth stays, and UP follows.
#[test]
fn vectors_a_thin_source_while_refilling_changes_nothing() {
    let (mut flow, refill) = entered(Phase::ProbeBwRefill, 8);
    flow.link.supply = LINK.rate / 4;
    let up = phases(&mut flow, SECOND)[1];
    assert_eq!(up.control.phase, Phase::ProbeBwUp);
    let rate = |s: Snapshot| s.control.pacing_rate.expect("it paces") as f64;
    let ratio = rate(up) / rate(refill) / 1.25;
    assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
}

#[test]
fn probe_bw_holds_the_link_without_loss() {
    scenarios::probe_bw_holds_the_link_without_loss(ID);
}

/// The draft's own model (§"Design Considerations for Choosing Constant Parameters") has v3 lose
/// X % of its rate in every round of CRUISE with X % loss: over the 63 rounds between two probes
/// 1 % makes a mean of (1 - 0.99^63) / 0.63 = 74 % of the link.
#[test]
fn vectors_it_keeps_what_the_draft_says_at_1_percent_random_loss() {
    let share = scenarios::share_at_random_loss(ID, 10_000);
    assert!((740..950).contains(&share), "{share}");
    let light = scenarios::share_at_random_loss(ID, 500);
    assert!(light >= 900, "{light}");
}

/// A queue of a tenth of a BDP overflows in every probe: v3 bounds its flight and stays near 2 %
/// loss, v1 does not care.
#[test]
fn it_bounds_its_flight_when_probes_lose_more_than_2_percent() {
    let v3 = scenarios::loss_in_a_shallow_queue(ID);
    let v1 = scenarios::loss_in_a_shallow_queue(AlgorithmId::Bbr);
    assert!(v3 < 0.02, "{v3}");
    assert!(v1 > 2.0 * v3, "v1 loses {v1}, v3 {v3}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    scenarios::the_same_seed_gives_the_same_run(ID);
}
