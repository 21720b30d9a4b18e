//! `windlass-lab demo`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use windlass_cc::AlgorithmId;
use windlass_lab::demo::{self, Case, Options};
use windlass_lab::programs::Programs;

/// Compare a download by a CUBIC server alone, by a BBR server, and behind windlass.
///
/// Needs root: makes a network of namespaces with a long and lossy link, and removes it again.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Repetitions of each case.
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// Size of the download, bytes.
    #[arg(long, default_value_t = 10_000_000)]
    bytes: u64,
    /// Rate of the link, Mbit/s.
    #[arg(long, default_value_t = 50)]
    rate_mbit: u64,
    /// Round-trip time of the link, ms.
    #[arg(long, default_value_t = 100)]
    rtt_ms: u64,
    /// Share of the packets towards the client that the link loses, percent.
    #[arg(long, default_value_t = 1.0)]
    loss_percent: f64,
    /// Queue of the link, bandwidth-delay products.
    #[arg(long, default_value_t = 1.0)]
    queue_bdp: f64,
    /// What windlass drives the flow with.
    #[arg(long, value_name = "NAME", default_value = "bbr", value_parser = str::parse::<AlgorithmId>)]
    algorithm: AlgorithmId,
    /// Second copies.
    #[arg(long, default_value = "off", value_parser = ["off", "repairs", "early"])]
    redundancy: String,
    /// Who contests, separated by commas [default: all].
    #[arg(long = "cases", value_delimiter = ',', value_parser = case())]
    cases: Vec<Case>,
    /// Seed of the losses.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the results as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a report with plots (HTML).
    #[arg(long, value_name = "FILE", default_value = "windlass-demo.html")]
    report: PathBuf,
    /// Write no report.
    #[arg(long, conflicts_with = "report")]
    no_report: bool,
}

fn case() -> impl TypedValueParser<Value = Case> {
    PossibleValuesParser::new(Case::ALL.map(Case::key)).try_map(|key| {
        let found = Case::ALL.into_iter().find(|case| case.key() == key);
        found.ok_or("not one of them")
    })
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let summary = demo::run(Options {
        runs: args.runs,
        bytes: args.bytes,
        rate_mbit: args.rate_mbit,
        rtt_ms: args.rtt_ms,
        loss_percent: args.loss_percent,
        queue_bdp: args.queue_bdp,
        algorithm: args.algorithm.to_string(),
        redundancy: args.redundancy,
        json: args.json,
        report: (!args.no_report).then_some(args.report),
        cases: match args.cases.is_empty() {
            true => Case::ALL.to_vec(),
            false => args.cases,
        },
        windlass: Programs::installed()?.windlass()?,
        seed: args.seed,
    })?;
    Ok(ExitCode::from(u8::from(!summary.all_ok())))
}
