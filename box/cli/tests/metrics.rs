//! A box that is scraped: over TCP and a unix socket, by hand, by Prometheus, and beside traffic that must not wait for it.

#[allow(dead_code)]
mod netns;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use netns::{Daemon, Lab, MEGABYTE, PLACE, Transfer, lab};

const ADDRESS: &str = "127.0.0.1:9469";
const PLAIN: &str = "text/plain";
const OPEN: &str = "application/openmetrics-text";
const REQUESTS: usize = 400;
/// What the slowest hundredth of requests may take while the box is scraped without a pause, on a machine that builds
/// and tests other things at the same time.
const SLOWEST: Duration = Duration::from_millis(50);

/// A box with metrics.
fn start(lab: &Lab, listen: &str) -> Daemon {
    let file = lab.folder.path().join("w.toml");
    let text = format!("version = 1\n[metrics]\nlisten = \"{listen}\"\n");
    fs::write(&file, text).unwrap();
    Daemon::start(
        lab,
        &[&PLACE[..], &["--config", file.to_str().unwrap()]].concat(),
    )
}

/// The body of an answer, which must be a good one.
fn get(mut stream: impl Read + Write, accept: &str) -> String {
    write!(
        stream,
        "GET /metrics HTTP/1.1\r\nHost: w\r\nAccept: {accept}\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains(accept), "{head}");
    body.to_owned()
}

fn scrape(lab: &Lab, accept: &'static str) -> String {
    let body = move || get(TcpStream::connect(ADDRESS).unwrap(), accept);
    lab.spawn("m", body).join().unwrap()
}

fn number(text: &str, series: &str) -> f64 {
    let line = text.lines().find_map(|l| l.strip_prefix(series));
    let line = line.unwrap_or_else(|| panic!("no {series} in:\n{text}"));
    line.trim().parse().unwrap()
}

/// `promtool`, or the reason why there is none.
fn has_promtool() -> bool {
    let found = Command::new("promtool").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: promtool is not here (apt install prometheus)");
    }
    found
}

#[test]
fn numbers_move_and_promtool_finds_nothing_wrong() {
    let Some(lab) = lab() else { return };
    let daemon = start(&lab, ADDRESS);
    let before = scrape(&lab, PLAIN);
    let transfer = Transfer::start(&lab, 8001);
    transfer.wait_for(5 * MEGABYTE);
    let after = scrape(&lab, PLAIN);
    let grown = |series: &str| number(&after, series) - number(&before, series);
    assert!(grown("windlass_engine_sent_bytes_total") > 5e6);
    assert!(grown("windlass_driver_rx_bytes_total{side=\"inside\"}") > 5e6);
    assert!(grown("windlass_engine_rtt_seconds_count") > 100.0);
    assert!(grown("windlass_engine_hold_time_seconds_count") > 1000.0);
    assert!(grown("windlass_worker_batch_time_seconds_count") > 100.0);
    assert_eq!(number(&after, "windlass_governing"), 1.0);
    assert!(number(&after, "windlass_connections") >= 1.0);
    assert!(scrape(&lab, OPEN).ends_with("# EOF\n"));
    transfer.finish();
    if has_promtool() {
        let mut promtool = Command::new("promtool");
        let promtool = promtool.args(["check", "metrics"]).stdin(Stdio::piped());
        let mut child = promtool
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(after.as_bytes()).unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{said}");
    }
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}

#[test]
fn a_unix_socket_is_for_its_owner_and_goes_with_the_box() {
    let Some(lab) = lab() else { return };
    let path = lab.folder.path().join("m.sock");
    let daemon = start(&lab, &format!("unix:{}", path.display()));
    let text = get(UnixStream::connect(&path).unwrap(), PLAIN);
    assert_eq!(number(&text, "windlass_workers_answer"), 1.0);
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
    assert!(!path.exists());
}

/// Prometheus of Debian, until it is dropped.
struct Prometheus(Child);

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.0.id() as i32), Signal::SIGKILL);
        let _ = self.0.wait();
    }
}

fn prometheus(lab: &Lab, folder: &Path) -> Prometheus {
    let config = folder.join("prometheus.yml");
    let text = format!(
        "global: {{scrape_interval: 250ms, scrape_timeout: 250ms}}\n\
         scrape_configs:\n- job_name: windlass\n  static_configs: [{{targets: [\"{ADDRESS}\"]}}]\n"
    );
    fs::write(&config, text).unwrap();
    let mut command = lab.command("m", "prometheus");
    command
        .arg(format!("--config.file={}", config.display()))
        .arg(format!(
            "--storage.tsdb.path={}",
            folder.join("data").display()
        ))
        .arg("--web.listen-address=127.0.0.1:9099")
        .stderr(Stdio::null());
    Prometheus(command.spawn().unwrap())
}

/// What Prometheus knows, as numbers; none until it answers.
fn query(lab: &Lab, expression: &str) -> Vec<f64> {
    let mut command = lab.command("m", "promtool");
    command.args([
        "query",
        "instant",
        "-o",
        "json",
        "http://127.0.0.1:9099",
        expression,
    ]);
    let output = command.output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let values = found.as_array().into_iter().flatten();
    let values = values.filter_map(|v| v["value"][1].as_str()?.parse().ok());
    values.collect()
}

#[test]
fn prometheus_scrapes_it() {
    let Some(lab) = lab() else { return };
    if !has_promtool() {
        return;
    }
    let daemon = start(&lab, ADDRESS);
    let server = prometheus(&lab, lab.folder.path());
    let transfer = Transfer::start(&lab, 8001);
    transfer.wait_for(MEGABYTE);
    let deadline = Instant::now() + Duration::from_secs(20);
    let rate = "rate(windlass_engine_sent_bytes_total[5s])";
    while !query(&lab, rate).iter().any(|rate| *rate > 1e5) {
        assert!(Instant::now() < deadline, "Prometheus sees no traffic");
        thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(query(&lab, "up"), [1.0]);
    assert_eq!(query(&lab, "windlass_build_info"), [1.0]);
    let quantile = "histogram_quantile(0.5, windlass_engine_rtt_seconds_bucket)";
    let median = query(&lab, quantile);
    assert!(median.len() == 1 && median[0] > 0.0, "{median:?}");
    drop(server);
    transfer.finish();
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}

/// The dashboards ask for what there is, and the alerts say what they should.
#[test]
fn dashboards_and_alerts_are_right() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");
    let table = windlass_daemon::metrics::table();
    let known = |name: &str| {
        let ends = ["_bucket", "_count", "_sum"]
            .iter()
            .find_map(|e| name.strip_suffix(e));
        let name = ends.unwrap_or(name);
        name == "windlass_build_info" || table.contains(&format!("| `{name}` |"))
    };
    let mut looked_at = 0;
    for file in ["overview", "rule", "health"] {
        let text = fs::read_to_string(format!("{folder}/grafana/{file}.json")).unwrap();
        let page: Value = serde_json::from_str(&text).unwrap();
        let mut said = String::new();
        for panel in page["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().unwrap() {
                said += &format!("{} ", target["expr"].as_str().unwrap());
            }
        }
        let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
        for name in said.split(word).filter(|w| w.starts_with("windlass_")) {
            assert!(known(name), "{file}.json asks for {name}");
            looked_at += 1;
        }
    }
    assert!(looked_at > 30, "{looked_at}");
    let alerts = fs::read_to_string(format!("{folder}/prometheus/alerts.yml")).unwrap();
    let exprs = alerts
        .lines()
        .filter_map(|l| l.trim().strip_prefix("expr: "));
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let names = exprs.flat_map(|e| e.split(word));
    for name in names.filter(|w| w.starts_with("windlass_") && !w.ends_with('_')) {
        assert!(known(name), "alerts.yml asks for {name}");
    }
    if has_promtool() {
        let mut promtool = Command::new("promtool");
        promtool.args(["test", "rules"]);
        let output = promtool
            .arg(format!("{folder}/prometheus/alerts_test.yml"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}");
    }
}

/// How long requests through the box take, sorted.
fn request_times(lab: &Lab, port: u16) -> Vec<Duration> {
    let serve = move || {
        let listener = TcpListener::bind(("10.77.0.1", port)).unwrap();
        let mut stream = listener.accept().unwrap().0;
        stream.set_nodelay(true).unwrap();
        let mut bytes = [0; 64];
        while stream.read_exact(&mut bytes).is_ok() {
            stream.write_all(&bytes).unwrap();
        }
    };
    let ask = move || {
        let deadline = Instant::now() + Duration::from_secs(5);
        let mut stream = loop {
            match TcpStream::connect(("10.77.0.1", port)) {
                Ok(stream) => break stream,
                Err(e) => assert!(Instant::now() < deadline, "{e}"),
            }
        };
        stream.set_nodelay(true).unwrap();
        let once = |_| {
            thread::sleep(Duration::from_millis(2));
            let start = Instant::now();
            let mut bytes = [7; 64];
            stream.write_all(&bytes).unwrap();
            stream.read_exact(&mut bytes).unwrap();
            start.elapsed()
        };
        (0..REQUESTS).map(once).collect::<Vec<_>>()
    };
    let server = lab.spawn("a", serve);
    let mut times = lab.spawn("b", ask).join().unwrap();
    server.join().unwrap();
    times.sort_unstable();
    times
}

#[test]
fn packets_do_not_wait_for_scrapers() {
    let Some(lab) = lab() else { return };
    let daemon = start(&lab, ADDRESS);
    let alone = request_times(&lab, 8020);
    let done = Arc::new(AtomicBool::new(false));
    let until = Arc::clone(&done);
    let scraper = lab.spawn("m", move || {
        let mut count = 0;
        while !until.load(Ordering::Acquire) {
            get(TcpStream::connect(ADDRESS).unwrap(), PLAIN);
            count += 1;
            thread::sleep(Duration::from_millis(10));
        }
        count
    });
    let scraped = request_times(&lab, 8021);
    done.store(true, Ordering::Release);
    let count = scraper.join().unwrap();
    assert!(count > 10, "{count} scrapes");
    let p99 = |times: &[Duration]| times[times.len() * 99 / 100];
    let (alone, scraped) = (p99(&alone), p99(&scraped));
    eprintln!("p99 of a request: {alone:?} alone, {scraped:?} with {count} scrapes");
    assert!(
        scraped < SLOWEST.max(3 * alone),
        "{scraped:?} beside {alone:?}"
    );
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}
