//! Watching over an attachment: rules that are lost, with ovs-vswitchd or by somebody's hand, are
//! there again at once; a wire that is gone, as after a reboot, is made again.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::attachment::{Attachment, State};
use crate::check::{check_ports, mtu};
use crate::command::Command;
use crate::database::{Bridge, NoBridge};
use crate::lock::lock;
use crate::monitor::{Monitor, Signal};
use crate::openflow::{Entry, Speech};
use crate::rule::Rule;
use crate::rules::rules;
use crate::rundir::check_answering;
use crate::veth_pairs::Links;

/// Between two looks at everything, when nothing has been heard of.
const PERIOD: Duration = Duration::from_secs(5);
/// Between two looks when nothing can be heard.
const POLL: Duration = Duration::from_millis(500);
/// While something is wrong.
const RETRY: Duration = Duration::from_millis(50);

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
            trouble: String::new(),
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
    /// The last of which somebody has been told.
    trouble: String,
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
        let mut monitor = None;
        let mut looked = Instant::now();
        loop {
            let mut wait = RETRY;
            if !self.is_unwell || looked.elapsed() >= POLL || check_answering(&self.bridge).is_ok()
            {
                looked = Instant::now();
                match self.look(&mut tell) {
                    Some(true) => wait = self.listen(&mut monitor, signals),
                    Some(false) => {}
                    None => return tell(Event::Detached),
                }
            }
            match incoming.recv_timeout(wait) {
                Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(Signal::Look) | Err(RecvTimeoutError::Timeout) => {}
            }
            // One look is for all that has been heard.
            while let Ok(signal) = incoming.try_recv() {
                if let Signal::Stop = signal {
                    if self.look(&mut tell).is_none() {
                        tell(Event::Detached);
                    }
                    return;
                }
            }
        }
    }

    /// Whether all is as it should be now; none if there is nothing attached.
    fn look(&mut self, tell: &mut dyn FnMut(Event)) -> Option<bool> {
        match self.repair(tell) {
            Ok(None) => None,
            Ok(Some(_)) => {
                self.trouble.clear();
                if std::mem::take(&mut self.is_unwell) {
                    tell(Event::Restored);
                }
                Some(true)
            }
            Err(error) => {
                // Told once, however its cause is worded.
                if self.trouble != error.to_string() {
                    self.trouble = error.to_string();
                    tell(Event::Trouble(format!("{error:#}")));
                }
                self.is_unwell = true;
                Some(false)
            }
        }
    }

    /// Listens if nobody does, but begins so no more often than every [`POLL`]: the bridge may not be
    /// one that can be listened to. How long to wait: what happens before is not heard.
    fn listen(&self, monitor: &mut Option<Monitor>, signals: &Sender<Signal>) -> Duration {
        let (is_listening, is_new) = match monitor {
            Some(monitor) => (!monitor.has_ended(), monitor.started.elapsed() < POLL),
            None => (false, false),
        };
        if !is_listening && !is_new {
            *monitor = Monitor::start(&self.bridge, signals.clone()).ok();
        }
        if is_listening && !is_new {
            PERIOD
        } else {
            POLL
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
        check_answering(&self.bridge)?;
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
        for command in speech.install(&rules, !there.is_empty()) {
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
    let mut all = speech.dump_own()?;
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
