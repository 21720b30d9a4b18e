//! The base tables, with the overrides of one run in their places, become its setup.

use std::path::Path;

use toml::de::DeTable;
use windlass_cc::{AlgorithmId, Catalog};
use windlass_policy::Wrong;
use windlass_policy::read::{Section, Value};

use super::recording::Recordings;
use super::{algorithm, flows, link, path_box, run, stalls};
use crate::setup::{Host, MAX_HOSTS, Mtu, Pair, Record, Setup};

/// What Debian's kernel has, by their Linux names.
const OF_LINUX: [&str; 16] = [
    "reno",
    "cubic",
    "bbr",
    "bic",
    "cdg",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];
/// Only they have an algorithm of Windlass.
const SERVER: &str = "[server]";
const BOTTLENECKS_MAX: u64 = 16;
const EXTRA_RTT_MAX_MS: f64 = 10_000.0;
const INTERVAL_MAX_MS: u64 = 3_600_000;

/// Seconds as nanoseconds.
pub(super) fn seconds(s: f64) -> u64 {
    (s * 1e9).round() as u64
}

/// Milliseconds as nanoseconds.
pub(super) fn millis(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

/// The shortest and the longest of lengths in ms, as `example` has them, in ns.
pub(super) fn lengths_ns(
    value: Value<'_>,
    example: &str,
    max_ms: f64,
) -> Result<(u64, u64), Wrong> {
    let span = value.span();
    let wrong = |what| Wrong::new(span.clone(), what, format!("write for example {example}"));
    let ends = value.list(example)?;
    let [least, most] = &ends[..] else {
        return Err(wrong(
            "this takes two lengths: the shortest and the longest",
        ));
    };
    let read = |value: &Value<'_>| value.number(0.0..=max_ms, "ms").map(millis);
    let (least, most) = (read(least)?, read(most)?);
    match least <= most {
        true => Ok((least, most)),
        false => Err(wrong("the shortest is longer than the longest")),
    }
}

/// Reads all of them. The seed is the caller's to set.
pub(super) fn read(table: DeTable<'_>, folder: &Path, catalog: &Catalog) -> Result<Setup, Wrong> {
    let mut file = Section::new("the file", table);
    let topology = Topology::read(file.take("topology"))?;
    let mut recordings = Recordings::new(folder);
    let bottleneck = file.need("link", "{ rate_mbit = 50, rtt_ms = 100 }")?;
    let bottleneck = link::read(bottleneck, "[link]", topology.mtu, &mut recordings)?;
    let server_link = file.take("server_link");
    let server_link = server_link
        .map(|value| link::read_steady(value, "[server_link]", topology.mtu, &mut recordings));
    let server = host(file.take("server"), SERVER, catalog)?;
    let client = host(file.take("client"), "[client]", catalog)?;
    let groups = flows::read(
        file.need("flows", "[{ mb = 10 }]")?,
        topology.pairs.len() as u64,
        catalog,
    )?;
    let stalls = file.take("stalls").map(stalls::read);
    let cross = file.take("cross_traffic");
    let cross_traffic = cross.map(|v| flows::cross_traffic(v, topology.bottlenecks as u64));
    let probes = file.take("probe");
    let probes = probes.map(|v| flows::probes(v, topology.pairs.len() as u64));
    let between = path_box::read(file.take("box"), &groups, &topology.pairs, catalog)?;
    let record = record(file.take("record"))?;
    let run = run::read(file.take("run"), record)?;
    file.finish()?;
    Ok(Setup {
        seed: 0,
        limit_ns: run.limit_ns,
        fixed_length: run.fixed_length,
        measure: run.measure,
        simulated: run.simulated,
        mtu: topology.mtu,
        servers: vec![server; topology.servers],
        clients: vec![client; topology.clients],
        bottlenecks: vec![bottleneck; topology.bottlenecks],
        server_link: server_link.transpose()?,
        recordings: recordings.all,
        pairs: topology.pairs,
        path_box: between.path_box,
        box_algorithm: between.algorithm,
        box_stalls: stalls.transpose()?,
        both_ends: between.both_ends,
        flows: groups.into_iter().map(|g| g.group).collect(),
        cross_traffic: cross_traffic.unwrap_or(Ok(Vec::new()))?,
        probes: probes.unwrap_or(Ok(Vec::new()))?,
        record,
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Line,
    Dumbbell,
    ParkingLot,
    ManyToOne,
    Switch,
    OnRamps,
}

const KINDS: [(&str, Kind); 6] = [
    ("line", Kind::Line),
    ("dumbbell", Kind::Dumbbell),
    ("parking-lot", Kind::ParkingLot),
    ("many-to-one", Kind::ManyToOne),
    ("switch", Kind::Switch),
    ("on-ramps", Kind::OnRamps),
];

struct Topology {
    mtu: Mtu,
    servers: usize,
    clients: usize,
    bottlenecks: usize,
    pairs: Vec<Pair>,
}

impl Topology {
    fn read(value: Option<Value<'_>>) -> Result<Topology, Wrong> {
        let mut section = match value {
            Some(value) => value.section("[topology]")?,
            None => Section::new("[topology]", DeTable::new()),
        };
        let kind = match section.take("kind") {
            Some(value) => value.word(&KINDS)?,
            None => Kind::Line,
        };
        let hosts = MAX_HOSTS as u64;
        let mut count = |key: &'static str, wanted: Kind, max: u64| {
            let Some(value) = section.take(key) else {
                return Ok(2);
            };
            let count = value.integer(1..=max, key)?;
            if kind != wanted {
                let words = KINDS.iter().find(|(_, k)| *k == wanted);
                let what = format!("{key} is for another kind of topology");
                let help = format!(
                    "leave it out, or write kind = \"{}\"",
                    words.map_or("", |w| w.0)
                );
                return Err(Wrong::new(value.span(), what, help));
            }
            Ok(count)
        };
        let pairs = count("pairs", Kind::Dumbbell, hosts)? as usize;
        let bottlenecks = count("bottlenecks", Kind::ParkingLot, BOTTLENECKS_MAX)? as usize;
        let senders = count("senders", Kind::ManyToOne, hosts)? as usize;
        let ramps = count("ramps", Kind::OnRamps, BOTTLENECKS_MAX)? as usize;
        let ports = count("ports", Kind::Switch, hosts)? as usize;
        let strides = section.take("strides");
        if let Some(value) = strides.as_ref().filter(|_| kind != Kind::Switch) {
            let what = "strides are for another kind of topology";
            let help = "leave them out, or write kind = \"switch\"";
            return Err(Wrong::new(value.span(), what, help));
        }
        let mut topology = match kind {
            Kind::Line => Topology::new(1, 1, 1),
            Kind::Dumbbell => Topology::new(pairs, pairs, 1),
            Kind::ParkingLot => Topology::new(bottlenecks + 1, bottlenecks + 1, bottlenecks),
            Kind::ManyToOne => Topology::new(senders, 1, 1),
            Kind::OnRamps => Topology::on_ramps(ramps),
            Kind::Switch => Topology::switch(ports, strides)?,
        };
        if let Some(value) = section.take("mtu") {
            topology.mtu = Mtu::nearest(value.integer(Mtu::RANGE, "bytes")?);
        }
        if let Some(value) = section.take("extra_rtt_ms") {
            topology.delay(value)?;
        }
        section.finish()?;
        Ok(topology)
    }

    /// A pair for each server. The first one crosses all bottlenecks, and so do the others if
    /// there is one only; with more, the second pair crosses the first one, and so on.
    fn new(servers: usize, clients: usize, bottlenecks: usize) -> Topology {
        let pair = |server: usize| Pair {
            server,
            client: server.min(clients - 1),
            route: match (server, bottlenecks) {
                (0, _) | (_, 1) => (0..bottlenecks).collect(),
                _ => vec![server - 1],
            },
            extra_delay_ns: 0,
        };
        Topology {
            mtu: Mtu::default(),
            servers,
            clients,
            bottlenecks,
            pairs: (0..servers).map(pair).collect(),
        }
    }

    /// Bottlenecks in a row; a pair enters before each of them, and all leave behind the last.
    fn on_ramps(ramps: usize) -> Topology {
        let mut topology = Topology::new(ramps, ramps, ramps);
        for (index, pair) in topology.pairs.iter_mut().enumerate() {
            pair.route = (index..ramps).collect();
        }
        topology
    }

    /// As many servers as clients, which stand for the sending and the receiving side of the same
    /// hosts; a bottleneck before each client. For each stride, each host has a pair with the host
    /// so many further on.
    fn switch(ports: usize, strides: Option<Value<'_>>) -> Result<Topology, Wrong> {
        let strides: Vec<usize> = match strides {
            None => vec![1],
            Some(value) => {
                let stride = |value: &Value<'_>| value.integer(1..=ports as u64, "ports");
                let values = value.list("[1, 2]")?;
                let all: Result<Vec<u64>, Wrong> = values.iter().map(stride).collect();
                all?.into_iter().map(|s| s as usize).collect()
            }
        };
        let pair = |server: usize, stride: usize| {
            let client = (server + stride) % ports;
            Pair {
                server,
                client,
                route: vec![client],
                extra_delay_ns: 0,
            }
        };
        let pairs = strides.iter();
        Ok(Topology {
            pairs: pairs
                .flat_map(|s| (0..ports).map(move |i| pair(i, *s)))
                .collect(),
            ..Topology::new(ports, ports, ports)
        })
    }

    fn delay(&mut self, value: Value<'_>) -> Result<(), Wrong> {
        let span = value.span();
        let delays = value.list("[0, 20]")?;
        if delays.len() != self.pairs.len() {
            let what = format!("extra_rtt_ms has {} values", delays.len());
            let help = format!("give it one for each of the {} pairs", self.pairs.len());
            return Err(Wrong::new(span, what, help));
        }
        for (pair, value) in self.pairs.iter_mut().zip(delays) {
            pair.extra_delay_ns = millis(value.number(0.0..=EXTRA_RTT_MAX_MS, "ms")?) / 2;
        }
        Ok(())
    }
}

/// Reads a congestion control: one of Linux, or one of Windlass's own, which the simulator's
/// servers have too. Whether the back end has it is for that to say.
pub(super) fn congestion_control(value: &Value<'_>, catalog: &Catalog) -> Result<String, Wrong> {
    let ours = catalog.algorithms().into_iter().map(AlgorithmId::name);
    let ours = ours.filter(|name| !OF_LINUX.contains(name));
    let known: Vec<_> = OF_LINUX.into_iter().chain(ours).map(|n| (n, n)).collect();
    value.word(&known).map(str::to_owned)
}

fn host(value: Option<Value<'_>>, title: &'static str, catalog: &Catalog) -> Result<Host, Wrong> {
    let mut host = Host::linux("cubic");
    let Some(value) = value else {
        return Ok(host);
    };
    let mut section = value.section(title)?;
    if let Some(value) = section.take("congestion_control") {
        host.congestion_control = congestion_control(&value, catalog)?;
    }
    if title == SERVER
        && let Some(value) = section.take("algorithm")
    {
        host.algorithm = Some(algorithm::read(value, catalog)?);
    }
    for (key, place) in [
        ("sack", &mut host.sack),
        ("timestamps", &mut host.timestamps),
        ("window_scaling", &mut host.window_scaling),
        ("ecn", &mut host.ecn),
    ] {
        if let Some(value) = section.take(key) {
            *place = value.boolean()?;
        }
    }
    if let Some(value) = section.take("receive_buffer_kb") {
        host.receive_buffer_bytes = value.integer(4..=1_000_000, "kB")? * 1000;
    }
    section.finish()?;
    Ok(host)
}

fn record(value: Option<Value<'_>>) -> Result<Record, Wrong> {
    let mut record = Record::default();
    let Some(value) = value else {
        return Ok(record);
    };
    let mut section = value.section("[record]")?;
    for (key, place) in [
        ("series_ms", &mut record.series_interval_ns),
        ("usage_ms", &mut record.usage_interval_ns),
    ] {
        if let Some(value) = section.take(key) {
            *place = value.integer(0..=INTERVAL_MAX_MS, "ms (0: not at all)")? * 1_000_000;
        }
    }
    section.finish()?;
    Ok(record)
}
