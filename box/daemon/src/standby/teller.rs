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

/// Connections in one message.
const NEWS_MAX: usize = 4096;

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
    stop: &Arc<AtomicBool>,
) {
    let mut session = handler.condition().reopened;
    let mut telling = peer.map(|peer| Telling::new(peer, stop));
    // Connections that another process has handed over were told to it.
    let mut own = std::process::id() << 8;
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
            // What is not settled now is so the next time.
            let _ = live.workers.settle_adopted();
            Ok(told)
        });
        let told = match told {
            Ok(Ok(told)) => told,
            // Some has been told to nobody: all of it, once more.
            Ok(Err(_)) => {
                own = own.wrapping_add(1 << 20);
                Told::default()
            }
            Err(_) => Told::default(),
        };
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
    // The last that is known, for the process after this one.
    let last = handler.with_live(|live| live.workers.introduce(0).map_err(|e| e.to_string()));
    remembered.note(&last.unwrap_or_default());
    remembered.finish();
}

/// Workers are told of connections that this box has governed.
fn introduce(handler: &Handler, all: Vec<Introduction>) {
    let found = all
        .into_iter()
        .filter_map(|each| each.find(&handler.catalog()));
    let found = found.collect();
    // Without workers nobody can go on with them.
    let _ = handler.with_live(|live| {
        live.workers.introduced(found, Vec::new());
        Ok(())
    });
}

/// In parts that the other side takes.
fn send(link: &mut Link, told: Told) -> io::Result<()> {
    let mut introductions = told.introductions;
    let mut ended = told.ended;
    loop {
        let later = introductions.split_off(introductions.len().min(NEWS_MAX));
        let ended_later = ended.split_off(ended.len().min(NEWS_MAX));
        link.send(&News {
            introductions: std::mem::replace(&mut introductions, later),
            ended: std::mem::replace(&mut ended, ended_later),
        })?;
        if introductions.is_empty() && ended.is_empty() {
            return Ok(());
        }
    }
}

struct Telling {
    peer: Peer,
    stop: Arc<AtomicBool>,
    link: Option<Link>,
    call_at: Instant,
    /// How often it has answered: each time, everything is news.
    calls: u32,
    /// What has gone wrong last.
    lost: Option<String>,
}

impl Telling {
    fn new(peer: Peer, stop: &Arc<AtomicBool>) -> Telling {
        Telling {
            peer,
            stop: Arc::clone(stop),
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
        let mut link = Link::begin(stream, &self.peer.key, &self.stop)?;
        link.send(&Hello::own())?;
        let hello: Hello = link.receive()?;
        if let Some(objection) = hello.objection() {
            return Err(io::Error::other(objection));
        }
        link.trust();
        Ok(link)
    }

    /// How long to wait until the next time.
    fn tell(&mut self, told: Told, handler: &Handler) -> Duration {
        let Some(link) = &mut self.link else {
            return INTERVAL_ALONE;
        };
        if let Err(e) = send(link, told) {
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
