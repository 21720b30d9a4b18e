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

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crate::control::Handler;
use crate::{RunError, Settings};
use key::Key;
use remembered::Remembered;
use teller::Peer;

/// Where the other box can connect, before anybody is answered.
pub(crate) struct Doorway {
    remembered: Remembered,
    peer: Option<Peer>,
    listener: Option<(TcpListener, Key)>,
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
            listener: None,
        };
        let Some(config) = &settings.standby else {
            return Ok(doorway);
        };
        let key = Key::read(config.key_file.as_ref()).map_err(RunError::Standby)?;
        if let Some(listen) = config.listen {
            let listener = bind(listen).map_err(RunError::Standby)?;
            doorway.listener = Some((listener, key.clone()));
        }
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
        if let Some((listener, key)) = self.listener {
            let (handler, stop) = (Arc::clone(handler), Arc::clone(&standby.stop));
            let work = move || hearer::run(&listener, &key, &handler, &stop);
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

fn bind(listen: SocketAddr) -> Result<TcpListener, String> {
    let listener = TcpListener::bind(listen).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    listener.map_err(|e| {
        format!("listening at {listen}: {e} (listen in [standby] is an address of this box that is free)")
    })
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
