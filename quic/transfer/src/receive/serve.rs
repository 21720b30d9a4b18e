//! One connection: an offer, the data, an answer.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use s2n_quic::Connection;
use s2n_quic::connection::{Handle, StreamAcceptor};
use s2n_quic::stream::{ReceiveStream, SendStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::{ReceiveEvent, ReceiveOptions};
use crate::limits::LAST_WORDS;
use crate::message::{self, Content, Silence, ToReceiver, ToSender};
use crate::outcome::mbit_s;
use crate::runtime::{code, why, why_io, why_stream};
use crate::store::Partial;
use crate::writer::Writer;
use crate::{Error, Received, Result};

/// What a task is given.
pub(super) struct Task {
    pub(super) options: Arc<ReceiveOptions>,
    pub(super) events: mpsc::Sender<ReceiveEvent>,
    pub(super) stopped: watch::Receiver<bool>,
    pub(super) room: Arc<Semaphore>,
}

impl Task {
    /// Serves a connection; what comes of it goes to `events`.
    pub(super) async fn run(mut self, connection: Connection) {
        let Ok(from) = connection.remote_addr() else {
            return;
        };
        let (mut handle, acceptor) = connection.split();
        // The sender may be hashing what is there: silence is only silence if pings go unanswered.
        let _ = handle.keep_alive(true);
        let mut stopped = self.stopped.clone();
        let outcome = tokio::select! {
            outcome = self.serve(handle.clone(), acceptor) => outcome,
            _ = stopped.changed() => {
                handle.close(code::INTERRUPTED.into());
                Err(Error::Interrupted)
            }
        };
        let event = match outcome {
            Ok(received) => ReceiveEvent::Received(received),
            Err(error) => {
                handle.close(code::FAILED.into());
                ReceiveEvent::Failed { from, error }
            }
        };
        let _ = self.events.send(event).await;
    }

    async fn serve(&mut self, handle: Handle, mut acceptor: StreamAcceptor) -> Result<Received> {
        let from = handle.remote_addr().map_err(|e| Error::Start(why(&e)))?;
        let broken = |why: String| Error::Broken { peer: from, why };
        let control = acceptor.accept_bidirectional_stream().await;
        let control = control.map_err(|e| broken(why(&e)))?;
        let (ask, answer) = control
            .ok_or_else(|| broken("it closed without an offer".to_owned()))?
            .split();
        let mut session = Session {
            from,
            acceptor,
            ask,
            answer,
        };
        let room = self.room.clone();
        let Ok(_permit) = room.try_acquire() else {
            let full = "too many transfers at a time".to_owned();
            return Err(session.refuse(Error::Start(full)).await);
        };
        match session.offer().await? {
            Content::File { name, size } => self.file(session, name, size).await,
            Content::Filling => self.filling(session).await,
        }
    }

    async fn file(&self, mut session: Session, name: String, size: u64) -> Result<Received> {
        let (options, file) = (self.options.clone(), name.clone());
        let opened =
            spawn_blocking(move || Partial::open(&options.dir, &file, size, options.overwrite));
        let mut partial = match opened.await {
            Ok(Ok(partial)) => partial,
            Ok(Err(error)) => return Err(session.refuse(error).await),
            Err(e) => return Err(session.refuse(Error::Start(e.to_string())).await),
        };
        let have = partial.have();
        self.tell(ReceiveEvent::Began {
            from: session.from,
            file: Some((name, size)),
            have,
        })
        .await;
        let sha256 = Some(partial.sha256());
        session.say(&ToSender::Ready { have, sha256 }).await?;
        let offset = match session.hear().await? {
            ToReceiver::Start { offset } if offset == 0 || offset == have => offset,
            other => return Err(session.unexpected(&other)),
        };
        if offset == 0 && have > 0 {
            partial.restart()?;
        }
        let began = Instant::now();
        let (partial, sha256) = session.data(partial).await?;
        let bytes = size - offset;
        let seconds = began.elapsed();
        let path = session.keep(partial, &sha256).await?;
        Ok(Received {
            from: session.from,
            file: Some(path),
            sha256: Some(sha256),
            resumed_from: offset,
            bytes,
            seconds: seconds.as_secs_f64(),
            goodput_mbit_s: mbit_s(bytes, seconds),
        })
    }

    async fn filling(&self, mut session: Session) -> Result<Received> {
        self.tell(ReceiveEvent::Began {
            from: session.from,
            file: None,
            have: 0,
        })
        .await;
        let ready = ToSender::Ready {
            have: 0,
            sha256: None,
        };
        session.say(&ready).await?;
        match session.hear().await? {
            ToReceiver::Start { offset: 0 } => {}
            other => return Err(session.unexpected(&other)),
        }
        let began = Instant::now();
        let bytes = session.count().await?;
        let seconds = began.elapsed();
        session.say(&ToSender::Done { bytes }).await?;
        session.farewell().await;
        Ok(Received {
            from: session.from,
            file: None,
            sha256: None,
            resumed_from: 0,
            bytes,
            seconds: seconds.as_secs_f64(),
            goodput_mbit_s: mbit_s(bytes, seconds),
        })
    }

    async fn tell(&self, event: ReceiveEvent) {
        let _ = self.events.send(event).await;
    }
}

/// The streams of a connection.
struct Session {
    from: SocketAddr,
    acceptor: StreamAcceptor,
    ask: ReceiveStream,
    answer: SendStream,
}

/// How the data ended.
enum End {
    /// The sender has sent all.
    Whole,
    /// The disk would take no more.
    Disk,
    /// The connection is gone.
    Lost(String),
}

impl Session {
    async fn offer(&mut self) -> Result<Content> {
        match self.hear().await? {
            ToReceiver::Offer { version, content } if version == message::VERSION => Ok(content),
            ToReceiver::Offer { version, .. } => {
                let why = format!("it offers version {version}, not {}", message::VERSION);
                let peer = self.from;
                Err(self.refuse(Error::Protocol { peer, why }).await)
            }
            other => Err(self.unexpected(&other)),
        }
    }

    async fn hear(&mut self) -> Result<ToReceiver> {
        let heard = message::read(&mut self.ask).await;
        heard.map_err(|e| silent(self.from, e))
    }

    async fn say(&mut self, message: &ToSender) -> Result<()> {
        let said = message::write(&mut self.answer, message).await;
        said.map_err(|e| self.broken(why_io(&e)))
    }

    fn broken(&self, why: String) -> Error {
        Error::Broken {
            peer: self.from,
            why,
        }
    }

    fn unexpected(&self, message: &ToReceiver) -> Error {
        Error::Protocol {
            peer: self.from,
            why: format!("it says {message:?} now"),
        }
    }

    /// Says no, and waits until that has been heard.
    async fn refuse(&mut self, error: Error) -> Error {
        let why = error.to_string();
        if self.say(&ToSender::Refused { why }).await.is_ok() {
            self.farewell().await;
        }
        error
    }

    /// Says that it cannot go on, and waits until that has been heard.
    async fn fail(&mut self, error: Error, bytes: u64) -> Error {
        let why = error.to_string();
        if self.say(&ToSender::Failed { why, bytes }).await.is_ok() {
            self.farewell().await;
        }
        error
    }

    /// Waits until the sender has closed the connection, for it has heard all then.
    async fn farewell(&mut self) {
        let _ = self.answer.finish();
        let closed =
            async { while let Ok(Some(_)) = self.acceptor.accept_receive_stream().await {} };
        let _ = timeout(LAST_WORDS, closed).await;
    }

    /// Writes what arrives. The partial file with all of it, and the hash that it must have.
    async fn data(&mut self, partial: Partial) -> Result<(Partial, String)> {
        let path = partial.path().to_owned();
        let size = partial.size();
        let stream = self.acceptor.accept_receive_stream().await;
        let mut stream = match stream {
            Ok(Some(stream)) => stream,
            Ok(None) => return Err(self.broken("it closed without data".to_owned())),
            Err(e) => return Err(self.broken(why(&e))),
        };
        let writer = Writer::start(partial)?;
        let end = pump(&mut stream, &writer).await;
        let (partial, written) = writer.stop().await;
        let have = partial.as_ref().map_or(0, Partial::have);
        if let Err(error) = written {
            let _ = stream.stop_sending(code::FAILED.into());
            return Err(self.fail(error, have).await);
        }
        let kept = |why: String| {
            format!(
                "{why}; {have} of {size} bytes are kept as {}, and sending the file again goes on there",
                path.display()
            )
        };
        let partial = match (end, partial) {
            (End::Whole, Some(partial)) => partial,
            (End::Lost(why), _) => return Err(self.broken(kept(why))),
            _ => return Err(Error::Start("the writing thread died".to_owned())),
        };
        match self.hear().await {
            Ok(ToReceiver::Finish {
                bytes: Some(bytes),
                sha256: Some(sha256),
            }) if bytes == size && have == size => Ok((partial, sha256)),
            Ok(other) => Err(self.unexpected(&other)),
            Err(Error::Broken { why, .. }) => Err(self.broken(kept(why))),
            Err(error) => Err(error),
        }
    }

    /// Gives the file its name, and says so.
    async fn keep(&mut self, partial: Partial, sha256: &str) -> Result<PathBuf> {
        let (size, expected) = (partial.size(), sha256.to_owned());
        let finished = spawn_blocking(move || partial.finish(&expected)).await;
        let path = match finished {
            Ok(Ok(path)) => path,
            Ok(Err(error)) => return Err(self.fail(error, 0).await),
            Err(e) => return Err(self.fail(Error::Start(e.to_string()), 0).await),
        };
        self.say(&ToSender::Done { bytes: size }).await?;
        self.farewell().await;
        Ok(path)
    }

    /// Counts filling, until the sender says that it is enough.
    async fn count(&mut self) -> Result<u64> {
        let stream = self.acceptor.accept_receive_stream().await;
        let stream = stream.map_err(|e| self.broken(why(&e)))?;
        let mut stream = stream.ok_or_else(|| self.broken("it closed without data".to_owned()))?;
        let from = self.from;
        let finish = message::read::<ToReceiver>(&mut self.ask);
        tokio::pin!(finish);
        let (mut count, mut wanted, mut ended) = (0, None, false);
        loop {
            tokio::select! {
                said = &mut finish, if wanted.is_none() => match said {
                    Ok(ToReceiver::Finish { bytes: None, .. }) => return Ok(count),
                    Ok(ToReceiver::Finish { bytes, .. }) => wanted = bytes,
                    Ok(other) => {
                        let why = format!("it says {other:?} now");
                        return Err(Error::Protocol { peer: from, why });
                    }
                    Err(e) => return Err(silent(from, e)),
                },
                chunk = stream.receive(), if !ended => match chunk {
                    Ok(Some(chunk)) => count += chunk.len() as u64,
                    Ok(None) => ended = true,
                    Err(e) => {
                        let why = format!("{}; {count} bytes had arrived", why_stream(&e));
                        return Err(Error::Broken { peer: from, why });
                    }
                },
            }
            if ended && wanted.is_some() {
                return Ok(count);
            }
        }
    }
}

/// The sender has no more to say, or nothing of sense.
fn silent(peer: SocketAddr, silence: Silence) -> Error {
    match silence {
        Silence::Stream(e) => Error::Broken {
            peer,
            why: why_io(&e),
        },
        Silence::Nonsense(why) => Error::Protocol { peer, why },
    }
}

async fn pump(stream: &mut ReceiveStream, writer: &Writer) -> End {
    loop {
        match stream.receive().await {
            Ok(Some(chunk)) => {
                if !writer.write(chunk).await {
                    return End::Disk;
                }
            }
            Ok(None) => return End::Whole,
            Err(e) => return End::Lost(why_stream(&e)),
        }
    }
}
