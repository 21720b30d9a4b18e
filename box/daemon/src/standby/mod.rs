//! `[standby]`: two boxes on two ways through a network tell each other of their connections. The network decides which way
//! packets take. Where they come out of, they are governed.
//!
//! `teller` says what this box governs, and `hearer` takes in what the other box says. Both are threads of their own, and
//! ask or tell the workers through their channels. `link` is the connection between two boxes, `message` what goes over it.
//! A process that follows this one is told in the same way: `remembered` keeps what has been said.

mod hearer;
mod key;
mod link;
mod message;
mod remembered;
mod teller;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crate::control::Handler;
use crate::{RunError, Settings};
use hearer::Ear;
use key::Key;
use remembered::Remembered;
use teller::Peer;

/// What is known before there is a box.
pub(crate) struct Doorway {
    remembered: Remembered,
    peer: Option<Peer>,
    ear: Option<Ear>,
}

impl Doorway {
    /// # Errors
    /// [`RunError::Standby`].
    pub(crate) fn open(settings: &Settings) -> Result<Doorway, RunError> {
        let interfaces = [&settings.driver.inside, &settings.driver.outside];
        let interfaces = interfaces.map(String::as_str);
        let mut doorway = Doorway {
            remembered: Remembered::new(&settings.control_socket, interfaces),
            peer: None,
            ear: None,
        };
        let Some(config) = &settings.standby else {
            return Ok(doorway);
        };
        let key = Key::read(config.key_file.as_ref()).map_err(RunError::Standby)?;
        doorway.ear = config.listen.map(|listen| Ear {
            listen,
            from: config.peer.map(|peer| peer.ip().to_canonical()),
            key: key.clone(),
        });
        doorway.peer = config.peer.map(|address| Peer { address, key });
        Ok(doorway)
    }

    /// `begins`: no process has handed its connections over, so what is remembered is read.
    ///
    /// # Errors
    /// [`RunError::Thread`].
    pub(crate) fn start(self, handler: &Arc<Handler>, begins: bool) -> Result<Standby, RunError> {
        let mut standby = Standby {
            stop: Arc::default(),
            threads: Vec::new(),
        };
        if let Some(ear) = self.ear {
            let (handler, stop) = (Arc::clone(handler), Arc::clone(&standby.stop));
            let work = move || hearer::run(&ear, &handler, &stop);
            standby.spawn("standby-hears", work)?;
        }
        let (handler, stop) = (Arc::clone(handler), Arc::clone(&standby.stop));
        let mut remembered = self.remembered;
        let work = move || {
            if begins {
                teller::remind(&mut remembered, &handler);
            }
            teller::run(self.peer, remembered, &handler, &stop);
        };
        standby.spawn("standby-tells", work)?;
        Ok(standby)
    }
}

/// The threads. They end when this is dropped.
pub(crate) struct Standby {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Standby {
    fn spawn(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), RunError> {
        let named = thread::Builder::new().name(name.to_owned());
        self.threads
            .push(named.spawn(work).map_err(RunError::thread)?);
        Ok(())
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
