//! `windlass verdict`.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValue;
use clap::{ValueEnum, value_parser};
use windlass_record::pcapng::Capture;
use windlass_record::verdict::{Outcome, Rule, judge};
use windlass_terminal::{print, print_json};

/// The longest file that is read, bytes: it is kept in memory.
const FILE_MAX_BYTES: u64 = 8 << 30;
/// Something could not be told, or the file could not be read.
const CANNOT_TELL: u8 = 2;

/// Say whether a capture of both sides of a box shows that it kept the rules.
///
/// The file is one of `windlass record`, or a capture of both interfaces that mergecap -I none has put together. Exit code:
/// 0 each rule was kept on each connection, 1 one was broken, 2 something cannot be told, or the file cannot be read.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The capture (pcapng).
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Interface towards the senders, by its name or number in the file.
    #[arg(long, value_name = "IF")]
    inside: Option<String>,
    /// Interface towards the network, by its name or number in the file.
    #[arg(long, value_name = "IF")]
    outside: Option<String>,
    /// Only these rules, separated by commas.
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = value_parser!(Asked))]
    rules: Vec<Asked>,
    /// As JSON.
    #[arg(short, long)]
    json: bool,
}

/// A rule, as it is typed.
#[derive(Clone, Copy, Debug)]
struct Asked(Rule);

impl ValueEnum for Asked {
    fn value_variants<'a>() -> &'a [Asked] {
        const ALL: [Asked; Rule::ALL.len()] = {
            let mut all = [Asked(Rule::Data); Rule::ALL.len()];
            let mut at = 0;
            while at < all.len() {
                all[at] = Asked(Rule::ALL[at]);
                at += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).help(self.0.help().trim()))
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    match verdict(args) {
        Ok(code) => Ok(code),
        Err(error) => {
            eprintln!("windlass: {error:#}");
            Ok(ExitCode::from(CANNOT_TELL))
        }
    }
}

fn verdict(args: &Args) -> Result<ExitCode> {
    let bytes = read(&args.file)?;
    let named = || args.file.display().to_string();
    let capture = Capture::read(&bytes).with_context(named)?;
    let rules: Vec<Rule> = match args.rules.is_empty() {
        true => Rule::ALL.to_vec(),
        false => args.rules.iter().map(|asked| asked.0).collect(),
    };
    let wanted = [args.inside.as_deref(), args.outside.as_deref()];
    let verdict = judge(&capture, wanted, &rules).with_context(named)?;
    match args.json {
        true => print_json(&verdict)?,
        false => print(&verdict.to_string())?,
    };
    Ok(match verdict.outcome() {
        Outcome::Kept => ExitCode::SUCCESS,
        Outcome::Broken => ExitCode::FAILURE,
        Outcome::Unknown => ExitCode::from(CANNOT_TELL),
    })
}

/// The whole of a regular file.
fn read(path: &Path) -> Result<Vec<u8>> {
    let named = || path.display().to_string();
    let kind = fs::metadata(path).with_context(named)?;
    if !kind.is_file() {
        bail!("{}: not a regular file", named());
    }
    if kind.len() > FILE_MAX_BYTES {
        bail!(
            "{}: longer than {FILE_MAX_BYTES} bytes: split it with editcap -c",
            named()
        );
    }
    let mut bytes = Vec::with_capacity(kind.len() as usize);
    let file = File::open(path).with_context(named)?;
    file.take(FILE_MAX_BYTES)
        .read_to_end(&mut bytes)
        .with_context(named)?;
    Ok(bytes)
}
