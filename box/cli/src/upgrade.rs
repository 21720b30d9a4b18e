//! `windlass upgrade` and `windlass reload`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use windlass_daemon::config_files::DEFAULT_CONFIG;
use windlass_daemon::control::{Answer, Request};
use windlass_terminal::print;

use crate::ask::{Control, unexpected};
use crate::policy;

/// The new process makes its control socket when the old one has ended.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);
const ANSWER_PAUSE: Duration = Duration::from_millis(20);

/// Have another process, of a newer version perhaps, go on with all connections, which stay governed.
///
/// The running windlass starts the program with the arguments that it was started with itself. The
/// new process reads the configuration again, takes over interfaces, packets and connections, and the
/// old one ends. If the new one does not come up, the old one governs on, and this command says why.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The program [default: the file that the running one was started from].
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    #[command(flatten)]
    control: Control,
}

/// Take over what has changed on disk: the configuration, and the program if a package has replaced it.
///
/// If the file that the running windlass was started from has been replaced, the new one goes on with
/// all connections, as by `windlass upgrade`, and reads the configuration that the service names.
/// Else the configuration is put in charge, as by `windlass policy apply`. A mistake changes nothing.
/// `systemctl reload windlass` runs this.
#[derive(clap::Args)]
pub(crate) struct ReloadArgs {
    /// The configuration file.
    #[arg(long, value_name = "FILE", default_value = DEFAULT_CONFIG)]
    config: PathBuf,
    #[command(flatten)]
    control: Control,
}

pub(crate) fn reload(args: &ReloadArgs) -> Result<ExitCode> {
    let replaced = match args.control.ask(Request::Status)? {
        Answer::Status(status) => status.replaced,
        other => return Err(unexpected(&other)),
    };
    match replaced {
        true => go_on(None, &args.control),
        false => policy::apply(&args.config, &args.control),
    }
}

pub(crate) fn upgrade(args: &Args) -> Result<ExitCode> {
    let absolute = args.binary.as_ref().map(|path| {
        path.canonicalize()
            .with_context(|| format!("the program {}", path.display()))
    });
    go_on(absolute.transpose()?, &args.control)
}

/// Has another process go on; returns when that one answers.
fn go_on(binary: Option<PathBuf>, control: &Control) -> Result<ExitCode> {
    let began = Instant::now();
    let pid = match control.ask(Request::Upgrade { binary })? {
        Answer::Upgraded { pid } => pid,
        other => return Err(unexpected(&other)),
    };
    loop {
        if let Ok(Answer::Status(status)) = control.ask(Request::Status)
            && status.pid == pid
        {
            let version = &status.version;
            return print(&format!(
                "process {pid} (windlass {version}) governs {} connections\n",
                status.connections
            ));
        }
        if began.elapsed() > ANSWER_LIMIT {
            bail!("process {pid} has taken over, and does not answer at the control socket");
        }
        thread::sleep(ANSWER_PAUSE);
    }
}
