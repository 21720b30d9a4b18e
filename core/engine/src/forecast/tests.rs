//! The model against what is known of the laws, and the words for what cannot be predicted.

use windlass_cc::{AlgorithmId, MILLISECOND, SECOND};

use super::*;

/// 50 Mbit/s, 1,448 bytes a packet, a queue of one bandwidth-delay product.
fn path(rtt_ms: u64, loss_ratio: f64) -> PathModel {
    let path = PathModel {
        rate: 6_250_000,
        rtt: rtt_ms * MILLISECOND,
        queue: 0,
        loss_ratio,
        mss: 1448,
    };
    PathModel {
        queue: path.bdp(),
        ..path
    }
}

fn seconds(algorithm: AlgorithmId, path: &PathModel, bytes: u64) -> f64 {
    let segments = bytes.div_ceil(u64::from(path.mss));
    time_to_carry(algorithm.into(), path, segments, false) as f64 / SECOND as f64
}

/// Mathis et al. 1997: the mean window of Reno is sqrt(3 / 2p) segments.
#[test]
fn reno_gets_what_the_square_root_of_the_loss_leaves() {
    for (rtt_ms, loss) in [(40, 0.005), (100, 0.01), (100, 0.02)] {
        let path = path(rtt_ms, loss);
        let segments = 12_000;
        let took = time_to_carry(AlgorithmId::Reno.into(), &path, segments, false) as f64;
        let window = segments as f64 * path.rtt as f64 / took;
        let ratio = window / (1.5 / loss).sqrt();
        eprintln!("{rtt_ms} ms, {loss}: window {window:.1}, {ratio:.2} of the law");
        assert!((0.75..1.15).contains(&ratio), "{rtt_ms} {loss}: {ratio}");
    }
}

#[test]
fn a_path_without_loss_is_filled_by_all_and_a_lossy_one_by_bbr() {
    for algorithm in [AlgorithmId::Cubic, AlgorithmId::Reno, AlgorithmId::Bbr] {
        let took = seconds(algorithm, &path(40, 0.0), 20_000_000);
        assert!((3.2..3.9).contains(&took), "{algorithm}: {took}");
    }
    let [bbr, cubic] =
        [AlgorithmId::Bbr, AlgorithmId::Cubic].map(|id| seconds(id, &path(100, 0.01), 5_000_000));
    assert!(bbr < 2.0 && cubic > 10.0 * bbr, "{bbr} {cubic}");
}

/// What is not run is carried at the rate of the second half of what is.
#[test]
fn long_transfers_are_carried_on() {
    let path = path(40, 0.0);
    let took = seconds(AlgorithmId::Bbr, &path, 1_000_000_000);
    assert!((160.0..175.0).contains(&took), "{took}");
}

/// Every algorithm, on paths from the slowest to the fastest: it ends, and carries no more than the
/// path does.
#[test]
fn no_algorithm_carries_more_than_the_path() {
    for id in AlgorithmId::ALL {
        for (rate, rtt, loss_ratio) in [
            (1, 1, 0.0),
            (1000, SECOND, 0.5),
            (125_000, 300 * MILLISECOND, 0.1),
            (1_250_000_000, 100 * MILLISECOND, 0.0001),
        ] {
            let path = PathModel {
                rate,
                rtt,
                queue: 30_000,
                loss_ratio,
                mss: 1448,
            };
            let took = time_to_carry((*id).into(), &path, 300, false);
            let least = 299 * windlass_cc::mul_div(1448, SECOND, rate);
            assert!(took >= least, "{id} at {rate}: {took} of {least} ns");
        }
    }
}

#[test]
fn the_same_path_gives_the_same_answer_and_a_known_one_a_better() {
    let path = path(100, 0.01);
    let run = |known| time_to_carry(AlgorithmId::Bbr.into(), &path, 1000, known);
    assert_eq!(run(false), run(false));
    assert!(run(true) < run(false), "{} {}", run(true), run(false));
}
