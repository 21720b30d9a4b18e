//! `windlass-transfer send` and `windlass-transfer recv` over networks that are made for it: full disks, cut wires,
//! and a long lossy path beside the kernel's own BBR. They need root.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use windlass_experiment::setup::{client_address, server_address};
use windlass_lab::cleanup::lab_name;
use windlass_lab::command::{IP, Needed, check_host};
use windlass_lab::emulator::{Emulator, Ends as Wires, Path as Link};
use windlass_lab::netns::Namespace;
use windlass_lab::topology::{Shape, Topology};

use crate::ends::{Ends, names, stdout_json, write_file};

/// Whether the test can run here; if not, it says why.
fn can_run(needed: &[Needed]) -> bool {
    let checked = check_host(needed);
    if let Err(reason) = &checked {
        println!("skipped: {reason}");
    }
    checked.is_ok()
}

fn inside(namespace: &Namespace) -> Box<dyn Fn(&str) -> Command> {
    let file = namespace.name().to_owned();
    Box::new(move |program| {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &file, program]);
        command
    })
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A file system of so many megabytes, until it is dropped.
struct SmallDisk<'a>(&'a Path);

impl SmallDisk<'_> {
    fn mount(at: &Path, megabytes: u64) -> SmallDisk<'_> {
        let size = format!("size={megabytes}m");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "none"])
            .arg(at)
            .status();
        assert!(mount.unwrap().success());
        SmallDisk(at)
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_is_told_before_anything_is_sent_and_leaves_nothing() {
    if !can_run(&[("mount", "mount")]) {
        return;
    }
    let ends = Ends::here();
    let inbox = ends.inbox();
    let _disk = SmallDisk::mount(&inbox, 8);
    let file = ends.outbox().join("file");
    write_file(&file, 20_000_000);
    let recv = ends.recv(&["--once"]);
    let began = Instant::now();
    let sent = ends.send(&recv, &[file.to_str().unwrap()]);
    assert_eq!(sent.status.code(), Some(1));
    let why = "refuses: cannot reserve room for";
    assert!(said(&sent).contains(why), "{}", said(&sent));
    assert!(said(&sent).contains("No space left on device"));
    assert!(began.elapsed() < Duration::from_secs(5));
    let (code, told) = recv.wait();
    assert_eq!(code, Some(1));
    assert!(told.contains("No space left on device"), "{told}");
    assert!(names(&inbox).is_empty());
    // What fits, arrives.
    let small = ends.outbox().join("small");
    let hash = write_file(&small, 6_000_000);
    let recv = ends.recv(&["--once"]);
    assert!(
        ends.send(&recv, &[small.to_str().unwrap()])
            .status
            .success()
    );
    assert_eq!(ends.hash_of_received("small"), hash);
}

/// The wire is cut in the middle of a transfer: both ends notice within ten seconds and say what is
/// there; when it is whole again, the transfer goes on.
#[test]
fn a_vanished_network_is_told_at_both_ends() {
    const SIZE: u64 = 300_000_000;
    if !can_run(&[IP]) {
        return;
    }
    let name = lab_name();
    let (a, b) = (format!("{name}-a"), format!("{name}-b"));
    let wire = format!("link add a0 netns {a} type veth peer name b0 netns {b}\n");
    let hosts = Namespace::create_all([a, b], &wire).unwrap();
    for (host, interface, address) in [
        (&hosts[0], "a0", "10.78.0.1"),
        (&hosts[1], "b0", "10.78.0.2"),
    ] {
        host.ip(&format!("addr add {address}/24 dev {interface}"))
            .unwrap();
        host.ip(&format!("link set {interface} up")).unwrap();
    }
    let ends = Ends::at("10.78.0.2:0", inside(&hosts[0]), inside(&hosts[1]));
    let file = ends.outbox().join("file");
    let hash = write_file(&file, SIZE);
    let recv = ends.recv(&["--once"]);
    let sender = ends.start_send(&recv, &[file.to_str().unwrap()]);
    ends.wait_for_part(10_000_000);
    hosts[1].ip("link set b0 down").unwrap();
    let cut = Instant::now();
    let sent = sender.wait_with_output().unwrap();
    let (code, told) = recv.wait();
    assert!(
        cut.elapsed() < Duration::from_secs(20),
        "{:?}",
        cut.elapsed()
    );
    assert_eq!((sent.status.code(), code), (Some(1), Some(1)));
    assert!(
        said(&sent).contains("nothing was heard for 10 s"),
        "{}",
        said(&sent)
    );
    assert!(said(&sent).contains(&format!("of {SIZE} bytes have arrived")));
    assert!(
        told.contains("sending the file again goes on there"),
        "{told}"
    );
    assert_eq!(names(&ends.inbox()), [".file.windlass-part"]);

    hosts[1].ip("link set b0 up").unwrap();
    let recv = ends.recv(&["--once"]);
    let sent = ends.send(&recv, &[file.to_str().unwrap(), "-j"]);
    assert!(sent.status.success(), "{}", said(&sent));
    assert!(stdout_json(&sent)["resumed_from"].as_u64() >= Some(10_000_000));
    assert_eq!(ends.hash_of_received("file"), hash);
}

/// At 50 Mbit/s, 100 ms and 1 % loss, the whole command with BBR beside a download from a kernel
/// that has BBR: the same path, the same share of lost packets, the best of three to eight. (What
/// else runs on the machine holds up a process more than the kernel.)
#[test]
fn bbr_is_as_fast_as_the_kernels_on_a_long_lossy_path() {
    const SIZE: u64 = 20_000_000;
    if !can_run(&[IP]) {
        return;
    }
    let link = Link {
        rate_bits_per_s: 50_000_000,
        rtt: 100_000_000,
        loss_ratio: 0.01,
        ack_loss_ratio: 0.0,
        queue_bdp: 1.0,
    };
    let name = lab_name();
    let topology = Topology::create(&name, Shape::LINE).unwrap();
    topology.set_sysctls().unwrap();
    if let Err(reason) = topology.set_congestion_control("bbr") {
        println!("skipped: {reason}");
        return;
    }
    let (server, client) = (&topology.servers[0], &topology.clients[0]);
    let listen = format!("{}:4433", client_address(0));
    let ends = Ends::alone_at(&listen, inside(server), inside(client));
    let file = ends.outbox().join("file");
    let hash = write_file(&file, SIZE);
    let content = std::fs::read(&file).unwrap();
    let (mut kernel, mut ours) = (f64::INFINITY, f64::INFINITY);
    for seed in 1..=8 {
        let emulate =
            || Emulator::start(Wires::open(&topology).unwrap(), &link.setup(seed)).unwrap();
        let running = emulate();
        let seconds = download(server, client, &content);
        running.stop().unwrap().0.check().unwrap();

        let running = emulate();
        let recv = ends.recv(&["--once", "--overwrite"]);
        let began = Instant::now();
        let sent = ends.send(&recv, &[file.to_str().unwrap(), "--algorithm", "bbr", "-j"]);
        let took = began.elapsed().as_secs_f64();
        running.stop().unwrap().0.check().unwrap();
        assert!(sent.status.success(), "{}", said(&sent));
        assert_eq!(recv.wait().0, Some(0));
        assert_eq!(ends.hash_of_received("file"), hash);
        println!("the kernel's BBR {:.2} s, ours {took:.2} s", seconds);
        (kernel, ours) = (kernel.min(seconds), ours.min(took));
        if seed >= 3 && ours < 1.15 * kernel {
            break;
        }
    }
    assert!(
        ours < 1.15 * kernel,
        "{ours} s, the kernel's BBR takes {kernel} s"
    );
}

/// How long a client takes to get this from a server that sends it when it is asked, s.
fn download(server: &Namespace, client: &Namespace, content: &[u8]) -> f64 {
    let address = SocketAddr::from((server_address(0), 80));
    let listener = server.inside(|| Ok(TcpListener::bind(address)?)).unwrap();
    thread::scope(|scope| {
        scope.spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            connection.read_exact(&mut [0; 4]).unwrap();
            connection.write_all(content).unwrap();
        });
        let began = Instant::now();
        let connection = client.inside(|| Ok(TcpStream::connect(address)?));
        let mut connection = connection.unwrap();
        let patience = Some(Duration::from_secs(60));
        connection.set_read_timeout(patience).unwrap();
        connection.write_all(b"file").unwrap();
        let mut got = Vec::new();
        connection.read_to_end(&mut got).unwrap();
        assert!(got == content, "{} bytes", got.len());
        began.elapsed().as_secs_f64()
    })
}
