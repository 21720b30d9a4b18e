//! Connections that are there, in processes of their own, and how long requests beside them take.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::netns::Lab;

pub const PER_PROCESS: usize = 10_000;
/// A worker takes in no more SYNs at once, and the rest would pass.
const BURST: usize = 250;
const BURST_PAUSE: Duration = Duration::from_millis(100);
const REQUESTS: usize = 500;

/// Ends of connections, in a process of their own: one may not open as many files.
pub struct Held(Child);

impl Held {
    pub fn start(lab: &Lab, place: &str, port: u16) -> Held {
        let mut command = lab.command(place, std::env::current_exe().unwrap().to_str().unwrap());
        command.args(["--ignored", "--exact", "--nocapture", "holds_connections"]);
        command.env("WINDLASS_HOLDS", format!("{place} {port}"));
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Held(command.spawn().unwrap())
    }

    /// Until it has as many as it should.
    pub fn wait(&mut self) {
        let lines = BufReader::new(self.0.stdout.as_mut().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        assert!(
            lines.any(|line| line.contains("all are held")),
            "a process has ended"
        );
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// What such a process does: the role says on which side, and at which port.
pub fn hold(role: &str) {
    let (place, port) = role.split_once(' ').expect("place and port");
    let address = ("10.77.0.1", port.parse().expect("a port"));
    let held: Vec<TcpStream> = match place {
        "a" => {
            let listener = TcpListener::bind(address).unwrap();
            let take = |_| {
                let mut stream = listener.accept().unwrap().0;
                stream.write_all(&[7; 2000]).unwrap();
                stream
            };
            (0..PER_PROCESS).map(take).collect()
        }
        _ => (0..PER_PROCESS).map(|n| open(address, n)).collect(),
    };
    println!("all are held");
    // Until whoever started this goes.
    let _ = std::io::stdin().read(&mut [0]);
    assert_eq!(held.len(), PER_PROCESS);
}

fn open(address: (&str, u16), number: usize) -> TcpStream {
    if number.is_multiple_of(BURST) {
        thread::sleep(BURST_PAUSE);
    }
    let mut stream = TcpStream::connect(address).unwrap();
    stream.read_exact(&mut [0; 2000]).unwrap();
    stream
}

/// How long requests through the box take, sorted.
pub fn request_times(lab: &Lab, port: u16) -> Vec<Duration> {
    let listener = lab.spawn("a", move || TcpListener::bind(("10.77.0.1", port)).unwrap());
    let listener = listener.join().unwrap();
    let server = thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        stream.set_nodelay(true).unwrap();
        let mut bytes = [0; 64];
        while stream.read_exact(&mut bytes).is_ok() {
            stream.write_all(&bytes).unwrap();
        }
    });
    let client = lab.spawn("b", move || {
        let mut stream = TcpStream::connect(("10.77.0.1", port)).unwrap();
        stream.set_nodelay(true).unwrap();
        let once = |_| {
            thread::sleep(Duration::from_millis(5));
            let start = Instant::now();
            stream.write_all(&[7; 64]).unwrap();
            stream.read_exact(&mut [0; 64]).unwrap();
            start.elapsed()
        };
        (0..REQUESTS).map(once).collect::<Vec<_>>()
    });
    let mut times = client.join().unwrap();
    server.join().unwrap();
    times.sort_unstable();
    times
}
