//! `windlass guard`: whether governing is worth it, and where it was withdrawn.

mod page;
mod plots;
mod text;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use windlass_auto::guard::GuardReport;
use windlass_daemon::control::{Answer, Request};
use windlass_terminal::{print, print_json};

use crate::ask::{Control, unexpected};

/// What people say for as long as the guard remembers hours, h.
const REMEMBERED_H: u32 = 14 * 24;

/// Whether governed flows are faster than those left alone, and where Windlass has withdrawn.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Show, rule by rule and prefix by prefix, what governing gains and how sure that is.
    Show {
        /// As JSON, with the hours of two weeks.
        #[arg(short, long)]
        json: bool,
        #[command(flatten)]
        control: Control,
    },
    /// Write a page with tables and plots, one file that needs nothing else.
    Report {
        /// Where to.
        #[arg(long, value_name = "FILE")]
        html: PathBuf,
        /// How far back: 12h, 7d; two weeks at most.
        #[arg(long, value_name = "TIME", default_value = "7d", value_parser = hours)]
        since: u32,
        #[command(flatten)]
        control: Control,
    },
}

/// `7d` or `12h` in hours.
fn hours(text: &str) -> Result<u32, String> {
    let number = |suffix, hours: u32| {
        let number: u32 = text.strip_suffix(suffix)?.parse().ok()?;
        number.checked_mul(hours)
    };
    let hours = number('d', 24).or_else(|| number('h', 1));
    let hours = hours.filter(|hours| (1..=REMEMBERED_H).contains(hours));
    hours.ok_or_else(|| "write 1h to 336h, or 1d to 14d".to_owned())
}

pub(crate) fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Show { json, control } => {
            let hours = if json { REMEMBERED_H } else { 0 };
            let report = ask(&control, hours)?;
            match json {
                true => print_json(&report),
                false => print(&text::of(&report)),
            }
        }
        Command::Report {
            html,
            since,
            control,
        } => {
            let report = ask(&control, since)?;
            let page = page::of(&report, since)?;
            std::fs::write(&html, page).with_context(|| html.display().to_string())?;
            print(&format!("written: {}\n", html.display()))
        }
    }
}

fn ask(control: &Control, hours: u32) -> Result<GuardReport> {
    match control.ask(Request::Guard { hours })? {
        Answer::Guard(report) => Ok(report),
        answer => bail!(unexpected(&answer)),
    }
}

#[cfg(test)]
mod tests {
    use super::hours;

    #[test]
    fn times_are_hours_and_days() {
        assert_eq!([hours("7d"), hours("12h")], [Ok(168), Ok(12)]);
        for wrong in ["", "7", "0h", "15d", "337h", "-1d", "d", "99999999999h"] {
            assert!(hours(wrong).is_err(), "{wrong}");
        }
    }
}
