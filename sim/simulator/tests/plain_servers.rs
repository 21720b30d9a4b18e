//! Servers without SACK and timestamps, and Reno servers, behind the box: as fast as any other,
//! because they see no duplicate ACK.

use windlass_engine::{AlgorithmId, Limits, Redundancy, Verdict};
use windlass_sim::link::Loss;
use windlass_sim::tcp::ServerAlgorithm;
use windlass_sim::{EngineBox, Outcome, Scenario, run};

const MILLISECOND: u64 = 1_000_000;

fn download(redundancy: Redundancy, change: impl Fn(&mut Scenario)) -> Outcome {
    let mut scenario = Scenario::download(10_000_000, 50.0, 100.0);
    scenario.seed = 3;
    scenario.down.loss = Loss::Bernoulli { ratio: 0.01 };
    change(&mut scenario);
    let bbr: AlgorithmId = "bbr".parse().expect("bbr is registered");
    let verdict = Verdict {
        redundancy,
        ..Verdict::enforce(bbr)
    };
    let mut middle = EngineBox::new(Box::new(verdict), Limits::default(), scenario.seed);
    let outcome = run(&scenario, &mut middle);
    outcome.assert_intact(&scenario);
    outcome
}

#[test]
fn a_server_without_sack_and_timestamps_never_recovers() {
    for redundancy in [Redundancy::OFF, Redundancy::EARLY] {
        let usual = download(redundancy, |_| {});
        let plain = download(redundancy, |s| {
            s.server.sack = false;
            s.server.timestamps = false;
        });
        let server = plain.server();
        assert_eq!(
            (server.recoveries, server.fast_retransmits, server.rto),
            (0, 0, 0),
            "{redundancy:?}: {server:?}"
        );
        assert!(
            plain.seconds <= 1.05 * usual.seconds,
            "{redundancy:?}: {} s, with SACK {} s",
            plain.seconds,
            usual.seconds
        );
    }
}

#[test]
fn a_reno_server_is_as_fast() {
    let usual = download(Redundancy::EARLY, |_| {});
    let reno = download(Redundancy::EARLY, |s| {
        s.server.algorithm = ServerAlgorithm::Reno;
    });
    assert!(
        reno.seconds <= 1.05 * usual.seconds,
        "{} s, a CUBIC server {} s",
        reno.seconds,
        usual.seconds
    );
}

/// The box may be anywhere on the path. What it asks of a server that is far away comes a round trip later.
#[test]
fn a_server_far_from_the_box_is_as_fast() {
    let [near, far] = [0, 100].map(|away_ms| {
        download(Redundancy::OFF, |s| {
            s.inside.delay += away_ms / 2 * MILLISECOND;
            s.down.delay = (110 - away_ms) / 2 * MILLISECOND;
            s.up.delay = s.down.delay;
            s.down.loss = Loss::None;
            s.connections = vec![windlass_sim::Connection::download(40_000_000)];
        })
        .seconds
    });
    assert!(
        far <= 1.15 * near,
        "{far} s, {near} s with the box beside the server"
    );
}
