//! `windlass doctor`: can `windlass run` work here, and if not, what mends it?

mod checks;

use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;
use windlass_terminal::{print, print_json};

use crate::capabilities::Effective;
use crate::kernel::{self, Configuration};

/// Check whether `windlass run` can work here; each lack comes with the command that mends it.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Interface towards the governed senders.
    #[arg(long, value_name = "IF", requires = "outside")]
    inside: Option<String>,
    /// Interface towards the network.
    #[arg(long, value_name = "IF", requires = "inside")]
    outside: Option<String>,
    /// As JSON.
    #[arg(short, long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Ok,
    /// Works without.
    Warning,
    /// `windlass run` cannot work.
    Missing,
}

#[derive(Debug, Serialize)]
struct Finding {
    subject: &'static str,
    state: State,
    found: String,
    mend: Option<String>,
}

impl Finding {
    fn ok(subject: &'static str, found: impl Into<String>) -> Finding {
        Finding {
            subject,
            state: State::Ok,
            found: found.into(),
            mend: None,
        }
    }

    fn lack(
        subject: &'static str,
        state: State,
        found: impl Into<String>,
        mend: impl Into<String>,
    ) -> Finding {
        Finding {
            subject,
            state,
            found: found.into(),
            mend: Some(mend.into()),
        }
    }
}

#[derive(Serialize)]
struct Diagnosis {
    ok: bool,
    findings: Vec<Finding>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let interfaces = args.inside.as_deref().zip(args.outside.as_deref());
    let diagnosis = diagnose(interfaces);
    if args.json {
        print_json(&diagnosis)?;
    } else {
        print(&text(&diagnosis))?;
    }
    Ok(ExitCode::from(u8::from(!diagnosis.ok)))
}

/// Prints what is not as it should be; whether `windlass run` can work between these two.
pub(crate) fn check(inside: &str, outside: &str) -> Result<bool> {
    let mut diagnosis = diagnose(Some((inside, outside)));
    diagnosis
        .findings
        .retain(|f| f.state != State::Ok && f.subject != "demo");
    print(&text(&diagnosis))?;
    Ok(diagnosis.ok)
}

fn diagnose(interfaces: Option<(&str, &str)>) -> Diagnosis {
    let effective = Effective::get();
    let release = kernel::release();
    let config = Configuration::read(&release);
    let mut findings = vec![
        checks::privileges(&effective),
        checks::version(&release),
        checks::bpf(),
        checks::btf(),
        checks::af_xdp(),
        checks::memlock(&effective),
        checks::bridging(&config),
    ];
    findings.extend(checks::options(&config));
    if let Some((inside, outside)) = interfaces {
        findings.extend(checks::interfaces(inside, outside));
    }
    findings.extend(checks::demo_programs());
    Diagnosis {
        ok: findings.iter().all(|f| f.state != State::Missing),
        findings,
    }
}

fn text(diagnosis: &Diagnosis) -> String {
    let mut text = String::new();
    for f in &diagnosis.findings {
        let state = match f.state {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Missing => "MISSING",
        };
        text.push_str(&format!("{state:8} {:11} {}\n", f.subject, f.found));
        if let Some(mend) = &f.mend {
            text.push_str(&format!("{:20} mend it with: {mend}\n", ""));
        }
    }
    text.push_str(match diagnosis.ok {
        true => "windlass can run here\n",
        false => "windlass cannot run here\n",
    });
    text
}
