//! Takes in what the other box says of its connections.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::key::Key;
use super::link::Link;
use super::message::{Hello, News};
use crate::control::Handler;
use crate::events::{Draft, EventKind};

/// Between two looks whether somebody has come.
const PAUSE: Duration = Duration::from_millis(50);

/// Between two attempts to listen: the address may come later, and the process before this one may still have it.
const BIND_PAUSE: Duration = Duration::from_millis(500);

/// Where the other box tells of its connections.
pub(super) struct Ear {
    pub listen: SocketAddr,
    /// Nobody else is heard, where the other box is known.
    pub from: Option<IpAddr>,
    pub key: Key,
}

/// Until it is to stop. One box is heard at a time: whoever comes meanwhile waits.
pub(super) fn run(ear: &Ear, handler: &Handler, stop: &Arc<AtomicBool>) {
    let Some(listener) = bind(ear.listen, handler, stop) else {
        return;
    };
    let mut told = None;
    while !stop.load(Ordering::Acquire) {
        let Ok((stream, from)) = listener.accept() else {
            thread::sleep(PAUSE);
            continue;
        };
        if ear
            .from
            .is_some_and(|only| only != from.ip().to_canonical())
        {
            continue;
        }
        let Err(e) = hear(stream, from, &ear.key, handler, stop) else {
            return;
        };
        let why = e.to_string();
        if told.as_ref() != Some(&why) {
            let text = format!("{from} says nothing of connections any more: {why}");
            handler
                .events
                .tell(Draft::new(EventKind::StandbyLost, text));
            told = Some(why);
        }
    }
}

/// A socket, as soon as there can be one. `None`: the box stops first.
fn bind(listen: SocketAddr, handler: &Handler, stop: &AtomicBool) -> Option<TcpListener> {
    let mut told = None;
    while !stop.load(Ordering::Acquire) {
        let listener = TcpListener::bind(listen).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        let why = match listener {
            Ok(listener) => return Some(listener),
            Err(e) => e.to_string(),
        };
        if told.as_ref() != Some(&why) {
            let text = format!(
                "listening at {listen} for the other box: {why} (listen in [standby] is an address of this box that is free)"
            );
            handler
                .events
                .tell(Draft::new(EventKind::StandbyLost, text));
            told = Some(why);
        }
        thread::sleep(BIND_PAUSE);
    }
    None
}

fn hear(
    stream: TcpStream,
    from: SocketAddr,
    key: &Key,
    handler: &Handler,
    stop: &Arc<AtomicBool>,
) -> io::Result<()> {
    let mut link = Link::answer(stream, key, stop)?;
    let hello: Hello = link.receive()?;
    link.send(&Hello::own())?;
    if let Some(objection) = hello.objection() {
        return Err(io::Error::other(objection));
    }
    link.trust();
    let session = handler.condition().reopened;
    let text = format!("{from} says of which connections it takes care");
    handler
        .events
        .tell(Draft::new(EventKind::StandbyFound, text));
    while !stop.load(Ordering::Acquire) {
        let news: News = link.receive()?;
        if news.introductions.is_empty() && news.ended.is_empty() {
            continue;
        }
        let found = news.introductions.into_iter();
        let found = found.filter_map(|each| each.find(&handler.catalog()));
        let (found, ended) = (found.collect(), news.ended);
        // Workers that have begun meanwhile have to be told of everything: the other box connects again, and does.
        let heard = handler.with_live(|live| {
            live.workers.introduced(found, ended);
            Ok(())
        });
        heard.map_err(io::Error::other)?;
        if handler.condition().reopened != session {
            return Err(io::Error::other("the interfaces were gone for a while"));
        }
    }
    Ok(())
}
