//! What is asked of workers, over channels, and how long an answer may take.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use windlass_engine::{Counters, FlowInfo, Histograms, Introduced, TenantInfo};
use windlass_io::DriverStats;
use windlass_metric::{histograms, one_two_five};
use windlass_policy::Policy;
use windlass_record::{Part, RecorderStats};
use windlass_wire::FlowKey;

use crate::heart::Heart;
use crate::introducing::{Heard, Told};
use crate::recorder;
use crate::upgrade::{Decision, WorkerState};
use crate::view::Wanted;

/// A worker cannot be handed over.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotGiven {
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
    #[error("a worker cannot be handed over: {0}")]
    Io(#[from] io::Error),
}

/// How long workers may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);
/// Connections that a worker takes in between two batches of packets.
const INTRODUCED_PER_TURN: usize = 256;
/// Flows of one worker in an answer that has all that are wanted; further ones are only counted.
pub(crate) const FLOWS_PER_ANSWER: usize = 4096;
/// The same where they stay in the process, and only parts of them are answered.
pub(crate) const FLOWS_PER_SHOT: usize = 32_768;

/// A question or an order to a worker.
#[derive(Debug)]
pub(crate) enum Command {
    /// Those that are wanted, so many at most. A part of all is looked at in each turn.
    Flows(Wanted, usize, Sender<Flows>),
    /// The flow of this name, if it is governed.
    Flow(FlowKey, Sender<Option<Box<FlowInfo>>>),
    Status(Sender<Status>),
    Tenants(Sender<Vec<TenantInfo>>),
    /// Turns enforcement off, sending what waits, or on again.
    Bypass(bool, Sender<()>),
    /// Puts another policy in charge.
    Policy(Box<Policy>, Sender<()>),
    /// Copies records of the flight recorder from this position on into the memory that is brought. No answer: there is no
    /// recorder.
    Record(u64, Vec<u8>, Sender<Option<Part>>),
    /// What another box, by its number, has not been told of.
    Introduce(u32, Sender<Told>),
    /// Another box has told this.
    Heard(Heard),
    /// Those that were introduced, and that this worker has seen.
    Adopted(Sender<Vec<FlowKey>>),
    /// Those that another worker has seen.
    LeaveToAnother(Arc<Vec<FlowKey>>),
    /// From now on new connections pass, or not any more: the process has as much memory as it may.
    MemoryFull(bool),
    /// Descriptors of the driver, for another process.
    Share(Sender<io::Result<Vec<OwnedFd>>>),
    /// Stands still, and says what it knows, until it is decided who goes on.
    HandOver(Sender<io::Result<WorkerState>>, Arc<Decision>),
    Stop,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Flows {
    pub flows: Vec<FlowInfo>,
    /// Flows that are wanted, and beyond what was asked for.
    pub omitted: usize,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Status {
    pub counters: Counters,
    pub driver: DriverStats,
    pub connections: usize,
    pub held_bytes: u64,
    pub bypass: bool,
    pub histograms: Histograms,
    pub worker: WorkerHistograms,
    pub recorder: RecorderStats,
}

/// 1 µs to 100 ms.
const BATCH_BOUNDS_NS: [u64; 16] = one_two_five(1000);

histograms! {
    /// What a worker measures of itself.
    pub struct WorkerHistograms {
        /// Time that a worker took for a batch of packets, from reading to sending.
        batch_time_ns, Nanoseconds, &BATCH_BOUNDS_NS;
    }
}

/// A worker has not answered in time.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a worker has not answered within {} ms", ANSWER_LIMIT.as_millis())]
pub(crate) struct Unanswered;

/// The ends of the channels to all workers.
#[derive(Clone, Debug)]
pub(crate) struct Workers {
    channels: Vec<Sender<Command>>,
    hearts: Vec<Arc<Heart>>,
}

impl Workers {
    /// Channels to `count` workers, and their receiving ends.
    pub(crate) fn new(count: usize) -> (Workers, Vec<Receiver<Command>>) {
        let (channels, receivers) = (0..count).map(|_| mpsc::channel()).unzip();
        let hearts = (0..count).map(|_| Arc::default()).collect();
        (Workers { channels, hearts }, receivers)
    }

    /// How many there were at the start: each has its part of limits and caps.
    pub(crate) fn count(&self) -> usize {
        self.channels.len()
    }

    /// How many have not panicked.
    pub(crate) fn living(&self) -> usize {
        self.who_live().count()
    }

    /// One for each worker.
    pub(crate) fn hearts(&self) -> &[Arc<Heart>] {
        &self.hearts
    }

    fn who_live(&self) -> impl Iterator<Item = &Sender<Command>> {
        let all = self.channels.iter().zip(&self.hearts);
        all.filter(|(_, heart)| !heart.has_stopped())
            .map(|(channel, _)| channel)
    }

    /// Those that are wanted, so many of each worker at most.
    pub(crate) fn flows(&self, wanted: &Wanted, most: usize) -> Result<Flows, Unanswered> {
        let mut all = Flows::default();
        for part in self.ask(|answer| Command::Flows(wanted.clone(), most, answer))? {
            all.flows.extend(part.flows);
            all.omitted += part.omitted;
        }
        Ok(all)
    }

    /// The flow of this name, if it is governed.
    pub(crate) fn flow(&self, key: FlowKey) -> Result<Option<FlowInfo>, Unanswered> {
        let found = self.ask(|answer| Command::Flow(key, answer))?;
        Ok(found.into_iter().flatten().map(|info| *info).next())
    }

    pub(crate) fn status(&self) -> Result<Vec<Status>, Unanswered> {
        self.ask(Command::Status)
    }

    /// What each tenant has sent, summed over the workers.
    pub(crate) fn tenants(&self) -> Result<Vec<TenantInfo>, Unanswered> {
        let mut all: Vec<TenantInfo> = Vec::new();
        for tenant in self.ask(Command::Tenants)?.into_iter().flatten() {
            match all.iter_mut().find(|known| known.name == tenant.name) {
                Some(known) => known.add(&tenant),
                None => all.push(tenant),
            }
        }
        Ok(all)
    }

    /// Records of each worker from its position on; `None` where there is no recorder.
    pub(crate) fn record(&self, from: &[u64]) -> Result<Option<Vec<Part>>, Unanswered> {
        let asked = self.channels.iter().zip(from).map(|(channel, &from)| {
            let (answer, answers) = mpsc::channel();
            let room = Vec::with_capacity(recorder::PART_BYTES + recorder::RECORD_MAX_BYTES);
            let asked = channel.send(Command::Record(from, room, answer));
            asked.map(|()| answers).map_err(|_| Unanswered)
        });
        let asked: Vec<Receiver<Option<Part>>> = asked.collect::<Result<_, _>>()?;
        let end = Instant::now() + ANSWER_LIMIT;
        let parts = asked.into_iter().map(|answers| {
            let left = end.saturating_duration_since(Instant::now());
            answers.recv_timeout(left).map_err(|_| Unanswered)
        });
        parts.collect()
    }

    pub(crate) fn bypass(&self, on: bool) -> Result<(), Unanswered> {
        self.ask(|answer| Command::Bypass(on, answer)).map(drop)
    }

    pub(crate) fn set_policy(&self, policy: &Policy) -> Result<(), Unanswered> {
        let part = policy.for_one_of(self.count());
        self.ask(|answer| Command::Policy(Box::new(part.clone()), answer))
            .map(drop)
    }

    /// Of each worker in turn.
    pub(crate) fn share(&self) -> Result<Vec<Vec<OwnedFd>>, NotGiven> {
        self.ask_each(Command::Share)
    }

    /// All stand still. What each knows, in turn.
    pub(crate) fn hand_over(&self, decision: &Arc<Decision>) -> Result<Vec<WorkerState>, NotGiven> {
        self.ask_each(|answer| Command::HandOver(answer, Arc::clone(decision)))
    }

    /// What another box, by its number, has not been told of.
    pub(crate) fn introduce(&self, listener: u32) -> Result<Told, Unanswered> {
        let mut all = Told::default();
        for part in self.ask(|answer| Command::Introduce(listener, answer))? {
            all.introductions.extend(part.introductions);
            all.ended.extend(part.ended);
        }
        Ok(all)
    }

    /// Another box has told of connections, and of ends. Which worker will see them, nobody knows: all wait for them,
    /// until one has seen them.
    pub(crate) fn introduced(&self, mut introduced: Vec<Introduced>, ended: Vec<FlowKey>) {
        while !introduced.is_empty() {
            let rest = introduced.split_off(introduced.len().min(INTRODUCED_PER_TURN));
            let part = Arc::new(std::mem::replace(&mut introduced, rest));
            self.tell(|| Command::Heard(Heard::Introduced(Arc::clone(&part))));
        }
        if !ended.is_empty() {
            let ended = Arc::new(ended);
            self.tell(|| Command::Heard(Heard::Ended(Arc::clone(&ended))));
        }
    }

    /// Where one worker has seen what all wait for, the others do not any more.
    pub(crate) fn settle_adopted(&self) -> Result<(), Unanswered> {
        let adopted = self.ask(Command::Adopted)?.into_iter().flatten();
        let adopted = Arc::new(adopted.collect::<Vec<FlowKey>>());
        if self.count() > 1 && !adopted.is_empty() {
            self.tell(|| Command::LeaveToAnother(Arc::clone(&adopted)));
        }
        Ok(())
    }

    pub(crate) fn set_memory_full(&self, full: bool) {
        self.tell(|| Command::MemoryFull(full));
    }

    pub(crate) fn stop(&self) {
        self.tell(|| Command::Stop);
    }

    /// Tells all. A worker that is gone has stopped already.
    fn tell(&self, command: impl Fn() -> Command) {
        for channel in &self.channels {
            let _ = channel.send(command());
        }
    }

    /// Asks all that live at once. The answers are in the order of the workers.
    fn ask_each<T>(
        &self,
        command: impl Fn(Sender<io::Result<T>>) -> Command,
    ) -> Result<Vec<T>, NotGiven> {
        let asked: Result<Vec<Receiver<io::Result<T>>>, Unanswered> = self
            .channels
            .iter()
            .map(|channel| {
                let (answer, answered) = mpsc::channel();
                let sent = channel.send(command(answer));
                sent.map(|()| answered).map_err(|_| Unanswered)
            })
            .collect();
        let end = Instant::now() + ANSWER_LIMIT;
        let answer = |answered: Receiver<io::Result<T>>| {
            let left = end.saturating_duration_since(Instant::now());
            let answer = answered.recv_timeout(left).map_err(|_| Unanswered)?;
            Ok(answer?)
        };
        asked?.into_iter().map(answer).collect()
    }

    /// Asks all that live, and waits for the answers of all.
    fn ask<T>(&self, command: impl Fn(Sender<T>) -> Command) -> Result<Vec<T>, Unanswered> {
        let (answer, answers) = mpsc::channel();
        let mut asked = 0;
        for channel in self.who_live() {
            asked += 1;
            channel
                .send(command(answer.clone()))
                .map_err(|_| Unanswered)?;
        }
        drop(answer);
        let end = Instant::now() + ANSWER_LIMIT;
        (0..asked)
            .map(|_| {
                let left = end.saturating_duration_since(Instant::now());
                answers.recv_timeout(left).map_err(|_| Unanswered)
            })
            .collect()
    }
}
