//! 20,000 flows that are watched: packets do not wait for those who watch.

#[allow(dead_code)]
#[path = "browser/driver.rs"]
mod driver;
#[allow(dead_code)]
mod netns;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit};
use nix::sys::signal::Signal;

use netns::{Daemon, Lab, PLACE, lab};
use windlass_daemon::control::{Answer, Request, ask};
use windlass_daemon::view::{Order, ViewQuery};

const FLOWS_PER_PROCESS: usize = 10_000;
const FLOWS: usize = 2 * FLOWS_PER_PROCESS;
/// Where the machine has better things to do, some begin while the worker stands still, and pass.
const GOVERNED_AT_LEAST: usize = FLOWS / 10 * 9;
/// A worker takes in no more SYNs at once, and the rest would pass.
const BURST: usize = 250;
const BURST_PAUSE: Duration = Duration::from_millis(100);
const REQUESTS: usize = 500;
/// What the slowest hundredth of requests may take while others watch, on a machine that builds and tests other things at the
/// same time.
const SLOWEST: Duration = Duration::from_millis(50);

/// Ends of connections, in a process of their own: one may not open as many files.
struct Held(Child);

impl Held {
    fn start(lab: &Lab, place: &str, port: u16) -> Held {
        let mut command = lab.command(place, std::env::current_exe().unwrap().to_str().unwrap());
        command.args(["--ignored", "--exact", "--nocapture", "holds_connections"]);
        command.env("WINDLASS_HOLDS", format!("{place} {port}"));
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Held(command.spawn().unwrap())
    }

    /// Until it has as many as it should.
    fn wait(&mut self) {
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

#[test]
#[ignore = "another test starts it in processes of its own"]
fn holds_connections() {
    let role = std::env::var("WINDLASS_HOLDS").expect("who it is");
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
            (0..FLOWS_PER_PROCESS).map(take).collect()
        }
        _ => (0..FLOWS_PER_PROCESS).map(|n| open(address, n)).collect(),
    };
    println!("all are held");
    // Until whoever started this goes.
    let _ = std::io::stdin().read(&mut [0]);
    assert_eq!(held.len(), FLOWS_PER_PROCESS);
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
fn request_times(lab: &Lab, port: u16) -> Vec<Duration> {
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

/// One who watches as `windlass top` does, in a hurry. How long the answers took.
fn watch(control: PathBuf, done: Arc<AtomicBool>, order: Order) -> JoinHandle<Vec<Duration>> {
    thread::spawn(move || {
        let mut times = Vec::new();
        while !done.load(Ordering::Acquire) {
            let query = ViewQuery {
                order,
                rows: 60,
                ..ViewQuery::default()
            };
            let start = Instant::now();
            let answer = ask(&control, Request::View(query)).unwrap();
            times.push(start.elapsed());
            let Answer::View(view) = answer else {
                panic!("{answer:?}")
            };
            assert!(
                view.flows as usize >= GOVERNED_AT_LEAST && view.rows.len() == 60,
                "{} flows",
                view.flows
            );
            thread::sleep(Duration::from_millis(100));
        }
        times.sort_unstable();
        times
    })
}

/// In a browser that scrolls through all rows, only those that are seen are there, and frames come in time.
fn rows_scroll(lab: &Lab) {
    let Some(browser) = driver::Browser::start(lab) else {
        return;
    };
    browser.open("http://127.0.0.1:9470/#/flows");
    browser.wait_for("rows", "document.querySelectorAll('.row').length > 20");
    browser.run(
        "window.gaps = []; window.rows = []; let last = performance.now();
         const list = document.querySelector('.list'); const end = list.scrollHeight;
         const frame = (now) => { gaps.push(now - last); last = now; rows.push(document.querySelectorAll('.row').length);
           list.scrollTop = (list.scrollTop + 700) % end; if (gaps.length < 300) requestAnimationFrame(frame); };
         requestAnimationFrame(frame);",
    );
    browser.wait_for("300 frames", "window.gaps.length >= 300");
    let sorted = "[...gaps].sort((a, b) => a - b)";
    let number = |expression: &str| {
        browser
            .run(&format!("return {expression};"))
            .as_f64()
            .unwrap()
    };
    let (median, p99) = (
        number(&format!("{sorted}[150]")),
        number(&format!("{sorted}[296]")),
    );
    let most = number("Math.max(...rows)");
    let height = number("document.querySelector('.room').offsetHeight");
    eprintln!(
        "frames while {FLOWS} rows scroll: {median} ms, p99 {p99} ms; {most} rows in the page at most"
    );
    assert!(height >= 28.0 * GOVERNED_AT_LEAST as f64, "{height} px");
    assert!(most < 150.0 && median < 50.0, "{most} rows, {median} ms");
    browser.run("document.querySelector('.list').scrollTop = 300000;");
    browser.wait_for(
        "rows in the middle",
        "[...document.querySelectorAll('.row')].some(r => Math.abs(r.getBoundingClientRect().top - 500) < 100)",
    );
    browser.picture("many");
}

#[test]
fn packets_do_not_wait_for_those_who_watch_20_000_flows() {
    let Some(lab) = lab() else { return };
    let room = getrlimit(Resource::RLIMIT_NOFILE).unwrap().0;
    if room < FLOWS_PER_PROCESS as u64 + 100 {
        return eprintln!("skipped: a process may open {room} files only (ulimit -n)");
    }
    let file = lab.folder.path().join("w.toml");
    std::fs::write(&file, "version = 1\n[web]\nlisten = \"127.0.0.1:9470\"\n").unwrap();
    let arguments = [&PLACE[..], &["--config", file.to_str().unwrap()]].concat();
    let daemon = Daemon::start(&lab, &arguments);
    let ports = [8100, 8101];
    let servers = ports.map(|port| Held::start(&lab, "a", port));
    thread::sleep(Duration::from_millis(500));
    let mut held = ports.map(|port| Held::start(&lab, "b", port));
    held.iter_mut().for_each(Held::wait);
    assert!(
        daemon.json(&["status", "-j"])["connections"]
            .as_u64()
            .unwrap() as usize
            >= GOVERNED_AT_LEAST
    );
    let alone = request_times(&lab, 8020);
    let done = Arc::new(AtomicBool::new(false));
    let watchers = [Order::Rate, Order::Rtt, Order::Flow];
    let watchers = watchers.map(|order| watch(daemon.control.clone(), Arc::clone(&done), order));
    let watched = request_times(&lab, 8021);
    done.store(true, Ordering::Release);
    let mut answers: Vec<Duration> = Vec::new();
    for watcher in watchers {
        answers.extend(watcher.join().unwrap());
    }
    answers.sort_unstable();
    let at = |times: &[Duration], percent: usize| times[times.len() * percent / 100];
    eprintln!(
        "a request with {FLOWS} flows: {:?}, p99 {:?} alone; {:?}, p99 {:?} beside {} answers to three who watch \
         ({:?}, p99 {:?})",
        at(&alone, 50),
        at(&alone, 99),
        at(&watched, 50),
        at(&watched, 99),
        answers.len(),
        at(&answers, 50),
        at(&answers, 99),
    );
    assert!(answers.len() > 20, "{} answers", answers.len());
    assert!(at(&watched, 99) < SLOWEST.max(3 * at(&alone, 99)));
    rows_scroll(&lab);
    drop((held, servers));
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}
