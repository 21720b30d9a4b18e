//! What had arrived by when: goodput, use of the link, and how long a flow that joins others takes
//! to get its share.

use crate::observed::{FlowObserved, Observed};
use crate::setup::{CrossTraffic, Setup};
use crate::statistics::{Spread, jain};

/// How far from its fair share a flow may be.
const TOLERANCE: f64 = 0.25;
/// Times that are looked at in a window ([`Measure::window_ns`]).
const STEPS: usize = 50;

impl FlowObserved {
    /// From the start of the run, s.
    fn end_s(&self) -> f64 {
        self.start_s + self.seconds
    }

    /// Payload that had arrived `time_s` after the start of the run; between two of the times that
    /// were noted, as if at a constant rate.
    fn received_by(&self, time_s: f64) -> f64 {
        if time_s >= self.end_s() {
            return self.received_bytes as f64;
        }
        let next = self.arrivals.partition_point(|(at, _)| *at <= time_s);
        let known = |at: usize| {
            self.arrivals
                .get(at)
                .map(|(at, bytes)| (*at, *bytes as f64))
        };
        let before = next.checked_sub(1).and_then(known);
        let (from, bytes) = before.unwrap_or((self.start_s, 0.0));
        let end = (self.end_s(), self.received_bytes as f64);
        let (to, more) = known(next).unwrap_or(end);
        match to > from && time_s > from {
            true => bytes + (more - bytes) * (time_s - from) / (to - from),
            false => bytes,
        }
    }

    /// From `from_s` on, or from its own start if that is later, Mbit/s.
    pub(crate) fn goodput_mbit_s(&self, from_s: f64) -> f64 {
        let from_s = from_s.max(self.start_s);
        let span_s = self.end_s() - from_s;
        match span_s > 0.0 {
            true => (self.received_bytes as f64 - self.received_by(from_s)) * 8e-6 / span_s,
            false => 0.0,
        }
    }
}

/// What all flows together have received from `from_s` to the end, as a part of what the bottleneck
/// could have carried, percent. `None` unless there is one bottleneck with one rate.
pub(crate) fn utilisation_percent(setup: &Setup, observed: &Observed, from_s: f64) -> Option<f64> {
    let (carried, span_s) = carried(setup, observed, from_s)?;
    let whole = setup.bottlenecks[0].down.rate_bits_per_s as f64 * span_s;
    Some(carried / (whole * setup.mtu.payload_share()) * 100.0)
}

/// The same as a part of what the cross traffic leaves of it. `None` also where it leaves nothing.
pub(crate) fn utilisation_left_percent(
    setup: &Setup,
    observed: &Observed,
    from_s: f64,
) -> Option<f64> {
    let (carried, span_s) = carried(setup, observed, from_s)?;
    let end_s = end_of_run_s(setup, observed);
    let sent = setup.cross_traffic.iter();
    let sent = sent.map(|c| c.rate_bits_per_s as f64 * on_s(c, end_s - span_s, end_s));
    let left = setup.bottlenecks[0].down.rate_bits_per_s as f64 * span_s - sent.sum::<f64>();
    (left > 0.0).then(|| carried / (left * setup.mtu.payload_share()) * 100.0)
}

/// Payload bits that all flows have received from `from_s`, or the start of the first one, to the end, and
/// how long that is, s.
fn carried(setup: &Setup, observed: &Observed, from_s: f64) -> Option<(f64, f64)> {
    let [link] = &setup.bottlenecks[..] else {
        return None;
    };
    let end_s = end_of_run_s(setup, observed);
    let starts = observed.flows.iter().map(|f| f.start_s);
    let from_s = from_s.max(starts.fold(f64::INFINITY, f64::min));
    let rate = link.down.rate_bits_per_s;
    let changes = link.changes.iter().any(|c| c.down.rate_bits_per_s != rate);
    if rate == 0 || changes || link.down.recording.is_some() || end_s <= from_s {
        return None;
    }
    let of_flow = |f: &FlowObserved| f.received_bytes as f64 - f.received_by(from_s);
    let bytes: f64 = observed.flows.iter().map(of_flow).sum();
    Some((bytes * 8.0, end_s - from_s))
}

/// How long cross traffic is on between two times, s.
fn on_s(traffic: &CrossTraffic, from_s: f64, to_s: f64) -> f64 {
    let [start, on, off] =
        [traffic.start_ns, traffic.on_ns, traffic.off_ns].map(|ns| ns as f64 / 1e9);
    let by = |time: f64| {
        let time = (time - start).max(0.0);
        match on > 0.0 {
            true => (time / (on + off)).floor() * on + (time % (on + off)).min(on),
            false => time,
        }
    };
    by(to_s) - by(from_s)
}

fn end_of_run_s(setup: &Setup, observed: &Observed) -> f64 {
    match setup.fixed_length {
        true => setup.limit_ns as f64 / 1e9,
        false => observed.flows.iter().map(|f| f.end_s()).fold(0.0, f64::max),
    }
}

/// How long a flow takes, from its start, until it receives so much for the first time, in the mean over the
/// next window, s. If that never comes, all the rest of the run, which is more than any flow
/// that gets there can have.
///
/// `None` where nothing is to be reached, and where it was not noted what arrived when.
pub(crate) fn reach_s(setup: &Setup, observed: &Observed, flow: &FlowObserved) -> Option<f64> {
    if setup.measure.reach_bits_per_s == 0 || flow.arrivals.is_empty() {
        return None;
    }
    let step_s = step_s(setup);
    let steps = (end_of_run_s(setup, observed) / step_s) as usize;
    let received = by_step(flow, steps, step_s);
    let enough = setup.measure.reach_bits_per_s as f64 / 8.0 * setup.measure.window_s();
    let begins = (flow.start_s / step_s).ceil() as usize;
    let mut windows = begins..(steps + 1).saturating_sub(STEPS);
    let found = windows.find(|from| received[from + STEPS] - received[*from] >= enough);
    Some((found.unwrap_or(steps) as f64 * step_s - flow.start_s).max(0.0))
}

/// How long each flow takes until it has its share and keeps it, from its start, s.
///
/// Its fair share is what all flows of the run receive, divided at each time by the number of those
/// that are under way. It has its share at the first time from which on both hold: over the next window
/// ([`Measure::window_ns`]) it receives within 25 % of its fair share; and so it does over all the rest of its time.
/// If that never comes, the time is all the rest: a lower bound, and more
/// than any flow that gets its share can have.
///
/// `None` for the flows that begin first, for runs that end with their flows, and where it was not
/// noted what arrived when.
pub(crate) fn convergence_s(setup: &Setup, observed: &Observed) -> Vec<Option<f64>> {
    let flows = &observed.flows;
    let first = flows
        .iter()
        .map(|f| f.start_s)
        .fold(f64::INFINITY, f64::min);
    let joins = |f: &FlowObserved| f.start_s > first && !f.arrivals.is_empty();
    if !setup.fixed_length || !flows.iter().any(joins) {
        return vec![None; flows.len()];
    }
    let step_s = step_s(setup);
    let steps = (end_of_run_s(setup, observed) / step_s) as usize;
    let received: Vec<Vec<f64>> = flows.iter().map(|f| by_step(f, steps, step_s)).collect();
    let fair = fair_by_step(flows, &received, step_s);
    let found = flows.iter().zip(&received);
    let found = found.map(|(f, own)| joins(f).then(|| converged(f, own, &fair, step_s))?);
    found.collect()
}

/// Jain's index over time: of what the flows under way receive in a window ([`Measure::window_ns`]), of every
/// window in which there are two at least and none begins or ends. `None` where there is no such window, for runs that end
/// with their flows, and where it was not noted what arrived when.
pub(crate) fn jain_over_time(setup: &Setup, observed: &Observed) -> Option<Spread> {
    let flows = &observed.flows;
    if !setup.fixed_length || flows.iter().any(|f| f.arrivals.is_empty()) {
        return None;
    }
    let window_s = setup.measure.window_s();
    let windows = (end_of_run_s(setup, observed) / step_s(setup)) as usize;
    let windows = (0..=windows.saturating_sub(STEPS)).map(|step| step as f64 * step_s(setup));
    let indices = windows.filter_map(|from_s| {
        let to_s = from_s + window_s;
        let whole = |f: &&FlowObserved| f.start_s <= from_s && f.end_s() >= to_s;
        let touches = |f: &&FlowObserved| f.start_s < to_s && f.end_s() > from_s;
        let under_way: Vec<&FlowObserved> = flows.iter().filter(whole).collect();
        let settled =
            under_way.len() >= 2 && under_way.len() == flows.iter().filter(touches).count();
        let received = under_way
            .iter()
            .map(|f| f.received_by(to_s) - f.received_by(from_s));
        settled.then(|| jain(&received.collect::<Vec<_>>()))?
    });
    Spread::of(indices)
}

/// Between two times that are looked at, s.
fn step_s(setup: &Setup) -> f64 {
    setup.measure.window_s() / STEPS as f64
}

/// What a flow has received by each step from the start of the run.
fn by_step(flow: &FlowObserved, steps: usize, step_s: f64) -> Vec<f64> {
    let steps = 0..=steps;
    steps
        .map(|step| flow.received_by(step as f64 * step_s))
        .collect()
}

/// What one that had had its fair share all the time would have received.
fn fair_by_step(flows: &[FlowObserved], received: &[Vec<f64>], step_s: f64) -> Vec<f64> {
    let steps = received.first().map_or(0, Vec::len);
    let mut fair = vec![0.0; steps];
    for step in 1..steps {
        let from_s = (step - 1) as f64 * step_s;
        let under_way = |f: &&FlowObserved| f.start_s <= from_s && f.end_s() > from_s;
        let begun = flows.iter().filter(under_way).count();
        let all: f64 = received.iter().map(|own| own[step] - own[step - 1]).sum();
        fair[step] = fair[step - 1] + all / begun.max(1) as f64;
    }
    fair
}

fn converged(flow: &FlowObserved, own: &[f64], fair: &[f64], step_s: f64) -> Option<f64> {
    let last = own
        .len()
        .checked_sub(1)?
        .min((flow.end_s() / step_s) as usize);
    let begins = (flow.start_s / step_s).ceil() as usize;
    let good = |from: usize, to: usize| {
        let fair = fair[to] - fair[from];
        ((own[to] - own[from]) / fair - 1.0).abs() <= TOLERANCE
    };
    let mut windows = begins..(last + 1).saturating_sub(STEPS);
    let found = windows.find(|from| good(*from, from + STEPS) && good(*from, last));
    let step = found.unwrap_or(last);
    Some((step as f64 * step_s - flow.start_s).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::{Bottleneck, Change, Direction};

    /// 60 s, one bottleneck of 10 Mbit/s of payload.
    fn setup() -> Setup {
        let down = Direction {
            rate_bits_per_s: (10e6 / Setup::default().mtu.payload_share()) as u64,
            ..Direction::default()
        };
        Setup {
            limit_ns: 60_000_000_000,
            fixed_length: true,
            bottlenecks: vec![Bottleneck {
                down,
                ..Bottleneck::default()
            }],
            ..Setup::default()
        }
    }

    /// That begins at `start_s` and has these rates, Mbit/s, from these times on, to 60 s; noted
    /// every half second.
    fn flow(start_s: f64, rates: &[(f64, f64)]) -> FlowObserved {
        let by = |time: f64| -> u64 {
            let ends = rates.iter().skip(1).map(|(at, _)| *at).chain([60.0]);
            let parts = rates.iter().zip(ends);
            let spans = parts.map(|((from, rate), to)| (time.min(to) - from).max(0.0) * rate);
            (spans.sum::<f64>() * 1e6 / 8.0).round() as u64
        };
        let times = (0..120).map(|i| f64::from(i) * 0.5);
        FlowObserved {
            start_s,
            seconds: 60.0 - start_s,
            received_bytes: by(60.0),
            arrivals: times.filter(|t| *t > start_s).map(|t| (t, by(t))).collect(),
            ..FlowObserved::default()
        }
    }

    fn run(flows: Vec<FlowObserved>) -> Observed {
        Observed {
            flows,
            ..Observed::default()
        }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 0.01
    }

    #[test]
    fn goodput_counts_from_a_time_on() {
        let f = flow(0.0, &[(0.0, 2.0), (30.0, 8.0)]);
        assert!(close(f.goodput_mbit_s(0.0), 5.0));
        assert!(close(f.goodput_mbit_s(30.0), 8.0));
        assert!(close(f.goodput_mbit_s(20.25), (9.75 * 2.0 + 240.0) / 39.75));
        assert_eq!(f.goodput_mbit_s(60.0), 0.0);
        let late = flow(40.0, &[(40.0, 3.0)]);
        assert!(close(late.goodput_mbit_s(30.0), 3.0));
    }

    #[test]
    fn utilisation_is_of_the_one_bottleneck() {
        let flows = || run(vec![flow(0.0, &[(0.0, 4.0)]), flow(30.0, &[(30.0, 6.0)])]);
        let percent = |from| utilisation_percent(&setup(), &flows(), from).unwrap();
        assert!(close(percent(30.0), 100.0) && close(percent(0.0), 70.0));
        let mut two = setup();
        two.bottlenecks.push(Bottleneck::default());
        assert_eq!(utilisation_percent(&two, &flows(), 0.0), None);
        let mut changed = setup();
        let down = changed.bottlenecks[0].down;
        changed.bottlenecks[0].changes.push(Change {
            at_ns: 1,
            down,
            up: down,
        });
        assert!(utilisation_percent(&changed, &flows(), 0.0).is_some());
        changed.bottlenecks[0].changes[0].down.rate_bits_per_s += 1;
        assert_eq!(utilisation_percent(&changed, &flows(), 0.0), None);
        assert_eq!(utilisation_percent(&Setup::default(), &flows(), 0.0), None);
    }

    /// 4 Mbit/s of cross traffic in 10 s of each 20, from 5 s on: 20, 40 … of 100 Mbit by 10, 15 s …
    #[test]
    fn what_cross_traffic_leaves_can_be_used() {
        let mut setup = setup();
        let seconds = |s: u64| s * 1_000_000_000;
        setup.cross_traffic.push(CrossTraffic {
            bottleneck: 0,
            rate_bits_per_s: (4e6 / Setup::default().mtu.payload_share()) as u64,
            packet_bytes: 1500,
            start_ns: seconds(5),
            on_ns: seconds(10),
            off_ns: seconds(10),
        });
        let flows = run(vec![flow(0.0, &[(0.0, 4.0)])]);
        let percent = |setup: &Setup, from| utilisation_left_percent(setup, &flows, from).unwrap();
        // On from 5 to 15, 25 to 35 and 45 to 55 s: 120 of 600 Mbit.
        assert!(close(percent(&setup, 0.0), 50.0));
        // From 30 s on 15 of 30 s.
        assert!(close(percent(&setup, 30.0), 50.0));
        // From 45 s on 10 of 15 s.
        assert!(close(percent(&setup, 45.0), 60.0 / 110.0 * 100.0));
        setup.cross_traffic[0].on_ns = 0;
        setup.cross_traffic[0].off_ns = 0;
        assert!(close(percent(&setup, 0.0), 240.0 / 380.0 * 100.0));
        setup.cross_traffic[0].rate_bits_per_s *= 5;
        assert_eq!(utilisation_left_percent(&setup, &flows, 10.0), None);
    }

    #[test]
    fn a_rate_is_reached_when_five_seconds_have_it() {
        let mut setup = setup();
        let slow = flow(10.0, &[(10.0, 2.0), (20.0, 8.0), (22.0, 2.0), (30.0, 8.0)]);
        let observed = run(vec![slow]);
        let reach = |setup: &Setup| reach_s(setup, &observed, &observed.flows[0]);
        assert_eq!(reach(&setup), None);
        setup.measure.reach_bits_per_s = 7_999_000;
        let found = reach(&setup).expect("reached");
        assert!((found - 20.0).abs() < 0.15, "{found}");
        // 3 s of 2 and 2 s of 8 are 22 Mbit, 4.4 Mbit/s: from 17 s on.
        setup.measure.reach_bits_per_s = 4_300_000;
        let found = reach(&setup).expect("reached");
        assert!((6.8..=7.05).contains(&found), "{found}");
        setup.measure.reach_bits_per_s = 9_000_000;
        assert_eq!(reach(&setup), Some(50.0));
    }

    #[test]
    fn a_flow_has_its_share_when_it_keeps_it() {
        // Half of all from 20 s on, after 2 of 10: within 25 % over five seconds once three
        // quarters of a second… 2·x + 5·(5 - x) >= 0.75·25: x <= 2.08 s before.
        let first = flow(0.0, &[(0.0, 10.0), (10.0, 8.0), (20.0, 5.0)]);
        let second = flow(10.0, &[(10.0, 2.0), (20.0, 5.0)]);
        let of = |flows: &[&FlowObserved], index| {
            let flows = flows.iter().map(|f| (*f).clone()).collect();
            convergence_s(&setup(), &run(flows))[index]
        };
        let found = of(&[&first, &second], 1).expect("joins");
        assert!((found - 8.0).abs() < 0.15, "{found}");
        assert_eq!(of(&[&first, &second], 0), None);
        // One that never gets its share, and one that loses it again.
        let never = flow(10.0, &[(10.0, 2.0)]);
        let rival = flow(0.0, &[(0.0, 8.0)]);
        assert_eq!(of(&[&rival, &never], 1), Some(50.0));
        let lost = flow(10.0, &[(10.0, 5.0), (20.0, 1.0)]);
        let taker = flow(0.0, &[(0.0, 10.0), (10.0, 5.0), (20.0, 9.0)]);
        assert_eq!(of(&[&taker, &lost], 1), Some(50.0));
        // Fair is what those can have that have begun.
        let third = flow(30.0, &[(30.0, 3.3)]);
        let halves = flow(0.0, &[(0.0, 5.0), (30.0, 3.3)]);
        assert_eq!(of(&[&halves, &halves, &third], 2), Some(0.0));
    }

    /// The second joins at 10 s and leaves at 40; the first has what is left.
    #[test]
    fn jain_by_time_is_of_those_under_way() {
        let of = |second: FlowObserved, third: Option<FlowObserved>| {
            let first = flow(0.0, &[(0.0, 10.0), (10.0, 5.0), (40.0, 10.0)]);
            let flows = [first, second].into_iter().chain(third).collect();
            jain_over_time(&setup(), &run(flows))
        };
        let leaves = |rate: f64| FlowObserved {
            seconds: 30.0,
            ..flow(10.0, &[(10.0, rate), (40.0, 0.0)])
        };
        let even = of(leaves(5.0), None).expect("two at once");
        assert!(close(even.median, 1.0) && close(even.min, 1.0), "{even:?}");
        // (5 + 1)² / (2 · 26).
        let uneven = of(leaves(1.0), None).expect("two at once");
        assert!(close(uneven.median, 36.0 / 52.0), "{uneven:?}");
        // From 25 s on a third has nothing of what is theirs.
        let third = flow(25.0, &[(25.0, 0.01)]);
        let three = of(leaves(5.0), Some(third)).expect("two at once");
        assert!(three.min < 0.7, "{three:?}");
        // Windows from 10 to 20, 25 to 35 and 40 to 55 s on, in place of those from 10 to 35 s on.
        assert_eq!((even.count, three.count), (251, 353));
        let alone = run(vec![flow(0.0, &[(0.0, 10.0)])]);
        assert_eq!(jain_over_time(&setup(), &alone), None);
    }

    #[test]
    fn what_has_left_wants_no_share() {
        // Of 10 Mbit/s, half from 10 s on; the first one leaves at 30 s, and the second has all.
        let first = FlowObserved {
            seconds: 30.0,
            ..flow(0.0, &[(0.0, 10.0), (10.0, 5.0), (30.0, 0.0)])
        };
        let second = flow(10.0, &[(10.0, 5.0), (30.0, 10.0)]);
        let flows = run(vec![first, second]);
        assert_eq!(convergence_s(&setup(), &flows)[1], Some(0.0));
    }

    #[test]
    fn a_shorter_window_tells_an_earlier_share() {
        let first = flow(0.0, &[(0.0, 10.0), (10.0, 8.0), (20.0, 5.0)]);
        let second = flow(10.0, &[(10.0, 2.0), (20.0, 5.0)]);
        let mut setup = setup();
        let flows = run(vec![first, second]);
        let usual = convergence_s(&setup, &flows)[1].expect("joins");
        setup.measure.window_ns = 1_000_000_000;
        let found = convergence_s(&setup, &flows)[1].expect("joins");
        assert!(found > usual + 1.0 && found < 10.0, "{found}");
    }

    #[test]
    fn nothing_is_said_where_nothing_was_noted() {
        let mut silent = flow(10.0, &[(10.0, 5.0)]);
        silent.arrivals.clear();
        let flows = run(vec![flow(0.0, &[(0.0, 5.0)]), silent]);
        assert_eq!(convergence_s(&setup(), &flows), [None, None]);
        let ends = Setup {
            fixed_length: false,
            ..setup()
        };
        let flows = run(vec![flow(0.0, &[(0.0, 5.0)]), flow(10.0, &[(10.0, 5.0)])]);
        assert_eq!(convergence_s(&ends, &flows), [None, None]);
    }
}
