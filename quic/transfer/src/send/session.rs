//! What is said and sent over a connection.

use std::cell::Cell;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::time::{Duration, Instant};

use bytes::Bytes;
use s2n_quic::connection::Handle;
use s2n_quic::stream::{ReceiveStream, SendStream};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::What;
use crate::limits::LAST_WORDS;
use crate::message::{self, Content, Silence, ToReceiver, ToSender};
use crate::runtime::{code, why, why_io, why_stream};
use crate::source::{FileSource, Piece, filling};
use crate::{Error, Result};

/// Bytes handed over to QUIC, for those who watch.
#[derive(Debug, Default)]
pub(super) struct Counted {
    offset: Cell<u64>,
    handed_over: Cell<u64>,
    total: Cell<Option<u64>>,
    began: Cell<Option<Instant>>,
}

impl Counted {
    /// What was there before, what has been handed over since, all that there is, and since when.
    pub(super) fn get(&self) -> (u64, u64, Option<u64>, Option<Instant>) {
        let (offset, handed_over) = (self.offset.get(), self.handed_over.get());
        (offset, handed_over, self.total.get(), self.began.get())
    }

    fn begin(&self, offset: u64, total: Option<u64>) -> Instant {
        let now = Instant::now();
        self.offset.set(offset);
        self.total.set(total);
        self.began.set(Some(now));
        now
    }

    fn add(&self, bytes: usize) {
        self.handed_over.set(self.handed_over.get() + bytes as u64);
    }
}

/// A transfer that the receiver has confirmed.
pub(super) struct Delivery {
    pub(super) file: Option<String>,
    pub(super) sha256: Option<String>,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) took: Duration,
}

/// A connection to a receiver.
pub(super) struct Session<'a> {
    handle: Handle,
    to: SocketAddr,
    counted: &'a Counted,
}

/// The receiver's word, which may come at any time.
type Verdict<'a> = Pin<&'a mut dyn Future<Output = Result<ToSender, Silence>>>;

impl<'a> Session<'a> {
    pub(super) fn new(handle: Handle, to: SocketAddr, counted: &'a Counted) -> Self {
        Session {
            handle,
            to,
            counted,
        }
    }

    pub(super) async fn transfer(mut self, what: &What) -> Result<Delivery> {
        match what {
            What::File(path) => self.file(path).await,
            What::Bytes(bytes) => self.filling(Some(*bytes), None).await,
            What::For(time) => self.filling(None, Some(*time)).await,
        }
    }

    async fn file(&mut self, path: &Path) -> Result<Delivery> {
        let mut source = FileSource::open(path)?;
        let (name, size) = (source.name.clone(), source.size);
        let content = Content::File {
            name: name.clone(),
            size,
        };
        let (mut say, mut hear, have, sha256) = self.offer(content).await?;
        let ready = spawn_blocking(move || {
            let offset = source.begin_behind(have, &sha256.unwrap_or_default())?;
            Ok((offset, source))
        });
        let (offset, source) = ready.await.map_err(|e| Error::Start(e.to_string()))??;
        let began = self.counted.begin(offset, Some(size));
        self.say(&mut say, &ToReceiver::Start { offset }).await?;
        let mut data = self.open_data().await?;
        let mut pieces = source.stream(offset)?;
        let verdict = message::read::<ToSender>(&mut hear);
        tokio::pin!(verdict);
        let sha256 = loop {
            match pieces.recv().await {
                Some(Ok(Piece::Bytes(bytes))) => {
                    self.hand_over(&mut data, bytes, verdict.as_mut()).await?;
                }
                Some(Ok(Piece::End(sha256))) => break sha256,
                Some(Err(error)) => return Err(error),
                None => return Err(Error::Start("the reading thread died".to_owned())),
            }
        };
        let _ = data.finish();
        let finish = ToReceiver::Finish {
            bytes: Some(size),
            sha256: Some(sha256.clone()),
        };
        self.say(&mut say, &finish).await?;
        self.confirmed(verdict.await)?;
        Ok(Delivery {
            file: Some(name),
            sha256: Some(sha256),
            offset,
            bytes: size - offset,
            took: began.elapsed(),
        })
    }

    /// So many bytes, or so long.
    async fn filling(&mut self, bytes: Option<u64>, time: Option<Duration>) -> Result<Delivery> {
        let (mut say, mut hear, ..) = self.offer(Content::Filling).await?;
        let began = self.counted.begin(0, bytes);
        let start = ToReceiver::Start { offset: 0 };
        self.say(&mut say, &start).await?;
        let mut data = self.open_data().await?;
        let verdict = message::read::<ToSender>(&mut hear);
        tokio::pin!(verdict);
        let fill = self.fill(&mut data, bytes, verdict.as_mut());
        match time {
            // What is under way when the time is over does not count.
            Some(time) => timeout(time, fill).await.unwrap_or(Ok(()))?,
            None => fill.await?,
        }
        if bytes.is_some() {
            let _ = data.finish();
        }
        let finish = ToReceiver::Finish {
            bytes,
            sha256: None,
        };
        self.say(&mut say, &finish).await?;
        let arrived = self.confirmed(verdict.await)?;
        let took = began.elapsed();
        if bytes.is_none() {
            let _ = data.reset(code::DONE.into());
        }
        Ok(Delivery {
            file: None,
            sha256: None,
            offset: 0,
            bytes: arrived,
            took,
        })
    }

    async fn fill(
        &self,
        data: &mut SendStream,
        bytes: Option<u64>,
        mut verdict: Verdict<'_>,
    ) -> Result<()> {
        let chunk = filling();
        let mut left = bytes.unwrap_or(u64::MAX);
        while left > 0 {
            let len = chunk
                .len()
                .min(usize::try_from(left).unwrap_or(chunk.len()));
            self.hand_over(data, chunk.slice(..len), verdict.as_mut())
                .await?;
            left -= len as u64;
        }
        Ok(())
    }

    /// Says what there is to send; what the receiver has of it.
    async fn offer(
        &mut self,
        content: Content,
    ) -> Result<(SendStream, ReceiveStream, u64, Option<String>)> {
        let control = self.handle.open_bidirectional_stream().await;
        let control = control.map_err(|e| self.broken(why(&e)))?;
        let (mut hear, mut say) = control.split();
        let version = message::VERSION;
        self.say(&mut say, &ToReceiver::Offer { version, content })
            .await?;
        match message::read(&mut hear).await.map_err(|e| self.silent(e))? {
            ToSender::Ready { have, sha256 } => Ok((say, hear, have, sha256)),
            ToSender::Refused { why } => Err(Error::Refused { peer: self.to, why }),
            other => Err(self.unexpected(&other)),
        }
    }

    async fn open_data(&mut self) -> Result<SendStream> {
        let opened = self.handle.open_send_stream().await;
        opened.map_err(|e| self.broken(why(&e)))
    }

    /// Waits for room in QUIC's buffer, or for the receiver to say that it cannot go on.
    async fn hand_over(
        &self,
        data: &mut SendStream,
        bytes: Bytes,
        mut verdict: Verdict<'_>,
    ) -> Result<()> {
        let len = bytes.len();
        tokio::select! {
            said = verdict.as_mut() => Err(self.early(said)),
            sent = data.send(bytes) => match sent {
                Ok(()) => {
                    self.counted.add(len);
                    Ok(())
                }
                Err(error) => {
                    // The receiver may have said why.
                    let broken = self.broken(why_stream(&error));
                    let said = timeout(LAST_WORDS, verdict).await;
                    Err(said.map_or(broken, |said| self.early(said)))
                }
            },
        }
    }

    async fn say(&self, to: &mut SendStream, message: &ToReceiver) -> Result<()> {
        let said = message::write(to, message).await;
        said.map_err(|e| self.broken(why_io(&e)))
    }

    /// The receiver's last word: it has so many bytes.
    fn confirmed(&self, said: Result<ToSender, Silence>) -> Result<u64> {
        match said.map_err(|e| self.silent(e))? {
            ToSender::Done { bytes } => Ok(bytes),
            ToSender::Failed { why, .. } => Err(Error::Failed { peer: self.to, why }),
            other => Err(self.unexpected(&other)),
        }
    }

    /// A word that came before all was sent.
    fn early(&self, said: Result<ToSender, Silence>) -> Error {
        match self.confirmed(said) {
            Err(error) => error,
            Ok(bytes) => self.unexpected(&ToSender::Done { bytes }),
        }
    }

    fn silent(&self, silence: Silence) -> Error {
        match silence {
            Silence::Stream(e) => self.broken(why_io(&e)),
            Silence::Nonsense(why) => Error::Protocol { peer: self.to, why },
        }
    }

    fn unexpected(&self, message: &ToSender) -> Error {
        Error::Protocol {
            peer: self.to,
            why: format!("it says {message:?} now"),
        }
    }

    /// With what is missing.
    fn broken(&self, why: String) -> Error {
        let (offset, handed_over, total, began) = self.counted.get();
        let why = match (began, total) {
            (Some(_), Some(total)) => format!(
                "{why}; no more than {} of {total} bytes have arrived",
                offset + handed_over
            ),
            _ => why,
        };
        Error::Broken { peer: self.to, why }
    }
}
