//! Watching over an attachment: rules that are lost, with ovs-vswitchd or by somebody's hand, are
//! there again at once; a wire that is gone, as after a reboot, is made again.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::attachment::{Attachment, State};
use crate::check::{check_ports, mtu};
use crate::command::Command;
use crate::database::{Bridge, NoBridge};
use crate::lock::lock;
use crate::openflow::{Entry, Speech};
use crate::rule::{COOKIE, Rule};
use crate::rules::rules;
use crate::wire::Links;

/// Between two looks at everything, when nothing has been heard of.
const PERIOD: Duration = Duration::from_secs(5);
/// Between two looks while something is wrong, or nothing can be heard.
const RETRY: Duration = Duration::from_millis(200);

/// How ovs-ofctl says that a port has come, gone or changed.
const PORT_STATUS: &str = "OFPT_PORT_STATUS";

/// What has happened to an attachment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Rules were lost: packets have gone past the box. Told before they are back.
    Gap,
    /// All is as it should be again.
    Restored,
    /// It was detached, or its bridge is no more. The last event.
    Detached,
    /// It cannot be repaired yet, and why. Told once for each reason.
    Trouble(String),
}

/// Watches over an attachment until it is dropped.
#[derive(Debug)]
pub struct Keeper {
    signals: Sender<Signal>,
    thread: Option<JoinHandle<()>>,
}

enum Signal {
    /// A rule of ours was removed, a port has changed, or nothing can be heard any more.
    Look,
    Stop,
}

impl Keeper {
    /// Repairs what there is to repair of the bridge's attachment, and watches over it from then
    /// on. `tell` is called on another thread.
    ///
    /// # Errors
    /// When windlass is not attached to the bridge, or the attachment cannot be repaired.
    pub fn start(
        bridge: &str,
        tell: impl FnMut(Event) + Send + 'static,
    ) -> Result<(Keeper, Attachment)> {
        let mut watched = Watched {
            bridge: bridge.to_owned(),
            installed: None,
            is_unwell: false,
        };
        let Some(attachment) = watched.repair(&mut |_| {})? else {
            bail!(
                "windlass is not attached to bridge {bridge} (attach it: windlass attach --ovs \
                 {bridge} --match tcp,tp_dst=443)"
            );
        };
        let (signals, incoming) = channel();
        let sender = signals.clone();
        let named = thread::Builder::new().name("ovs".to_owned());
        let thread = named.spawn(move || watched.watch(tell, &sender, &incoming))?;
        let keeper = Keeper {
            signals,
            thread: Some(thread),
        };
        Ok((keeper, attachment))
    }
}

/// After a last look: the box may end because its interfaces are gone, and what is led to them is
/// lost.
impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = self.signals.send(Signal::Look);
        let _ = self.signals.send(Signal::Stop);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

struct Watched {
    bridge: String,
    installed: Option<Installed>,
    /// Of which somebody has been told.
    is_unwell: bool,
}

/// What was put in, and how the bridge then said it.
struct Installed {
    rules: Vec<Rule>,
    /// Which the rules' names stood for.
    numbers: BTreeMap<String, u16>,
    entries: Vec<Entry>,
}

impl Watched {
    fn watch(
        &mut self,
        mut tell: impl FnMut(Event),
        signals: &Sender<Signal>,
        incoming: &Receiver<Signal>,
    ) {
        let mut monitor: Option<Monitor> = None;
        let mut trouble = String::new();
        loop {
            // Listening begins before looking, so that nothing happens in between.
            if monitor.as_mut().is_none_or(Monitor::has_ended) {
                monitor = Monitor::start(&self.bridge, signals.clone()).ok();
            }
            let wait = match self.repair(&mut tell) {
                Ok(None) => return tell(Event::Detached),
                Ok(Some(_)) => {
                    trouble.clear();
                    if std::mem::take(&mut self.is_unwell) {
                        tell(Event::Restored);
                    }
                    if monitor.is_some() { PERIOD } else { RETRY }
                }
                Err(error) => {
                    // Told once, however its cause is worded.
                    if trouble != error.to_string() {
                        trouble = error.to_string();
                        tell(Event::Trouble(format!("{error:#}")));
                    }
                    self.is_unwell = true;
                    RETRY
                }
            };
            match incoming.recv_timeout(wait) {
                Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(Signal::Look) | Err(RecvTimeoutError::Timeout) => {}
            }
            // One look is for all that has been heard.
            while let Ok(signal) = incoming.try_recv() {
                if let Signal::Stop = signal {
                    let _ = self.repair(&mut tell);
                    return;
                }
            }
        }
    }

    /// Makes everything as it should be. None: there is nothing attached.
    fn repair(&mut self, tell: &mut dyn FnMut(Event)) -> Result<Option<Attachment>> {
        let _lock = lock()?;
        let bridge = match Bridge::read(&self.bridge) {
            Err(error) if error.is::<NoBridge>() => return Ok(None),
            bridge => bridge?,
        };
        let attachment = match Attachment::read(&self.bridge, &bridge.external_ids)? {
            Some((State::Attached, attachment)) => attachment,
            Some((State::Attaching, _)) => bail!(
                "attaching to bridge {0} has not come to its end (windlass detach --ovs {0}, and \
                 attach again)",
                self.bridge
            ),
            Some((State::Detaching, _)) | None => return Ok(None),
        };
        let speech = Speech::with(&bridge);
        let there = own_entries(&speech)?;
        let bridge = repair_wire(bridge, &attachment)?;
        let rules = rules(&attachment, &bridge);
        let numbers = bridge.numbers();
        let kept = self.installed.as_ref();
        if kept.is_some_and(|k| k.rules == rules && k.numbers == numbers && k.entries == there) {
            return Ok(Some(attachment));
        }
        let lost = |kept: &Installed| kept.entries.iter().any(|e| !there.contains(e));
        if kept.is_some_and(|kept| lost(kept) || !speech.at_once()) {
            self.is_unwell = true;
            tell(Event::Gap);
        }
        for command in speech.install(&rules) {
            command.run()?;
        }
        self.installed = Some(Installed {
            rules,
            numbers,
            entries: own_entries(&speech)?,
        });
        Ok(Some(attachment))
    }
}

/// Our rules as the bridge has them, but for those that it made itself.
fn own_entries(speech: &Speech) -> Result<Vec<Entry>> {
    let mut all = speech.dump_own().context("ovs-vswitchd does not answer")?;
    all.retain(|entry| !entry.is_learned());
    all.sort();
    Ok(all)
}

/// The wire, and its ports.
fn repair_wire(bridge: Bridge, attachment: &Attachment) -> Result<Bridge> {
    let wire = &attachment.wire;
    let links = Links::read()?;
    let is_whole = wire.is_whole(&links);
    if is_whole && check_ports(&bridge, wire).is_ok() {
        return Ok(bridge);
    }
    if !is_whole {
        let old = wire.remove(&links);
        for command in old.into_iter().chain(wire.make(&bridge.name, mtu(&bridge))) {
            command.run()?;
        }
        // Those that are still there may be of interfaces that are not.
        let ports = wire.del_ports(&bridge.name).into_iter();
        ports.fold(Command::vsctl(""), Command::word).run()?;
    }
    wire.add_ports(&bridge.name).run()?;
    let bridge = Bridge::read(&bridge.name)?;
    check_ports(&bridge, wire)?;
    Ok(bridge)
}

/// Hears what is removed from the bridge's tables, of its ports, and when ovs-vswitchd ends.
struct Monitor {
    child: Child,
}

impl Monitor {
    fn start(bridge: &str, signals: Sender<Signal>) -> Result<Monitor> {
        let command = Speech::with(&Bridge::read(bridge)?).monitor();
        let mut child = command
            .attended()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot run setpriv and ovs-ofctl")?;
        let said = child.stderr.take().context("ovs-ofctl has no output")?;
        thread::spawn(move || listen(said, &signals));
        Ok(Monitor { child })
    }

    fn has_ended(&mut self) -> bool {
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
fn listen(said: ChildStderr, signals: &Sender<Signal>) {
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
