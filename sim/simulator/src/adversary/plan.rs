//! What an adversary does, how often and when.

use windlass_cc::{MILLISECOND, Nanos};
use windlass_engine::Side;

use super::operation::Operation;
use super::path::{Detour, Narrowing};
use crate::rng::Rng;

/// How many kinds of plan there are: seeds take them in turn.
pub const KINDS: u64 = 21;
/// The most that an adversary does of a thing, for each true segment.
const MOST_FORGED: f64 = 0.3;
const MOST_REPEATED: f64 = 0.2;
const MOST_DAMAGED: f64 = 0.01;
/// Packets that a narrow path takes, bytes: less than the smallest segments of the scenarios, or a
/// little less than the largest.
const NARROW_BYTES: (f64, f64) = (600.0, 1480.0);

/// What an adversary does, and how often.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plan {
    /// Forged segments by somebody who sees nothing but addresses and ports, for each true one.
    pub blind: f64,
    /// Forged segments by somebody who sees every segment and cannot hold it back.
    pub seeing: f64,
    /// The same around each segment of a handshake. SYNs are repeated, too.
    pub handshake: f64,
    /// Share of true segments that a bit is flipped in, or that are cut or padded.
    pub damage: f64,
    /// True segments that come once more, later, for each true one.
    pub repeats: f64,
    /// Ways around the box.
    pub detours: Vec<Detour>,
    /// The path beyond the box takes shorter packets only, from some time on.
    pub narrowing: Option<Narrowing>,
    /// What befalls the box itself, in order of time.
    pub operations: Vec<(Nanos, Operation)>,
    /// There is a box beside the clients as well, and an adversary around it.
    pub far: Option<Box<Plan>>,
}

impl Plan {
    /// The plan number `seed`: each kind of trouble alone, or several at once.
    pub fn of_seed(seed: u64) -> Plan {
        let mut rng = Rng::new(seed, 0xad1e);
        let rng = &mut rng;
        let (all, quiet) = (Plan::noise(rng), Plan::default());
        let detours = Detour::random(rng);
        let with = |noise: &Plan, detours: Vec<Detour>| Plan {
            detours,
            ..noise.clone()
        };
        let operated = |noise: Plan, operations| Plan {
            operations,
            ..noise
        };
        match seed % KINDS {
            0 => quiet.but(|plan| plan.blind = all.blind),
            1 => quiet.but(|plan| plan.seeing = all.seeing),
            2 => quiet.but(|plan| plan.damage = all.damage),
            3 => quiet.but(|plan| plan.repeats = all.repeats),
            4 => Plan::with_handshake(rng, quiet),
            5 => with(&quiet, vec![Detour::once(rng)]),
            6 => with(&quiet, vec![Detour::always(rng)]),
            7 => with(&quiet, Detour::flapping(rng)),
            8 => quiet.but(|plan| plan.narrowing = Some(Narrowing::random(rng, true))),
            9 => quiet.but(|plan| plan.narrowing = Some(Narrowing::random(rng, false))),
            10 => operated(quiet, Operation::reloads(rng)),
            11 => operated(quiet, Operation::bypasses(rng)),
            12 => operated(quiet, Operation::restarts(rng)),
            13 => Plan::two_boxes(all.clone(), Plan::with_handshake(rng, all)),
            14 => operated(all, vec![(when(rng), Operation::Kill)]),
            15 => all,
            16 => Plan::with_handshake(rng, all),
            17 => Plan::with_handshake(rng, with(&all, detours)),
            18 => operated(Plan::with_handshake(rng, all), Operation::random(rng)),
            19 => Plan::everything(rng),
            _ => Plan::two_boxes(Plan::everything(rng), Plan::everything(rng)),
        }
    }

    fn but(mut self, change: impl FnOnce(&mut Plan)) -> Plan {
        change(&mut self);
        self
    }

    /// Forged, damaged and repeated segments of an open connection.
    fn noise(rng: &mut Rng) -> Plan {
        let mut some = |most: f64| rng.log_between(most / 30.0, most);
        Plan {
            blind: some(MOST_FORGED),
            seeing: some(MOST_FORGED),
            repeats: some(MOST_REPEATED),
            damage: some(MOST_DAMAGED),
            ..Plan::default()
        }
    }

    fn with_handshake(rng: &mut Rng, plan: Plan) -> Plan {
        Plan {
            handshake: rng.log_between(0.1, 2.0),
            repeats: plan.repeats.max(0.02),
            ..plan
        }
    }

    fn everything(rng: &mut Rng) -> Plan {
        let noise = Plan::noise(rng);
        let told = rng.chance(0.7);
        Plan {
            handshake: rng.log_between(0.1, 2.0),
            detours: Detour::random(rng),
            narrowing: rng.chance(0.3).then(|| Narrowing::random(rng, told)),
            operations: Operation::random(rng),
            ..noise
        }
    }

    fn two_boxes(near: Plan, far: Plan) -> Plan {
        Plan {
            far: Some(Box::new(far)),
            ..near
        }
    }

    /// The plan of every adversary there is.
    pub fn all(&self) -> impl Iterator<Item = &Plan> {
        [self].into_iter().chain(self.far.as_deref())
    }

    /// From some time on, packets are on their way that the box has not seen, or that it passes as they
    /// are: it is circumvented, replaced or out of service.
    pub fn leaves_the_box_out(&self) -> bool {
        let out = |(_, operation): &(Nanos, Operation)| !matches!(operation, Operation::Reload(_));
        self.all()
            .any(|plan| !plan.detours.is_empty() || plan.operations.iter().any(out))
    }

    /// Senders must find out by themselves that their packets are too long.
    pub fn has_black_hole(&self) -> bool {
        self.all()
            .filter_map(|plan| plan.narrowing)
            .any(|narrowing| !narrowing.told)
    }
}

/// A time at which something happens: most connections are under way then.
pub(super) fn when(rng: &mut Rng) -> Nanos {
    rng.log_between(20.0, 5000.0) as Nanos * MILLISECOND
}

/// One of the two, with equal chances.
pub(super) fn either(rng: &mut Rng) -> Side {
    match rng.chance(0.5) {
        true => Side::Inside,
        false => Side::Outside,
    }
}

impl Narrowing {
    fn random(rng: &mut Rng, told: bool) -> Narrowing {
        Narrowing {
            at: when(rng),
            // Toward the clients: most connections are downloads.
            toward: match rng.chance(0.8) {
                true => Side::Outside,
                false => Side::Inside,
            },
            packet_bytes: rng.log_between(NARROW_BYTES.0, NARROW_BYTES.1) as usize,
            told,
        }
    }
}
