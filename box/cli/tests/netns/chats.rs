//! Connections that say little, and stay.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Lab;

/// What is said at once, bytes; and how long nothing is said then.
const WORD_BYTES: usize = 700;
const PAUSE: Duration = Duration::from_millis(50);

/// Connections that ask and answer now and then; each second one has asked once, and is silent from then on.
pub struct Chats {
    over: Arc<AtomicBool>,
    clients: Vec<JoinHandle<()>>,
}

impl Chats {
    pub fn start(lab: &Lab, count: usize) -> Chats {
        let over = Arc::new(AtomicBool::new(false));
        let address: SocketAddr = "10.77.0.1:8100".parse().unwrap();
        let listener = lab.spawn("a", move || TcpListener::bind(address).unwrap());
        let listener = listener.join().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().take(count) {
                let mut stream = stream.unwrap();
                thread::spawn(move || {
                    let mut word = [0; WORD_BYTES];
                    while stream.read_exact(&mut word).is_ok() {
                        stream.write_all(&word).unwrap();
                    }
                });
            }
        });
        // One after the other: where the server's queue overflows, a first round trip takes a second, and the client's time-out
        // three of them for minutes.
        let connect = move |_| {
            let stream = TcpStream::connect(address).unwrap();
            let patience = Some(Duration::from_secs(20));
            stream.set_read_timeout(patience).unwrap();
            exchange(&stream, 0);
            stream
        };
        let streams = lab.spawn("b", move || (0..count).map(connect).collect::<Vec<_>>());
        let streams = streams.join().unwrap().into_iter().enumerate();
        let client = |(number, stream): (usize, TcpStream)| {
            let (over, silent) = (Arc::clone(&over), !number.is_multiple_of(2));
            thread::spawn(move || chat(&stream, silent, &over))
        };
        let clients = streams.map(client).collect();
        Chats { over, clients }
    }

    /// All have had all of their answers, the silent ones a last one.
    pub fn finish(self) {
        self.over.store(true, Ordering::Release);
        self.clients
            .into_iter()
            .for_each(|client| client.join().unwrap());
    }
}

/// A word, and the answer to it.
fn exchange(mut stream: &TcpStream, what: u8) {
    stream.write_all(&[what; WORD_BYTES]).unwrap();
    let mut word = [0; WORD_BYTES];
    stream.read_exact(&mut word).expect("an answer");
    assert_eq!(word, [what; WORD_BYTES]);
}

fn chat(stream: &TcpStream, silent: bool, over: &AtomicBool) {
    let mut said = 0u8;
    while !over.load(Ordering::Acquire) {
        if !silent {
            said = said.wrapping_add(1);
            exchange(stream, said);
        }
        thread::sleep(PAUSE);
    }
    exchange(stream, said.wrapping_add(1));
}
