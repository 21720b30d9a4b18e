//! Those who look at a box again and again, each in its own way, and how long the answers take.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_daemon::control::{Answer, Request, ask};
use windlass_daemon::view::{Order, ViewQuery};

use super::GOVERNED_AT_LEAST;
use super::netns::PROGRAM;

/// Between an answer and the next question.
const PAUSE: Duration = Duration::from_millis(100);

/// Several who look until they are stopped.
pub struct Watchers {
    done: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Vec<Duration>>>,
}

impl Watchers {
    /// Each does its own again and again.
    pub fn start<L: FnMut() + Send + 'static>(looks: impl IntoIterator<Item = L>) -> Watchers {
        let done = Arc::new(AtomicBool::new(false));
        let start = |mut look: L| {
            let done = Arc::clone(&done);
            thread::spawn(move || {
                let mut times = Vec::new();
                while !done.load(Ordering::Acquire) {
                    let start = Instant::now();
                    look();
                    times.push(start.elapsed());
                    thread::sleep(PAUSE);
                }
                times
            })
        };
        let threads = looks.into_iter().map(start).collect();
        Watchers { done, threads }
    }

    /// How long their answers took, sorted.
    pub fn stop(self) -> Vec<Duration> {
        self.done.store(true, Ordering::Release);
        let each = self.threads.into_iter();
        let mut times: Vec<Duration> = each.flat_map(|thread| thread.join().unwrap()).collect();
        times.sort_unstable();
        times
    }
}

/// As `windlass top` does, in a hurry.
pub fn top(control: PathBuf, order: Order) -> impl FnMut() + Send {
    move || {
        let query = ViewQuery {
            order,
            rows: 60,
            ..ViewQuery::default()
        };
        let answer = ask(&control, Request::View(query)).unwrap();
        let Answer::View(view) = answer else {
            panic!("{answer:?}")
        };
        assert!(
            view.flows as usize >= GOVERNED_AT_LEAST && view.rows.len() == 60,
            "{} flows",
            view.flows
        );
    }
}

/// As Prometheus does.
pub fn scrape(socket: PathBuf) -> impl FnMut() + Send {
    move || {
        let mut stream = UnixStream::connect(&socket).unwrap();
        let request = b"GET /metrics HTTP/1.1\r\nHost: w\r\n\r\n";
        stream.write_all(request).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let connections = answer
            .lines()
            .find_map(|line| line.strip_prefix("windlass_connections "))
            .and_then(|number| number.trim().parse::<f64>().ok());
        let all = connections.unwrap_or_else(|| panic!("{answer}"));
        assert!(all as usize >= GOVERNED_AT_LEAST, "{all} connections");
    }
}

/// `windlass flow show -j`, program and all.
pub fn list(control: PathBuf) -> impl FnMut() + Send {
    move || {
        let mut command = Command::new(PROGRAM);
        command.args(["flow", "show", "-j", "--control"]);
        let output = command.arg(&control).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let flows: Value = serde_json::from_slice(&output.stdout).unwrap();
        let flows = flows.as_array().unwrap();
        assert!(flows.len() > 1000, "{} flows", flows.len());
        assert!(flows[0]["cwnd_bytes"].is_u64(), "{}", flows[0]);
    }
}
