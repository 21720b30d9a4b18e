//! Asks the workers what they govern, and tells the other box and the memory of this one.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use windlass_engine::Introduction;

use super::key::Key;
use super::link::Link;
use super::message::{Hello, News};
use super::remembered::Remembered;
use crate::control::Handler;
use crate::events::{Draft, EventKind};
use crate::introducing::Told;

/// Between two tellings.
const INTERVAL: Duration = Duration::from_millis(100);
/// The same where nobody listens.
const INTERVAL_ALONE: Duration = Duration::from_millis(500);
/// Before the other box is called again.
const PAUSE: Duration = Duration::from_millis(500);
/// How long it may take to answer the call.
const CALL_MAX: Duration = Duration::from_millis(300);

/// The other box.
pub(super) struct Peer {
    pub address: SocketAddr,
    pub key: Key,
}

/// Workers are told of what a process before this one has governed.
pub(super) fn remind(remembered: &mut Remembered, handler: &Handler) {
    let left = remembered.read();
    if left.is_empty() {
        return;
    }
    let text = format!("{} connections of the process before are known", left.len());
    handler.events.tell(Draft::new(EventKind::Remembered, text));
    introduce(handler, left);
}

/// Until it is to stop.
pub(super) fn run(
    peer: Option<Peer>,
    mut remembered: Remembered,
    handler: &Handler,
    stop: &AtomicBool,
) {
    let mut session = handler.condition().reopened;
    let mut telling = peer.map(Telling::new);
    // Connections that another process has handed over were told to it.
    let own = std::process::id() << 8;
    while !stop.load(Ordering::Acquire) {
        let began = Instant::now();
        let called = telling.as_mut().map_or(0, |telling| telling.call(handler));
        let listener = own.wrapping_add(called);
        let opened = handler.condition().reopened;
        if std::mem::replace(&mut session, opened) != opened {
            // These workers know nothing.
            introduce(handler, remembered.all());
        }
        // Without workers there is nothing to tell, and the other box hears that this one lives.
        let told = handler.with_live(|live| {
            let told = live.workers.introduce(listener);
            told.map_err(|e| e.to_string())
        });
        let told = told.unwrap_or_default();
        remembered.note(&told);
        if let Err(why) = remembered.write() {
            let text = format!("connections will not be governed after a restart: {why}");
            handler.events.tell(Draft::new(EventKind::Trouble, text));
        }
        let interval = match &mut telling {
            Some(telling) => telling.tell(told, handler),
            None => INTERVAL_ALONE,
        };
        thread::sleep(interval.saturating_sub(began.elapsed()));
    }
}

/// Workers are told of connections that this box has governed.
fn introduce(handler: &Handler, all: Vec<Introduction>) {
    let found = all.into_iter().map(|each| each.find(&handler.catalog()));
    let (found, none) = (Arc::new(found.collect()), Arc::new(Vec::new()));
    // Without workers nobody can go on with them.
    let _ = handler.with_live(|live| {
        let told = live.workers.introduced(&found, &none);
        told.map_err(|e| e.to_string())
    });
}

struct Telling {
    peer: Peer,
    link: Option<Link>,
    call_at: Instant,
    /// How often it has answered: each time, everything is news.
    calls: u32,
    /// What has gone wrong last.
    lost: Option<String>,
}

impl Telling {
    fn new(peer: Peer) -> Telling {
        Telling {
            peer,
            link: None,
            call_at: Instant::now(),
            calls: 0,
            lost: None,
        }
    }

    /// Calls the other box, if it is time. How often it has answered.
    fn call(&mut self, handler: &Handler) -> u32 {
        if self.link.is_none() && Instant::now() >= self.call_at {
            self.call_at = Instant::now() + PAUSE;
            match self.connect() {
                Ok(link) => {
                    (self.link, self.lost) = (Some(link), None);
                    self.calls += 1;
                    handler.condition().standby_lost = None;
                    let text = format!("the box at {} is told of connections", self.peer.address);
                    handler
                        .events
                        .tell(Draft::new(EventKind::StandbyFound, text));
                }
                Err(e) => self.lose(&e, handler),
            }
        }
        self.calls
    }

    fn connect(&self) -> io::Result<Link> {
        let stream = TcpStream::connect_timeout(&self.peer.address, CALL_MAX)?;
        let mut link = Link::begin(stream, &self.peer.key)?;
        link.send(&Hello::own())?;
        let hello: Hello = link.receive()?;
        match hello.objection() {
            Some(objection) => Err(io::Error::other(objection)),
            None => Ok(link),
        }
    }

    /// How long to wait until the next time.
    fn tell(&mut self, told: Told, handler: &Handler) -> Duration {
        let Some(link) = &mut self.link else {
            return INTERVAL_ALONE;
        };
        let news = News {
            introductions: told.introductions,
            ended: told.ended,
        };
        if let Err(e) = link.send(&news) {
            self.link = None;
            self.lose(&e, handler);
        }
        INTERVAL
    }

    fn lose(&mut self, why: &io::Error, handler: &Handler) {
        let (address, why) = (self.peer.address, why.to_string());
        let trouble = format!("the box at {address} is not told of connections: {why}");
        handler.condition().standby_lost = Some(trouble);
        if self.lost.as_ref() != Some(&why) {
            let text = format!("{address}: {why}");
            handler
                .events
                .tell(Draft::new(EventKind::StandbyLost, text));
            self.lost = Some(why);
        }
    }
}
