//! The page in the browser, and the HTTP interface that it uses.
//!
//! ```text
//! browser → listen (connections, their time) → gate (host, token) → api → control socket → the daemon
//!                                                                 └ page: files that are part of the program
//! ```
//!
//! All of it runs in a few threads of the lowest priority. What it knows, it asks the daemon at its control socket, as
//! `windlass flow show` does: so nothing here can hold a worker, and a page that is slow holds a connection for ten seconds at
//! most.
#![forbid(unsafe_code)]

mod api;
mod gate;
mod listen;
mod openapi;
mod page;
mod token;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;
use windlass_policy::WebConfig;

pub use openapi::description;
use token::Token;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// Nobody can be listened to there.
    #[error("the page at {listen}: {source} (another place can be named by listen in [web])")]
    Listen {
        /// Where.
        listen: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// The token cannot be used.
    #[error("token_file {}: {reason} ({mend})", path.display())]
    Token {
        /// Its file.
        path: PathBuf,
        /// Why not.
        reason: String,
        /// What puts it right.
        mend: &'static str,
    },
    /// A thread could not be started.
    #[error("starting the page: {0}")]
    Start(io::Error),
}

/// Who may do what.
#[derive(Debug)]
struct Access {
    token: Option<Token>,
    /// Reading needs the token, too: others than this machine can reach the page.
    reading_needs_token: bool,
    write: bool,
    /// Names of the box, besides `localhost` and addresses.
    hosts: Vec<String>,
}

/// A page that can be reached, and is not served yet: who comes waits.
#[derive(Debug)]
pub struct Page {
    listener: TcpListener,
    access: Access,
}

impl Page {
    /// # Errors
    /// [`WebError`].
    pub fn bind(config: &WebConfig) -> Result<Page, WebError> {
        let token = config
            .token_file
            .as_ref()
            .map(|path| Token::read(path.as_ref()));
        let token = token.transpose()?;
        let listen = config.listen;
        let listener = TcpListener::bind(listen).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        Ok(Page {
            listener: listener.map_err(|source| WebError::Listen { listen, source })?,
            access: Access {
                token,
                reading_needs_token: !listen.ip().is_loopback(),
                write: config.write,
                hosts: config.hosts.clone(),
            },
        })
    }

    /// Serves it, with what the daemon at this control socket says.
    ///
    /// # Errors
    /// [`WebError::Start`].
    pub fn serve(self, control: PathBuf) -> Result<Server, WebError> {
        let (stop, stopped) = oneshot::channel();
        let service = api::service(control, self.access);
        let listener = self.listener;
        let work = move || listen::run(listener, service, stopped);
        let thread = thread::Builder::new().name("web".to_owned()).spawn(work);
        Ok(Server {
            stop: Some(stop),
            thread: Some(thread.map_err(WebError::Start)?),
        })
    }
}

/// The threads that serve it. They end when this is dropped.
#[derive(Debug)]
pub struct Server {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
