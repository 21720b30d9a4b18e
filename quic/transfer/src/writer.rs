//! Writing what arrives, on a thread of its own: a disk must not hold up acknowledgements.

use std::thread::{self, JoinHandle};

use bytes::Bytes;
use tokio::sync::mpsc::{Sender, channel};

use crate::limits::CHUNKS_QUEUED;
use crate::store::Partial;
use crate::{Error, Result};

/// The thread. What it is given is written in order.
pub(crate) struct Writer {
    chunks: Sender<Bytes>,
    thread: JoinHandle<(Partial, Result<()>)>,
}

impl Writer {
    pub(crate) fn start(mut partial: Partial) -> Result<Writer> {
        let (chunks, mut queue) = channel::<Bytes>(CHUNKS_QUEUED);
        let body = move || {
            while let Some(chunk) = queue.blocking_recv() {
                if let Err(error) = partial.write(&chunk) {
                    return (partial, Err(error));
                }
            }
            (partial, Ok(()))
        };
        let thread = thread::Builder::new()
            .name("writer".to_owned())
            .spawn(body)
            .map_err(|e| Error::Start(format!("no thread: {e}")))?;
        Ok(Writer { chunks, thread })
    }

    /// False when the thread could not go on: [`Writer::stop`] says why.
    pub(crate) async fn write(&self, chunk: Bytes) -> bool {
        self.chunks.send(chunk).await.is_ok()
    }

    /// When all that was given is written, or could not be.
    pub(crate) async fn stop(self) -> (Option<Partial>, Result<()>) {
        drop(self.chunks);
        let joined = tokio::task::spawn_blocking(move || self.thread.join()).await;
        match joined {
            Ok(Ok((partial, done))) => (Some(partial), done),
            _ => (
                None,
                Err(Error::Start("the writing thread died".to_owned())),
            ),
        }
    }
}
