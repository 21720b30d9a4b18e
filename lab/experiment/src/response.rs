//! What a loss rate makes of an algorithm, as it is published: its response function.
//!
//! All of them are of one flow that loses one packet in 1/p, at even distances, and has no queue: its
//! mean window, in segments. Where losses are chance, the mean is about a tenth higher.

use windlass_cc::{AlgorithmId, Catalog, Settings, Value};

use crate::setup::{Loss, PathBox, Setup};

/// What a flow of this group can be expected to receive: its response function's windows in round
/// trips without a queue, but no more than the link carries, Mbit/s. `None` for algorithms without a
/// published one, and unless there is one bottleneck that loses by chance toward the clients.
pub(crate) fn goodput_mbit_s(setup: &Setup, group: usize, index: u32) -> Option<f64> {
    let [link] = &setup.bottlenecks[..] else {
        return None;
    };
    let Loss::Independent { ratio } = link.down.loss else {
        return None;
    };
    if ratio <= 0.0 || !link.changes.is_empty() {
        return None;
    }
    let pair = setup.pairs.get(setup.flows.get(group)?.pair_of(index))?;
    let rtt_ns = link.down.delay_ns + link.up.delay_ns + 2 * pair.extra_delay_ns;
    let rtt_s = rtt_ns as f64 / 1e9;
    let window = mean_window(&governing(setup, group, pair.server)?, ratio, rtt_s)?;
    let alone = window * setup.mtu.payload_bytes() * 8e-6 / rtt_s;
    let rate = link.down.rate_bits_per_s as f64 * 1e-6 * setup.mtu.payload_share();
    Some(if rate > 0.0 { alone.min(rate) } else { alone })
}

/// The algorithm that decides over a flow: the box's, else the server's. `None` if it cannot be said.
fn governing(setup: &Setup, group: usize, server: usize) -> Option<Settings> {
    // No plugin has a published one.
    let own = Catalog::new();
    match (&setup.path_box, &setup.box_algorithm) {
        (PathBox::Windlass { .. }, Some(algorithm)) => return algorithm.settings(&own).ok(),
        (PathBox::Nothing, _) => {}
        _ => return None,
    }
    let host = setup.servers.get(server)?;
    let by_name = |name: &str| Some(Settings::from(name.parse::<AlgorithmId>().ok()?));
    match (&setup.flows[group].congestion_control, &host.algorithm) {
        (Some(name), _) => by_name(name),
        (None, Some(algorithm)) => algorithm.settings(&own).ok(),
        (None, None) => by_name(&host.congestion_control),
    }
}

/// Mean window at a loss rate, segments.
pub(crate) fn mean_window(settings: &Settings, loss: f64, rtt_s: f64) -> Option<f64> {
    let number = |name: &str| match settings.get(name) {
        Some(Value::Number(number)) => Some(number),
        _ => None,
    };
    let window = match settings.id().name() {
        "reno" => additive(0.5, loss),
        "compound" => {
            let beta = number("beta")?;
            compound(number("alpha")?, beta, number("k")?, loss).max(additive(beta, loss))
        }
        // RFC 3649 §5.
        "highspeed" => (0.12 / libm::pow(loss, 0.835)).max(additive(0.5, loss)),
        // RFC 9438 §5.1, and the Reno-friendly region.
        "cubic" => (1.054 * libm::pow(rtt_s / loss, 0.75)).max(additive(0.5, loss)),
        _ => return None,
    };
    Some(window)
}

/// A segment more each round trip, and the share `beta` less at a loss (RFC 5348 §3.1 without its
/// time-outs; 1.22/√p for a half).
fn additive(beta: f64, loss: f64) -> f64 {
    libm::sqrt((2.0 - beta) / (2.0 * beta * loss))
}

/// `alpha * w^k` segments more each round trip: the area under one tooth of the saw is 1/p (Tan et
/// al. 2006).
fn compound(alpha: f64, beta: f64, k: f64, loss: f64) -> f64 {
    let left = 1.0 - beta;
    let packets = alpha * (2.0 - k) / (loss * (1.0 - libm::pow(left, 2.0 - k)));
    let peak = libm::pow(packets, 1.0 / (2.0 - k));
    let rounds = libm::pow(peak, 1.0 - k) * (1.0 - libm::pow(left, 1.0 - k)) / (alpha * (1.0 - k));
    1.0 / loss / rounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::{Bottleneck, Direction, FlowGroup};

    fn window(name: &str, loss: f64) -> f64 {
        let id: AlgorithmId = name.parse().expect("an algorithm");
        mean_window(&Settings::from(id), loss, 0.1).expect("published")
    }

    fn near(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 0.02
    }

    /// RFC 3649 table 2 and 3, RFC 9438 table 1, and the integral for Compound TCP.
    #[test]
    fn published_windows() {
        for (name, values) in [
            ("reno", [(1e-3, 38.7), (1e-5, 387.3)]),
            ("compound", [(1e-3, 64.0), (1e-5, 2553.0)]),
            ("highspeed", [(1e-3, 38.7), (1e-5, 1795.0)]),
            ("cubic", [(1e-4, 187.0), (1e-6, 5926.0)]),
        ] {
            for (loss, expected) in values {
                let found = window(name, loss);
                assert!(near(found, expected), "{name} at {loss}: {found}");
            }
        }
        // Reno wins where the power of the window is less than one segment.
        assert!(near(window("compound", 2e-2), window("reno", 2e-2)));
        let bbr = Settings::from("bbr".parse::<AlgorithmId>().expect("known"));
        assert_eq!(mean_window(&bbr, 1e-3, 0.1), None);
    }

    #[test]
    fn goodput_is_bound_by_the_link() {
        let down = Direction {
            rate_bits_per_s: 240_000_000,
            delay_ns: 20_000_000,
            loss: Loss::Independent { ratio: 1e-4 },
            ..Direction::default()
        };
        let up = Direction {
            loss: Loss::None,
            ..down
        };
        let link = Bottleneck {
            down,
            up,
            ..Bottleneck::default()
        };
        let mut setup = Setup::line(link, vec![FlowGroup::default()]);
        setup.servers[0].congestion_control = "reno".to_owned();
        let reno = goodput_mbit_s(&setup, 0, 0).expect("one loss rate");
        assert!(near(reno, 122.47 * 1448.0 * 8.0 / 0.04 / 1e6), "{reno}");
        setup.path_box = PathBox::Windlass {
            policy: String::new(),
        };
        assert_eq!(goodput_mbit_s(&setup, 0, 0), None);
        let compound = "compound".parse::<AlgorithmId>().expect("known");
        setup.box_algorithm = Some((&Settings::from(compound)).into());
        let boxed = goodput_mbit_s(&setup, 0, 0).expect("of the box");
        assert!(near(boxed, 405.0 * 1448.0 * 8.0 / 0.04 / 1e6), "{boxed}");
        setup.bottlenecks[0].down.loss = Loss::Independent { ratio: 1e-6 };
        let full = goodput_mbit_s(&setup, 0, 0).expect("of the box");
        assert!(near(full, 240.0 * 1448.0 / 1514.0), "{full}");
        setup.bottlenecks[0].down.loss = Loss::None;
        assert_eq!(goodput_mbit_s(&setup, 0, 0), None);
    }
}
