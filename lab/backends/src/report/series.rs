//! From samples to lines.

use windlass_daemon::FlowReport;

use super::chart::Line;
use crate::demo::{Case, Measured, Summary};
use crate::emulator::BIN_NS;

/// Lines are thinned to about as many points.
const MAX_POINTS: usize = 300;
/// Rates are averaged over at least so many bins.
const MIN_RATE_BINS: usize = 5;

/// Class of the colour of a case.
pub(super) fn class(case: Case) -> &'static str {
    match case {
        Case::Cubic => "cubic",
        Case::NativeBbr => "native",
        Case::WindlassBbr => "windlass",
    }
}

/// The successful run of a case that is nearest to the median; of none, any.
pub(super) fn typical(summary: &Summary, case: Case) -> Option<&Measured> {
    let median = summary.seconds(case).map_or(0.0, |s| s.median);
    let distance = |m: &&Measured| {
        let off = (m.run.seconds - median).abs();
        if m.run.is_good() { off } else { f64::MAX }
    };
    let of_case = summary.measured.iter().filter(|m| m.run.case == case);
    of_case.min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// Mbit/s handed to the client.
pub(super) fn throughput(m: &Measured, end_s: f64) -> Vec<(f64, f64)> {
    let width = bins_per_point(m).max(MIN_RATE_BINS);
    let seconds = width as f64 * BIN_NS as f64 / 1e9;
    by_bins(m, width, end_s, |bins| {
        let bytes: u64 = bins.iter().map(|b| b.delivered_bytes).sum();
        bytes as f64 * 8.0 / 1e6 / seconds
    })
}

/// Longest queue before the link, kB.
pub(super) fn queue(m: &Measured, end_s: f64) -> Vec<(f64, f64)> {
    by_bins(m, bins_per_point(m), end_s, |bins| {
        let longest = bins.iter().map(|b| b.queue_bytes).max().unwrap_or(0);
        longest as f64 / 1e3
    })
}

/// The server's round-trip time, ms.
pub(super) fn srtt(m: &Measured, end_s: f64) -> Vec<(f64, f64)> {
    let points = m.sockets.iter().map(|s| (since(m, s.at_ns), s.srtt_ms));
    points.filter(|p| (0.0..=end_s).contains(&p.0)).collect()
}

/// Windows and flight sizes of a run, kB: as the server sees them, and as the box does.
pub(super) fn windows(m: &Measured) -> Vec<Line> {
    let kilobytes = |segments: u64, mss: u64| (segments * mss) as f64 / 1e3;
    let server = |value: fn(&crate::sample::SocketSample) -> u64| {
        let points = m.sockets.iter();
        let points = points.map(|s| (since(m, s.at_ns), kilobytes(value(s), s.mss)));
        points.filter(|p| p.0 >= 0.0).collect()
    };
    let on_box = |value: fn(&FlowReport) -> u64| {
        let every = m.trace.len().div_ceil(MAX_POINTS).max(1);
        let points = m.trace.iter().step_by(every);
        let points = points.map(|s| (since(m, s.time_ns), value(&s.flow) as f64 / 1e3));
        points.filter(|p| p.0 >= 0.0).collect::<Vec<_>>()
    };
    let line = |label: &str, class, points| Line {
        label: label.to_owned(),
        class,
        points,
    };
    let cwnd = line("server: cwnd", "server", server(|s| s.cwnd));
    if m.trace.is_empty() {
        let inflight = line("server: in flight", "inflight", server(|s| s.inflight));
        return vec![inflight, cwnd];
    }
    vec![
        cwnd,
        line("box: edge shown", "edge", on_box(|s| s.edge_bytes)),
        line("box: cwnd", "windlass", on_box(|s| s.cwnd_bytes)),
        line("box: in flight", "inflight", on_box(|s| s.inflight_bytes)),
    ]
}

fn since(m: &Measured, at_ns: u64) -> f64 {
    (at_ns as f64 - m.start_ns as f64) / 1e9
}

fn bins_per_point(m: &Measured) -> usize {
    m.record.bins.len().div_ceil(MAX_POINTS).max(1)
}

fn by_bins(
    m: &Measured,
    width: usize,
    end_s: f64,
    value: impl Fn(&[crate::emulator::Bin]) -> f64,
) -> Vec<(f64, f64)> {
    let chunks = m.record.bins.chunks(width).enumerate();
    let points = chunks.map(|(i, bins)| {
        let middle = ((i * width) as f64 + width as f64 / 2.0) * BIN_NS as f64;
        (since(m, m.record.start_ns + middle as u64), value(bins))
    });
    points.filter(|p| (0.0..=end_s).contains(&p.0)).collect()
}
