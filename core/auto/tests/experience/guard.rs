//! The guard withdraws where governing harms, soon; stays where it helps; and is hardly ever wrong about a network where it
//! makes no difference.

use windlass_auto::guard::{Guard, GuardConfig, State};

use crate::dice::{Dice, transfer};

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3600 * SECOND;
/// Some day in 2026.
const BEGAN: u64 = 1_790_000_000 * SECOND;

/// A network whose transfers take as long as they like.
struct Network {
    guard: Guard,
    rule: u16,
    dice: Dice,
    now: u64,
    /// From one transfer to the next, ns.
    pace: u64,
    /// Logarithm of the seconds a byte of each prefix, and deviation.
    prefixes: Vec<(f64, f64)>,
    /// Transfers end in any order, so many of them later.
    under_way: Vec<Flow>,
    overlap: usize,
    /// One in so many takes much longer; 0: none does.
    stragglers: u64,
    /// How much slower everything is at noon.
    noon: f64,
    sizes: &'static [u64],
    ever_withdrawn: bool,
}

#[derive(Clone, Copy)]
struct Flow {
    drawn: windlass_engine::Drawn,
    prefix: u128,
    bytes: u64,
    duration: u64,
}

impl Network {
    fn new(seed: u64, prefixes: Vec<(f64, f64)>) -> Network {
        let mut guard = Guard::new(GuardConfig::default());
        let rule = guard.rule("web", "bbr", BEGAN).expect("there is room");
        Network {
            guard,
            rule,
            dice: Dice(seed),
            now: BEGAN,
            pace: SECOND,
            prefixes,
            under_way: Vec::new(),
            overlap: 0,
            stragglers: 0,
            noon: 0.0,
            sizes: &[200_000],
            ever_withdrawn: false,
        }
    }

    /// Any network: few or many prefixes, quick or slow, even or wild, with a day of its own.
    fn any(seed: u64) -> Network {
        let mut dice = Dice(seed);
        let count = 1 + dice.next() % 30;
        let prefix = |_| (-14.0 + dice.normal(), 0.1 + dice.unit());
        let prefixes = (0..count).map(prefix).collect();
        Network {
            pace: (0.1 + 200.0 * dice.unit()) as u64 * SECOND,
            overlap: (dice.next() % 40) as usize,
            stragglers: [0, 7, 50][(dice.next() % 3) as usize],
            noon: [0.0, 1.0][(dice.next() % 2) as usize],
            sizes: match dice.next() % 2 {
                0 => &[200_000],
                _ => &[30_000, 30_000, 500_000, 5_000_000],
            },
            ..Network::new(dice.next(), prefixes)
        }
    }

    /// So many flows, of which those that are governed take e^`harm` times as long.
    fn run(&mut self, flows: usize, harm: f64) {
        for _ in 0..flows {
            self.now += self.pace;
            let at = (self.dice.next() % self.prefixes.len() as u64) as usize;
            let (mean, spread) = self.prefixes[at];
            let prefix = at as u128;
            let drawn = self.guard.draw(self.rule, prefix, self.dice.next());
            let drawn = drawn.expect("the rule is known");
            self.guard.begin(drawn, prefix, self.now);
            let bytes = self.sizes[(self.dice.next() % self.sizes.len() as u64) as usize];
            let hour = (self.now / HOUR % 24) as f64;
            let mut log = mean + spread * self.dice.normal();
            log += self.noon * (hour / 24.0 * std::f64::consts::TAU).sin();
            if self.stragglers > 0 && self.dice.next().is_multiple_of(self.stragglers) {
                log += 3.0 * self.dice.unit();
            }
            if !drawn.held_out {
                log += harm;
            }
            let duration = (log.exp() * bytes as f64 * 1e9) as u64;
            self.under_way.push(Flow {
                drawn,
                prefix,
                bytes,
                duration,
            });
            while self.under_way.len() > self.overlap {
                let at = (self.dice.next() % self.under_way.len() as u64) as usize;
                let flow = self.under_way.swap_remove(at);
                self.learn(flow);
            }
        }
    }

    fn learn(&mut self, flow: Flow) {
        let done = transfer(flow.bytes, flow.duration);
        self.guard.learn(flow.drawn, flow.prefix, &done, self.now);
        self.ever_withdrawn |= self.guard.state(self.rule, flow.prefix) == State::Withdrawn;
    }

    fn state(&self, prefix: u128) -> State {
        self.guard.state(self.rule, prefix)
    }

    /// Flows until the prefix is withdrawn.
    fn until_withdrawn(&mut self, harm: f64, most: usize) -> Option<usize> {
        (1..=most).find(|_| {
            self.run(1, harm);
            self.state(0) == State::Withdrawn
        })
    }
}

#[test]
fn a_network_where_governing_makes_no_difference_is_withdrawn_from_at_most_once_in_twenty() {
    let wrong = (0..1000).filter(|seed| {
        let mut network = Network::any(*seed);
        network.run(2000, 0.0);
        network.ever_withdrawn
    });
    let wrong = wrong.count();
    eprintln!("{wrong} of 1,000 withdrawn");
    assert!(wrong <= 50, "{wrong} of 1,000");
}

#[test]
fn where_governing_doubles_the_time_a_prefix_is_withdrawn_within_a_hundred_transfers() {
    for spread in [0.1, 0.3, 0.6] {
        let mut needed: Vec<usize> = (0..200)
            .map(|seed| {
                let mut network = Network::new(seed, vec![(-14.0, spread)]);
                let found = network.until_withdrawn(std::f64::consts::LN_2, 1000);
                found.expect("withdrawn at last")
            })
            .collect();
        needed.sort_unstable();
        let [median, most] = [needed[100], needed[190]];
        eprintln!("spread {spread}: {median} transfers in the median, {most} in 95 %");
        assert!(median <= 60 && most <= 100, "{spread}: {median} {most}");
    }
}

#[test]
fn a_prefix_that_alone_is_harmed_is_withdrawn_alone() {
    let mut alone = 0;
    for seed in 0..50 {
        let mut network = Network::new(seed, vec![(-14.0, 0.3); 20]);
        network.run(4000, -0.2);
        let mut harmed = Network {
            prefixes: vec![(-14.0, 0.3)],
            ..network
        };
        let needed = harmed.until_withdrawn(0.7, 2000).expect("withdrawn");
        assert!(needed <= 500, "{needed} transfers");
        alone += usize::from((1..20).all(|prefix| harmed.state(prefix) != State::Withdrawn));
    }
    assert!(alone >= 48, "{alone} of 50");
}

#[test]
fn help_of_5_percent_stays_and_is_proven() {
    let mut proven = 0;
    for seed in 0..100 {
        let mut network = Network::new(seed, vec![(-14.0, 0.3); 10]);
        network.run(5000, -0.05);
        assert!(!network.ever_withdrawn, "seed {seed}");
        network.run(45_000, -0.05);
        assert!(!network.ever_withdrawn, "seed {seed}");
        proven += usize::from(network.state(0) == State::Proven);
    }
    eprintln!("proven in {proven} of 100");
    assert!(proven >= 50, "{proven}");
}

/// Receivers of one prefix that make their governed transfers slow lose governing, and take it from nobody else.
#[test]
fn no_prefix_alone_withdraws_the_rule() {
    let mut withdrawn_before = 0;
    for seed in 0..100 {
        // After thirty prefixes, whose evidence has faded, the rule would be sure sooner than the next prefix is.
        let mut network = Network::new(seed, vec![(-14.0, 0.3); 30]);
        network.run(3000, 0.0);
        if network.state(2_000) == State::Withdrawn {
            withdrawn_before += 1;
            continue;
        }
        network.now += 24 * 8 * HOUR;
        let (rule, late) = (network.rule, 1_000_u128);
        for _ in 0..400 {
            let drawn = network.guard.draw(rule, late, network.dice.next()).unwrap();
            let slow = if drawn.held_out { 0.0 } else { 0.4 };
            let log: f64 = slow + 0.3 * network.dice.normal();
            let done = transfer(200_000, (log.exp() * 1e9) as u64);
            network.now += SECOND;
            network.guard.learn(drawn, late, &done, network.now);
        }
        assert_eq!(network.state(late), State::Withdrawn);
        assert_ne!(network.state(2_000), State::Withdrawn, "seed {seed}");
    }
    assert!(withdrawn_before <= 5, "{withdrawn_before}");
}
