//! Scrapes of workers that are made up.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use windlass_cc::Catalog;

use windlass_policy::MetricsListen;

use super::*;
use crate::metrics::{self, Format, Listener};

/// A server for the fake, at a port that is free.
fn serve(fake: &Fake) -> (metrics::Server, SocketAddr) {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let listener = Listener::bind(&MetricsListen::Tcp(address)).unwrap();
    let server = metrics::Server::start(listener, Arc::clone(&fake.handler)).unwrap();
    (server, address)
}

fn scrape(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(3)))
        .unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: w\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn both_formats_have_every_figure_of_the_table() {
    let fake = Fake::start(false);
    let figures = metrics::collect(&fake.handler);
    let plain = metrics::write(&figures, Format::Prometheus).unwrap();
    let open = metrics::write(&figures, Format::OpenMetrics).unwrap();
    for line in [
        "windlass_engine_packets_total 10",
        "windlass_engine_passed_total{reason=\"no_syn\"} 0",
        "windlass_driver_rx_bytes_total{side=\"inside\"} 0",
        "windlass_xdp_taken_total 7",
        "windlass_connections 6",
        "windlass_held_bytes 20",
        "windlass_workers_answer 1",
        "windlass_engine_rtt_seconds_bucket{le=\"0.0001\"} 0",
        "windlass_worker_batch_time_seconds_count 0",
    ] {
        for text in [&plain, &open] {
            assert!(text.lines().any(|l| l == line), "{line} in:\n{text}");
        }
    }
    assert!(open.ends_with("# EOF\n") && !plain.contains("# EOF"));
    assert!(plain.contains("# TYPE windlass_engine_packets_total counter\n"));
    assert!(
        open.contains("# UNIT windlass_held_bytes bytes\n"),
        "{open}"
    );
    assert!(plain.contains("windlass_build_info{version="), "{plain}");
    let table = metrics::table();
    let types = plain.lines().filter_map(|l| l.strip_prefix("# TYPE "));
    let names = types
        .filter_map(|l| l.split_once(' '))
        .map(|(name, _)| name);
    let mut count = 0;
    for name in names.filter(|name| *name != "windlass_build_info") {
        assert!(table.contains(&format!("| `{name}` |")), "{name}");
        count += 1;
    }
    assert!(count > 80, "{count}");
}

#[test]
fn the_guard_says_how_each_rule_does() {
    let config = Config::parse(
        "version = 1\n[guard]\n[[rule]]\nname = \"all\"\n",
        "w.toml",
        &Catalog::new(),
    );
    let fake = Fake::with(false, config.unwrap().policy());
    let figures = metrics::collect(&fake.handler);
    let text = metrics::write(&figures, Format::Prometheus).unwrap();
    for (rule, _) in &figures.guard {
        let line = format!("windlass_guard_withdrawn{{rule=\"{rule}\"}} 0");
        assert!(text.contains(&line), "{line} in:\n{text}");
    }
}

/// A worker that stands still costs a second, and its figures; nothing else.
#[test]
fn a_deaf_worker_is_told_of() {
    let fake = Fake::start(true);
    let figures = metrics::collect(&fake.handler);
    let text = metrics::write(&figures, Format::Prometheus).unwrap();
    assert!(text.contains("windlass_workers_answer 0\n"), "{text}");
    assert!(text.contains("windlass_workers 2\n"), "{text}");
    assert!(!text.contains("windlass_engine_"), "{text}");
}

/// Scrapers that say nothing, or half a request, or take no answer.
#[test]
fn stuck_scrapers_hold_nobody() {
    let fake = Fake::start(false);
    let (server, address) = serve(&fake);
    let stuck: Vec<TcpStream> = (0..32)
        .map(|n| {
            let mut stream = TcpStream::connect(address).unwrap();
            let said: &[u8] = match n % 3 {
                0 => b"",
                1 => b"GET /metrics HT",
                _ => b"GET /metrics HTTP/1.1\r\n\r\n",
            };
            stream.write_all(said).unwrap();
            stream
        })
        .collect();
    for _ in 0..20 {
        let start = Instant::now();
        let answer = scrape(address);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("windlass_engine_packets_total 10\n"));
        assert!(start.elapsed() < Duration::from_secs(1));
    }
    let start = Instant::now();
    drop(server);
    assert!(start.elapsed() < Duration::from_secs(1));
    drop(stuck);
}

#[test]
fn what_cannot_be_listened_on_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let why = |listen: MetricsListen| match Listener::bind(&listen) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{listen} can be listened on"),
    };
    let said = why(MetricsListen::Tcp(address));
    assert!(
        said.contains(&address.to_string()) && said.contains("listen in [metrics]"),
        "{said}"
    );
    let said = why(MetricsListen::Unix("/nowhere/m.sock".to_owned()));
    assert!(said.contains("mkdir -p /nowhere"), "{said}");
}
