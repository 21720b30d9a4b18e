//! What answers rest on: the workers while there are any, and how the box stands.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use windlass_io::handover::Plan;
use windlass_io::{DriverConfig, DriverInfo, Mode, Session, XdpCounters};

use super::protocol::{StatusReport, Trouble};
use crate::command::Workers;
use crate::last_events;

/// What is asked of the session as a whole.
pub(crate) trait LiveSession: Send {
    /// True: the kernel forwards everything.
    fn set_bypass(&mut self, on: bool) -> io::Result<()>;
    fn counters(&self) -> io::Result<XdpCounters>;
    /// The bridge of the two interfaces may have another address now.
    fn learn_addresses(&mut self, names: [&str; 2]) -> io::Result<()>;
    /// What another process needs to take it over.
    fn share(&self) -> io::Result<(Plan, Vec<OwnedFd>)>;
    /// Its workers read what comes.
    fn begin(&mut self, config: &DriverConfig) -> io::Result<()>;
    /// Its XDP program is attached, whosever was before.
    fn take_place(&mut self) -> io::Result<()>;
}

impl LiveSession for Session {
    fn set_bypass(&mut self, on: bool) -> io::Result<()> {
        Session::set_bypass(self, on)
    }

    fn counters(&self) -> io::Result<XdpCounters> {
        Session::counters(self)
    }

    fn learn_addresses(&mut self, [inside, outside]: [&str; 2]) -> io::Result<()> {
        Session::learn_addresses(self, inside, outside)
    }

    fn share(&self) -> io::Result<(Plan, Vec<OwnedFd>)> {
        Session::share(self)
    }

    fn begin(&mut self, config: &DriverConfig) -> io::Result<()> {
        Session::begin(self, config)
    }

    fn take_place(&mut self) -> io::Result<()> {
        Session::take_place(self)
    }
}

/// An open session and its workers.
pub(crate) struct Live {
    pub workers: Workers,
    pub wire: Mutex<Box<dyn LiveSession>>,
    pub driver: DriverInfo,
}

impl Live {
    /// On: first the engines send what waits and let go, then the kernel takes over, so that
    /// nothing is overtaken. Off: the other way around.
    pub(crate) fn bypass(&self, on: bool) -> Result<(), String> {
        let mut wire = self.wire();
        let mut kernel = || {
            let done = wire.set_bypass(on);
            done.map_err(|e| format!("switching the XDP program: {e}"))
        };
        if !on {
            kernel()?;
        }
        // The kernel takes over even from workers that do not answer.
        let engines = self.workers.bypass(on).map_err(|e| e.to_string());
        if on {
            kernel()?;
        }
        engines
    }

    pub(crate) fn counters(&self) -> Result<XdpCounters, String> {
        let counters = self.wire().counters();
        counters.map_err(|e| format!("counters of the XDP program: {e}"))
    }

    pub(crate) fn wire(&self) -> MutexGuard<'_, Box<dyn LiveSession>> {
        self.wire.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the workers and their driver say for a status.
    pub(super) fn describe(&self, report: &mut StatusReport) -> Result<(), String> {
        report.io = match self.driver.mode {
            Mode::Native => "native",
            Mode::Generic => "generic",
            Mode::Packet => "packet",
        }
        .to_owned();
        report.zero_copy = self.driver.zero_copy;
        report.fail_open = self.driver.fail_open;
        report.workers = self.workers.living() as u64;
        let all = self.workers.status().map_err(|e| e.to_string())?;
        report.bypass = all.iter().all(|s| s.bypass);
        report.connections = all.iter().map(|s| s.connections as u64).sum();
        report.held_bytes = all.iter().map(|s| s.held_bytes).sum();
        Ok(())
    }
}

/// How the box stands, as whoever supervises it has last seen.
#[derive(Default)]
pub(crate) struct Condition {
    pub bridge: Option<String>,
    /// The interface that is waited for, and why.
    pub waiting: Option<String>,
    pub troubles: Vec<Trouble>,
    pub reopened: u64,
    /// Workers of this session that have panicked, in words, and how many have since the start.
    pub lost_workers: Vec<String>,
    pub workers_panicked: u64,
    /// Why another box is not told of connections.
    pub standby_lost: Option<String>,
    /// Why nothing is recorded any more.
    pub trace_failed: Option<Arc<OnceLock<String>>>,
}

impl Condition {
    /// Why a request for which workers are needed cannot be followed.
    pub(crate) fn no_workers(&self) -> String {
        let why = self.waiting.as_deref();
        let why = why.unwrap_or("the box is about to be opened or closed");
        format!("nothing is governed now: {why} (windlass status shows more)")
    }

    /// All that is not as it should be.
    pub(crate) fn all_troubles(&self) -> Vec<Trouble> {
        let mut all = self.troubles.clone();
        let failed = self.trace_failed.as_ref().and_then(|failed| failed.get());
        all.extend(self.lost_workers.iter().map(|what| {
            Trouble {
                what: what.clone(),
                mend:
                    "start windlass again when it suits: flows that are governed now go on without"
                        .to_owned(),
            }
        }));
        if last_events::panics() > self.workers_panicked {
            all.push(Trouble {
                what: "a thread that is no worker has panicked; what it did is not done any more"
                    .to_owned(),
                mend: "look at what windlass has said, and start it again when it suits".to_owned(),
            });
        }
        all.extend(self.standby_lost.iter().map(|what| Trouble {
            what: what.clone(),
            mend: "start windlass there, and look whether both have the same [standby] key and each other's address"
                .to_owned(),
        }));
        all.extend(failed.map(|what| Trouble {
            what: what.clone(),
            mend: "make room, then start windlass again".to_owned(),
        }));
        all
    }
}
