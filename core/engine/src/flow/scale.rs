//! How long things take in a flow: what its round trip makes of the constants.
//!
//! Every constant of time here was chosen on paths of 20 ms and more. From [`LONG_RTT`] on they are what they are. Below
//! it they shrink with the round trip, because a millisecond is ten round trips of a data centre.

use windlass_cc::{MILLISECOND, Nanos};

use super::Flow;
use crate::Feedback;

/// From this round trip on all constants have their full value, ns.
const LONG_RTT: Nanos = 5 * MILLISECOND;
/// Below it, they reach their full value by so many times what the round trip has more than [`SHORT_RTT`].
const SLOPE: Nanos = 4;
/// Up to this round trip the wheel calls with its finer tick, and time-outs may be as short as [`TIMEOUT_MIN`], ns.
const SHORT_RTT: Nanos = MILLISECOND;
/// The longest a data centre's path, or a worker's sleep, is late without anything being lost, ns (Vasudevan et al. 2009: time-outs of
/// a millisecond are safe, and end the collapse by incast).
const TIMEOUT_MIN: Nanos = MILLISECOND;
/// From [`TIMEOUT_MIN`] to the full 200 ms between [`SHORT_RTT`] and [`LONG_RTT`].
const TIMEOUT_SLOPE: Nanos = 50;

impl Flow {
    /// From one end to the other and back when no queue stands, ns; `Nanos::MAX` as long as a part of it is unknown. Until
    /// data have been acknowledged, the handshake says it. Where no switch marks and no box reports, the path counts as long: a
    /// worker, a guest or an application that stands still for some milliseconds is no loss there.
    pub(super) fn round_trip(&self) -> Nanos {
        if self.verdict.feedback != Feedback::Boxes {
            return Nanos::MAX;
        }
        let least = self.far_rtt();
        let far = match self.host.path().recent_data_rtt() {
            Nanos::MAX => least,
            // What data take longer, up to a half, is their own time on the links; the rest is a queue.
            of_data => of_data.min(least + least / 2),
        };
        match (self.near_rtt(), far) {
            (0, _) | (_, 0) => Nanos::MAX,
            (near, far) => near + far,
        }
    }

    /// The queue in the box is shorter than on long paths.
    pub(super) fn has_short_queue(&self) -> bool {
        self.round_trip() < LONG_RTT
    }

    /// Its round trip is not much longer than a tick of the wheel.
    pub(crate) fn is_short(&self) -> bool {
        self.round_trip() < SHORT_RTT
    }
}

/// `full`, and less where the round trip is short: `sixteenths` of it at least. `full` may be 16 ms at most.
pub(super) fn scaled(full: Nanos, round_trip: Nanos, sixteenths: Nanos) -> Nanos {
    if round_trip >= LONG_RTT {
        return full;
    }
    let ramp = round_trip.saturating_sub(SHORT_RTT) * SLOPE;
    ramp.max(round_trip * sixteenths / 16).min(full)
}

/// The least that a time-out leaves above the round trips that have been measured: `full` where they are long.
pub(super) fn least_timeout(full: Nanos, round_trip: Nanos) -> Nanos {
    if round_trip >= LONG_RTT {
        return full;
    }
    let ramp = round_trip.saturating_sub(SHORT_RTT) * TIMEOUT_SLOPE;
    (TIMEOUT_MIN + ramp).min(full)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECOND: Nanos = 1000;

    /// Each constant, on each path from 5 ms on, is what it was.
    #[test]
    fn long_paths_know_nothing_of_it() {
        for full in [1, 2, 4, 8, 16].map(|ms| ms * MILLISECOND) {
            for rtt in [
                5 * MILLISECOND,
                20 * MILLISECOND,
                300 * MILLISECOND,
                Nanos::MAX,
            ] {
                assert_eq!(scaled(full, rtt, 2), full);
                assert_eq!(least_timeout(200 * MILLISECOND, rtt), 200 * MILLISECOND);
            }
        }
    }

    #[test]
    fn short_paths_have_a_part_of_a_round_trip() {
        assert_eq!(
            scaled(4 * MILLISECOND, 160 * MICROSECOND, 2),
            20 * MICROSECOND
        );
        assert_eq!(scaled(4 * MILLISECOND, MILLISECOND, 2), 125 * MICROSECOND);
        assert_eq!(
            least_timeout(200 * MILLISECOND, 100 * MICROSECOND),
            MILLISECOND
        );
        assert_eq!(
            least_timeout(200 * MILLISECOND, 2 * MILLISECOND),
            51 * MILLISECOND
        );
    }

    /// Nothing jumps where one rule takes over from the other.
    #[test]
    fn what_lies_between_grows_steadily() {
        let mut last = (0, 0);
        for rtt in (0..6000).map(|micros| micros * MICROSECOND) {
            let now = (
                scaled(16 * MILLISECOND, rtt, 2),
                least_timeout(200 * MILLISECOND, rtt),
            );
            assert!(
                now.0 >= last.0 && now.0 - last.0 <= 4 * MICROSECOND,
                "{rtt}: {now:?}"
            );
            assert!(
                now.1 >= last.1 && (last.1 == 0 || now.1 - last.1 <= 50 * MICROSECOND),
                "{rtt}: {now:?}"
            );
            last = now;
        }
    }
}
