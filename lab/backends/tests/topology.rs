//! The lab without Windlass: needs root and the programs that the demo needs.

use std::time::Duration;

use windlass_experiment::setup::server_address;
use windlass_lab::client::download;
use windlass_lab::command::{OF_DEMO, check_host};
use windlass_lab::emulator::{Emulator, Ends, Path};
use windlass_lab::leftovers::{lab_folder, lab_name};
use windlass_lab::netns;
use windlass_lab::payload;
use windlass_lab::sample::{Sampler, check_algorithm};
use windlass_lab::server::{PORT, Server};
use windlass_lab::topology::{Shape, Topology};

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
    if let Err(reason) = check_host(&OF_DEMO) {
        println!("skipped: {reason}");
        return;
    }
    let name = lab_name();
    let folder = lab_folder(&name).expect("a folder");
    let hash = payload::write(&folder.path().join("file"), BYTES, 7).expect("written");
    let topology = Topology::create(&name, Shape::LINE).expect("four namespaces");
    let ours = || {
        netns::names()
            .into_iter()
            .filter(|n| n.starts_with(&name))
            .count()
    };
    assert_eq!(ours(), 4);
    topology.set_sysctls().expect("settings that hold");
    let server = Server::start(
        &topology.servers[0],
        server_address(0),
        folder.path(),
        folder.path(),
    );
    let server = server.expect("nginx");
    topology.set_congestion_control("cubic").expect("cubic");
    assert!(topology.set_congestion_control("no_such").is_err());

    let link = Ends::open(&topology).and_then(|ends| Emulator::start(ends, &PATH.setup(1)));
    let link = link.expect("a link");
    let sampler = Sampler::start(&topology.servers[0], PORT).expect("a sampler");
    let target = folder.path().join("got");
    let url = format!("http://{}/file", server_address(0));
    let done = download(&topology.clients[0], &url, &target, 20, |_| {}).expect("a download");
    let samples = sampler.stop().expect("samples");
    let (record, _) = link.stop().expect("a link");
    record.check().expect("an undisturbed link");

    assert_eq!((done.http_code, done.bytes), (200, BYTES));
    assert_eq!(payload::hash(&target).expect("a hash"), hash);
    check_algorithm(&samples, "cubic").expect("the one that was set");
    assert!(check_algorithm(&samples, "bbr").is_err());
    // Two round trips for handshake and request, and 200 kB and headers at 20 Mbit/s.
    let least = 2.0 * 0.020 + BYTES as f64 * 8.0 / 20e6;
    assert!(done.seconds > least, "{} s", done.seconds);
    assert!(
        done.seconds < 2.5 * least,
        "{} s, {least} s demanded",
        done.seconds
    );
    let down = record.down[0];
    assert!(
        down.offered_packets >= BYTES / 1448 && down.lost_packets == 0,
        "{down:?}"
    );
    let delivered: u64 = record.bins.iter().map(|b| b.delivered_bytes).sum();
    assert!(delivered > BYTES, "{delivered} bytes delivered");
    println!(
        "lateness: {} µs median, {} µs worst",
        record.lateness(0.5),
        record.lateness(1.0)
    );

    drop((server, topology));
    assert_eq!(ours(), 0, "{:?}", netns::names());
    std::thread::sleep(Duration::from_millis(50));
    let pids = std::process::Command::new("pgrep")
        .args(["-f", &name])
        .output();
    assert!(pids.is_ok_and(|p| p.stdout.is_empty()), "a process is left");
}
