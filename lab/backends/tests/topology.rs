//! The lab without Windlass: needs root.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use windlass_experiment::setup::server_address;
use windlass_lab::cleanup::lab_name;
use windlass_lab::command::{IP, check_host};
use windlass_lab::emulator::{Emulator, Ends, Path};
use windlass_lab::netns;
use windlass_lab::topology::{Shape, Topology};

const PORT: u16 = 80;
const BYTES: u64 = 200_000;
const PATH: Path = Path {
    rate_bits_per_s: 20_000_000,
    rtt: 20_000_000,
    loss_ratio: 0.0,
    ack_loss_ratio: 0.0,
    queue_bdp: 1.0,
};

#[test]
fn a_download_takes_what_the_link_demands_and_leaves_nothing() {
    if let Err(reason) = check_host(&[IP]) {
        println!("skipped: {reason}");
        return;
    }
    let name = lab_name();
    let topology = Topology::create(&name, Shape::LINE).expect("four namespaces");
    let ours = || {
        netns::names()
            .into_iter()
            .filter(|n| n.starts_with(&name))
            .count()
    };
    assert_eq!(ours(), 4);
    topology.set_sysctls().expect("settings that hold");
    topology.set_congestion_control("cubic").expect("cubic");
    assert!(topology.set_congestion_control("no_such").is_err());

    let link = Ends::open(&topology).and_then(|ends| Emulator::start(ends, &PATH.setup(1)));
    let link = link.expect("a link");
    let content: Vec<u8> = (0..BYTES).map(|at| (at % 251) as u8).collect();
    let (got, seconds) = download(&topology, &content);
    let (record, _) = link.stop().expect("a link");
    record.check().expect("an undisturbed link");

    assert_eq!(got, content);
    // Two round trips for handshake and request, and 200 kB at 20 Mbit/s.
    let least = 2.0 * 0.020 + BYTES as f64 * 8.0 / 20e6;
    assert!(seconds > least, "{} s", seconds);
    assert!(seconds < 2.5 * least, "{} s, {least} s demanded", seconds);
    let down = record.down[0];
    assert!(
        down.offered_packets >= BYTES / 1448 && down.lost_packets == 0,
        "{down:?}"
    );
    println!(
        "lateness: {} µs median, {} µs worst",
        record.lateness(0.5),
        record.lateness(1.0)
    );

    drop(topology);
    assert_eq!(ours(), 0, "{:?}", netns::names());
    std::thread::sleep(Duration::from_millis(50));
    let pids = std::process::Command::new("pgrep")
        .args(["-f", &name])
        .output();
    assert!(pids.is_ok_and(|p| p.stdout.is_empty()), "a process is left");
}

/// What a client gets of a server that sends this when it is asked, and how long that takes, s.
fn download(topology: &Topology, content: &[u8]) -> (Vec<u8>, f64) {
    let address = SocketAddr::from((server_address(0), PORT));
    let server = &topology.servers[0];
    let listener = server.inside(|| Ok(TcpListener::bind(address)?));
    let listener = listener.expect("a listener");
    thread::scope(|scope| {
        scope.spawn(move || {
            let (mut connection, _) = listener.accept().expect("a client");
            let mut request = [0; 4];
            connection.read_exact(&mut request).expect("a request");
            connection.write_all(content).expect("sent");
        });
        let began = Instant::now();
        let client = &topology.clients[0];
        let connection = client.inside(|| Ok(TcpStream::connect(address)?));
        let mut connection = connection.expect("a connection");
        let _ = connection.set_read_timeout(Some(Duration::from_secs(20)));
        connection.write_all(b"file").expect("asked");
        let mut got = Vec::new();
        connection.read_to_end(&mut got).expect("all of it");
        (got, began.elapsed().as_secs_f64())
    })
}
