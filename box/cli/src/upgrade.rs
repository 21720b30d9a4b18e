//! `windlass upgrade`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use windlass_daemon::control::{Answer, Request};
use windlass_terminal::print;

use crate::ask::{Control, unexpected};

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

pub(crate) fn upgrade(args: &Args) -> Result<ExitCode> {
    let absolute = args.binary.as_ref().map(|path| {
        path.canonicalize()
            .with_context(|| format!("the program {}", path.display()))
    });
    let request = Request::Upgrade {
        binary: absolute.transpose()?,
    };
    let began = Instant::now();
    let pid = match args.control.ask(request)? {
        Answer::Upgraded { pid } => pid,
        other => return Err(unexpected(&other)),
    };
    loop {
        if let Ok(Answer::Status(status)) = args.control.ask(Request::Status)
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
