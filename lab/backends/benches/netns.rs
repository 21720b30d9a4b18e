//! What a run in network namespaces costs beside the transfers themselves.
//!
//! `cargo bench -p windlass-lab --bench netns`, as root; it prints a Markdown table. Needs the
//! release build of `windlass` (`WINDLASS_BIN` names another one); `BENCH_RUNS` for other
//! repetitions.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use windlass_cc::Catalog;
use windlass_experiment::setup::{Bottleneck, Direction, FlowGroup, Host, Pair, PathBox, Setup};
use windlass_experiment::statistics::Spread;
use windlass_lab::backend::Backend;
use windlass_lab::backend::netns::Netns;
use windlass_lab::programs::Programs;

const RUNS: usize = 10;
const MS: u64 = 1_000_000;
const POLICY: &str = "version = 1\n";

fn main() -> Result<()> {
    let runs = match std::env::var("BENCH_RUNS") {
        Ok(text) => text.parse().context("BENCH_RUNS")?,
        Err(_) => RUNS,
    };
    println!(
        "| setup | first, ms | each further one, ms | of which the transfer | links' ns a packet |"
    );
    println!("| --- | ---: | ---: | ---: | ---: |");
    let governed = PathBox::Windlass {
        policy: POLICY.to_owned(),
    };
    for (name, setup) in [
        ("1 pair, 15 kB", setup(1, 15_000, PathBox::Nothing)),
        (
            "1 pair, 15 kB, Windlass",
            setup(1, 15_000, governed.clone()),
        ),
        ("20 pairs, 15 kB", setup(20, 15_000, PathBox::Nothing)),
        ("1 pair, 20 MB", setup(1, 20_000_000, PathBox::Nothing)),
        ("1 pair, 20 MB, Windlass", setup(1, 20_000_000, governed)),
    ] {
        println!("| {name} | {} |", measure(&setup, runs)?);
    }
    Ok(())
}

fn measure(setup: &Setup, runs: usize) -> Result<String> {
    let mut netns = Netns::new(Programs::of(windlass()?));
    let setups = vec![setup.clone(); runs + 1];
    let (mut took, mut transfers, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    let mut per_packet = Vec::new();
    let mut last = Instant::now();
    netns.run(&setups, &Catalog::new(), &mut |_, observed| {
        took.push(last.elapsed().as_secs_f64() * 1e3);
        last = Instant::now();
        let seconds = observed.flows.iter().map(|f| f.seconds);
        transfers.push(seconds.fold(0.0, f64::max) * 1e3);
        errors.extend(observed.error);
        errors.extend(observed.flows.into_iter().filter_map(|f| f.error));
        let cpu = observed.counters.get("lab_links_ns_per_packet");
        per_packet.extend(cpu.map(|ns| *ns as f64));
    })?;
    ensure!(errors.is_empty(), "{errors:?}");
    let median = |all: &[f64]| Spread::of(all.iter().copied()).map_or(0.0, |s| s.median);
    Ok(format!(
        "{:.0} | {:.1} | {:.1} | {:.0}",
        took[0],
        median(&took[1..]),
        median(&transfers[1..]),
        median(&per_packet)
    ))
}

/// Pairs of hosts on one link of 200 Mbit/s and 10 ms.
fn setup(pairs: usize, bytes: u64, path_box: PathBox) -> Setup {
    let host = Host::linux("cubic");
    let direction = Direction {
        rate_bits_per_s: 200_000_000,
        delay_ns: 5 * MS,
        queue_bytes: 1_000_000,
        ..Direction::default()
    };
    let flows = |pair| FlowGroup {
        name: "all".to_owned(),
        pair,
        count: 1,
        bytes,
        ..FlowGroup::default()
    };
    let pair = |index| Pair {
        server: index,
        client: index,
        route: vec![0],
        extra_delay_ns: 0,
    };
    Setup {
        seed: 1,
        limit_ns: 60_000 * MS,
        servers: vec![host.clone(); pairs],
        clients: vec![host; pairs],
        bottlenecks: vec![Bottleneck {
            down: direction,
            up: direction,
            ..Bottleneck::default()
        }],
        pairs: (0..pairs).map(pair).collect(),
        path_box,
        flows: (0..pairs).map(flows).collect(),
        ..Setup::default()
    }
}

fn windlass() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("WINDLASS_BIN") {
        return Ok(named.into());
    }
    let bench = std::env::current_exe()?;
    let folder = bench.ancestors().nth(2).context("no folder above")?;
    Ok(folder.join("windlass"))
}
