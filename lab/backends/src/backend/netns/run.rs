//! One run: the settings, the box, the links, the transfers, and what came of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, ensure};
use tempfile::TempDir;
use windlass_experiment::observed::{FlowObserved, Series, Source};
use windlass_experiment::setup::{Host, PathBox};
use windlass_experiment::{Observed, Setup};

use super::clients::{Clients, Fetched};
use super::hosts;
use super::path_box::{Running, Said};
use super::plan::{Flow, Plan};
use super::quic::Receivers;
use super::servers::{Served, Servers};
use super::sockets::listeners;
use super::usage::{dropped_frames, timeouts};
use windlass_sim::stalls::Stalls;

use crate::backend::box_sample;
use crate::backend::sim::network::stall_config;
use crate::cleanup::{check_interrupted, lab_folder, lab_name};
use crate::emulator::{Emulator, Ends, Record};
use crate::load::Load;
use crate::programs::Programs;
use crate::topology::{Shape, Topology};
use crate::trace;

/// Counter of frames that were lost between the box and the clients though no setup asks for it.
const LOST_FRAMES: &str = "lab_lost_frames";
/// Counter of frames that the box's interfaces have dropped: it was too slow.
const BOX_DROPS: &str = "lab_box_interface_drops";
/// Counter of the processor time that the links take for each packet.
const PACKET_COST: &str = "lab_links_ns_per_packet";

/// The wiring, with what is set on it.
#[derive(Debug)]
pub(super) struct Lab {
    shape: Shape,
    topology: Topology,
    /// What servers and clients are set to.
    hosts: Vec<Option<Host>>,
    /// Between two runs.
    ends: Option<Ends>,
    folder: TempDir,
}

impl Lab {
    /// The wiring for a setup: the one there is, if it fits.
    pub(super) fn for_setup(old: Option<Lab>, setup: &Setup) -> Result<Lab> {
        let shape = Shape {
            servers: setup.servers.len(),
            clients: setup.clients.len(),
            bridged: !matches!(setup.path_box, PathBox::Command { .. }),
            far_box: setup.both_ends,
            server_link: setup.server_link.is_some(),
            mtu: setup.mtu.bytes(),
        };
        if let Some(lab) = old.filter(|lab| lab.shape == shape) {
            return Ok(lab);
        }
        ensure!(
            shape.servers > 0 && shape.clients > 0,
            "a setup needs hosts"
        );
        let name = lab_name();
        Ok(Lab {
            shape,
            folder: lab_folder(&name)?,
            topology: Topology::create(&name, shape)?,
            ends: None,
            hosts: vec![None; shape.servers + shape.clients],
        })
    }

    /// Whether the next setup finds it as it was: a foreign program may leave anything.
    pub(super) fn is_reusable(&self) -> bool {
        self.shape.bridged
    }

    pub(super) fn run(&mut self, setup: &Setup, programs: &Programs) -> Result<Observed> {
        let plan = Arc::new(Plan::new(setup)?);
        self.set_hosts(setup)?;
        let topology = &self.topology;
        let listeners = listeners(topology, setup, &plan)?;
        let names = topology.clients.iter().map(|c| c.name().to_owned());
        let folder = self.folder.path();
        let before = self.counts(&plan)?;
        let mut ends = self.ends.take().map_or_else(|| Ends::open(topology), Ok)?;
        let near = start_near(topology, setup)?;
        let (wires, record) = ((topology, &mut ends), setup.record);
        let mut running = Running::start(wires, &setup.path_box, record, programs, folder)?;
        let receivers = Receivers::start(topology, &plan, programs, folder)?;
        let links = Emulator::start(ends, setup)?;
        let start_ns = links.start_ns();
        if let Some(stalls) = setup.box_stalls {
            running.stall(Stalls::new(stall_config(stalls), setup.seed, start_ns))?;
        }
        let senders = receivers.send(&plan, start_ns);
        let servers = Servers::start(listeners, Arc::clone(&plan), start_ns)?;
        let load = Load::start()?;
        let (fetched, clients) = Clients::fetch_all(&plan, start_ns, names.collect())?;
        let over_quic = senders.finish()?;
        let machine_busy_share = Some(load.busy_share()?);
        check_interrupted()?;
        let served = servers.finish()?;
        running.end_stalls();
        let said = running.ask()?;
        let after = self.counts(&plan)?;
        let mut outcome = Outcome {
            plan: &plan,
            start_ns,
            fetched,
            served: by_flow(served),
            said,
        };
        let flows = outcome.flows(&after.timeouts_since(&before), over_quic.flows);
        // So that none is left for the next run.
        clients.break_connections()?;
        outcome.break_connections();
        let trace = running.stop()?;
        let (record, ends) = stop_links(links, near)?;
        self.ends = Some(ends);
        let counted = counters_of(&record, after.dropped_since(&before));
        outcome.said.counters.extend(counted);
        let mut series = outcome.series(&trace);
        series.extend(over_quic.series);
        Ok(Observed {
            links_late_ms: Some(f64::from(record.lateness(1.0)) / 1e3),
            flows,
            down: record.down,
            up: record.up,
            probes: record.probes,
            counters: outcome.said.counters,
            series,
            machine_busy_share,
            usage: outcome.said.usage,
            error: None,
        })
    }

    /// Sets what differs from the run before.
    fn set_hosts(&mut self, setup: &Setup) -> Result<()> {
        let namespaces = self.topology.servers.iter().chain(&self.topology.clients);
        let wanted = setup.servers.iter().chain(&setup.clients);
        for ((namespace, wanted), is) in namespaces.zip(wanted).zip(&mut self.hosts) {
            if is.as_ref() != Some(wanted) {
                hosts::apply(namespace, wanted)?;
                *is = Some(wanted.clone());
            }
        }
        Ok(())
    }

    /// Counts of the kernel whose increase is of interest. The time-outs of a server say something
    /// of a flow if it is the only one there.
    fn counts(&self, plan: &Plan) -> Result<Counts> {
        let flows_of = |server| plan.flows.iter().filter(|f| f.server == server).count();
        let servers = self.topology.servers.iter().enumerate();
        let of_server = servers.map(|(index, namespace)| match flows_of(index) {
            1 => timeouts(namespace).map(Some),
            _ => Ok(None),
        });
        Ok(Counts {
            timeouts: of_server.collect::<Result<_>>()?,
            dropped: [
                dropped_frames(&self.topology.middle)?,
                dropped_frames(&self.topology.net)?,
            ],
        })
    }
}

/// The link between the servers and the box, if there is one.
fn start_near(topology: &Topology, setup: &Setup) -> Result<Option<Emulator>> {
    let start = |near| Emulator::start(Ends::open_near(topology)?, &near);
    near_setup(setup).map(start).transpose()
}

/// The link between the servers and the box, as a network of its own.
fn near_setup(setup: &Setup) -> Option<Setup> {
    let mut near = Setup {
        seed: !setup.seed,
        bottlenecks: vec![setup.server_link.clone()?],
        pairs: setup.pairs.clone(),
        recordings: setup.recordings.clone(),
        mtu: setup.mtu,
        ..Setup::default()
    };
    for pair in &mut near.pairs {
        (pair.route, pair.extra_delay_ns) = (vec![0], 0);
    }
    Some(near)
}

/// Ends the links, and the one between servers and box if there is one: what they have carried together.
fn stop_links(links: Emulator, near: Option<Emulator>) -> Result<(Record, Ends)> {
    let (mut record, ends) = links.stop()?;
    if let Some(near) = near {
        let (near, _) = near.stop()?;
        record.down.extend(near.down);
        record.up.extend(near.up);
        record.mishaps += near.mishaps;
        record.lateness_us.extend(near.lateness_us);
        record.lateness_us.sort_unstable();
        record.cpu_ns += near.cpu_ns;
    }
    Ok((record, ends))
}

/// What the links say, and frames dropped by the interfaces of the box and by those of the links.
fn counters_of(record: &Record, dropped: [u64; 2]) -> [(String, u64); 3] {
    let delivered = record.lateness_us.len().max(1) as u64;
    [
        (LOST_FRAMES.to_owned(), record.mishaps + dropped[1]),
        (BOX_DROPS.to_owned(), dropped[0]),
        (PACKET_COST.to_owned(), record.cpu_ns / delivered),
    ]
}

struct Counts {
    /// By server.
    timeouts: Vec<Option<u64>>,
    /// Frames, by the interfaces of the box and by those of the links.
    dropped: [u64; 2],
}

impl Counts {
    fn timeouts_since(&self, before: &Counts) -> Vec<Option<u64>> {
        let both = self.timeouts.iter().zip(&before.timeouts);
        both.map(|(after, before)| Some((*after)? - (*before)?))
            .collect()
    }

    fn dropped_since(&self, before: &Counts) -> [u64; 2] {
        [0, 1].map(|side| self.dropped[side] - before.dropped[side])
    }
}

fn by_flow(served: Vec<Served>) -> BTreeMap<usize, Served> {
    served.into_iter().map(|s| (s.flow, s)).collect()
}

/// What everyone says of the transfers.
struct Outcome<'a> {
    plan: &'a Plan,
    start_ns: u64,
    /// By flow.
    fetched: Vec<Fetched>,
    served: BTreeMap<usize, Served>,
    said: Said,
}

impl Outcome<'_> {
    /// Every transfer, with those `over_quic`. `timeouts` of the servers by the count of their namespace.
    fn flows(&self, timeouts: &[Option<u64>], over_quic: Vec<FlowObserved>) -> Vec<FlowObserved> {
        let flows = self.plan.flows.iter().zip(&self.fetched).enumerate();
        let mut flows: Vec<_> = flows
            .map(|(index, (flow, fetched))| self.flow(index, flow, fetched, timeouts[flow.server]))
            .collect();
        flows.extend(over_quic);
        flows.sort_by_key(|f| (f.group, f.index));
        flows
    }

    fn flow(
        &self,
        index: usize,
        flow: &Flow,
        fetched: &Fetched,
        timeouts: Option<u64>,
    ) -> FlowObserved {
        let served = self.served.get(&index);
        let info = served.and_then(|s| s.info);
        let on_box = self.name_on_box(flow, fetched);
        let on_box = on_box.and_then(|name| self.said.flows.get(&name));
        let planned = self.start_ns + flow.start_ns.unwrap_or(0);
        let began = fetched.began_ns.unwrap_or(planned);
        let span = fetched.began_ns.map_or(0, |at| fetched.ended_ns - at);
        let server_error = served.and_then(|s| s.error.as_ref());
        let error = match (&fetched.error, server_error) {
            (Some(error), Some(server)) => Some(format!("{error} (server: {server})")),
            (error, _) => error.clone(),
        };
        FlowObserved {
            group: flow.group,
            index: flow.index,
            start_s: (began - self.start_ns) as f64 / 1e9,
            seconds: span as f64 / 1e9,
            received_bytes: fetched.received,
            intact: fetched.intact,
            error,
            server_retransmitted_bytes: info.map(|i| i.retransmitted_bytes),
            server_timeouts: info.and_then(|i| i.timeouts.map(u64::from)).or(timeouts),
            box_retransmitted_bytes: on_box.map(|f| f.figures.repaired_bytes),
            box_copied_bytes: on_box.map(|f| f.figures.copied_bytes),
            box_spurious_bytes: on_box.map(|f| f.figures.spurious_bytes),
            held_packets_max: on_box.map(|f| f.figures.held_packets_max),
            arrivals: fetched.arrivals.clone(),
        }
    }

    /// How the box calls the flow.
    fn name_on_box(&self, flow: &Flow, fetched: &Fetched) -> Option<String> {
        Some(format!("{}>{}", flow.server_socket(), fetched.local?))
    }

    /// Resets the servers' connections.
    fn break_connections(&mut self) {
        for served in self.served.values_mut() {
            served.break_connection();
        }
    }

    /// What was sampled in the servers and, by its trace, in the box.
    fn series(&mut self, trace: &str) -> Vec<Series> {
        let mut all = Vec::new();
        let mut names = BTreeMap::new();
        for (index, flow) in self.plan.flows.iter().enumerate() {
            let series = |source, samples| Series {
                group: flow.group,
                index: flow.index,
                source,
                samples,
                algorithms: Vec::new(),
            };
            if let Some(served) = self.served.get_mut(&index)
                && !served.samples.is_empty()
            {
                let samples = std::mem::take(&mut served.samples);
                all.push(series(Source::Server, samples));
            }
            if let Some(name) = self.name_on_box(flow, &self.fetched[index]) {
                names.insert(name, (index, series(Source::Box, Vec::new())));
            }
        }
        for line in trace::samples(trace) {
            if let Some((index, series)) = names.get_mut(&line.flow.flow)
                && line.time_ns <= self.fetched[*index].ended_ns
            {
                if !trace::is_governed(&line.flow) {
                    series.source = Source::Advice;
                }
                let time_s = (line.time_ns.saturating_sub(self.start_ns)) as f64 / 1e9;
                let (figures, in_recovery) = (&line.flow.figures, line.flow.in_recovery);
                let sample = box_sample::of_box(time_s, figures, in_recovery);
                series.samples.push(sample);
                series.note_algorithm(time_s, &line.flow.algorithm);
            }
        }
        let of_box = names.into_values().map(|(_, series)| series);
        all.extend(of_box.filter(|s| !s.samples.is_empty()));
        all.sort_by_key(|s| (s.group, s.index, s.source));
        all
    }
}
