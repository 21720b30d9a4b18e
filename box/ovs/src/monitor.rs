//! Listening to a bridge.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Stdio};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::database::Bridge;
use crate::openflow::Speech;
use crate::rule::COOKIE;

/// How ovs-ofctl says that a port has come, gone or changed.
const PORT_STATUS: &str = "OFPT_PORT_STATUS";

/// What a keeper is told.
pub(crate) enum Signal {
    /// A rule of ours was removed, a port has changed, or nothing can be heard any more.
    Look,
    Stop,
}

/// Hears what is removed from the bridge's tables, of its ports, and when ovs-vswitchd ends.
pub(crate) struct Monitor {
    child: Child,
    /// When it began.
    pub(crate) started: Instant,
}

impl Monitor {
    /// Starts, and sends [`Signal::Look`] to `signals` whenever it hears something.
    ///
    /// # Errors
    /// When the database or the programs are not there.
    pub(crate) fn start(bridge: &str, signals: Sender<Signal>) -> Result<Monitor> {
        let command = Speech::with(&Bridge::read(bridge)?).monitor();
        let mut child = command
            .attended()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot run setpriv and ovs-ofctl")?;
        let said = child.stderr.take().context("ovs-ofctl has no output")?;
        thread::spawn(move || hear(said, &signals));
        Ok(Monitor {
            child,
            started: Instant::now(),
        })
    }

    /// Whether nothing can be heard any more.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ends with the process that is listened to.
fn hear(said: ChildStderr, signals: &Sender<Signal>) {
    // All of our cookies begin so.
    let own = format!("cookie={:#x}", COOKIE >> 8);
    let lines = BufReader::new(said).lines().map_while(Result::ok);
    let is_news = |line: &String| line.contains(&own) || line.contains(PORT_STATUS);
    for _ in lines.filter(is_news) {
        if signals.send(Signal::Look).is_err() {
            return;
        }
    }
    let _ = signals.send(Signal::Look);
}
