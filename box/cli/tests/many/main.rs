//! 20,000 flows that are watched, scraped and listed: packets do not wait for those who look.

#[allow(dead_code)]
#[path = "../browser/driver.rs"]
mod driver;
mod held;
#[allow(dead_code)]
#[path = "../netns/mod.rs"]
mod netns;
mod watchers;

use std::thread;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit};
use nix::sys::signal::Signal;
use windlass_daemon::view::Order;

use held::{Held, PER_PROCESS, request_times};
use netns::{Daemon, Lab, PLACE, lab};
use watchers::{Watchers, list, scrape, top};

const FLOWS: usize = 2 * PER_PROCESS;
/// Where the machine has better things to do, some begin while the worker stands still, and pass.
const GOVERNED_AT_LEAST: usize = FLOWS / 10 * 9;
/// What the slowest hundredth of requests may take while others watch, on a machine that builds and tests other things at the
/// same time.
const SLOWEST: Duration = Duration::from_millis(50);
/// What a scrape may take in the middle.
const SCRAPE: Duration = Duration::from_millis(50);

#[test]
#[ignore = "another test starts it in processes of its own"]
fn holds_connections() {
    held::hold(&std::env::var("WINDLASS_HOLDS").expect("who it is"));
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

fn at(times: &[Duration], percent: usize) -> Duration {
    times[times.len() * percent / 100]
}

/// Requests, while nobody looks and beside those who do. How long the answers to these took, sorted.
fn beside(
    lab: &Lab,
    alone: &[Duration],
    port: u16,
    who: &str,
    watchers: Watchers,
) -> Vec<Duration> {
    let times = request_times(lab, port);
    let answers = watchers.stop();
    eprintln!(
        "a request with {FLOWS} flows: {:?}, p99 {:?} alone; {:?}, p99 {:?} beside {} answers to {who} ({:?}, p99 {:?})",
        at(alone, 50),
        at(alone, 99),
        at(&times, 50),
        at(&times, 99),
        answers.len(),
        at(&answers, 50),
        at(&answers, 99),
    );
    assert!(
        at(&times, 99) < SLOWEST.max(3 * at(alone, 99)),
        "requests wait for {who}"
    );
    answers
}

/// A box with a page and metrics, whose flows begin.
fn start(lab: &Lab) -> (Daemon, Vec<Held>) {
    let file = lab.folder.path().join("w.toml");
    let socket = lab.folder.path().join("metrics");
    let text = format!(
        "version = 1\n[web]\nlisten = \"127.0.0.1:9470\"\n[metrics]\nlisten = \"unix:{}\"\n",
        socket.display()
    );
    std::fs::write(&file, text).unwrap();
    let arguments = [&PLACE[..], &["--config", file.to_str().unwrap()]].concat();
    let daemon = Daemon::start(lab, &arguments);
    let ports = [8100, 8101];
    let mut all: Vec<Held> = ports.map(|port| Held::start(lab, "a", port)).into();
    thread::sleep(Duration::from_millis(500));
    let mut clients = ports.map(|port| Held::start(lab, "b", port));
    clients.iter_mut().for_each(Held::wait);
    // Those who are called end last.
    all.splice(0..0, clients);
    let governed = daemon.json(&["status", "-j"])["connections"].as_u64();
    assert!(governed.unwrap() as usize >= GOVERNED_AT_LEAST);
    (daemon, all)
}

#[test]
fn packets_do_not_wait_for_those_who_look_at_20_000_flows() {
    let Some(lab) = lab() else { return };
    let room = getrlimit(Resource::RLIMIT_NOFILE).unwrap().0;
    if room < PER_PROCESS as u64 + 100 {
        return eprintln!("skipped: a process may open {room} files only (ulimit -n)");
    }
    let (daemon, held) = start(&lab);
    let control = || daemon.control.clone();
    let alone = request_times(&lab, 8020);
    let orders = [Order::Rate, Order::Rtt, Order::Flow];
    let three = Watchers::start(orders.map(|order| top(control(), order)));
    let views = beside(&lab, &alone, 8021, "three who watch", three);
    assert!(views.len() > 20, "{} answers", views.len());
    let scraping = Watchers::start([scrape(lab.folder.path().join("metrics"))]);
    let scrapes = beside(&lab, &alone, 8022, "one who scrapes", scraping);
    assert!(scrapes.len() > 5, "{} scrapes", scrapes.len());
    assert!(at(&scrapes, 50) < SCRAPE, "{:?}", at(&scrapes, 50));
    let listing = Watchers::start([list(control())]);
    let lists = beside(&lab, &alone, 8023, "windlass flow show -j", listing);
    assert!(lists.len() > 2, "{} lists", lists.len());
    rows_scroll(&lab);
    drop(held);
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}
