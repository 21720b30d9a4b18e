//! Real applications over a path that damages packets: HTTPS downloads with curl from OpenSSL's server, on the bare wire and through
//! Windlass with redundancy and without, in turns. No byte is wrong, and the box is not slower than the wire.
//!
//! Needs root, curl and openssl. `WINDLASS_BIN` names the program (otherwise the one of the same build), `WINDLASS_DOWNLOADS` how many
//! downloads each contestant has.

#[path = "../inline/daemon.rs"]
mod daemon;
mod https;
#[path = "../inline/lab.rs"]
mod lab;
#[path = "../program/mod.rs"]
mod program;

use std::time::Duration;

use nix::sys::signal::Signal;
use windlass_experiment::Setup;
use windlass_experiment::setup::{Bottleneck, Direction};
use windlass_lab::command::{IP, check_host};
use windlass_lab::emulator::{Emulator, Ends, Record};
use windlass_lab::netns::Namespace;

use daemon::Daemon;
use https::{CURL, OPENSSL, Site};
use lab::Lab;

const BYTES: usize = 8_000_000;
/// Downloads of each contestant when nobody says otherwise.
const DOWNLOADS: u64 = 3;
/// For both ends to close, lost FINs included.
const CLOSE: Duration = Duration::from_millis(500);
/// Median time of a download through the box, by that on the wire.
const BAR: f64 = 1.05;

#[test]
fn a_download_by_https_is_whole_and_no_slower_behind_the_box() {
    if let Err(reason) = check_host(&[IP, CURL, OPENSSL]) {
        println!("skipped: {reason}");
        return;
    }
    let mut contestants = [
        Contestant::new("wire", None),
        Contestant::new("off", Some("off")),
        Contestant::new("early", Some("early")),
    ];
    for seed in 1..=downloads() {
        for contestant in &mut contestants {
            contestant.download(seed);
        }
    }
    let medians = contestants.each_mut().map(Contestant::finish);
    let [wire, boxed @ ..] = medians;
    for median in boxed {
        assert!(median <= BAR * wire, "{medians:?}");
    }
}

fn downloads() -> u64 {
    match std::env::var("WINDLASS_DOWNLOADS") {
        Ok(text) => text.parse().expect("WINDLASS_DOWNLOADS is not a number"),
        Err(_) => DOWNLOADS,
    }
}

/// 50 Mbit/s, 20 ms there and back, and a bit flipped in 3 of 1,000 packets of either direction.
fn path(seed: u64) -> Setup {
    let direction = Direction {
        rate_bits_per_s: 50_000_000,
        delay_ns: 10_000_000,
        damage_ratio: 0.003,
        queue_bytes: 151_400,
        ..Direction::default()
    };
    let bottleneck = Bottleneck {
        down: direction,
        up: direction,
        ..Bottleneck::default()
    };
    Setup {
        seed,
        ..Setup::line(bottleneck, Vec::new())
    }
}

/// Namespaces, a server and a client, and a box or none.
struct Contestant {
    name: &'static str,
    daemon: Option<Daemon>,
    site: Site,
    lab: Lab,
    ends: Option<Ends>,
    damaged: u64,
    seconds: Vec<f64>,
}

impl Contestant {
    /// `redundancy`: that of the box; without, the bridge stays alone.
    fn new(name: &'static str, redundancy: Option<&str>) -> Contestant {
        let lab = Lab::create().expect("namespaces");
        let rule = |r: &str| format!("[[rule]]\nredundancy = \"{r}\"\n");
        Contestant {
            name,
            daemon: redundancy.map(|r| Daemon::start(&lab, &rule(r))),
            site: Site::open(&lab, BYTES),
            ends: Some(Ends::open(&lab.topology).expect("interfaces")),
            lab,
            damaged: 0,
            seconds: Vec::new(),
        }
    }

    /// One download. The seed decides which packets are damaged, by their number: it is the same for all contestants.
    fn download(&mut self, seed: u64) {
        let setup = path(seed);
        let ends = self.ends.take().expect("interfaces");
        let link = Emulator::start(ends, &setup).expect("a link");
        let got = self.site.download(&self.lab);
        // The connection ends in order before its path does.
        std::thread::sleep(CLOSE);
        let (record, ends) = link.stop().expect("a link");
        self.ends = Some(ends);
        let seconds = got.unwrap_or_else(|e| {
            let daemon = self.daemon.as_ref();
            let counters = daemon.map(|d| d.counters().to_string());
            panic!("{}, seed {seed}: {e:#}\n{counters:#?}", self.name)
        });
        self.note(seed, seconds, &record);
    }

    fn note(&mut self, seed: u64, seconds: f64, record: &Record) {
        let (down, up) = (record.down[0], record.up[0]);
        println!(
            "{}, seed {seed}: {seconds:.3} s, {} + {} of {} + {} packets damaged, {} dropped",
            self.name,
            down.damaged_packets,
            up.damaged_packets,
            down.offered_packets,
            up.offered_packets,
            down.dropped_packets
        );
        if record.mishaps > 0 {
            // A busy machine loses frames before they reach the model: loss like any other to the hosts.
            println!("{} frames lost beside the link's model", record.mishaps);
        }
        self.damaged += down.damaged_packets;
        self.seconds.push(seconds);
    }

    /// The median of its times, after a look at what kernel and box say of the damage.
    fn finish(&mut self) -> f64 {
        let refused = refused(&self.lab.topology.clients[0]);
        println!(
            "{}: {} packets damaged toward the client, whose kernel refused {refused}",
            self.name, self.damaged
        );
        // A checksum that somebody completed behind the link would hide the damage. Few bits are such that nobody minds.
        assert!(
            self.damaged > 0 && refused >= self.damaged * 9 / 10,
            "{refused}"
        );
        if let Some(daemon) = &mut self.daemon {
            let counters = daemon.counters();
            let engine = |name: &str| counters["engine"][name].as_u64().expect("a counter");
            println!("{}: counters: {counters}", self.name);
            assert_eq!(engine("flows_governed"), self.seconds.len() as u64);
            daemon.end(Signal::SIGTERM);
        }
        self.seconds.sort_by(f64::total_cmp);
        let median = self.seconds[self.seconds.len() / 2];
        println!("{}: median {median:.3} s", self.name);
        median
    }
}

/// Packets that the kernel of a host found damaged: headers of IP, and segments of TCP.
fn refused(host: &Namespace) -> u64 {
    let text = host.inside(|| Ok(std::fs::read_to_string("/proc/thread-self/net/snmp")?));
    let text = text.expect("the kernel's counters");
    let count = |protocol: &str, name: &str| {
        let mut lines = text.lines().filter(|line| line.starts_with(protocol));
        let (names, values) = (lines.next()?, lines.next()?);
        let at = names.split_whitespace().position(|n| n == name)?;
        values.split_whitespace().nth(at)?.parse::<u64>().ok()
    };
    [
        ("Ip:", "InHdrErrors"),
        ("Ip:", "InAddrErrors"),
        ("Ip:", "InUnknownProtos"),
        ("Tcp:", "InCsumErrors"),
    ]
    .into_iter()
    .map(|(protocol, name)| count(protocol, name).unwrap_or_else(|| panic!("no {name}: {text}")))
    .sum()
}
