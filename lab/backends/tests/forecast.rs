//! What a box that advises predicts, beside what it then brings when it enforces: the same server, path,
//! losses and data. And what it does not predict.

use windlass_cc::{Catalog, MILLISECOND, SECOND};
use windlass_engine::{
    AlgorithmId, FlowInfo, Forecast, HeldBack, Limits, Mode, Unpredicted, Verdict,
};
use windlass_experiment::Observed;
use windlass_experiment::setup::{Bottleneck, Direction, FlowGroup, Host, Loss, PathBox, Setup};
use windlass_lab::backend::sim;
use windlass_sim::EngineBox;

/// A download over 50 Mbit/s with a queue of one bandwidth-delay product.
fn setup(server: &str, rtt_ms: u64, loss: f64, seed: u64) -> Setup {
    let up = Direction {
        rate_bits_per_s: 50_000_000,
        delay_ns: rtt_ms * MILLISECOND / 2,
        queue_bytes: rtt_ms * 50_000_000 / 8 / 1000,
        ..Direction::default()
    };
    let down = Direction {
        loss: Loss::Independent { ratio: loss },
        ..up
    };
    let bottleneck = Bottleneck {
        down,
        up,
        ..Bottleneck::default()
    };
    let download = FlowGroup {
        name: "download".to_owned(),
        count: 1,
        bytes: 8_000_000,
        ..FlowGroup::default()
    };
    let mut setup = Setup {
        seed,
        limit_ns: 600 * SECOND,
        path_box: PathBox::Windlass {
            policy: String::new(),
        },
        ..Setup::line(bottleneck, vec![download])
    };
    setup.servers = vec![Host::linux(server)];
    setup
}

fn run(setup: &Setup, mode: Mode, algorithm: AlgorithmId) -> (Observed, Vec<FlowInfo>) {
    let verdict = Verdict {
        mode,
        ..Verdict::enforce(algorithm)
    };
    let engine = EngineBox::new(Box::new(verdict), Limits::default(), setup.seed);
    let mut engine = engine.sample_every(20 * MILLISECOND);
    let observed = sim::run(setup, &Catalog::new(), &mut engine, None);
    assert_eq!(observed.error, None);
    let infos = engine.samples().iter().map(|(_, info)| *info).collect();
    (observed, infos)
}

/// How many times as fast enforcing is predicted to be, at the end of a transfer, and how many times as
/// fast it is.
fn predicted_and_real(setup: &Setup, algorithm: AlgorithmId) -> [f64; 2] {
    let (alone, infos) = run(setup, Mode::Advise, algorithm);
    let (enforced, _) = run(setup, Mode::Enforce, algorithm);
    let info = infos.last().expect("sampled");
    let watched = info.watched.expect("it is watched");
    assert_eq!(watched.held_back_by, Some(HeldBack::Window));
    let forecast = Forecast::of(info).expect("advised").expect("predicted");
    assert!(!forecast.lower_bound, "{watched:?}");
    let real = alone.flows[0].seconds / enforced.flows[0].seconds;
    [forecast.speedup(&watched), real]
}

#[test]
fn enforcing_brings_what_was_predicted() {
    eprintln!("server  RTT, ms  loss, %  enforced  predicted   real  error, %");
    let mut errors = Vec::new();
    for server in ["cubic", "reno"] {
        for (rtt_ms, loss) in [(40, 0.0), (40, 0.01), (100, 0.0), (100, 0.01), (200, 0.001)] {
            for algorithm in [AlgorithmId::Bbr, AlgorithmId::Cubic, AlgorithmId::Illinois] {
                let setup = setup(server, rtt_ms, loss, 1);
                let [predicted, real] = predicted_and_real(&setup, algorithm);
                let error = (predicted / real - 1.0) * 100.0;
                let (algorithm, loss) = (algorithm.to_string(), loss * 100.0);
                eprintln!(
                    "{server:6} {rtt_ms:8} {loss:8} {algorithm:>9} {predicted:10.2} {real:6.2} {error:+9.0}"
                );
                errors.push(error.abs());
            }
        }
    }
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let worst = errors.iter().copied().fold(0.0, f64::max);
    eprintln!("mean {mean:.0} %, worst {worst:.0} %");
    assert!(mean < 8.0 && worst < 25.0, "{mean} {worst}");
}

fn advice_at_end(setup: &Setup) -> Result<Forecast, Unpredicted> {
    let (_, infos) = run(setup, Mode::Advise, AlgorithmId::Bbr);
    let last = infos.iter().rfind(|info| info.watched.is_some());
    Forecast::of(last.expect("sampled")).expect("advised")
}

#[test]
fn nothing_is_predicted_where_the_network_is_not_the_limit() {
    let mut slow = setup("cubic", 40, 0.0, 1);
    slow.flows[0].write_bytes = 20_000;
    slow.flows[0].pause_ns = 30 * MILLISECOND;
    assert_eq!(advice_at_end(&slow), Err(Unpredicted::Application));

    let mut small = setup("cubic", 40, 0.0, 1);
    small.clients[0].receive_buffer_bytes = 128 << 10;
    assert_eq!(advice_at_end(&small), Err(Unpredicted::Receiver));

    let mut short = setup("cubic", 40, 0.0, 1);
    short.flows[0].bytes = 25_000;
    assert_eq!(advice_at_end(&short), Err(Unpredicted::TooEarly));
}

#[test]
fn only_advice_predicts() {
    let setup = setup("cubic", 40, 0.0, 1);
    for mode in [Mode::Observe, Mode::Enforce] {
        let (_, infos) = run(&setup, mode, AlgorithmId::Bbr);
        assert!(infos.iter().all(|info| Forecast::of(info).is_none()));
        assert_eq!(
            infos.last().unwrap().watched.is_some(),
            mode == Mode::Observe
        );
    }
}
