//! Algorithms that keep a model of the path, on a simulated bottleneck.

mod link;

use link::{Flow, Link, MSS, utilisation};
use windlass_cc::{AlgorithmId, MILLISECOND, SECOND, Settings, Value};

const LINK: Link = Link {
    // 50 Mbit/s, 40 ms and a queue of two BDP.
    rate: 6_250_000,
    rtt: 40 * MILLISECOND,
    queue: 500_000,
    loss_per_million: 0,
    supply: 0,
};

/// Two products in flight: one waits, with or without random loss. Then its own queue is taken for
/// the path, a tenth more every five seconds, until the queue is full.
#[test]
fn mystique_fills_the_link_and_in_time_any_queue() {
    for loss_per_million in [0, 20_000] {
        let link = Link {
            loss_per_million,
            ..LINK
        };
        let mut flow = Flow::new(AlgorithmId::MystiqueBbr, link, 1);
        flow.run(SECOND, |_, _| {});
        let mut mean_rtt = |span| {
            let (mut sum, mut acks) = (0, 0);
            let share = utilisation(&mut flow, span, |s| {
                sum += s.rtt;
                acks += 1;
            });
            assert!(share >= 970 - loss_per_million / 1000, "{share}");
            sum as f64 / acks as f64 / LINK.rtt as f64
        };
        let early = mean_rtt(4 * SECOND);
        assert!((1.8..2.2).contains(&early), "{early}");
        mean_rtt(30 * SECOND);
        let late = mean_rtt(20 * SECOND);
        assert!(late > 2.7, "{late}");
    }
}

/// NSDI 2018 §3: alone, the queue goes up and down between nothing and 2.5 / delta = 5 segments,
/// with delta as small as mvfst's between nothing and 50; random loss changes neither.
#[test]
fn copa_keeps_the_link_busy_with_a_queue_of_a_few_segments() {
    for (preset, most) in [(None, 5.0), (Some("mvfst"), 50.0)] {
        for loss_per_million in [0, 10_000] {
            let mut settings = Settings::from(AlgorithmId::Copa);
            if let Some(preset) = preset {
                settings.apply_preset(preset).unwrap();
            }
            let link = Link {
                loss_per_million,
                ..LINK
            };
            let mut flow = Flow::new(settings, link, 1);
            flow.run(5 * SECOND, |_, _| {});
            let (mut sum, mut acks) = (0.0, 0.0);
            let share = utilisation(&mut flow, 30 * SECOND, |s| {
                sum += (s.rtt - LINK.rtt) as f64;
                acks += 1.0;
            });
            let queue = sum / acks / 1e9 * LINK.rate as f64 / MSS as f64;
            assert!(share >= 950, "{preset:?} {loss_per_million}: {share}");
            assert!(queue < most, "{preset:?} {loss_per_million}: {queue}");
        }
    }
}

/// RFC 6817: alone, the queueing delay is the target; LEDBAT++: it is about that, and slowdowns
/// take no more than a tenth of the link.
#[test]
fn ledbat_keeps_the_queue_at_its_target() {
    for (preset, range, least) in [(None, 22.0..28.0, 990), (Some("ledbat++"), 15.0..26.0, 880)] {
        let mut settings = Settings::from(AlgorithmId::Ledbat);
        if let Some(preset) = preset {
            settings.apply_preset(preset).unwrap();
        }
        settings.set("target", Value::Number(25.0)).unwrap();
        let mut flow = Flow::new(settings, LINK, 1);
        flow.run(40 * SECOND, |_, _| {});
        let (mut sum, mut acks) = (0.0, 0.0);
        let share = utilisation(&mut flow, 60 * SECOND, |s| {
            sum += (s.rtt - LINK.rtt) as f64 / 1e6;
            acks += 1.0;
        });
        assert!(share >= least, "{preset:?}: {share}");
        assert!(range.contains(&(sum / acks)), "{preset:?}: {}", sum / acks);
        assert_eq!(flow.drops, 0, "{preset:?}");
    }
}

/// Wei, Jin, Low, Hegde 2006: in equilibrium alpha segments wait, and nothing is lost.
#[test]
fn vectors_fast_keeps_alpha_segments_in_the_queue() {
    for alpha in [0, 8, 50] {
        let mut settings = Settings::from(AlgorithmId::Fast);
        settings
            .set("alpha", Value::Number(f64::from(alpha)))
            .unwrap();
        let mut flow = Flow::new(settings, LINK, 1);
        flow.run(20 * SECOND, |_, _| {});
        let (mut sum, mut acks) = (0.0, 0.0);
        let share = utilisation(&mut flow, 20 * SECOND, |s| {
            sum += (s.rtt - LINK.rtt) as f64;
            acks += 1.0;
        });
        let queue = sum / acks / 1e9 * LINK.rate as f64 / MSS as f64;
        // 50 Mbit/s: 20 by the table.
        let expected = if alpha == 0 { 20.0 } else { f64::from(alpha) };
        assert!(share >= 990, "{alpha}: {share}");
        assert!((queue - expected).abs() < 2.0, "{alpha}: {queue}");
        assert_eq!(flow.drops, 0, "{alpha}");
    }
}
