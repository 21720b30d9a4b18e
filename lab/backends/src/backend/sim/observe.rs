//! What came of a run, in the terms of every back end.

use windlass_cc::Nanos;
use windlass_experiment::Observed;
use windlass_experiment::observed::{FlowObserved, Series, Source};
use windlass_experiment::setup::{PathBox, Setup};

use super::flows::Transfer;
use super::network::{links_observed, probes_observed};
use super::run::seconds;
use super::watch::{Notes, Watch};
use windlass_sim::{Ends, Middlebox, World};

/// Violations that are told.
const MAX_TOLD: usize = 5;

/// What came of it by `end`.
pub(super) fn observe(
    setup: &Setup,
    transfers: &[Transfer],
    world: &World,
    mut watch: Watch,
    middlebox: &dyn Middlebox,
    end: Nanos,
) -> Observed {
    let boxed = setup.path_box != PathBox::Nothing;
    let mut flows = Vec::new();
    let mut series = Vec::new();
    for (index, transfer) in transfers.iter().enumerate() {
        let notes = &mut watch.notes[index];
        series.extend(series_of(transfer, notes));
        let ends = &world.connections()[index];
        let mut flow = flow(transfer, ends, notes, boxed, end);
        flow.error = flow.error.or_else(|| left_over(setup, transfer, ends));
        flows.push(flow);
    }
    let (mut down, mut up) = world.network().observed();
    if setup.server_link.is_some() {
        let (to_box, from_box) = world.inside_stats();
        down.push(to_box);
        up.push(from_box);
    }
    let mut counters = if boxed {
        middlebox.counters()
    } else {
        Vec::new()
    };
    let far = world.far_box().map_or(Vec::new(), Middlebox::counters);
    counters.extend(far.into_iter().map(|(name, n)| (format!("far_{name}"), n)));
    Observed {
        flows,
        down: links_observed(&down),
        up: links_observed(&up),
        probes: world.network().probes_observed().map(probes_observed),
        counters: counters.into_iter().collect(),
        series,
        machine_busy_share: None,
        links_late_ms: None,
        usage: None,
        error: error(world),
    }
}

/// What was sampled of a transfer, of its server and of the box.
fn series_of(transfer: &Transfer, notes: &mut Notes) -> impl Iterator<Item = Series> {
    let (group, index) = (transfer.group, transfer.index);
    let source = match notes.watched_only {
        true => Source::Advice,
        false => Source::Box,
    };
    let of_server = Series {
        samples: std::mem::take(&mut notes.server),
        ..Series::default()
    };
    let of_box = Series {
        source,
        ..std::mem::take(&mut notes.boxed)
    };
    let sampled = [of_server, of_box].into_iter();
    sampled
        .filter(|series| !series.samples.is_empty())
        .map(move |series| Series {
            group,
            index,
            ..series
        })
}

fn flow(
    transfer: &Transfer,
    ends: &Ends,
    notes: &mut Notes,
    boxed: bool,
    end: Nanos,
) -> FlowObserved {
    let ended = ends.complete_at;
    let received = ends.client.received_bytes();
    let server = ends.server.stats();
    let corrupt = ends.client.corrupt_at();
    let error = match (ended, corrupt) {
        (_, Some(at)) => Some(format!("a wrong byte at offset {at}")),
        (Some(_), None) => None,
        (None, None) if ends.client.reset() || ends.server.reset() => {
            Some("the connection was reset".to_owned())
        }
        (None, None) => None,
    };
    let info = notes.info.filter(|_| boxed);
    let resent = info.map(|info| info.figures.repaired_bytes);
    let copied = info.map(|info| info.figures.copied_bytes);
    // What reaches the client twice because of the box. The network's own duplicates are among
    // it, but never more than the box has sent.
    let twice = ends.client.stats().bytes_duplicate;
    let spurious = resent.zip(copied).map(|(r, c)| twice.min(r + c));
    let start = ends.plan.start.min(end);
    FlowObserved {
        group: transfer.group,
        index: transfer.index,
        start_s: seconds(start),
        seconds: seconds(ended.unwrap_or(end).saturating_sub(start)),
        received_bytes: received,
        intact: ended.is_some() && corrupt.is_none(),
        error,
        server_retransmitted_bytes: Some(server.bytes_retransmitted),
        server_timeouts: Some(server.rto),
        box_retransmitted_bytes: resent,
        box_copied_bytes: copied,
        box_spurious_bytes: spurious,
        held_packets_max: boxed.then_some(notes.held_packets_max),
        arrivals: std::mem::take(&mut notes.arrivals),
    }
}

/// Why it is a failure that a transfer has not ended.
fn left_over(setup: &Setup, transfer: &Transfer, ends: &Ends) -> Option<String> {
    let may_go_on = transfer.background || setup.fixed_length;
    (ends.complete_at.is_none() && !may_go_on).then(|| {
        format!(
            "{} of {} bytes have arrived within the time limit",
            ends.client.received_bytes(),
            ends.plan.server.total_bytes()
        )
    })
}

/// What the box, or the simulation, did wrong.
fn error(world: &World) -> Option<String> {
    let of_connections = world.connections().iter().flat_map(Ends::violations);
    let wrong: Vec<&str> = world
        .violations()
        .iter()
        .chain(of_connections)
        .map(String::as_str)
        .take(MAX_TOLD)
        .collect();
    (!wrong.is_empty()).then(|| format!("a rule was broken: {}", wrong.join("; ")))
}
