//! The bridge goes on when the box ends, is killed, or stands still.

use std::io::BufRead;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use windlass_io::{DriverConfig, Prefer, packet};
use windlass_wire::FrameSpec;

use crate::MIB;
use crate::lab::{Forwarder, Lab, config, enter, exchange, forward_once, kernel_has_af_xdp, open};

#[test]
fn sessions_follow_each_other_at_once_and_flows_go_on() {
    let Some(lab) = Lab::new(1500) else { return };
    let mut flow = None;
    for prefer in [Prefer::Native, Prefer::Generic, Prefer::Native] {
        let small = windlass_io::DriverConfig {
            frames: 256,
            ..config(prefer)
        };
        let Some(box_) = Forwarder::start(&lab, small, 1) else {
            return;
        };
        let (client, server) = flow.get_or_insert_with(|| lab.connect(5000));
        exchange(client, server, MIB);
        // In generic mode the hosts' TSO is on, and most of the data passes in segments.
        assert!(box_.stop().counters.taken > 0);
        exchange(client, server, MIB);
    }
}

#[test]
fn killing_the_process_costs_no_connection() {
    const CHILD: &str = "WINDLASS_IO_TEST_NAMESPACE";
    if let Ok(path) = std::env::var(CHILD) {
        enter(&path).expect("setns");
        let mut session = open(&config(Prefer::Auto)).expect("session");
        let mut drivers = session.drivers();
        println!("\nready");
        loop {
            forward_once(&mut drivers[0], 1);
        }
    }
    let Some(lab) = Lab::new(1500) else { return };
    if !kernel_has_af_xdp() {
        return;
    }
    let name = "fail_open::killing_the_process_costs_no_connection";
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, format!("/run/netns/{}", lab.ns("m")))
        .stdout(Stdio::piped())
        .spawn()
        .expect("spawn");
    let mut lines = std::io::BufReader::new(child.stdout.take().expect("piped")).lines();
    assert!(
        lines.any(|l| l.is_ok_and(|l| l == "ready")),
        "the box starts"
    );

    let attached = || lab.exec("m", &["sh", "-c", "ip link show a1 | grep -q xdp"]);
    assert!(attached());
    let (client, server) = lab.connect(5000);
    exchange(&client, &server, MIB);
    let running = std::thread::scope(|scope| {
        let transfer = scope.spawn(|| exchange(&client, &server, 64 * MIB));
        std::thread::sleep(Duration::from_millis(30));
        child.kill().expect("kill -9");
        child.wait().expect("ended");
        transfer.join()
    });
    assert!(running.is_ok(), "the transfer under way goes on");
    assert!(!attached(), "the link ended with the process");
    exchange(&client, &server, MIB);
    assert!(lab.ping());
    lab.transfer(5001, MIB);
}

/// As after SIGSTOP: nobody reads, and the process is there.
#[test]
fn what_nobody_reads_goes_by_the_bridge() {
    let Some(lab) = Lab::new(1500) else { return };
    let Some(box_) = Forwarder::start(&lab, config(Prefer::Auto), 1) else {
        return;
    };
    lab.transfer(5000, MIB);
    assert_eq!(box_.counters().passed_unread, 0);
    let asleep = Duration::from_secs(3);
    std::thread::scope(|scope| {
        let sleep = scope.spawn(|| box_.order(move |_, _| std::thread::sleep(asleep)));
        std::thread::sleep(Duration::from_millis(50));
        let begin = Instant::now();
        lab.transfer(5001, 4 * MIB);
        let took = begin.elapsed();
        assert!(took < asleep, "{took:?}: it waited for the worker");
        println!("a transfer past a sleeping worker took {took:?}");
        sleep.join().expect("awake");
    });
    let asleep = box_.counters();
    assert!(asleep.passed_unread > (4 * MIB / 1448) as u64, "{asleep:?}");
    lab.transfer(5002, 4 * MIB);
    let after = box_.stop().counters;
    assert!(
        after.taken - asleep.taken > (4 * MIB / 1448) as u64,
        "{after:?}"
    );
    assert_eq!(after.passed_unread, asleep.passed_unread, "taken again");
}

/// The program runs for both ports at once, on two processors, and each of them keeps the time: what
/// the one has written must not look to the other as if nobody had read for ages.
#[test]
fn two_processors_agree_that_somebody_reads() {
    let Some(lab) = Lab::new(1500) else { return };
    let patient = DriverConfig {
        patience_ms: 5_000,
        ..config(Prefer::Auto)
    };
    let Some(box_) = Forwarder::start(&lab, patient, 1) else {
        return;
    };
    let [there, back] = [("a", "a0"), ("b", "b0")].map(|(end, interface)| {
        lab.spawn(end, move || {
            let mut out = packet::Injector::open(interface).expect("an interface");
            let frames = vec![FrameSpec::default().build(); 1];
            let end = Instant::now() + Duration::from_secs(10);
            while Instant::now() < end {
                out.send(&frames).expect("sent");
            }
        })
    });
    there.join().expect("no panic");
    back.join().expect("no panic");
    let counters = box_.stop().counters;
    assert!(counters.taken > 10_000, "{counters:?}");
    assert_eq!(counters.passed_unread, 0, "{counters:?}");
}

/// As after a panic of one worker: its driver is gone, the session with its programs is there.
#[test]
fn a_queue_whose_driver_is_gone_goes_by_the_bridge() {
    let Some(lab) = Lab::new(1500) else { return };
    if !kernel_has_af_xdp() {
        return;
    }
    let (told, begun) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    let session = lab.spawn("m", move || {
        let mut session = open(&config(Prefer::Auto)).expect("session");
        drop(session.drivers());
        told.send(()).expect("somebody waits");
        let _ = ended.recv();
        session.counters().expect("counters")
    });
    begun.recv().expect("opened");
    let attached = || lab.exec("m", &["sh", "-c", "ip link show a1 | grep -q xdp"]);
    assert!(attached());
    let (client, server) = lab.connect(5000);
    exchange(&client, &server, MIB);
    lab.transfer(5001, 4 * MIB);
    assert!(attached());
    drop(end);
    let counters = session.join().expect("no panic");
    assert_eq!(counters.taken, 0, "{counters:?}");
    let passed = counters.passed_no_socket + counters.passed_unread;
    assert!(passed > (4 * MIB / 1448) as u64, "{counters:?}");
}
