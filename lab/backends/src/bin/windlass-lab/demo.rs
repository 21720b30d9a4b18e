//! `windlass-lab demo`: the experiment `experiments/demo.toml` with other figures, on this machine's kernel.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use toml::{Table, Value};
use windlass_cc::Catalog;
use windlass_experiment::statistics::Spread;
use windlass_experiment::{Experiment, Observed, Row, Settings, rows};
use windlass_lab::backend::netns::Netns;
use windlass_lab::programs::Programs;
use windlass_terminal::print;

use crate::done::{Done, Files};
use crate::{BAD_FILE, table, wrong_usage};

const EXPERIMENT: &str = include_str!("../../../../../experiments/demo.toml");
/// The contestants of the file, in its order.
const CASES: [&str; 3] = ["cubic", "native_bbr", "windlass_bbr"];
/// The one beside which the others are shown.
const REFERENCE: usize = 1;
/// A download may take this long, however small it is, s.
const PATIENCE_SECONDS: u64 = 60;
/// And this many times as long as the link's rate demands.
const PATIENCE_FACTOR: u64 = 100;

/// Compare a download by a CUBIC server alone, by a BBR server, and behind Windlass.
///
/// Needs root: makes a network of namespaces with a long and lossy link, and removes it again.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Repetitions of each case.
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// Size of the download, bytes.
    #[arg(long, default_value_t = 10_000_000)]
    bytes: u32,
    /// Rate of the link, Mbit/s.
    #[arg(long, default_value_t = 50)]
    rate_mbit: u32,
    /// Round-trip time of the link, ms.
    #[arg(long, default_value_t = 100)]
    rtt_ms: u32,
    /// Share of the packets towards the client that the link loses, percent.
    #[arg(long, default_value_t = 1.0)]
    loss_percent: f64,
    /// Queue of the link, bandwidth-delay products.
    #[arg(long, default_value_t = 1.0)]
    queue_bdp: f64,
    /// What Windlass drives the flow with.
    #[arg(long, value_name = "NAME", default_value = "bbr")]
    algorithm: String,
    /// Second copies.
    #[arg(long, default_value = "off", value_parser = ["off", "repairs", "early"])]
    redundancy: String,
    /// Who contests, separated by commas [default: all].
    #[arg(long = "cases", value_delimiter = ',', value_parser = PossibleValuesParser::new(CASES))]
    cases: Vec<String>,
    /// Seed of the losses.
    #[arg(long, default_value_t = 1)]
    seed: u32,
    /// Write rows and checks as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a report (HTML), the rows and the time series (CSV) into this folder.
    #[arg(long, value_name = "FOLDER", default_value = "windlass-demo")]
    report: PathBuf,
    /// Write no report.
    #[arg(long, conflicts_with = "report")]
    no_report: bool,
}

pub(crate) fn run(args: Args, catalog: &Catalog) -> Result<ExitCode> {
    if let Err(unknown) = catalog.algorithm(&args.algorithm) {
        wrong_usage(&unknown.to_string());
    }
    let settings = Settings {
        repetitions: Some(args.runs.max(1)),
        seed: Some(args.seed.into()),
    };
    let mut experiment = match Experiment::parse(&text(&args)?, "demo", settings, catalog) {
        Ok(experiment) => experiment,
        Err(mistake) => {
            eprintln!("{mistake}");
            return Ok(ExitCode::from(BAD_FILE));
        }
    };
    experiment
        .select(&args.cases, &[])
        .map_err(anyhow::Error::msg)?;
    let files = Files {
        json: args.json.clone(),
        report: (!args.no_report).then(|| args.report.clone()),
    };
    files.check()?;
    let mut backend = Netns::new(Programs::installed()?);
    let (mut number, total) = (0, experiment.runs.len());
    let mut tell = |run: usize, came: &Observed| {
        number += 1;
        let line = line(&args, &experiment, run, came);
        Some(format!("{number}/{total} {line}"))
    };
    let (done, ended) = Done::execute(&mut backend, &experiment, catalog, &mut tell);
    print(&summary(&args, &experiment, &done))?;
    done.write(&files)?;
    ended?;
    Ok(done.exit_code())
}

/// The file, with the figures of the flags in it.
fn text(args: &Args) -> Result<String> {
    let mut file: Table = EXPERIMENT.parse().context("experiments/demo.toml")?;
    let ideal = u64::from(args.bytes) * 8 / (u64::from(args.rate_mbit.max(1)) * 1_000_000);
    let limit = PATIENCE_SECONDS + PATIENCE_FACTOR * ideal;
    file["run"]["limit_s"] = Value::Integer(limit as i64);
    file["flows"][0]["bytes"] = args.bytes.into();
    file["link"]["rate_mbit"] = args.rate_mbit.into();
    file["link"]["rtt_ms"] = args.rtt_ms.into();
    file["link"]["loss_percent"] = args.loss_percent.into();
    file["link"]["queue_bdp"] = args.queue_bdp.into();
    file["contestant"][2]["box"]["algorithm"] = args.algorithm.as_str().into();
    file["contestant"][2]["box"]["redundancy"] = args.redundancy.as_str().into();
    Ok(toml::to_string(&file)?)
}

/// A contestant, for people.
fn title(args: &Args, contestant: usize) -> String {
    match contestant {
        0 => "CUBIC alone".to_owned(),
        REFERENCE => "server's own BBR".to_owned(),
        _ => format!("CUBIC behind Windlass ({})", args.algorithm),
    }
}

/// What came of one download.
fn line(args: &Args, experiment: &Experiment, run: usize, came: &Observed) -> String {
    let rows = rows::of(experiment, run, came);
    let outcome = match rows.iter().find(|row| row.failed()) {
        Some(row) => {
            let why = row.error.as_deref().unwrap_or("it did not end intact");
            format!("failed: {why}")
        }
        None => rows
            .first()
            .map_or_else(String::new, |row| format!("{:.3} s", row.seconds)),
    };
    let run = &experiment.runs[run];
    let title = title(args, run.contestant);
    format!("{title} #{}: {outcome}", run.repetition)
}

/// What was downloaded over what, a line for each contestant, and the checks that do not hold.
fn summary(args: &Args, experiment: &Experiment, done: &Done<'_>) -> String {
    let of = |contestant: usize| {
        let rows = done.rows.iter();
        rows.filter(move |row| row.contestant == contestant)
    };
    let good = |contestant| of(contestant).filter(|row: &&Row| !row.failed());
    let seconds = |contestant| Spread::of(good(contestant).map(|row| row.seconds));
    let heads = ["", "median s", "min–max s", "vs own BBR", "intact"];
    let mut lines = vec![heads.map(str::to_owned).to_vec()];
    let run = |contestant: &usize| of(*contestant).next().is_some();
    for contestant in (0..CASES.len()).filter(run) {
        let mut line = vec![title(args, contestant)];
        line.extend(match seconds(contestant) {
            Some(s) => {
                let beside = seconds(REFERENCE).map(|own| format!("{:.2}×", s.median / own.median));
                [
                    format!("{:.2}", s.median),
                    format!("{:.2}–{:.2}", s.min, s.max),
                    beside.unwrap_or_else(|| "–".to_owned()),
                ]
            }
            None => ["–"; 3].map(str::to_owned),
        });
        let (intact, all) = (good(contestant).count(), of(contestant).count());
        line.push(format!("{intact}/{all}"));
        lines.push(line);
    }
    let queue = experiment.runs.first().map_or(0, |run| {
        let bottlenecks = run.setup.bottlenecks.iter();
        bottlenecks.map(|b| b.down.queue_bytes).sum()
    });
    let failing: Vec<_> = done.verdicts.iter().filter(|v| !v.pass).cloned().collect();
    format!(
        "{} MB over {} Mbit/s, {} ms, {} % loss, queue {} kB; {} run{} each\n{}{}",
        f64::from(args.bytes) / 1e6,
        args.rate_mbit,
        args.rtt_ms,
        args.loss_percent,
        queue / 1_000,
        args.runs,
        if args.runs == 1 { "" } else { "s" },
        table::aligned(&lines),
        table::checks(&failing),
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use windlass_experiment::setup::PathBox;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn experiment(words: &[&str]) -> Experiment {
        let line = Line::try_parse_from([&["demo"], words].concat()).expect("flags");
        let text = text(&line.args).expect("TOML");
        Experiment::parse(&text, "demo", Settings::default(), &Catalog::new())
            .expect("an experiment")
    }

    #[test]
    fn without_flags_it_is_the_file() {
        let file = Experiment::parse(EXPERIMENT, "demo", Settings::default(), &Catalog::new())
            .expect("a file");
        assert_eq!(file.contestants, CASES);
        let setups = |e: Experiment| e.runs.into_iter().map(|run| run.setup).collect::<Vec<_>>();
        assert_eq!(setups(experiment(&[])).len(), 15);
        let mut file = setups(file);
        for setup in &mut file {
            setup.limit_ns = (PATIENCE_SECONDS + PATIENCE_FACTOR) * 1_000_000_000;
        }
        assert_eq!(setups(experiment(&[])), file);
    }

    #[test]
    fn flags_are_figures_of_the_file() {
        let words = "--bytes 70000 --rate-mbit 8 --rtt-ms 30 --loss-percent 0.5 --queue-bdp 2 --algorithm cubic \
                     --redundancy early";
        let experiment = experiment(&words.split_whitespace().collect::<Vec<_>>());
        let setup = &experiment.runs[2].setup;
        let down = &setup.bottlenecks[0].down;
        assert_eq!(
            (setup.flows[0].bytes, down.rate_bits_per_s),
            (70_000, 8_000_000)
        );
        let PathBox::Windlass { policy } = &setup.path_box else {
            panic!("{setup:?}");
        };
        for part in ["cubic", "early"] {
            assert!(policy.contains(part), "{policy}");
        }
    }
}
