//! A module is tried before it is taken in: thousands of made-up events, ordinary and absurd, for one flow
//! alone and again with another flow in between. It may not fail, and must decide the same.

use windlass_cc::plugin::{Call, Description, Event, Fault, FlowState, STATE_BYTES_MAX, sane};
use windlass_cc::{
    AckEvent, Beginning, CongestionEvent, Control, Estimates, MILLISECOND, Nanos, Path, Phase,
    RateSample, SECOND, Seeded, SendEvent, Signal, Steps,
};

use crate::PluginError;
use crate::instance::Instance;
use crate::module::Module;

/// Events that it is tried with.
const EVENTS: usize = 4000;

/// Tries a module; answers with the number of events.
///
/// # Errors
/// It failed, or two flows got into each other's way.
pub(crate) fn run(module: &Module, description: &Description) -> Result<usize, PluginError> {
    let alone = play(&mut module.instance()?, description, false)?;
    let beside = play(&mut module.instance()?, description, true)?;
    let differs = alone.iter().zip(&beside).position(|(a, b)| a != b);
    match differs {
        None => Ok(EVENTS),
        Some(number) => Err(PluginError::Entangled {
            number,
            event: alone[number].0,
        }),
    }
}

/// What the flow did at every event: the event's name, and the decision.
type Played = Vec<(&'static str, Control, Steps)>;

fn play(
    instance: &mut Instance,
    description: &Description,
    with_another: bool,
) -> Result<Played, PluginError> {
    let mut flow = Tried::new(1448, 1);
    let mut other = Tried::new(536, 2);
    let mut played = Vec::with_capacity(EVENTS);
    for number in 0..EVENTS {
        let (event, answer) = flow.step(number, instance, description);
        answer.map_err(|fault| PluginError::Failed {
            number,
            event,
            fault,
        })?;
        played.push((event, flow.flow.control, flow.flow.steps));
        if with_another {
            let (event, answer) = other.step(number, instance, description);
            answer.map_err(|fault| PluginError::Failed {
                number,
                event,
                fault,
            })?;
        }
    }
    Ok(played)
}

/// A flow that never was.
struct Tried {
    random: Random,
    now: Nanos,
    path: Path,
    estimates: Estimates,
    flow: FlowState,
}

impl Tried {
    fn new(mss: u32, seed: u64) -> Tried {
        let path = Path::new(mss);
        Tried {
            random: Random(Seeded::new(seed)),
            now: SECOND,
            estimates: Estimates::new(&path),
            path,
            flow: FlowState {
                state: [0; STATE_BYTES_MAX],
                control: Control {
                    cwnd: 10 * u64::from(mss),
                    ssthresh: u64::MAX,
                    pacing_rate: None,
                    phase: Phase::SlowStart,
                },
                steps: Steps::default(),
            },
        }
    }

    /// One event; its name, and how it went.
    fn step(
        &mut self,
        number: usize,
        instance: &mut Instance,
        description: &Description,
    ) -> (&'static str, Result<(), Fault>) {
        let random = &mut self.random;
        self.now += random.span();
        let (ack, beginning, sent, congestion);
        let (name, event) = match if number == 0 { 0 } else { random.below(24) } {
            0 => {
                beginning = Beginning::new(&self.path, random.0.draw());
                ("on_start", Event::Start(&beginning))
            }
            1..=2 => {
                congestion = random.congestion(self.now, &self.path);
                ("on_congestion", Event::Congestion(&congestion))
            }
            3..=4 => ("on_recovery_exit", Event::RecoveryExit),
            5 => ("on_rto", Event::Rto),
            6 => ("on_spurious", Event::Spurious),
            7 => ("on_idle_restart", Event::IdleRestart(random.span())),
            8..=10 => {
                sent = random.sent(self.now, &self.path);
                ("on_sent", Event::Sent(&sent))
            }
            _ => {
                ack = random.ack(self.now, &self.path);
                take(&mut self.path, &mut self.estimates, &ack, &self.flow.steps);
                ("on_ack", Event::Ack(&ack))
            }
        };
        let call = Call {
            event,
            now: self.now,
            path: &self.path,
            estimates: &self.estimates,
            parameters: &description.defaults,
        };
        let answer = instance.call(&call, &mut self.flow);
        let answer = answer.and_then(|()| sane(&self.flow.control, &self.path));
        (name, answer)
    }
}

/// What the engine would do with an ACK first.
fn take(path: &mut Path, estimates: &mut Estimates, ack: &AckEvent, steps: &Steps) {
    path.delivered += ack.delivered;
    path.lost += ack.lost;
    path.inflight = ack.inflight;
    if let Some(rtt) = ack.rtt {
        path.on_rtt(rtt);
    }
    if let Some(rate) = &ack.rate {
        path.on_rate(rate, ack.now);
    }
    estimates.measure(ack);
    estimates.step_back(ack.now, steps, path);
}

/// Chance, from a seed.
struct Random(Seeded);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.draw() % bound
    }

    fn chance(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    /// Times from nothing to a minute.
    fn span(&mut self) -> Nanos {
        match self.below(16) {
            0 => 0,
            1 => self.below(1000),
            2 => self.below(60 * SECOND),
            _ => 10 * MILLISECOND + self.below(200 * MILLISECOND),
        }
    }

    /// Sizes from nothing to a terabyte.
    fn size(&mut self, path: &Path) -> u64 {
        match self.below(16) {
            0 => 0,
            1 => self.below(1 << 40),
            2 => self.below(u64::from(path.mss)),
            _ => u64::from(path.mss) * self.below(100),
        }
    }

    fn ack(&mut self, now: Nanos, path: &Path) -> AckEvent {
        let acked = self.size(path);
        let (delivered, interval) = (self.size(path), self.span().max(1));
        let rate = RateSample {
            delivered,
            interval,
            rate: windlass_cc::rate_over(delivered, interval),
            prior_delivered: path.delivered,
            app_limited: self.chance(8),
            ..RateSample::default()
        };
        let inflight = self.size(path);
        AckEvent {
            now,
            acked,
            delivered: acked.max(delivered),
            lost: if self.chance(8) { self.size(path) } else { 0 },
            inflight_before: inflight + acked,
            inflight,
            rtt: (!self.chance(6)).then(|| self.span()),
            rate: (!self.chance(6)).then_some(rate),
            ce_bytes: if self.chance(16) { acked } else { 0 },
            cwnd_limited: !self.chance(3),
            in_recovery: self.chance(6),
            lost_ranges: 0,
        }
    }

    fn sent(&mut self, now: Nanos, path: &Path) -> SendEvent {
        let bytes = self.size(path);
        SendEvent {
            now,
            bytes,
            inflight: bytes + self.size(path),
            retransmission: self.chance(16),
            app_limited: self.chance(8),
        }
    }

    fn congestion(&mut self, now: Nanos, path: &Path) -> CongestionEvent {
        let lost = self.size(path);
        CongestionEvent {
            now,
            signal: if self.chance(4) {
                Signal::Ecn
            } else {
                Signal::Loss
            },
            inflight_before: lost + path.inflight,
            lost,
        }
    }
}
