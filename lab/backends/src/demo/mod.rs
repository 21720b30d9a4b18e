//! `windlass demo`: the same download through the same link, three times over.
//!
//! CUBIC alone, the server's own BBR, and CUBIC behind Windlass take turns, so that whatever else
//! the machine does disturbs all of them alike, and meet the same losses in the same repetition.

mod facts;
mod measure;
mod progress;
mod run;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use windlass_experiment::statistics::Spread;

pub use facts::Facts;
pub use measure::Measured;
pub use run::{BoxCounts, LinkCounts, Run};

use crate::command::{OF_DEMO, check_host};
use crate::emulator;
use crate::leftovers::{catch_signals, check_interrupted, interrupted, remove_stale};
use crate::report;
use crate::topology::SYSCTLS;

/// Who contests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Case {
    /// A CUBIC server, nothing on the box.
    Cubic,
    /// A BBR server, nothing on the box: the yardstick.
    NativeBbr,
    /// A CUBIC server, Windlass on the box.
    WindlassBbr,
}

impl Case {
    /// All of them.
    pub const ALL: [Case; 3] = [Case::Cubic, Case::NativeBbr, Case::WindlassBbr];

    /// Its key in the JSON result.
    pub fn key(self) -> &'static str {
        match self {
            Case::Cubic => "cubic",
            Case::NativeBbr => "native_bbr",
            Case::WindlassBbr => "windlass_bbr",
        }
    }

    /// For people.
    pub fn title(self, algorithm: &str) -> String {
        match self {
            Case::Cubic => "CUBIC alone".to_owned(),
            Case::NativeBbr => "server's own BBR".to_owned(),
            Case::WindlassBbr => format!("CUBIC behind Windlass ({algorithm})"),
        }
    }

    /// What the server's kernel uses.
    pub fn server_algorithm(self) -> &'static str {
        match self {
            Case::Cubic | Case::WindlassBbr => "cubic",
            Case::NativeBbr => "bbr",
        }
    }
}

/// What to measure, and where the results go.
#[derive(Clone, Debug)]
pub struct Options {
    /// Repetitions of each case.
    pub runs: u32,
    /// Size of the download, bytes.
    pub bytes: u64,
    /// Rate of the link, Mbit/s.
    pub rate_mbit: u64,
    /// Round-trip time without queue, ms.
    pub rtt_ms: u64,
    /// Share of the packets from server to client that the link loses, percent.
    pub loss_percent: f64,
    /// Queue of the link in bandwidth-delay products, at least 100 packets.
    pub queue_bdp: f64,
    /// The algorithm that Windlass drives the flow with.
    pub algorithm: String,
    /// `windlass run --redundancy`.
    pub redundancy: String,
    /// Where the JSON result goes, if anywhere.
    pub json: Option<PathBuf>,
    /// Where the HTML report goes, if anywhere.
    pub report: Option<PathBuf>,
    /// Who contests.
    pub cases: Vec<Case>,
    /// The `windlass` program to run on the box.
    pub windlass: PathBuf,
    /// Seed of the losses and of the file. Repetition n loses by `seed + n`.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            runs: 5,
            bytes: 10_000_000,
            rate_mbit: 50,
            rtt_ms: 100,
            loss_percent: 1.0,
            queue_bdp: 1.0,
            algorithm: "bbr".to_owned(),
            redundancy: "off".to_owned(),
            json: None,
            report: Some(PathBuf::from("windlass-demo.html")),
            cases: Case::ALL.to_vec(),
            windlass: PathBuf::from("windlass"),
            seed: 1,
        }
    }
}

impl Options {
    /// The link.
    pub fn path(&self) -> emulator::Path {
        emulator::Path {
            rate_bits_per_s: self.rate_mbit * 1_000_000,
            rtt: self.rtt_ms * 1_000_000,
            loss_ratio: self.loss_percent / 100.0,
            ack_loss_ratio: 0.0,
            queue_bdp: self.queue_bdp,
        }
    }

    /// How Windlass is told to govern.
    pub fn arguments(&self) -> Vec<String> {
        let words = [
            "--algorithm",
            &self.algorithm,
            "--redundancy",
            &self.redundancy,
        ];
        words.map(str::to_owned).to_vec()
    }

    fn check(&self) -> Result<()> {
        let positive = |what: &str, value: u64| match value {
            0 => bail!("{what} must not be 0"),
            _ => Ok(()),
        };
        positive("runs", u64::from(self.runs))?;
        positive("bytes", self.bytes)?;
        positive("rate", self.rate_mbit)?;
        positive("number of cases", self.cases.len() as u64)?;
        if !(0.0..100.0).contains(&self.loss_percent) {
            bail!("loss must be at least 0 and less than 100 percent");
        }
        if !self.queue_bdp.is_finite() || self.queue_bdp < 0.0 {
            bail!("the queue must be a number of bandwidth-delay products, 0 or more");
        }
        if self.cases.contains(&Case::WindlassBbr) && !self.windlass.is_file() {
            bail!("there is no Windlass at {}", self.windlass.display());
        }
        Ok(())
    }
}

/// All that was measured.
#[derive(Clone, Debug)]
pub struct Summary {
    /// What was asked for.
    pub options: Options,
    /// Where it was measured.
    pub facts: Facts,
    /// Every download, in the order in which they took place.
    pub measured: Vec<Measured>,
}

impl Summary {
    /// Download times of the successful runs of a case, s.
    pub fn seconds(&self, case: Case) -> Option<Spread> {
        let runs = self.measured.iter().map(|m| &m.run);
        let good = runs.filter(|r| r.case == case && r.is_good());
        Spread::of(good.map(|r| r.seconds))
    }

    /// Median time of a case over that of the server's own BBR.
    pub fn ratio_to_native_bbr(&self, case: Case) -> Option<f64> {
        Some(self.seconds(case)?.median / self.seconds(Case::NativeBbr)?.median)
    }

    /// Whether every file arrived whole, and every flow was governed that should be.
    pub fn all_ok(&self) -> bool {
        self.measured.iter().all(|m| m.run.is_good())
    }
}

/// Makes the lab, runs all downloads, prints the table, writes the files, and removes all that it
/// made: also on errors, at Ctrl-C, and what an earlier demo that was killed has left.
///
/// # Errors
/// Without root or a needed program (the message has the command that installs it), when a
/// command fails, when the server's kernel uses another congestion control than the case says, and
/// when interrupted. A download that fails is no error but a run with [`Run::error`].
pub fn run(options: Options) -> Result<Summary> {
    options.check()?;
    check_host(&OF_DEMO)?;
    catch_signals()?;
    remove_stale();
    let facts = Facts::gather(&options);
    let measured = measure::all(&options);
    let measured = measured.map_err(|e| match interrupted() {
        true => e.context("interrupted; everything is removed"),
        false => e,
    })?;
    check_interrupted()?;
    let summary = Summary {
        options,
        facts,
        measured,
    };
    print!("{}", report::table::text(&summary));
    if let Some(file) = &summary.options.json {
        write(file, &report::json::text(&summary)?)?;
    }
    if let Some(file) = &summary.options.report {
        write(file, &report::html::text(&summary))?;
        println!("report: {}", file.display());
    }
    Ok(summary)
}

fn write(file: &Path, text: &str) -> Result<()> {
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// The sysctls of server and client, in words.
pub(crate) fn sysctls() -> impl Iterator<Item = String> {
    SYSCTLS
        .iter()
        .map(|(key, value)| format!("{key} = {value}"))
}
