//! The process that governs, and hands over.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use sd_notify::NotifyState;
use windlass_engine::Engine;
use windlass_io::handover::{Channel, DESCRIPTORS_MAX, DRIVER_FORMAT, memory_file};

use super::{Message, STANDSTILL_LIMIT, START_LIMIT, SUCCESSOR_VARIABLE, hear, say, unexpected};
use crate::control::{Handler, Live};
use crate::log;
use crate::processor::Processor;
use crate::run::Event;

/// Whether this process can be followed by another, and whether it has been.
pub(crate) struct Upgrade {
    /// Why it cannot.
    pub impossible: Option<String>,
    under_way: AtomicBool,
    done: AtomicBool,
    events: Mutex<Sender<Event>>,
    /// The successor hears that this process has ended when this is closed.
    open: Mutex<Option<Channel>>,
}

/// All that a worker knows.
#[derive(Debug)]
pub(crate) struct WorkerState {
    pub engine: Vec<u8>,
    pub driver: Vec<u8>,
}

/// What becomes of workers that stand still.
#[derive(Debug, Default)]
pub(crate) struct Decision {
    /// What the other process reads of connections ([`Engine::export_as`]).
    pub format: u16,
    goes: Mutex<Option<bool>>,
    made: Condvar,
}

impl Decision {
    fn make(&self, goes: bool) {
        *self.goes.lock().unwrap_or_else(PoisonError::into_inner) = Some(goes);
        self.made.notify_all();
    }

    /// True: another process goes on. `None`: it is open.
    pub(crate) fn wait(&self, within: Duration) -> Option<bool> {
        let goes = self.goes.lock().unwrap_or_else(PoisonError::into_inner);
        let open = |goes: &mut Option<bool>| goes.is_none();
        let waited = self.made.wait_timeout_while(goes, within, open);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Workers go on, unless somebody else has been told to.
struct StandingStill(Arc<Decision>);

impl Drop for StandingStill {
    fn drop(&mut self) {
        if self.0.wait(Duration::ZERO).is_none() {
            self.0.make(false);
        }
    }
}

/// A process that is ended unless it has taken over.
struct Successor(Option<Child>);

impl Successor {
    /// It has taken over. Its process.
    fn stays(mut self) -> u32 {
        self.0.take().map_or(0, |child| child.id())
    }
}

impl Drop for Successor {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Upgrade {
    /// `impossible`: why it cannot be.
    pub(crate) fn new(impossible: Option<String>, events: Sender<Event>) -> Upgrade {
        Upgrade {
            impossible,
            under_way: AtomicBool::new(false),
            done: AtomicBool::new(false),
            events: Mutex::new(events),
            open: Mutex::new(None),
        }
    }

    /// Another process governs.
    pub(crate) fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    /// Ends this process if another governs: whoever asked for that has the answer.
    pub(crate) fn leave_if_done(&self) {
        if self.is_done() {
            let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = events.send(Event::Stop);
        }
    }
}

impl Handler {
    /// Starts `binary`, or the file that this process was started from, with the same arguments, and hands over to it. Its
    /// process.
    pub(crate) fn upgrade(&self, binary: Option<&Path>) -> Result<u32, String> {
        if let Some(why) = &self.upgrade.impossible {
            return Err(why.clone());
        }
        if self.upgrade.under_way.swap(true, Ordering::AcqRel) {
            return Err("an upgrade is under way already".to_owned());
        }
        let done = self.hand_over(binary);
        self.upgrade.under_way.store(false, Ordering::Release);
        done.map_err(|why| match self.upgrade.is_done() {
            true => why,
            false => format!("{why}; process {} governs on", std::process::id()),
        })
        .inspect_err(|why| log::error(format_args!("no upgrade: {why}")))
    }

    fn hand_over(&self, binary: Option<&Path>) -> Result<u32, String> {
        let own = || std::env::current_exe().map(|file| as_it_was_named(&file));
        let binary = binary.map_or_else(own, |path| Ok(path.to_owned()));
        let binary = binary.map_err(|e| format!("the file of this program: {e}"))?;
        let (successor, channel) =
            start(&binary).map_err(|e| format!("{} cannot be started: {e}", binary.display()))?;
        let of_it = |why: String| format!("{}: {why}", binary.display());
        let format = self.prepare(&channel).map_err(of_it)?;
        // This thread has answered when it has done this, and ends.
        Processor::hurry();
        self.with_live(|live| self.give(live, &channel, format).map_err(of_it))?;
        let pid = successor.stays();
        // The service manager follows the new process from here on; without one, there is nobody to tell.
        let _ = sd_notify::notify(&[NotifyState::MainPid(pid)]);
        let answer = match hear(&channel, START_LIMIT) {
            Ok((Message::Running, _)) => Ok(pid),
            Ok((other, _)) => Err(unexpected(&other)),
            Err(why) => Err(format!("process {pid} has taken over, and then: {why}")),
        };
        let mut open = self
            .upgrade
            .open
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *open = Some(channel);
        answer
    }

    /// Everything that the successor can do while this process governs. The format in which it is told of connections.
    fn prepare(&self, channel: &Channel) -> Result<u16, String> {
        let format = match hear(channel, START_LIMIT)?.0 {
            Message::Hello {
                connections_format,
                newest_connections_format,
                driver_format,
                ..
            } => agree(
                (connections_format, newest_connections_format),
                driver_format,
            )?,
            other => return Err(unexpected(&other)),
        };
        self.with_live(|live| self.tell_estate(live, channel))?;
        match hear(channel, START_LIMIT)?.0 {
            Message::Ready => Ok(format),
            other => Err(unexpected(&other)),
        }
    }

    fn tell_estate(&self, live: &Live, channel: &Channel) -> Result<(), String> {
        let (plan, links) = live.wire().share().map_err(|e| e.to_string())?;
        let drivers = live.workers.share().map_err(|e| e.to_string())?;
        let estate = Message::Estate {
            plan,
            bypass: self.bypass.load(Ordering::Acquire),
            links: links.len(),
        };
        let all: Vec<&OwnedFd> = links.iter().chain(drivers.iter().flatten()).collect();
        if all.len() > DESCRIPTORS_MAX {
            return Err(format!(
                "{} queues are too many to be handed over",
                drivers.len()
            ));
        }
        let all: Vec<_> = all.into_iter().map(AsFd::as_fd).collect();
        say(channel, &estate, &all).map_err(|e| e.to_string())
    }

    /// The workers stand still, and the successor goes on; or they do, and their program is where it was.
    fn give(&self, live: &Live, channel: &Channel, format: u16) -> Result<(), String> {
        let decision = Arc::new(Decision {
            format,
            ..Decision::default()
        });
        let still = StandingStill(Arc::clone(&decision));
        let given = states(live, &decision)
            .and_then(|files| deliver(channel, &files))
            // If it cannot be told, it does not go on: that it is told comes before anything that cannot be taken back.
            .and_then(|()| say(channel, &Message::Go, &[]).map_err(|e| e.to_string()));
        if let Err(why) = given {
            // The successor's may be attached. That workers find theirs in its place comes before they go on.
            let back = live.wire().take_place();
            drop(still);
            return match back {
                Ok(()) => Err(why),
                Err(e) => Err(format!("{why}, and the XDP program: {e}")),
            };
        }
        self.upgrade.done.store(true, Ordering::Release);
        decision.make(true);
        Ok(())
    }
}

/// What all workers know, as files in memory.
fn states(live: &Live, decision: &Arc<Decision>) -> Result<Vec<OwnedFd>, String> {
    let states = live.workers.hand_over(decision);
    let states = states.map_err(|e| e.to_string())?;
    let bytes = states
        .iter()
        .flat_map(|state| [&state.engine, &state.driver]);
    let files: io::Result<Vec<OwnedFd>> = bytes.map(|bytes| memory_file(bytes)).collect();
    files.map_err(|e| e.to_string())
}

fn deliver(channel: &Channel, files: &[OwnedFd]) -> Result<(), String> {
    let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
    say(channel, &Message::States, &files).map_err(|e| e.to_string())?;
    match hear(channel, STANDSTILL_LIMIT)?.0 {
        Message::Taken => Ok(()),
        other => Err(unexpected(&other)),
    }
}

/// The newest format of the connections that both processes know, if they know the same of the drivers. The successor reads those from
/// the first to the second; one of a release that says no second reads the first alone.
fn agree((oldest, newest): (u16, Option<u16>), driver: u16) -> Result<u16, String> {
    let format = newest.unwrap_or(oldest).min(Engine::STATE_FORMAT);
    let known = format >= oldest.max(Engine::OLDEST_STATE_FORMAT);
    match known && driver == DRIVER_FORMAT {
        true => Ok(format),
        false => Err(format!(
            "it reads the state of connections in format {oldest} and that of drivers in format {driver}, and \
             this process writes formats {} to {}, and {DRIVER_FORMAT}: stop windlass, and start the other",
            Engine::OLDEST_STATE_FORMAT,
            Engine::STATE_FORMAT
        )),
    }
}

fn start(binary: &Path) -> io::Result<(Successor, Channel)> {
    let (channel, far) = Channel::pair()?;
    let child = Command::new(binary)
        .args(std::env::args_os().skip(1))
        .env(SUCCESSOR_VARIABLE, "1")
        // The service manager's watchdog is for the new process then (sd_watchdog_enabled(3)).
        .env_remove("WATCHDOG_PID")
        .stdin(Stdio::from(far))
        .spawn()?;
    Ok((Successor(Some(child)), channel))
}

/// Another file lies where that of this process was.
pub(crate) fn is_replaced() -> bool {
    let own = std::env::current_exe().unwrap_or_default();
    let named = as_it_was_named(&own);
    named != own && named.is_file()
}

/// A file that has been replaced is still known to the kernel by its old name, with a remark behind it.
fn as_it_was_named(path: &Path) -> PathBuf {
    let name = path.to_string_lossy();
    name.strip_suffix(" (deleted)")
        .map_or_else(|| path.to_owned(), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_format_that_both_know_is_written() {
        let (oldest, newest) = (Engine::OLDEST_STATE_FORMAT, Engine::STATE_FORMAT);
        assert_eq!(agree((oldest, Some(newest)), DRIVER_FORMAT), Ok(newest));
        assert_eq!(
            agree((oldest, None), DRIVER_FORMAT),
            Ok(oldest),
            "of the release before"
        );
        assert_eq!(
            agree((newest, Some(newest + 1)), DRIVER_FORMAT),
            Ok(newest),
            "of the next"
        );
        for (formats, driver) in [
            ((newest + 1, Some(newest + 2)), DRIVER_FORMAT),
            ((oldest - 1, None), DRIVER_FORMAT),
            ((oldest, Some(newest)), DRIVER_FORMAT + 1),
        ] {
            let why = agree(formats, driver).unwrap_err();
            assert!(why.contains("stop windlass, and start the other"), "{why}");
        }
    }
}
