//! Which setups share a guest. That depends on the list alone, not on the machine: what ran before
//! in a guest moves the phase of its timers, and a lossy transfer can tell.

use windlass_experiment::Setup;

/// What a run costs beside its bytes, in bytes: the wiring and the start of the box.
const RUN_BYTES: u64 = 2_000_000;
/// Most that one guest is given: a few minutes' work, so that little is lost with it.
const GUEST_BYTES: u64 = 500_000_000;
/// A multiple of so many guests have about the same to do, or two processors would wait for one.
const GUESTS_AT_ONCE: usize = 2;

/// Indices of setups, by guest; those that are simulated need none.
pub(super) fn share(setups: &[Setup]) -> Vec<Vec<usize>> {
    let ours = setups.iter().zip(0..).filter(|(s, _)| !s.simulated);
    let mut costs: Vec<(u64, usize)> = ours.map(|(s, index)| (cost(s), index)).collect();
    let total: u64 = costs.iter().map(|(cost, _)| cost).sum();
    let rounds = total.div_ceil(GUEST_BYTES * GUESTS_AT_ONCE as u64) as usize;
    let count = (rounds * GUESTS_AT_ONCE).min(costs.len());
    let mut guests = vec![(0, Vec::new()); count];
    // The dearest first, each to the guest with the least to do.
    costs.sort_by_key(|(cost, index)| (u64::MAX - cost, *index));
    for (cost, index) in costs {
        if let Some(guest) = guests.iter_mut().min_by_key(|(load, _)| *load) {
            guest.0 += cost;
            guest.1.push(index);
        }
    }
    let sorted = guests.into_iter().map(|(_, mut indices)| {
        indices.sort_unstable();
        indices
    });
    sorted.collect()
}

/// The bytes that have to cross the box: no more than the time limit lets through.
fn cost(setup: &Setup) -> u64 {
    let flows = setup.flows.iter();
    let wanted = flows.fold(0_u64, |sum, flow| {
        sum.saturating_add(flow.bytes.saturating_mul(flow.count.into()))
    });
    let rates = setup.bottlenecks.iter().map(|b| b.down.rate_bits_per_s);
    let bits_per_s = rates.fold(0_u64, u64::saturating_add);
    let most = match bits_per_s {
        0 => u64::MAX,
        rate => (rate / 8).saturating_mul(setup.limit_ns.div_ceil(1_000_000_000)),
    };
    RUN_BYTES + wanted.min(most).min(GUEST_BYTES)
}

#[cfg(test)]
mod tests {
    use windlass_experiment::setup::FlowGroup;

    use super::*;

    fn setup(bytes: u64) -> Setup {
        let group = FlowGroup {
            bytes,
            count: 1,
            ..FlowGroup::default()
        };
        Setup {
            limit_ns: 60_000_000_000,
            flows: vec![group],
            ..Setup::default()
        }
    }

    #[test]
    fn every_setup_runs_once_and_the_load_is_even() {
        let sizes = [100_000_000, 1_200_000, 10_000_000, 10_000_000, 80_000_000];
        let setups: Vec<Setup> = sizes.into_iter().map(setup).collect();
        assert_eq!(share(&setups), [vec![0, 1], vec![2, 3, 4]]);
    }

    #[test]
    fn no_guest_is_without_work_and_none_has_too_much() {
        assert!(share(&[]).is_empty());
        assert_eq!(share(&[setup(1)]), [vec![0]]);
        let simulated = Setup {
            simulated: true,
            ..setup(1)
        };
        assert_eq!(share(&[simulated.clone(), setup(1)]), [vec![1]]);
        assert!(share(&[simulated]).is_empty());
        let many: Vec<Setup> = (0..400).map(|_| setup(10_000_000)).collect();
        let guests = share(&many);
        assert_eq!(guests.len(), 10);
        let mut all: Vec<usize> = guests.concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..400));
        let longest = guests.iter().map(Vec::len).max();
        assert_eq!(longest, Some(40));
    }

    #[test]
    fn an_endless_flow_costs_what_its_time_allows() {
        use windlass_experiment::setup::{Bottleneck, Direction};
        let mut endless = setup(u64::MAX);
        assert_eq!(cost(&endless), RUN_BYTES + GUEST_BYTES);
        let down = Direction {
            rate_bits_per_s: 8_000_000,
            ..Direction::default()
        };
        endless.bottlenecks = vec![Bottleneck {
            down,
            ..Bottleneck::default()
        }];
        assert_eq!(cost(&endless), RUN_BYTES + 60_000_000);
    }
}
