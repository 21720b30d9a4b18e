//! Takes in what the other box says of its connections.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
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

/// Until it is to stop. One box is heard at a time: whoever comes meanwhile waits.
pub(super) fn run(listener: &TcpListener, key: &Key, handler: &Handler, stop: &AtomicBool) {
    let mut told = None;
    while !stop.load(Ordering::Acquire) {
        let Ok((stream, from)) = listener.accept() else {
            thread::sleep(PAUSE);
            continue;
        };
        let Err(e) = hear(stream, from, key, handler, stop) else {
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

fn hear(
    stream: TcpStream,
    from: SocketAddr,
    key: &Key,
    handler: &Handler,
    stop: &AtomicBool,
) -> io::Result<()> {
    let mut link = Link::answer(stream, key)?;
    let hello: Hello = link.receive()?;
    link.send(&Hello::own())?;
    if let Some(objection) = hello.objection() {
        return Err(io::Error::other(objection));
    }
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
        let found: Vec<_> = found.map(|each| each.find(&handler.catalog())).collect();
        let (introduced, ended) = (Arc::new(found), Arc::new(news.ended));
        let heard = handler.with_live(|live| {
            let heard = live.workers.introduced(&introduced, &ended);
            heard.map_err(|e| e.to_string())
        });
        // Workers that have begun meanwhile have to be told of everything: the other box connects again, and does.
        heard.map_err(io::Error::other)?;
        if handler.condition().reopened != session {
            return Err(io::Error::other("the interfaces were gone for a while"));
        }
    }
    Ok(())
}
