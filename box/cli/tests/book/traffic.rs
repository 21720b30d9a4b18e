//! Downloads from the server, for as long as a page is followed.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use crate::netns::Lab;

/// The flow of all examples.
pub const SERVER: &str = "10.0.0.1:443";
pub const CLIENT: &str = "192.0.2.7:5555";
/// How long a download takes, and how much of it comes at once, and how often.
const DOWNLOAD: Duration = Duration::from_secs(2);
const CHUNK: usize = 16_384;
const EVERY: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(10);

/// A download from the server after the other, always between the same two ports.
pub struct Traffic {
    ends: Arc<AtomicBool>,
    server: JoinHandle<()>,
    client: JoinHandle<()>,
}

impl Traffic {
    pub fn start(lab: &Lab) -> Traffic {
        let ends = Arc::new(AtomicBool::new(false));
        let server: SocketAddr = SERVER.parse().unwrap();
        let listener = lab.spawn("server", move || TcpListener::bind(server).unwrap());
        let listener = listener.join().unwrap();
        listener.set_nonblocking(true).unwrap();
        let told = Arc::clone(&ends);
        let server = thread::spawn(move || {
            while !told.load(Ordering::Acquire) {
                match listener.accept() {
                    Ok((stream, _)) => drop(thread::spawn(move || serve(stream))),
                    Err(e) if e.kind() == ErrorKind::WouldBlock => thread::sleep(EVERY),
                    Err(e) => panic!("{e}"),
                }
            }
        });
        let told = Arc::clone(&ends);
        let client = lab.spawn("client", move || {
            while !told.load(Ordering::Acquire) {
                // While the page changes interfaces, some come to nothing.
                let _ = fetch();
                thread::sleep(EVERY);
            }
        });
        Traffic {
            ends,
            server,
            client,
        }
    }

    pub fn end(self) {
        self.ends.store(true, Ordering::Release);
        self.server.join().unwrap();
        self.client.join().unwrap();
    }
}

fn serve(mut stream: TcpStream) {
    let _ = stream.set_nonblocking(false);
    let _ = stream.set_write_timeout(Some(DOWNLOAD));
    let begin = Instant::now();
    while begin.elapsed() < DOWNLOAD && stream.write_all(&[b'w'; CHUNK]).is_ok() {
        thread::sleep(EVERY);
    }
}

fn fetch() -> std::io::Result<()> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    // With a reset, so that the port is free for the next one.
    socket.set_linger(Some(Duration::ZERO))?;
    let [client, server] = [CLIENT, SERVER].map(|a| a.parse::<SocketAddr>().unwrap());
    socket.bind(&client.into())?;
    socket.connect_timeout(&server.into(), PATIENCE)?;
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut buffer = [0; CHUNK];
    while stream.read(&mut buffer)? > 0 {}
    Ok(())
}
