//! One download through the box and beside it, in virtual time:
//! `cargo run --release -p windlass-sim --example download -- RATE_MBIT RTT_MS LOSS_PERCENT BYTES [ALGORITHM] [REDUNDANCY] [FLAGS]`
//! FLAGS, joined by commas: `trace`, `client-nosack`, `server-nosack`, `server-nots`, `tiny-budget`,
//! `jitter=MS`, `seed=N`,
//! and the server's own algorithm: `reno`, `bbr`, `bbr3`.
#![allow(clippy::disallowed_methods)]

use windlass_engine::{AlgorithmId, Limits, Redundancy, Verdict};
use windlass_sim::link::Loss;
use windlass_sim::tcp::ServerAlgorithm;
use windlass_sim::{EngineBox, Scenario, Wire, run};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |i: usize, default: f64| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (rate, rtt, loss, bytes) = (
        number(0, 50.0),
        number(1, 100.0),
        number(2, 1.0),
        number(3, 10e6),
    );
    let name = args.get(4).map_or("bbr", String::as_str);
    let algorithm: AlgorithmId = name.parse().expect("a known algorithm");
    let redundancy = match args.get(5).map(String::as_str) {
        Some("early") => Redundancy::EARLY,
        Some("repairs") => Redundancy::REPAIRS,
        _ => Redundancy::OFF,
    };
    let flags: Vec<&str> = args.get(6).map_or(Vec::new(), |f| f.split(',').collect());
    let trace = flags.contains(&"trace");
    let seed = flags.iter().find_map(|f| f.strip_prefix("seed="));
    let first: u64 = seed.map_or(1, |seed| seed.parse().expect("a number"));
    for seed in first..=(if trace { first } else { first + 4 }) {
        let mut scenario = Scenario::download(bytes as u64, rate, rtt);
        scenario.seed = seed;
        scenario.client.sack = !flags.contains(&"client-nosack");
        scenario.server.sack = !flags.contains(&"server-nosack");
        scenario.server.timestamps = !flags.contains(&"server-nots");
        for flag in &flags {
            scenario.server.algorithm = match (*flag, flag.parse::<AlgorithmId>()) {
                ("reno", _) => ServerAlgorithm::Reno,
                ("cubic", _) | (_, Err(_)) => continue,
                (_, Ok(id)) => ServerAlgorithm::Native(id.into()),
            };
        }
        if let Some(ms) = flags.iter().find_map(|f| f.strip_prefix("jitter=")) {
            scenario.down.jitter = ms.parse::<u64>().expect("ms") * 1_000_000;
        }
        if loss > 0.0 {
            scenario.down.loss = Loss::Bernoulli {
                ratio: loss / 100.0,
            };
        }
        let alone = run(&scenario, &mut Wire::default());
        let verdict = Verdict {
            redundancy,
            ..Verdict::enforce(algorithm)
        };
        let mut limits = Limits::default();
        if flags.contains(&"tiny-budget") {
            limits.held_bytes_total = 40_000;
        }
        let mut middle = EngineBox::new(Box::new(verdict), limits, seed).sample_every(20_000_000);
        let boxed = run(&scenario, &mut middle);
        println!(
            "seed {seed}: alone {:.3} s, behind the box {:.3} s, intact {}",
            alone.seconds, boxed.seconds, boxed.intact
        );
        for violation in boxed.violations.iter().take(5) {
            println!("   {violation}");
        }
        println!("   server {:?}", boxed.server());
        let counters: Vec<String> = boxed
            .counters
            .iter()
            .filter(|(_, v)| *v > 0)
            .map(|(n, v)| format!("{n}={v}"))
            .collect();
        println!("   box {} held={}", counters.join(" "), boxed.held_packets);
        if trace {
            for (at, info) in middle.samples() {
                let f = &info.figures;
                println!(
                    "{:.3} {:?} cwnd {} inflight {} queued {} edge {} bw {:.1} pace {:.1} srtt {:.1} min {:.1} lost {} rep {} acked {} {}",
                    *at as f64 / 1e9,
                    info.phase,
                    f.cwnd_bytes / f.mss_bytes,
                    f.inflight_bytes / f.mss_bytes,
                    f.queued_bytes / f.mss_bytes,
                    f.edge_bytes / f.mss_bytes,
                    f.delivery_rate_bps as f64 * 1e-6,
                    f.pacing_rate_bps.unwrap_or(0) as f64 * 1e-6,
                    f.srtt_us as f64 / 1e3,
                    f.min_rtt_us as f64 / 1e3,
                    f.lost_segments,
                    f.repaired_segments,
                    f.bytes_acked,
                    info.limited_by.name()
                );
            }
        }
    }
}
