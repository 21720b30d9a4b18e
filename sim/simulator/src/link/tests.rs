//! Links against arithmetic.

use super::*;
use windlass_cc::MILLISECOND;

/// 1000 bytes per millisecond.
fn link(change: impl Fn(&mut LinkConfig)) -> Link<u32> {
    let mut config = LinkConfig {
        rate_bytes_per_s: Some(1_000_000),
        delay: 10 * MILLISECOND,
        ..LinkConfig::default()
    };
    change(&mut config);
    Link::new(config, 42)
}

/// Everything that arrives, with its time in microseconds.
fn drain(link: &mut Link<u32>) -> Vec<(u64, u32, bool)> {
    let mut arrived = Vec::new();
    while let Some(at) = link.poll_at() {
        while let Some(delivery) = link.receive(at) {
            arrived.push((at / 1000, delivery.item, delivery.marked_ce));
        }
    }
    arrived
}

#[test]
fn packets_are_serialised_and_then_propagate() {
    let mut link = link(|_| {});
    for i in 0..3 {
        assert_eq!(link.send(0, 1000, false, i), Fate::Queued);
    }
    assert_eq!(link.queued_bytes(), 3000);
    let arrived = drain(&mut link);
    assert_eq!(
        arrived,
        [(11_000, 0, false), (12_000, 1, false), (13_000, 2, false)]
    );
    assert_eq!(link.stats().max_queue_bytes, 3000);
}

#[test]
fn the_queue_drops_and_marks_by_its_length() {
    let mut link = link(|c| {
        c.queue_bytes = 3000;
        c.ecn_mark_bytes = Some(2000);
    });
    let fates: Vec<Fate> = (0..4).map(|i| link.send(0, 1000, true, i)).collect();
    assert_eq!(
        fates,
        [Fate::Queued, Fate::Queued, Fate::Queued, Fate::Dropped]
    );
    let marks: Vec<bool> = drain(&mut link).iter().map(|a| a.2).collect();
    assert_eq!(marks, [false, false, true]);
    assert_eq!((link.stats().dropped, link.stats().marked), (1, 1));
}

#[test]
fn a_packet_without_ect_is_not_marked() {
    let mut link = link(|c| c.ecn_mark_bytes = Some(0));
    link.send(0, 1000, false, 1);
    link.send(0, 1000, true, 2);
    let marks: Vec<bool> = drain(&mut link).iter().map(|a| a.2).collect();
    assert_eq!(marks, [false, true]);
}

#[test]
fn loss_depends_on_the_index_alone() {
    let fates = |rate: Option<u64>, gap: Nanos| {
        let mut link = link(|c| {
            c.rate_bytes_per_s = rate;
            c.loss = Loss::Bernoulli { ratio: 0.1 };
            c.jitter = gap;
        });
        (0..5000u32)
            .map(|i| link.send(u64::from(i) * gap, 1000, false, i) == Fate::Lost)
            .collect::<Vec<_>>()
    };
    let one = fates(None, 1);
    assert_eq!(one, fates(Some(50_000_000), 30_000));
    let lost = one.iter().filter(|l| **l).count();
    assert!((420..580).contains(&lost), "10 % of 5000, not {lost}");
}

#[test]
fn gilbert_elliott_loses_in_bursts_at_its_stationary_ratio() {
    let mut link = link(|c| {
        c.rate_bytes_per_s = None;
        c.loss = Loss::GilbertElliott {
            good_to_bad: 0.01,
            bad_to_good: 0.25,
            loss_good: 0.0,
            loss_bad: 1.0,
        };
    });
    let lost: Vec<bool> = (0..100_000)
        .map(|i| link.send(0, 1, false, i) == Fate::Lost)
        .collect();
    let total = lost.iter().filter(|l| **l).count();
    let bursts = lost.windows(2).filter(|w| !w[0] && w[1]).count();
    // 0.01 / 0.26 of all, in bursts of 1 / 0.25.
    assert!((3400..4300).contains(&total), "{total}");
    let mean = total as f64 / bursts as f64;
    assert!((3.6..4.4).contains(&mean), "{mean}");
}

#[test]
fn jitter_keeps_the_order_and_reordering_does_not() {
    let mut jittery = link(|c| c.jitter = 5 * MILLISECOND);
    let mut reordering = link(|c| {
        c.reorder_ratio = 0.2;
        c.reorder_extra = 3 * MILLISECOND;
    });
    for i in 0..100 {
        jittery.send(0, 100, false, i);
        reordering.send(0, 100, false, i);
    }
    let order: Vec<u32> = drain(&mut jittery).iter().map(|a| a.1).collect();
    assert_eq!(order, (0..100).collect::<Vec<_>>());
    let mut order: Vec<u32> = drain(&mut reordering).iter().map(|a| a.1).collect();
    assert_ne!(order, (0..100).collect::<Vec<_>>());
    order.sort_unstable();
    assert_eq!(order, (0..100).collect::<Vec<_>>());
    assert!(reordering.stats().reordered > 5);
}

#[test]
fn jitter_that_reorders_lets_packets_overtake() {
    let mut jittery = link(|c| {
        c.jitter = 5 * MILLISECOND;
        c.jitter_reorders = true;
    });
    for i in 0..100 {
        jittery.send(0, 100, false, i);
    }
    let order: Vec<u32> = drain(&mut jittery).iter().map(|a| a.1).collect();
    assert!(!order.is_sorted(), "{order:?}");
    assert_eq!(order.len(), 100);
}

#[test]
fn what_comes_in_a_slot_arrives_at_its_end() {
    let length = 5 * MILLISECOND;
    let mut slotted = link(|c| {
        c.slots = Some(Slots {
            least: length,
            most: length,
        });
    });
    for i in 0..12 {
        slotted.send(0, 1000, false, i);
    }
    // They leave the queue after 1 to 12 ms, and travel for 10.
    let times: Vec<u64> = drain(&mut slotted).iter().map(|a| a.0 / 1000).collect();
    let expected = [[15; 5], [20; 5]].concat();
    assert_eq!(times[..10], expected);
    assert_eq!(times[10..], [25, 25]);
}

#[test]
fn a_policer_drops_what_its_bucket_does_not_allow() {
    let mut policed = link(|c| {
        c.policer = Some(Policer {
            rate_bytes_per_s: 100_000,
            burst_bytes: 5_000,
        });
    });
    let fates: Vec<Fate> = (0..10).map(|i| policed.send(0, 1000, false, i)).collect();
    assert_eq!(fates.iter().filter(|f| **f == Fate::Queued).count(), 5);
    assert_eq!(policed.stats().dropped, 5);
    assert_eq!(drain(&mut policed).len(), 5);
}

#[test]
fn a_duplicate_is_a_second_packet_behind_the_first() {
    let mut link = link(|c| c.duplicate_ratio = 1.0);
    link.send(0, 1000, false, 7);
    assert_eq!(drain(&mut link), [(11_000, 7, false), (12_000, 7, false)]);
    assert_eq!(link.stats().duplicated, 1);
}

/// What damage a link of this seed does to 20,000 packets, by their numbers.
fn damage(seed: u64, change: impl Fn(&mut LinkConfig)) -> Vec<Option<u64>> {
    let mut config = LinkConfig {
        damage_ratio: 0.01,
        ..LinkConfig::WIRE
    };
    change(&mut config);
    let mut link = Link::new(config, seed);
    let mut all = vec![None; 20_000];
    for item in 0..all.len() {
        link.send(0, 1000, false, item);
    }
    while let Some(delivery) = link.receive(Nanos::MAX) {
        all[delivery.item] = delivery.damage;
    }
    let damaged = all.iter().flatten().count();
    assert_eq!(link.stats().damaged, damaged as u64);
    all
}

#[test]
fn damage_depends_on_seed_and_index_alone() {
    let all = damage(42, |_| {});
    let count = all.iter().flatten().count();
    assert!((140..260).contains(&count), "1 % of 20000, not {count}");
    assert_eq!(all, damage(42, |c| c.jitter = MILLISECOND));
    assert_eq!(all, damage(42, |c| c.reorder_ratio = 0.5));
    assert_ne!(all, damage(43, |_| {}));
    assert_eq!(damage(42, |c| c.damage_ratio = 0.0), vec![None; 20_000]);
    assert!(
        damage(42, |c| c.damage_ratio = 1.0)
            .iter()
            .all(Option::is_some)
    );
}

#[test]
fn loss_and_damage_do_not_disturb_each_other() {
    let lossy = |c: &mut LinkConfig| c.loss = Loss::Bernoulli { ratio: 0.1 };
    let (alone, with_loss) = (damage(42, |_| {}), damage(42, lossy));
    let kept = alone.iter().zip(&with_loss).filter(|(a, b)| a == b).count();
    let lost = alone.len() - kept;
    assert!(
        (1..40).contains(&lost),
        "of the damaged a tenth is lost: {lost}"
    );
}

#[test]
fn a_change_of_rate_applies_to_what_is_queued() {
    let mut link = link(|_| {});
    link.send(0, 1000, false, 0);
    link.send(0, 1000, false, 1);
    // Half of the first is out; then the link stands still, then it is twice as fast.
    let mut config = link.config().clone();
    config.rate_bytes_per_s = Some(0);
    link.set_config(MILLISECOND / 2, config.clone());
    assert_eq!(link.poll_at(), None);
    config.rate_bytes_per_s = Some(2_000_000);
    link.set_config(10 * MILLISECOND, config);
    let arrived = drain(&mut link);
    assert_eq!(arrived[1].0 - arrived[0].0, 500);
    // A head that stood still starts again: 10 ms + 0.5 ms + 10 ms.
    assert_eq!(arrived[0].0, 20_500);
}
