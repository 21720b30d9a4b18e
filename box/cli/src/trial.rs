//! `windlass trial`: algorithms compared on real flows.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use windlass_cc::Catalog;
use windlass_daemon::control::{Answer, Request, TrialAnswer};
use windlass_terminal::{print, print_json};

use crate::ask::{Control, unexpected};
use crate::wrong_usage;

/// Compare algorithms on new flows, by lot.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Begin: a share of the new flows gets one of the algorithms by lot. A trial that runs ends.
    Start {
        /// The rule whose flows take part [default: all that are governed].
        #[arg(long, value_name = "RULE")]
        policy: Option<String>,
        /// What is compared, with the first: NAME[:PRESET][,PARAMETER=VALUE], the algorithms
        /// separated by commas, or by spaces if they have parameters.
        #[arg(long, value_name = "NAME,NAME", value_parser = arms)]
        arms: Arms,
        /// Share of the new flows that take part.
        #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = share)]
        share: u32,
        #[command(flatten)]
        control: Control,
    },
    /// Show how it stands: completion times with their confidence intervals, and a plain verdict.
    Show {
        /// As JSON.
        #[arg(short, long)]
        json: bool,
        #[command(flatten)]
        control: Control,
    },
    /// End it, and show how it stood. Its flows go on with what their rules say.
    Stop {
        /// As JSON.
        #[arg(short, long)]
        json: bool,
        #[command(flatten)]
        control: Control,
    },
}

/// Algorithms as they are typed.
#[derive(Clone)]
pub(crate) struct Arms(Vec<String>);

fn arms(text: &str) -> Result<Arms, String> {
    let between = if text.contains(' ') { ' ' } else { ',' };
    let names = text.split(between).filter(|name| !name.is_empty());
    let arms: Vec<String> = names.map(str::to_owned).collect();
    match arms.len() {
        0 | 1 => Err("name at least two: bbr,cubic".to_owned()),
        _ => Ok(Arms(arms)),
    }
}

/// `10%` in thousandths.
fn share(text: &str) -> Result<u32, String> {
    let number: Option<f64> = text.strip_suffix('%').and_then(|n| n.parse().ok());
    let share = number.map(|n| (n * 10.0).round());
    let share = share.filter(|share| (1.0..=1000.0).contains(share));
    share
        .map(|s| s as u32)
        .ok_or_else(|| "write 0.1% to 100%".to_owned())
}

pub(crate) fn run(command: Command, catalog: &Catalog) -> Result<ExitCode> {
    let (json, answer) = match command {
        Command::Start {
            policy,
            arms,
            share,
            control,
        } => {
            for arm in &arms.0 {
                if let Err(wrong) = catalog.settings(arm) {
                    wrong_usage(&format!("{arm}: {wrong}"));
                }
            }
            let request = Request::StartTrial {
                rule: policy,
                arms: arms.0,
                share_permille: share,
            };
            (false, control.ask(request)?)
        }
        Command::Show { json, control } => (json, control.ask(Request::Trial)?),
        Command::Stop { json, control } => (json, control.ask(Request::StopTrial)?),
    };
    let Answer::Trial(trial) = &answer else {
        bail!(unexpected(&answer));
    };
    if json {
        return print_json(trial);
    }
    print(&text(trial)?)
}

fn text(trial: &TrialAnswer) -> Result<String> {
    let whose = trial
        .rule
        .as_ref()
        .map_or("all rules".to_owned(), |r| format!("rule \"{r}\""));
    let mut text = format!("{:.1} % of the new flows of {whose}\n", trial.share * 100.0);
    for (arm, flows) in trial.arms.iter().zip(&trial.report.flows) {
        writeln!(text, "{arm}: {flows} flows")?;
    }
    for arm in &trial.report.arms {
        write!(
            text,
            "{} {}: {} transfers",
            trial.arms[arm.arm], arm.sizes, arm.transfers
        )?;
        for q in &arm.quantiles {
            let percent = q.q * 100.0;
            write!(
                text,
                ", p{percent} {:.3} s ({:.3} to {:.3})",
                q.s, q.low_s, q.high_s
            )?;
        }
        text.push('\n');
    }
    for verdict in &trial.verdict {
        writeln!(text, "{verdict}")?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_and_shares() {
        assert_eq!(arms("bbr,cubic").unwrap().0, ["bbr", "cubic"]);
        assert_eq!(arms("bbr cubic:linux,beta=0.5").unwrap().0.len(), 2);
        assert!(arms("bbr").is_err());
        assert_eq!(share("10%"), Ok(100));
        assert_eq!(share("0.1%"), Ok(1));
        for wrong in ["10", "0%", "101%", "-1%", "x%"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
