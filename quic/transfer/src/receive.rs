//! The receiver: listens, and serves each connection in a task of its own.

mod serve;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use s2n_quic::Server;
use s2n_quic::provider::tls::rustls as tls;
use tokio::sync::{Semaphore, mpsc, watch};

use crate::runtime::{block_on, interrupted};
use crate::{Error, Fingerprint, Received, Result, limits, pin};

/// Where to receive, and what to do with it.
#[derive(Clone, Debug)]
pub struct ReceiveOptions {
    /// UDP address; port 0 takes any.
    pub listen: SocketAddr,
    /// Where files go.
    pub dir: PathBuf,
    /// Replace files that are there.
    pub overwrite: bool,
    /// End after the first transfer, with its outcome.
    pub once: bool,
}

/// Where a receiver can be reached.
#[derive(Clone, Copy, Debug)]
pub struct Listening {
    /// Its UDP address.
    pub address: SocketAddr,
    /// Of the certificate made for this run.
    pub fingerprint: Fingerprint,
}

/// What happens at a receiver.
#[derive(Debug)]
pub enum ReceiveEvent {
    /// Senders can come.
    Listening(Listening),
    /// One has come.
    Began {
        /// Who.
        from: SocketAddr,
        /// Name and size of the file; `None` for filling.
        file: Option<(String, u64)>,
        /// Bytes that are there already.
        have: u64,
    },
    /// All of it is there.
    Received(Received),
    /// It broke off, or was refused.
    Failed {
        /// Who.
        from: SocketAddr,
        /// Why, and what is left of it.
        error: Error,
    },
}

/// Receives until the process is told to end, or one transfer, as `options` say.
///
/// # Errors
/// No socket or folder; with `once`, what became of the transfer; [`Error::Interrupted`].
pub fn receive(options: ReceiveOptions, on_event: &mut dyn FnMut(&ReceiveEvent)) -> Result<()> {
    check_folder(&options)?;
    block_on(run(options, on_event))
}

fn check_folder(options: &ReceiveOptions) -> Result<()> {
    let failed = |e| Error::file("write files into", &options.dir, e);
    let metadata = std::fs::metadata(&options.dir).map_err(failed)?;
    if !metadata.is_dir() {
        return Err(failed(std::io::ErrorKind::NotADirectory.into()));
    }
    Ok(())
}

fn start(listen: SocketAddr) -> Result<(Server, Listening)> {
    let (config, fingerprint) = pin::server()?;
    let socket = |e: &dyn std::fmt::Display| Error::Socket {
        address: listen,
        source: std::io::Error::other(e.to_string()),
    };
    let started = |e: &dyn std::fmt::Display| Error::Start(e.to_string());
    let server = Server::builder()
        .with_tls(tls::Server::from(config))
        .map_err(|e| started(&e))?
        .with_limits(limits::of_connection()?)
        .map_err(|e| started(&e))?
        .with_io(limits::socket(listen)?)
        .map_err(|e| socket(&e))?
        .start()
        .map_err(|e| socket(&e))?;
    let address = server.local_addr().map_err(|e| socket(&e))?;
    let listening = Listening {
        address,
        fingerprint,
    };
    Ok((server, listening))
}

async fn run(options: ReceiveOptions, on_event: &mut dyn FnMut(&ReceiveEvent)) -> Result<()> {
    let (mut server, listening) = start(options.listen)?;
    on_event(&ReceiveEvent::Listening(listening));
    let once = options.once;
    let options = Arc::new(options);
    let room = Arc::new(Semaphore::new(limits::MOST_TRANSFERS));
    let (events, mut happened) = mpsc::channel(16);
    let (stop, stopped) = watch::channel(false);
    let end = interrupted();
    tokio::pin!(end);
    loop {
        tokio::select! {
            ended = &mut end => {
                ended?;
                // Those that are sending shall hear of it, instead of waiting for the silence.
                let _ = stop.send(true);
                tokio::time::sleep(limits::FAREWELL).await;
                return Err(Error::Interrupted);
            }
            Some(connection) = server.accept() => {
                let task = serve::Task {
                    options: options.clone(),
                    events: events.clone(),
                    stopped: stopped.clone(),
                    room: room.clone(),
                };
                tokio::spawn(task.run(connection));
            }
            Some(event) = happened.recv() => {
                on_event(&event);
                match event {
                    ReceiveEvent::Received(_) if once => return Ok(()),
                    ReceiveEvent::Failed { error, .. } if once => return Err(error),
                    _ => {}
                }
            }
        }
    }
}
