//! One download through the box and beside it, in virtual time:
//! `cargo run --release -p windlass-sim --example download -- RATE_MBIT RTT_MS LOSS_PERCENT BYTES [ALGORITHM] [REDUNDANCY] [FLAGS]`
//! FLAGS, joined by commas: `trace`, `boxed` (nothing beside it), `client-nosack`, `server-nosack`, `server-nots`, `tiny-budget`,
//! `jitter=MS`, `seed=N`, `scale=N` (of the client's window),
//! and the server's own algorithm: `reno`, `bbr`, `bbr3`.
#![allow(clippy::disallowed_methods)]

use windlass_engine::{AlgorithmId, Limits, Redundancy, Verdict};
use windlass_sim::link::Loss;
use windlass_sim::tcp::ServerAlgorithm;
use windlass_sim::{EngineBox, NoBox, Scenario, run};

/// What the command line asks for.
struct Asked {
    rate: f64,
    rtt: f64,
    loss: f64,
    bytes: f64,
    verdict: Verdict,
    flags: Vec<String>,
}

impl Asked {
    fn read() -> Asked {
        let args: Vec<String> = std::env::args().skip(1).collect();
        let number =
            |i: usize, default: f64| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(default);
        let name = args.get(4).map_or("bbr", String::as_str);
        let algorithm: AlgorithmId = name.parse().expect("a known algorithm");
        let redundancy = match args.get(5).map(String::as_str) {
            Some("early") => Redundancy::EARLY,
            Some("repairs") => Redundancy::REPAIRS,
            _ => Redundancy::OFF,
        };
        let flags = args.get(6).map_or("", String::as_str);
        Asked {
            rate: number(0, 50.0),
            rtt: number(1, 100.0),
            loss: number(2, 1.0),
            bytes: number(3, 10e6),
            verdict: Verdict {
                redundancy,
                ..Verdict::enforce(algorithm)
            },
            flags: flags.split(',').map(str::to_owned).collect(),
        }
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|f| f == flag)
    }

    fn value(&self, name: &str) -> Option<u64> {
        let mut flags = self.flags.iter();
        let value = flags.find_map(|f| f.strip_prefix(name)?.strip_prefix('='));
        value.map(|value| value.parse().expect("a number"))
    }

    fn scenario(&self, seed: u64) -> Scenario {
        let mut scenario = Scenario::download(self.bytes as u64, self.rate, self.rtt);
        scenario.seed = seed;
        scenario.client.sack = !self.has("client-nosack");
        scenario.server.sack = !self.has("server-nosack");
        scenario.server.timestamps = !self.has("server-nots");
        if let Some(shift) = self.value("scale") {
            scenario.client.window_scale = Some(shift as u8);
        }
        for flag in &self.flags {
            scenario.server.algorithm = match (flag.as_str(), flag.parse::<AlgorithmId>()) {
                ("reno", _) => ServerAlgorithm::Reno,
                ("cubic", _) | (_, Err(_)) => continue,
                (_, Ok(id)) => ServerAlgorithm::Native(id.into()),
            };
        }
        if let Some(ms) = self.value("jitter") {
            scenario.down.jitter = ms * 1_000_000;
        }
        if self.loss > 0.0 {
            scenario.down.loss = Loss::Bernoulli {
                ratio: self.loss / 100.0,
            };
        }
        scenario
    }
}

fn main() {
    let asked = Asked::read();
    let trace = asked.has("trace");
    let first = asked.value("seed").unwrap_or(1);
    for seed in first..=(if trace { first } else { first + 4 }) {
        let scenario = asked.scenario(seed);
        if !asked.has("boxed") {
            let alone = run(&scenario, &mut NoBox::default());
            print!("alone {:.3} s, ", alone.seconds);
        }
        let mut limits = Limits::default();
        if asked.has("tiny-budget") {
            limits.held_bytes_total = 40_000;
        }
        let middle = EngineBox::new(Box::new(asked.verdict), limits, seed);
        let mut middle = middle.sample_every(20_000_000);
        let boxed = run(&scenario, &mut middle);
        println!(
            "seed {seed}: behind the box {:.3} s, intact {}",
            boxed.seconds, boxed.intact
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
            print_samples(&middle);
        }
    }
}

fn print_samples(middle: &EngineBox) {
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
