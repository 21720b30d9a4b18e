//! Westwood+ where packets are lost at random.

mod link;

use link::{Flow, Link, utilisation};
use windlass_cc::{AlgorithmId, MILLISECOND, SECOND};

/// Mascolo et al.: a loss that is not congestion costs little. 50 Mbit/s, 40 ms, one packet in 500
/// lost: Reno's window is sqrt(3 / 2p) = 27 of the 172 segments that the path holds.
#[test]
fn random_loss_costs_far_less_than_reno_pays() {
    let link = Link {
        rate: 6_250_000,
        rtt: 40 * MILLISECOND,
        queue: 250_000,
        loss_per_million: 2_000,
        supply: 0,
    };
    let share = |id| {
        let mut flow = Flow::new(id, link, 1);
        flow.run(5 * SECOND, |_, _| {});
        utilisation(&mut flow, 60 * SECOND, |_| {})
    };
    let (westwood, reno) = (share(AlgorithmId::Westwood), share(AlgorithmId::Reno));
    assert!(reno < 250, "Reno: {reno}");
    assert!(westwood > 2 * reno, "Westwood+: {westwood}, Reno: {reno}");
    println!("Westwood+: {westwood}, Reno: {reno}");
}
