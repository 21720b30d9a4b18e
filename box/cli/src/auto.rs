//! `windlass auto`: what experience has taught.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use windlass_daemon::control::{Answer, AutoPrefix, AutoReport, AutoRule, AutoTried, Request};
use windlass_terminal::{print, print_json, rate};

use crate::ask::{Control, unexpected};

/// Lines for people; `-j` has all of them.
const SHOWN_PREFIXES: usize = 100;

/// What flows with algorithm = "auto" have taught.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Show, prefix by prefix, which algorithm is believed to be best, how sure that is, and on how
    /// many transfers it rests; and rule by rule, what has been tried and how fast that was.
    Show {
        /// As JSON.
        #[arg(short, long)]
        json: bool,
        #[command(flatten)]
        control: Control,
    },
}

pub(crate) fn run(command: Command) -> Result<ExitCode> {
    let Command::Show { json, control } = command;
    let answer = control.ask(Request::Auto)?;
    let Answer::Auto(report) = &answer else {
        bail!(unexpected(&answer));
    };
    if json {
        return print_json(report);
    }
    print(&text(report)?)
}

fn text(report: &AutoReport) -> Result<String> {
    let mut text = format!(
        "one of {}; {} % of new flows explore\n",
        report.arms.join(", "),
        report.explore * 100.0
    );
    for rule in &report.rules {
        text += &tried(rule, &report.arms);
    }
    let mut known: Vec<&AutoPrefix> = report.prefixes.iter().collect();
    let transfers = |p: &AutoPrefix| -> f64 { p.arms.iter().map(|a| a.transfers).sum() };
    // The first is that of unknown prefixes, and stays first.
    known[1..].sort_by(|a, b| transfers(b).total_cmp(&transfers(a)));
    for prefix in known.iter().take(SHOWN_PREFIXES) {
        let name = prefix.prefix.as_deref().unwrap_or("anywhere else");
        write!(
            text,
            "{name}: {} ({:.0} % sure",
            prefix.best,
            prefix.sure * 100.0
        )?;
        match prefix.prefix {
            Some(_) => write!(text, ", {} s ago)", prefix.age_s)?,
            None => text.push(')'),
        }
        for (arm, belief) in report.arms.iter().zip(&prefix.arms) {
            write!(
                text,
                " {arm}:{:.2}±{:.0}%/{:.1}",
                belief.worth,
                belief.error * 100.0,
                belief.transfers
            )?;
        }
        text.push('\n');
    }
    if known.len() > SHOWN_PREFIXES {
        writeln!(
            text,
            "… and {} more (-j shows all)",
            known.len() - SHOWN_PREFIXES
        )?;
    }
    Ok(text)
}

/// `rule downloads: bbr 120 flows (0 explored), 118 transfers at 34.2 Mbit/s; cubic …`
fn tried(rule: &AutoRule, arms: &[String]) -> String {
    let one = |(name, arm): (&String, &AutoTried)| {
        let speed = arm.goodput_bps.map(|bps| format!(" at {}", rate(bps)));
        format!(
            "{name} {} flows ({} explored), {} transfers{}",
            arm.flows,
            arm.explored,
            arm.transfers,
            speed.unwrap_or_default()
        )
    };
    let all: Vec<String> = arms.iter().zip(&rule.arms).map(one).collect();
    format!("rule {}: {}\n", rule.rule, all.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_says_what_it_has_tried() {
        let tried_once = AutoTried {
            flows: 120,
            explored: 6,
            transfers: 118,
            goodput_bps: Some(34_200_000),
        };
        let never = AutoTried {
            flows: 0,
            explored: 0,
            transfers: 0,
            goodput_bps: None,
        };
        let rule = AutoRule {
            rule: "downloads".to_owned(),
            arms: vec![tried_once, never],
        };
        assert_eq!(
            tried(&rule, &["bbr".to_owned(), "cubic".to_owned()]),
            "rule downloads: bbr 120 flows (6 explored), 118 transfers at 34.2Mbit/s; cubic 0 flows (0 explored), 0 transfers\n"
        );
    }
}
