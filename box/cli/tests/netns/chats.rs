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
        let client = |number: usize| {
            let over = Arc::clone(&over);
            lab.spawn("b", move || {
                let mut stream = TcpStream::connect(address).unwrap();
                stream
                    .set_read_timeout(Some(Duration::from_secs(20)))
                    .unwrap();
                let mut said = 0u8;
                loop {
                    said = said.wrapping_add(1);
                    stream.write_all(&[said; WORD_BYTES]).unwrap();
                    let mut word = [0; WORD_BYTES];
                    stream.read_exact(&mut word).expect("an answer");
                    assert_eq!(word, [said; WORD_BYTES]);
                    let silent = !number.is_multiple_of(2);
                    while !over.load(Ordering::Acquire) && silent {
                        thread::sleep(PAUSE);
                    }
                    if over.load(Ordering::Acquire) && said > 1 {
                        return;
                    }
                    thread::sleep(PAUSE);
                }
            })
        };
        let clients = (0..count).map(client).collect();
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
