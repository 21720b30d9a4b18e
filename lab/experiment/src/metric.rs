//! What can be computed of rows.

use std::collections::BTreeMap;

use crate::rows::Row;
use crate::statistics::{Statistic, jain};

/// A quantity of a flow, or of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Metric {
    /// Time to completion of a flow, s.
    Seconds,
    /// The slowest transfer of a cell, divided by the median one.
    SlowestOfMedian,
    /// From the begin of the first of the chosen flows of a run to the end of the last, s.
    PageS,
    /// Payload received by time, of a flow.
    GoodputMbitS,
    /// Goodput of all the chosen flows of a run together.
    TotalMbitS,
    /// Payload sent again by server and box, of what was received.
    RetransmittedPercent,
    /// Payload sent again by the server.
    ServerRetransmittedPercent,
    /// Payload sent again by the box, copies excluded.
    BoxRetransmittedPercent,
    /// Payload that both have sent again: the lesser of the two.
    SentTwicePercent,
    /// Payload that the box has sent again although the client had it.
    BoxSpuriousPercent,
    /// Payload of the box's copies.
    CopiedPercent,
    /// Retransmission time-outs of the server by payload received.
    TimeoutsPer100Mb,
    /// Most packets held of a flow at once.
    HeldPacketsMax,
    /// Packets held of a flow half of the time.
    HeldPacketsMedian,
    /// Median of a flow's smoothed RTT.
    SrttMsMedian,
    /// Median of the smoothed RTT that a flow's sender measures itself.
    SenderRttMsMedian,
    /// What 99 of 100 samples of it do not exceed.
    SenderRttMsP99,
    /// Median of the packets of a flow that wait in the box for their first transmission.
    BoxQueuePacketsMedian,
    /// What 99 of 100 samples of them do not exceed.
    BoxQueuePacketsP99,
    /// Flows that have failed.
    FailedPercent,
    /// Packets lost on the links by chance, of a run.
    LinkLostPercent,
    /// Packets dropped by full queues, of a run.
    LinkDroppedPercent,
    /// Packets marked CE, of a run.
    LinkMarkedPercent,
    /// Goodput of the chosen flows of that of all flows of a run.
    SharePercent,
    /// Jain's index of the goodputs of the chosen flows of a run.
    Jain,
    /// Jain's index by time: what it is no more than in half of the windows of a run.
    JainOverTimeMedian,
    /// What it is in the worst of them.
    JainOverTimeMin,
    /// How long a flow that joins others takes to its fair share.
    ConvergenceS,
    /// How long a flow takes to the rate that `reach_mbit` of `[run]` names.
    ReachS,
    /// What all flows have received of what the one bottleneck can carry, of a run.
    UtilisationPercent,
    /// The same of what the cross traffic leaves of it.
    UtilisationLeftPercent,
    /// Goodput of a flow, of what the response function of its algorithm makes of the loss.
    ResponsePercent,
    /// Mean of a flow's congestion window.
    CwndPacketsMean,
    /// Share of the time in which the window of the box is smaller than the server's own.
    BoxLimitsPercent,
    /// How far a flow's congestion window is from another contestant's, in the mean over its course.
    WindowErrorPercent,
    /// Median round trip of the probes, of a run.
    ProbeRttMsMedian,
    /// What 99 of 100 probes take at most, of a run.
    ProbeRttMsP99,
    /// What 999 of 1000 probes take at most, of a run.
    ProbeRttMsP999,
    /// How far the window that a watching box computes is from the server's own, in the mean.
    AdviceErrorPercent,
    /// Share of the machine's processors that was not idle, of a run.
    MachineBusyPercent,
    /// How late a packet left a link at the most.
    LinksLateMs,
    /// Processor time of the box by time, of a run.
    CpuPercent,
    /// Largest resident set of the box, of a run.
    MaxRssMb,
}

/// A value as a fraction, so that values can be pooled: the sums divided, not the mean taken.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Part {
    /// Above the line.
    pub of: f64,
    /// Below it.
    pub by: f64,
}

impl Part {
    /// The value itself.
    pub fn value(self) -> f64 {
        self.of / self.by
    }
}

impl Metric {
    /// All of them, by name.
    pub const ALL: [(&'static str, Metric); 43] = [
        ("seconds", Metric::Seconds),
        ("slowest_of_median", Metric::SlowestOfMedian),
        ("page_s", Metric::PageS),
        ("goodput_mbit_s", Metric::GoodputMbitS),
        ("total_mbit_s", Metric::TotalMbitS),
        ("retransmitted_percent", Metric::RetransmittedPercent),
        (
            "server_retransmitted_percent",
            Metric::ServerRetransmittedPercent,
        ),
        ("box_retransmitted_percent", Metric::BoxRetransmittedPercent),
        ("sent_twice_percent", Metric::SentTwicePercent),
        ("box_spurious_percent", Metric::BoxSpuriousPercent),
        ("copied_percent", Metric::CopiedPercent),
        ("timeouts_per_100_mb", Metric::TimeoutsPer100Mb),
        ("held_packets_max", Metric::HeldPacketsMax),
        ("held_packets_median", Metric::HeldPacketsMedian),
        ("srtt_ms_median", Metric::SrttMsMedian),
        ("sender_rtt_ms_median", Metric::SenderRttMsMedian),
        ("sender_rtt_ms_p99", Metric::SenderRttMsP99),
        ("box_queue_packets_median", Metric::BoxQueuePacketsMedian),
        ("box_queue_packets_p99", Metric::BoxQueuePacketsP99),
        ("failed_percent", Metric::FailedPercent),
        ("link_lost_percent", Metric::LinkLostPercent),
        ("link_dropped_percent", Metric::LinkDroppedPercent),
        ("link_marked_percent", Metric::LinkMarkedPercent),
        ("share_percent", Metric::SharePercent),
        ("jain", Metric::Jain),
        ("jain_over_time_median", Metric::JainOverTimeMedian),
        ("jain_over_time_min", Metric::JainOverTimeMin),
        ("convergence_s", Metric::ConvergenceS),
        ("reach_s", Metric::ReachS),
        ("utilisation_percent", Metric::UtilisationPercent),
        ("utilisation_left_percent", Metric::UtilisationLeftPercent),
        ("response_percent", Metric::ResponsePercent),
        ("cwnd_packets_mean", Metric::CwndPacketsMean),
        ("box_limits_percent", Metric::BoxLimitsPercent),
        ("window_error_percent", Metric::WindowErrorPercent),
        ("probe_rtt_ms_median", Metric::ProbeRttMsMedian),
        ("probe_rtt_ms_p99", Metric::ProbeRttMsP99),
        ("probe_rtt_ms_p999", Metric::ProbeRttMsP999),
        ("advice_error_percent", Metric::AdviceErrorPercent),
        ("machine_busy_percent", Metric::MachineBusyPercent),
        ("links_late_ms", Metric::LinksLateMs),
        ("cpu_percent", Metric::CpuPercent),
        ("max_rss_mb", Metric::MaxRssMb),
    ];

    /// Its name in files and tables.
    pub fn name(self) -> &'static str {
        let found = Metric::ALL.iter().find(|(_, metric)| *metric == self);
        found.map_or("", |(name, _)| name)
    }

    /// What stands behind a value, with its space.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Seconds | Metric::PageS | Metric::ConvergenceS | Metric::ReachS => " s",
            Metric::GoodputMbitS | Metric::TotalMbitS => " Mbit/s",
            _ if self.name().ends_with("_percent") => " %",
            _ if self.name().contains("_ms_") => " ms",
            _ => "",
        }
    }

    /// Whether more of it is better.
    pub fn more_is_better(self) -> bool {
        matches!(
            self,
            Metric::GoodputMbitS
                | Metric::TotalMbitS
                | Metric::SharePercent
                | Metric::Jain
                | Metric::JainOverTimeMedian
                | Metric::JainOverTimeMin
                | Metric::UtilisationPercent
                | Metric::UtilisationLeftPercent
                | Metric::ResponsePercent
        )
    }

    /// Whether a run has one of it, whatever number of flows it has.
    pub fn of_runs(self) -> bool {
        matches!(
            self,
            Metric::LinkLostPercent
                | Metric::LinkDroppedPercent
                | Metric::LinkMarkedPercent
                | Metric::SharePercent
                | Metric::Jain
                | Metric::JainOverTimeMedian
                | Metric::JainOverTimeMin
                | Metric::TotalMbitS
                | Metric::PageS
                | Metric::UtilisationPercent
                | Metric::UtilisationLeftPercent
                | Metric::ProbeRttMsMedian
                | Metric::ProbeRttMsP99
                | Metric::ProbeRttMsP999
                | Metric::MachineBusyPercent
                | Metric::LinksLateMs
                | Metric::CpuPercent
                | Metric::MaxRssMb
        )
    }

    /// Whether it is of two contestants, and nothing of one alone.
    pub fn of_two(self) -> bool {
        self == Metric::WindowErrorPercent
    }

    /// One for each flow, or for each run, of `rows`, which are those of one contestant in one
    /// cell. `flows` are the names of the groups meant; none: all but those in the background.
    /// Flows that have failed count as failed and for nothing else.
    pub fn parts(self, rows: &[&Row], flows: &[String]) -> Vec<Part> {
        let chosen = |row: &&&Row| is_chosen(row, flows);
        if self == Metric::SlowestOfMedian {
            let rows = rows.iter().filter(chosen).filter(|row| !row.failed());
            let seconds: Vec<f64> = rows.map(|row| row.seconds).collect();
            let of = |statistic: Statistic| statistic.of(&seconds);
            let both = of(Statistic::Max).zip(of(Statistic::Median));
            return both.map(|(of, by)| Part { of, by }).into_iter().collect();
        }
        if !self.of_runs() {
            let rows = rows.iter().filter(chosen);
            return rows.filter_map(|row| self.of_row(row)).collect();
        }
        let mut runs: BTreeMap<u32, Vec<&Row>> = BTreeMap::new();
        for row in rows {
            runs.entry(row.repetition).or_default().push(row);
        }
        let runs = runs
            .values()
            .filter(|run| !run.iter().any(|row| row.failed()));
        runs.filter_map(|run| self.of_run(run, flows)).collect()
    }

    fn of_row(self, row: &Row) -> Option<Part> {
        if self == Metric::FailedPercent {
            let of = if row.failed() { 100.0 } else { 0.0 };
            return Some(Part { of, by: 1.0 });
        }
        if row.failed() {
            return None;
        }
        let plain = |of: f64| Some(Part { of, by: 1.0 });
        let percent = |bytes: u64| {
            let by = row.received_bytes as f64;
            (by > 0.0).then_some(Part {
                of: bytes as f64 * 100.0,
                by,
            })
        };
        let (server, the_box) = (row.server_retransmitted_bytes, row.box_retransmitted_bytes);
        match self {
            Metric::Seconds => plain(row.seconds),
            Metric::GoodputMbitS => plain(row.goodput_mbit_s),
            Metric::RetransmittedPercent => percent(server? + the_box.unwrap_or(0)),
            Metric::ServerRetransmittedPercent => percent(server?),
            Metric::BoxRetransmittedPercent => percent(the_box?),
            Metric::SentTwicePercent => percent(server?.min(the_box?)),
            Metric::BoxSpuriousPercent => percent(row.box_spurious_bytes?),
            Metric::CopiedPercent => percent(row.box_copied_bytes?),
            Metric::TimeoutsPer100Mb => Some(Part {
                of: row.server_timeouts? as f64,
                by: row.received_bytes as f64 / 1e8,
            }),
            Metric::HeldPacketsMax => plain(row.held_packets_max? as f64),
            Metric::HeldPacketsMedian => plain(row.held_packets_median?),
            Metric::SrttMsMedian => plain(row.srtt_ms_median?),
            Metric::SenderRttMsMedian => plain(row.sender_rtt_ms?.median),
            Metric::SenderRttMsP99 => plain(row.sender_rtt_ms?.p99),
            Metric::BoxQueuePacketsMedian => plain(row.box_queue_packets?.median),
            Metric::BoxQueuePacketsP99 => plain(row.box_queue_packets?.p99),
            Metric::ConvergenceS => plain(row.convergence_s?),
            Metric::ReachS => plain(row.reach_s?),
            Metric::ResponsePercent => plain(row.response_percent?),
            Metric::CwndPacketsMean => plain(row.cwnd_packets_mean?),
            Metric::BoxLimitsPercent => plain(row.box_limits_percent?),
            Metric::AdviceErrorPercent => plain(row.advice_error_percent?),
            _ => None,
        }
    }

    fn of_run(self, run: &[&Row], flows: &[String]) -> Option<Part> {
        let first = run.first()?;
        let goodputs = |chosen: &dyn Fn(&&&Row) -> bool| -> Vec<f64> {
            run.iter()
                .filter(chosen)
                .map(|row| row.goodput_mbit_s)
                .collect()
        };
        let chosen = |row: &&&Row| is_chosen(row, flows);
        let plain = |of: f64| Some(Part { of, by: 1.0 });
        let packets = |count: u64| {
            let by = first.link.offered_packets as f64;
            (by > 0.0).then_some(Part {
                of: count as f64 * 100.0,
                by,
            })
        };
        match self {
            Metric::LinkLostPercent => packets(first.link.lost_packets),
            Metric::LinkDroppedPercent => packets(first.link.dropped_packets),
            Metric::LinkMarkedPercent => packets(first.link.marked_packets),
            Metric::SharePercent => {
                let by: f64 = goodputs(&|_| true).iter().sum();
                let of = goodputs(&chosen).iter().sum::<f64>() * 100.0;
                (by > 0.0).then_some(Part { of, by })
            }
            Metric::JainOverTimeMedian => plain(first.jain_over_time?.median),
            Metric::JainOverTimeMin => plain(first.jain_over_time?.min),
            Metric::Jain => plain(jain(&goodputs(&chosen))?),
            Metric::TotalMbitS => {
                let all = goodputs(&chosen);
                (!all.is_empty()).then(|| Part {
                    of: all.iter().sum(),
                    by: 1.0,
                })
            }
            Metric::PageS => {
                let chosen = || run.iter().filter(|row| is_chosen(row, flows));
                let begin = chosen().map(|row| row.start_s).reduce(f64::min)?;
                let end = chosen()
                    .map(|row| row.start_s + row.seconds)
                    .reduce(f64::max)?;
                plain(end - begin)
            }
            Metric::UtilisationPercent => plain(first.utilisation_percent?),
            Metric::UtilisationLeftPercent => plain(first.utilisation_left_percent?),
            Metric::ProbeRttMsMedian => plain(first.probes?.median_ms),
            Metric::ProbeRttMsP99 => plain(first.probes?.p99_ms),
            Metric::ProbeRttMsP999 => plain(first.probes?.p999_ms),
            Metric::MachineBusyPercent => plain(first.machine_busy_percent?),
            Metric::LinksLateMs => plain(first.links_late_ms?),
            Metric::CpuPercent => plain(first.cpu_percent?),
            Metric::MaxRssMb => plain(first.max_rss_mb?),
            _ => None,
        }
    }
}

/// Whether a row is of the flows meant.
pub(crate) fn is_chosen(row: &Row, flows: &[String]) -> bool {
    match flows.is_empty() {
        true => !row.background,
        false => flows.contains(&row.flow),
    }
}
