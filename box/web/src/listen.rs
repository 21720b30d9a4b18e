//! Connections: how many, and for how long.

use std::collections::VecDeque;
use std::io;
use std::net::TcpListener as Listener;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use windlass_io::run_soon;

/// Connections at once; the oldest gives way to the next.
pub(crate) const CONNECTIONS_MAX: usize = 32;
/// From the first byte of a connection to its last.
pub(crate) const CONNECTION_LIMIT: Duration = Duration::from_secs(10);
/// Longest head of a request, bytes.
const HEAD_MAX_BYTES: usize = 16 * 1024;
/// Threads that ask the daemon.
const ASKING_THREADS: usize = 2;
/// After a connection could not be accepted: out of descriptors, most likely, which is no reason to spin.
const REFUSED_PAUSE: Duration = Duration::from_millis(100);
/// Everything else goes before the page.
const NICE: i8 = 19;
const SLICE_NS: u64 = 3_000_000;

/// Serves until `stopped` ends.
pub(crate) fn run(listener: Listener, service: Router, stopped: oneshot::Receiver<()>) {
    // Threads that this one starts have its priority.
    let _ = run_soon(NICE, SLICE_NS);
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(ASKING_THREADS)
        .build();
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async move {
        tokio::select! {
            _ = stopped => {}
            _ = accept(listener, service) => {}
        }
    });
    // A question to the daemon that is under way is not waited for.
    runtime.shutdown_background();
}

async fn accept(listener: Listener, service: Router) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let mut open: VecDeque<JoinHandle<()>> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(REFUSED_PAUSE).await;
            continue;
        };
        open.retain(|connection| !connection.is_finished());
        if open.len() >= CONNECTIONS_MAX
            && let Some(oldest) = open.pop_front()
        {
            oldest.abort();
        }
        open.push_back(tokio::spawn(serve(stream, service.clone())));
    }
}

/// One request, one answer, and the end of the connection: who is slow with either is cut off.
async fn serve(stream: TcpStream, service: Router) {
    let _ = stream.set_nodelay(true);
    let mut http = http1::Builder::new();
    http.keep_alive(false)
        .header_read_timeout(None)
        .max_buf_size(HEAD_MAX_BYTES);
    let service = TowerToHyperService::new(service);
    let connection = http.serve_connection(TokioIo::new(stream), service);
    // A connection that breaks concerns only its other end.
    let _ = timeout(CONNECTION_LIMIT, connection).await;
}
