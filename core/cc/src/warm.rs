//! What an algorithm goes on learning while another is in charge of the flow, so that it is not a
//! beginner when it comes back: the increase and decrease of TCP-Illinois (Mystique, §3.4).

use serde::{Deserialize, Serialize};

use crate::algorithms::illinois::{IllinoisLaw, IllinoisParameters};
use crate::registry::Algorithm;
use crate::window::slow_start::SlowStart;
use crate::window::windowed::Law;
use crate::window::{LEAST_SEGMENTS, Window};
use crate::{AckEvent, Beginning, Path};

/// The law of an algorithm that was in charge before.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Warm {
    law: IllinoisLaw,
    parameters: IllinoisParameters,
}

impl Warm {
    /// What there is to be kept of the algorithm that leaves.
    pub fn of(algorithm: &Algorithm) -> Option<Warm> {
        match algorithm {
            Algorithm::Illinois(illinois) => Some(Warm {
                law: illinois.law,
                parameters: illinois.parameters,
            }),
            _ => None,
        }
    }

    /// An ACK while another algorithm has a window of `cwnd`.
    pub fn on_ack(&mut self, event: &AckEvent, path: &Path, cwnd: u64) {
        let mut window = Window::new(
            &Beginning::new(path, 0),
            SlowStart::Standard,
            LEAST_SEGMENTS,
        );
        window.set(cwnd);
        self.law.on_ack(event, &mut window, path, &self.parameters);
    }

    /// Gives what has been learned back to the algorithm. False if it is not the one that it belongs to.
    pub fn revive(&self, algorithm: &mut Algorithm) -> bool {
        match algorithm {
            Algorithm::Illinois(illinois) => {
                illinois.law = self.law;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{AckEvent, Algorithm, AlgorithmId, Controller, MILLISECOND, Path};

    const RTT: u64 = 100 * MILLISECOND;

    /// Ten ACKs of a round in which everything takes `rtt`.
    fn round(cc: &mut Controller, path: &mut Path, now: &mut u64, rtt: u64) {
        for _ in 0..10 {
            *now += rtt / 10;
            path.on_rtt(rtt);
            path.delivered += 10_000;
            path.inflight = 100_000;
            let event = AckEvent {
                now: *now,
                acked: 10_000,
                delivered: 10_000,
                inflight_before: 110_000,
                inflight: 100_000,
                rtt: Some(rtt),
                cwnd_limited: true,
                ..AckEvent::default()
            };
            cc.on_ack(&event, path);
        }
    }

    fn alpha(cc: &Controller) -> f64 {
        match cc.algorithm() {
            Algorithm::Illinois(illinois) => illinois.law.alpha_now(),
            other => panic!("{other:?}"),
        }
    }

    /// Illinois with long queues behind it, then Reno while they are gone, then Illinois.
    #[test]
    fn illinois_comes_back_with_what_it_would_know() {
        let start = || {
            let mut path = Path::new(1000);
            path.max_bw = 1_000_000;
            path.on_rtt(RTT);
            path.delivered = 1;
            let mut now = 0;
            let mut cc = Controller::new(AlgorithmId::Illinois, &path, 1);
            for rtt in [RTT, 2 * RTT, 2 * RTT, 2 * RTT] {
                round(&mut cc, &mut path, &mut now, rtt);
            }
            (cc, path, now)
        };
        let (cc, ..) = start();
        let with_queue = alpha(&cc);
        assert!(with_queue < 1.0, "{with_queue}");

        for (rtt, expected) in [(2 * RTT, with_queue..1.0), (RTT, 10.0..10.1)] {
            let (mut cc, mut path, mut now) = start();
            cc.switch(AlgorithmId::Reno, &path, 2);
            for _ in 0..20 {
                round(&mut cc, &mut path, &mut now, rtt);
            }
            cc.switch(AlgorithmId::Cubic, &path, 3);
            cc.switch(AlgorithmId::Illinois, &path, 4);
            let back = alpha(&cc);
            assert!(expected.contains(&back), "{rtt}: {back}");
        }
        // One that has never been in charge begins as it always does.
        let (_, path, _) = start();
        let mut fresh = Controller::new(AlgorithmId::Reno, &path, 1);
        fresh.switch(AlgorithmId::Illinois, &path, 1);
        assert_eq!(alpha(&fresh), 10.0);
    }
}
