//! A whole [`Setup`] in virtual time.

use windlass_cc::{Catalog, Nanos};
use windlass_experiment::Observed;
use windlass_experiment::setup::{PathBox, Setup};

use windlass_sim::link::{Link, LinkConfig};
use windlass_sim::network::{Network, Toward, link_seed};
use windlass_sim::{Middlebox, World};

use super::flows::{self, Transfer};
use super::network::{self, network_of};
use super::observe;
use super::watch::Watch;

/// Between the servers and the box, either way.
const INSIDE: LinkConfig = LinkConfig {
    rate_bytes_per_s: Some(1_250_000_000),
    delay: 20_000,
    ..LinkConfig::WIRE
};

/// Runs `setup` to its end with `middlebox` in the path: until every transfer that is not in the
/// background has ended, or to the time limit; a run of fixed length to the limit in any case. The same setup and box give the same result to the
/// last bit.
///
/// A setup that cannot be run gives an [`Observed`] with an error, and so does a box that breaks a
/// rule of [`windlass_sim::Monitor`]. Where nothing is to stand in the path, `middlebox` should be a
/// [`windlass_sim::NoBox`]. `far` stands beside the clients.
pub fn run(
    setup: &Setup,
    catalog: &Catalog,
    middlebox: &mut dyn Middlebox,
    far: Option<Box<dyn Middlebox>>,
) -> Observed {
    match flows::transfers(setup, catalog) {
        Ok(transfers) => carry_out(setup, &transfers, middlebox, far),
        Err(error) => Observed {
            error: Some(error),
            ..Observed::default()
        },
    }
}

fn carry_out(
    setup: &Setup,
    transfers: &[Transfer],
    middlebox: &mut dyn Middlebox,
    far: Option<Box<dyn Middlebox>>,
) -> Observed {
    let watched = setup.path_box != PathBox::Nothing;
    let ends = transfers.iter().map(|t| t.ends(setup, watched));
    let inside = [Toward::Clients, Toward::Servers].map(|toward| inside(setup, toward));
    let mut world = World::of(ends.collect(), inside, Network::new(&network_of(setup)));
    if let Some(far) = far {
        world = world.with_far_box(far);
    }
    let mut watch = Watch::new(setup, transfers);
    let waits =
        |(index, transfer): (usize, &Transfer)| (transfer.start == Nanos::MAX).then_some(index);
    let mut waiting: Vec<usize> = transfers.iter().enumerate().filter_map(waits).collect();
    let mut left = transfers.iter().filter(|t| !t.background).count();
    while (left > 0 || setup.fixed_length) && world.violations().is_empty() {
        let until = watch.next_at().min(setup.limit_ns);
        if !world.advance(until, middlebox) {
            if until == setup.limit_ns {
                break;
            }
            watch.look(until, &world, middlebox);
            continue;
        }
        watch.note_held(middlebox);
        while let Some(index) = world.take_over() {
            left -= usize::from(!transfers[index].background);
            watch.note_over(index, &world, middlebox);
            let group = transfers[index].group;
            if let Some(at) = waiting.iter().position(|i| transfers[*i].group == group) {
                world.begin(waiting.remove(at));
            }
        }
    }
    let end = if left > 0 || setup.fixed_length {
        setup.limit_ns
    } else {
        world.now()
    };
    watch.finish(&world, middlebox);
    observe::observe(setup, transfers, &world, watch, middlebox, end)
}

/// Between the servers and the box.
fn inside(setup: &Setup, toward: Toward) -> Link<Vec<u8>> {
    let config = match (&setup.server_link, toward) {
        (None, _) => INSIDE,
        (Some(own), Toward::Clients) => network::link(setup, &own.down),
        (Some(own), Toward::Servers) => network::link(setup, &own.up),
    };
    Link::new(config, link_seed(!setup.seed, 0, toward))
}

pub(super) fn seconds(span: Nanos) -> f64 {
    span as f64 / 1e9
}
