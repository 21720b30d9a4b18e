//! What came of each flow, as a row of a table.

use crate::advice;
use crate::arrivals::{
    convergence_s, jain_over_time, reach_s, utilisation_left_percent, utilisation_percent,
};
use crate::experiment::{Experiment, Run};
use crate::limits;
use crate::observed::{
    FlowObserved, LinkObserved, Observed, ProbesObserved, Sample, Series, Source,
};
use crate::response;
use crate::statistics::{self, Statistic};

/// Names of the columns beside those of the parameters, in order.
pub const COLUMNS: [&str; 48] = [
    "case",
    "contestant",
    "repetition",
    "seed",
    "flow",
    "index",
    "background",
    "start_s",
    "seconds",
    "goodput_mbit_s",
    "received_bytes",
    "intact",
    "error",
    "server_retransmitted_bytes",
    "server_timeouts",
    "box_retransmitted_bytes",
    "box_copied_bytes",
    "box_spurious_bytes",
    "held_packets_max",
    "held_packets_median",
    "srtt_ms_median",
    "sender_rtt_ms_median",
    "sender_rtt_ms_p99",
    "box_queue_packets_median",
    "box_queue_packets_p99",
    "share_percent",
    "convergence_s",
    "jain_over_time_median",
    "jain_over_time_min",
    "reach_s",
    "cwnd_packets_mean",
    "box_limits_percent",
    "response_percent",
    "advice_error_percent",
    "utilisation_percent",
    "utilisation_left_percent",
    "link_offered_packets",
    "link_lost_packets",
    "link_dropped_packets",
    "link_marked_packets",
    "link_max_queue_bytes",
    "probe_rtt_ms_median",
    "probe_rtt_ms_p99",
    "probe_rtt_ms_p999",
    "machine_busy_percent",
    "links_late_ms",
    "cpu_percent",
    "max_rss_mb",
];

/// How the samples of a series lie.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spread {
    /// What half of them do not exceed.
    pub median: f64,
    /// What 99 of 100 do not exceed.
    pub p99: f64,
}

/// One flow of one run. What the back end does not tell is `None`.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Index of the cell.
    pub cell: usize,
    /// Index of the contestant.
    pub contestant: usize,
    /// From 1.
    pub repetition: u32,
    /// Seed of the run.
    pub seed: u64,
    /// Name of the group of flows.
    pub flow: String,
    /// Index in the group.
    pub index: u32,
    /// Whether it is cut off when the others have ended.
    pub background: bool,
    /// When it began, s.
    pub start_s: f64,
    /// From `connect()` to the last byte, s.
    pub seconds: f64,
    /// Payload received divided by that time; in a run of fixed length, from when on it is
    /// measured.
    pub goodput_mbit_s: f64,
    /// Payload received.
    pub received_bytes: u64,
    /// Ended, and every byte as sent.
    pub intact: bool,
    /// It may be under way when the run ends.
    pub may_go_on: bool,
    /// Why it failed.
    pub error: Option<String>,
    /// Payload that the server has sent again.
    pub server_retransmitted_bytes: Option<u64>,
    /// Retransmission time-outs of the server.
    pub server_timeouts: Option<u64>,
    /// Payload that the box has sent again, copies excluded.
    pub box_retransmitted_bytes: Option<u64>,
    /// Payload of copies.
    pub box_copied_bytes: Option<u64>,
    /// Payload that the box has sent again although the client had it.
    pub box_spurious_bytes: Option<u64>,
    /// Most packets that the box has held of it at once.
    pub held_packets_max: Option<u64>,
    /// What it held half of the time, of the box's series.
    pub held_packets_median: Option<f64>,
    /// Median of the smoothed RTT, of the series of whoever governs the flow, ms.
    pub srtt_ms_median: Option<f64>,
    /// The smoothed RTT that the sender itself measures, from when on the run is measured, ms: what waits in the box is in it.
    pub sender_rtt_ms: Option<Spread>,
    /// Packets that wait in the box for their first transmission, from when on the run is measured.
    pub box_queue_packets: Option<Spread>,
    /// Goodput as a part of the goodput of all flows of the run.
    pub share_percent: f64,
    /// How long after its start it has its share and keeps it; all the rest of the run, if never.
    /// Of flows that join others, in runs of fixed length with series, s.
    pub convergence_s: Option<f64>,
    /// Of the run as a whole: Jain's index of what its flows receive, by time.
    pub jain_over_time: Option<statistics::Spread>,
    /// How long after its start it first receives what is to be reached; all the rest of the run, if
    /// never, s.
    pub reach_s: Option<f64>,
    /// Mean of the congestion window from when on the run is measured, of the series of whoever
    /// governs the flow.
    pub cwnd_packets_mean: Option<f64>,
    /// Share of the time, from when on the run is measured, in which the window of the box is smaller than the server's own.
    pub box_limits_percent: Option<f64>,
    /// Goodput as a part of what the response function of its algorithm makes of the loss.
    pub response_percent: Option<f64>,
    /// How far the window that a watching box computes is from the server's own, in the mean.
    pub advice_error_percent: Option<f64>,
    /// What all flows have received of what the one bottleneck can carry, of the run as a whole.
    pub utilisation_percent: Option<f64>,
    /// The same of what the cross traffic leaves.
    pub utilisation_left_percent: Option<f64>,
    /// The window over what was acknowledged by then: pairs of bytes and packets, of the same
    /// series. In no file.
    pub window: Vec<(u64, f64)>,
    /// Sum over the bottlenecks toward the clients, of the run as a whole.
    pub link: LinkObserved,
    /// Round trips over the links alone, of the run as a whole.
    pub probes: Option<ProbesObserved>,
    /// Share of the machine's processors that was not idle, of the run as a whole.
    pub machine_busy_percent: Option<f64>,
    /// How late a packet left a link at the most, of the run as a whole.
    pub links_late_ms: Option<f64>,
    /// Processor time of the box by time, of the run as a whole.
    pub cpu_percent: Option<f64>,
    /// Largest resident set of the box, MB.
    pub max_rss_mb: Option<f64>,
}

impl Row {
    /// Whether it has not done what it should.
    pub fn failed(&self) -> bool {
        self.error.is_some() || !(self.intact || self.may_go_on)
    }
}

/// The rows of the run with this index, one for each flow that its setup has.
pub fn of(experiment: &Experiment, run: usize, observed: &Observed) -> Vec<Row> {
    let run = &experiment.runs[run];
    let convergence = convergence_s(&run.setup, observed);
    let from_s = run.setup.measure.begins_s();
    let utilisation_percent = utilisation_percent(&run.setup, observed, from_s).map(rounded);
    let left_percent = utilisation_left_percent(&run.setup, observed, from_s).map(rounded);
    let jain_over_time = jain_over_time(&run.setup, observed);
    let mut rows = Vec::new();
    for (group, flows) in run.setup.flows.iter().enumerate() {
        for index in 0..flows.count {
            let ours = |f: &FlowObserved| f.group == group && f.index == index;
            let found = observed.flows.iter().position(ours);
            let missing = || FlowObserved {
                group,
                index,
                error: Some("nothing is known of this flow".to_owned()),
                ..FlowObserved::default()
            };
            let flow = found.map_or_else(missing, |at| observed.flows[at].clone());
            rows.push(Row {
                convergence_s: found.and_then(|at| convergence[at]).map(rounded),
                jain_over_time,
                utilisation_percent,
                utilisation_left_percent: left_percent,
                ..row(run, observed, &flow)
            });
        }
    }
    let all: f64 = rows.iter().map(|r| r.goodput_mbit_s).sum();
    for row in rows.iter_mut().filter(|_| all > 0.0) {
        row.share_percent = rounded(row.goodput_mbit_s / all * 100.0);
    }
    rows
}

fn row(run: &Run, observed: &Observed, flow: &FlowObserved) -> Row {
    let group = &run.setup.flows[flow.group];
    let bytes = group.bytes_of(run.setup.seed, flow.index);
    let from_s = run.setup.measure.begins_s();
    let governs = [Source::Box, Source::Server];
    let usage = observed.usage.filter(|u| u.span_s > 0.0);
    let goodput_mbit_s = flow.goodput_mbit_s(from_s);
    let response = response::goodput_mbit_s(&run.setup, flow.group, flow.index);
    Row {
        cell: run.cell,
        contestant: run.contestant,
        repetition: run.repetition,
        seed: run.setup.seed,
        flow: group.name_of(bytes),
        index: flow.index,
        background: group.background,
        start_s: rounded(flow.start_s),
        seconds: rounded(flow.seconds),
        goodput_mbit_s: rounded(goodput_mbit_s),
        received_bytes: flow.received_bytes,
        intact: flow.intact,
        may_go_on: group.background || run.setup.fixed_length,
        error: observed.error.clone().or_else(|| flow.error.clone()),
        server_retransmitted_bytes: flow.server_retransmitted_bytes,
        server_timeouts: flow.server_timeouts,
        box_retransmitted_bytes: flow.box_retransmitted_bytes,
        box_copied_bytes: flow.box_copied_bytes,
        box_spurious_bytes: flow.box_spurious_bytes,
        held_packets_max: flow.held_packets_max,
        held_packets_median: median(observed, flow, &[Source::Box], |s| {
            s.held_packets.map(|n| n as f64)
        }),
        srtt_ms_median: median(observed, flow, &governs, |s| s.srtt_ms),
        sender_rtt_ms: spread(observed, flow, Source::Server, from_s, |s| s.srtt_ms),
        box_queue_packets: spread(observed, flow, Source::Box, from_s, |s| s.queued_packets),
        share_percent: 0.0,
        convergence_s: None,
        jain_over_time: None,
        reach_s: reach_s(&run.setup, observed, flow).map(rounded),
        response_percent: response.map(|r| rounded(goodput_mbit_s / r * 100.0)),
        cwnd_packets_mean: mean_window(observed, flow, &governs, from_s),
        box_limits_percent: box_limits(observed, flow, from_s),
        advice_error_percent: advice::error_percent(
            samples(observed, flow, &[Source::Advice]),
            samples(observed, flow, &[Source::Server]),
        )
        .map(rounded),
        utilisation_percent: None,
        utilisation_left_percent: None,
        window: window(observed, flow, &governs),
        link: sum(&observed.down),
        probes: observed.probes,
        machine_busy_percent: observed.machine_busy_share.map(|s| rounded(s * 100.0)),
        links_late_ms: observed.links_late_ms.map(rounded),
        cpu_percent: usage.map(|u| rounded(u.cpu_s / u.span_s * 100.0)),
        max_rss_mb: usage.map(|u| rounded(u.max_rss_bytes as f64 / 1e6)),
    }
}

/// To a millionth: as exact as a clock, and free of the tails of floating point.
fn rounded(x: f64) -> f64 {
    (x * 1e6).round() / 1e6
}

/// Of the series of the first source that has one.
fn median(
    observed: &Observed,
    flow: &FlowObserved,
    sources: &[Source],
    column: impl Fn(&Sample) -> Option<f64>,
) -> Option<f64> {
    let samples = samples(observed, flow, sources);
    let numbers: Vec<f64> = samples.iter().filter_map(column).collect();
    Statistic::Median.of(&numbers).map(rounded)
}

/// Of the samples of one source from a time on.
fn spread(
    observed: &Observed,
    flow: &FlowObserved,
    source: Source,
    from_s: f64,
    column: impl Fn(&Sample) -> Option<f64>,
) -> Option<Spread> {
    let samples = samples(observed, flow, &[source]).iter();
    let counted = samples.filter(|s| s.time_s >= from_s);
    let numbers: Vec<f64> = counted.filter_map(column).collect();
    Some(Spread {
        median: Statistic::Median.of(&numbers).map(rounded)?,
        p99: Statistic::Percentile(99.0).of(&numbers).map(rounded)?,
    })
}

fn mean_window(
    observed: &Observed,
    flow: &FlowObserved,
    sources: &[Source],
    from_s: f64,
) -> Option<f64> {
    let samples = samples(observed, flow, sources).iter();
    let counted = samples.filter(|s| s.time_s >= from_s);
    let numbers: Vec<f64> = counted.filter_map(|s| s.cwnd_packets).collect();
    Statistic::Mean.of(&numbers).map(rounded)
}

fn box_limits(observed: &Observed, flow: &FlowObserved, from_s: f64) -> Option<f64> {
    let of = |source| samples(observed, flow, &[source]);
    limits::box_limits_percent(of(Source::Box), of(Source::Server), from_s).map(rounded)
}

fn window(observed: &Observed, flow: &FlowObserved, sources: &[Source]) -> Vec<(u64, f64)> {
    let samples = samples(observed, flow, sources).iter();
    let pairs = samples.filter_map(|s| Some((s.acked_bytes?, s.cwnd_packets?)));
    pairs.collect()
}

/// Of the first source that has a series of the flow.
fn samples<'a>(observed: &'a Observed, flow: &FlowObserved, sources: &[Source]) -> &'a [Sample] {
    let found = sources.iter().find_map(|source| {
        let ours = |s: &&Series| (s.group, s.index, s.source) == (flow.group, flow.index, *source);
        observed.series.iter().find(ours)
    });
    found.map_or(&[], |series| &series.samples)
}

fn sum(links: &[LinkObserved]) -> LinkObserved {
    let mut sum = LinkObserved::default();
    for link in links {
        sum.offered_packets += link.offered_packets;
        sum.lost_packets += link.lost_packets;
        sum.dropped_packets += link.dropped_packets;
        sum.marked_packets += link.marked_packets;
        sum.damaged_packets += link.damaged_packets;
        sum.delivered_packets += link.delivered_packets;
        sum.delivered_bytes += link.delivered_bytes;
        sum.max_queue_bytes = sum.max_queue_bytes.max(link.max_queue_bytes);
    }
    sum
}
