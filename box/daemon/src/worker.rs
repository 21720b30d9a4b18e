//! One worker: a driver, an engine, and the loop that feeds the one from the other.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use windlass_engine::{Engine, Nanos, Pkt, Side, Tx};
use windlass_io::{Driver, monotonic_ns};
use windlass_record::{Mark, Part, Tape};

use crate::command::{Command, Status, WorkerHistograms};
use crate::events::Events;
use crate::heart::Heart;
use crate::introducing::{Heard, Introducing};
use crate::recorder::PART_BYTES;
use crate::telling::Telling;
use crate::trace::Probe;
use crate::upgrade::{Decision, WorkerState};

/// Packets taken from one side before the other has its turn.
pub(crate) const BATCH_PACKETS: usize = 64;
/// Room for what one turn sends: most packets cause one, a repair or a timer a few more.
const TX_ROOM: usize = 16 * BATCH_PACKETS;
/// Connections of which the driver is asked in one turn: about as much work as a batch of packets.
const CONNECTIONS_PER_TURN: usize = 64;
/// Longest sleep, so that commands do not wait longer, ns.
const SLEEP_MAX_NS: u64 = 20_000_000;
/// Longest time that a worker which stops goes on transmitting what waits, ns.
const DRAIN_LIMIT_NS: u64 = 300_000_000;
/// What has waited for longer than this is not sent on, ns: its sender has sent it again.
const STALE_NS: u64 = 200_000_000;
/// Sleep between the turns of a worker that stops, ns.
const DRAIN_SLEEP_NS: u64 = 1_000_000;

/// Between two beats of a worker that stands still.
const STANDSTILL_BEAT: Duration = Duration::from_millis(5);

/// What a worker does when it has followed all that was asked.
enum Next {
    Turn,
    Stop,
    /// Another process goes on with everything.
    Leave,
}

/// What one thread owns.
pub(crate) struct Worker<D> {
    driver: D,
    engine: Engine,
    commands: Receiver<Command>,
    probe: Option<Probe>,
    tape: Option<Box<Tape>>,
    events: Events,
    /// Who has asked for all flows.
    telling: Telling,
    introducing: Introducing,
    /// After a bypass: the place in the table from which on nobody has asked who has begun anew.
    renamed: Option<usize>,
    /// What another box has told, in its order.
    heard: VecDeque<Heard>,
    rx: Vec<Pkt>,
    tx: Vec<Tx>,
    /// What the kernel had forwarded in this worker's place, and when its last turn ended, ns.
    missed: u64,
    /// Packets that went on without being recorded, while there was something to catch up with.
    unrecorded: u64,
    /// A flood of SYNs is on.
    pressed: bool,
    turned_at: u64,
    histograms: WorkerHistograms,
    heart: Arc<Heart>,
}

impl<D: Driver> Worker<D> {
    pub(crate) fn new(
        driver: D,
        engine: Engine,
        commands: Receiver<Command>,
        probe: Option<Probe>,
        events: Events,
    ) -> Self {
        Worker {
            driver,
            engine,
            commands,
            probe,
            tape: None,
            events,
            telling: Telling::default(),
            introducing: Introducing::default(),
            renamed: None,
            heard: VecDeque::new(),
            rx: Vec::with_capacity(BATCH_PACKETS),
            tx: Vec::with_capacity(TX_ROOM),
            missed: 0,
            unrecorded: 0,
            pressed: false,
            turned_at: monotonic_ns(),
            histograms: WorkerHistograms::default(),
            heart: Arc::default(),
        }
    }

    /// Has it record what comes, what leaves, and what is decided.
    pub(crate) fn record(mut self, tape: Box<Tape>) -> Self {
        self.engine.tell_decisions(BATCH_PACKETS);
        self.tape = Some(tape);
        self.mark(monotonic_ns());
        self
    }

    /// From now on this heart says whether it works.
    pub(crate) fn with_heart(self, heart: Arc<Heart>) -> Self {
        Worker { heart, ..self }
    }

    /// Works until it is told to stop.
    ///
    /// # Errors
    /// The driver's: the interface is gone, or the kernel refuses.
    pub(crate) fn run(mut self) -> io::Result<()> {
        self.bound();
        // Whoever asks from here on asks a worker that reads.
        self.driver.beat();
        loop {
            match self.obey()? {
                Next::Turn => {}
                Next::Stop => return self.drain(),
                Next::Leave => return Ok(()),
            }
            let tells = self.telling.tell(&self.engine);
            let introduces = self.introducing.tell(&mut self.engine, monotonic_ns());
            let introduces = self.take_heard()? || introduces;
            self.forget_renamed();
            if self.turn()? == 0 && !tells && !introduces {
                let now = monotonic_ns();
                let due = [self.engine.poll_at(), self.probe.as_ref().map(Probe::due)];
                let sleep = due.into_iter().flatten().min();
                let sleep = sleep.map_or(SLEEP_MAX_NS, |at| at.saturating_sub(now));
                self.driver.wait(Some(sleep.min(SLEEP_MAX_NS)))?;
            }
        }
    }

    /// A batch from each side, the servers' first: an ACK never overtakes the data that it
    /// follows. Returns how many packets there were.
    fn turn(&mut self) -> io::Result<usize> {
        let missed = self.driver.missed() != self.missed;
        if missed {
            self.catch_up()?;
        }
        let began = monotonic_ns();
        let mut count = 0;
        for side in [Side::Inside, Side::Outside] {
            count += self.driver.receive(side, BATCH_PACKETS, &mut self.rx)?;
            // After receiving: an earlier time would make RTTs too short when the worker has been
            // kept off its core in between.
            let now = monotonic_ns();
            if let Some(tape) = &mut self.tape {
                tape.take(&self.driver, &self.rx, now);
            }
            self.engine
                .on_packets(now, side, &self.rx, &mut self.driver, &mut self.tx);
            if let Some(tape) = &mut self.tape {
                tape.came(side, self.engine.decisions(), now);
            }
            self.rx.clear();
        }
        let now = monotonic_ns();
        self.engine.on_timer(now, &mut self.driver, &mut self.tx);
        // Before anything leaves: the answer to a SYN must find the connection followed.
        self.take_follows();
        self.transmit(now)?;
        let events = &self.events;
        let lost = self.engine.take_notices(|notice| events.notice(notice));
        if lost > 0 {
            events.lose(lost);
        }
        if self.engine.is_pressed() != self.pressed {
            self.pressed = !self.pressed;
            self.driver.limit_syns(self.pressed);
        }
        if let Some(probe) = &mut self.probe
            && probe.due() <= now
        {
            probe.sample(now, &self.engine);
        }
        if count > 0 {
            self.driver.beat();
            let took = monotonic_ns() - began;
            self.histograms.batch_time_ns.record(took);
        }
        // A worker that finds nothing although packets pass it by does not work.
        if count > 0 || !missed {
            self.heart.beat();
        }
        self.turned_at = now;
        Ok(count)
    }

    /// Sends and records what the engine wants to be sent.
    fn transmit(&mut self, now: Nanos) -> io::Result<()> {
        if let Some(tape) = &mut self.tape {
            tape.leave(&self.driver, &self.tx, now);
            if tape.is_mark_due(now) {
                self.mark(now);
            }
        }
        self.driver.transmit(&mut self.tx)
    }

    /// Tells the recorder what is missing in it.
    fn mark(&mut self, now: Nanos) {
        let Some(tape) = &mut self.tape else { return };
        let stats = self.driver.stats();
        let mark = Mark {
            unrecorded: self.driver.missed() + self.unrecorded,
            dropped_leaving: stats.sides.iter().map(|side| side.tx_dropped).sum(),
            dropped_coming: stats.sides.iter().map(|side| side.rx_dropped).sum(),
        };
        tape.mark(mark, now);
    }

    /// A part of what is recorded.
    fn recorded(&mut self, from: u64, into: Vec<u8>) -> Option<Part> {
        self.mark(monotonic_ns());
        let tape = self.tape.as_ref()?;
        Some(tape.read(from, PART_BYTES, into))
    }

    /// This worker has stood still, and the kernel has forwarded packets. If they were few, the engine has missed
    /// something of the connections that they belong to, and that is all.
    fn catch_up(&mut self) -> io::Result<()> {
        let now = monotonic_ns();
        let stale = now.saturating_sub(self.turned_at) > STALE_NS;
        let few = self.driver.missed_since(self.missed).filter(|_| !stale);
        if few.is_none() {
            self.drop_what_waits(stale)?;
        }
        // From here on packets come again: what is missed, has been missed.
        self.driver.beat();
        let missed = self.driver.missed();
        let few = few.and_then(|_| self.driver.missed_since(self.missed));
        self.missed = missed;
        match few {
            Some(numbers) => {
                self.engine
                    .lose_sight_of(&numbers, now, &mut self.driver, &mut self.tx);
            }
            None => self.engine.lose_sight(now, &mut self.driver, &mut self.tx),
        }
        self.transmit(now)
    }

    /// What was left here before the kernel forwarded the rest is passed on, or dropped if it is too old to be of
    /// use.
    fn drop_what_waits(&mut self, stale: bool) -> io::Result<()> {
        for side in [Side::Inside, Side::Outside] {
            while self.driver.receive(side, BATCH_PACKETS, &mut self.rx)? > 0 {
                self.unrecorded += self.rx.len() as u64;
                for pkt in self.rx.drain(..) {
                    if stale {
                        self.driver.free(pkt);
                    } else {
                        self.engine.forward(side, pkt, &self.driver, &mut self.tx);
                    }
                }
                self.driver.transmit(&mut self.tx)?;
            }
        }
        Ok(())
    }

    /// Follows what has been asked.
    fn obey(&mut self) -> io::Result<Next> {
        loop {
            // Whoever asked may have gone: an answer that nobody takes is no error.
            match self.commands.try_recv() {
                Ok(Command::Flows(wanted, most, answer)) => {
                    self.telling.ask(wanted, most, answer);
                }
                Ok(Command::Flow(key, answer)) => {
                    _ = answer.send(self.engine.flow(&key).map(Box::new));
                }
                Ok(Command::Status(answer)) => _ = answer.send(self.status()),
                Ok(Command::Tenants(answer)) => {
                    _ = answer.send(self.engine.tenants().cloned().collect());
                }
                Ok(Command::Bypass(on, answer)) => {
                    self.set_bypass(on)?;
                    _ = answer.send(());
                }
                Ok(Command::Policy(policy, answer)) => {
                    self.engine.set_policy(policy, monotonic_ns());
                    self.bound();
                    _ = answer.send(());
                }
                Ok(Command::Record(from, into, answer)) => {
                    _ = answer.send(self.recorded(from, into));
                }
                Ok(Command::Introduce(listener, answer)) => self.introducing.ask(listener, answer),
                Ok(Command::Heard(part)) => self.heard.push_back(part),
                Ok(Command::Adopted(answer)) => {
                    let mut adopted = Vec::new();
                    self.engine.take_adopted(|key| adopted.push(key));
                    _ = answer.send(adopted);
                }
                Ok(Command::LeaveToAnother(keys)) => {
                    keys.iter()
                        .for_each(|key| self.engine.leave_to_another(key));
                }
                Ok(Command::MemoryFull(full)) => self.engine.set_memory_full(full),
                Ok(Command::Share(answer)) => _ = answer.send(self.driver.share()),
                Ok(Command::HandOver(answer, decision)) => {
                    _ = answer.send(self.last_state(decision.format));
                    if self.stand_still(&decision) {
                        return Ok(Next::Leave);
                    }
                }
                Ok(Command::Stop) | Err(TryRecvError::Disconnected) => return Ok(Next::Stop),
                Err(TryRecvError::Empty) => return Ok(Next::Turn),
            }
        }
    }

    /// Takes in a part of what another box has told. True: there was one.
    fn take_heard(&mut self) -> io::Result<bool> {
        let Some(part) = self.heard.pop_front() else {
            return Ok(false);
        };
        let now = monotonic_ns();
        let (engine, driver, tx) = (&mut self.engine, &mut self.driver, &mut self.tx);
        match part {
            Heard::Introduced(all) => all
                .iter()
                .for_each(|each| engine.introduced(now, each, driver, tx)),
            Heard::Ended(keys) => keys
                .iter()
                .for_each(|key| engine.ended_elsewhere(now, key, driver, tx)),
        }
        self.transmit(now)?;
        Ok(true)
    }

    /// All that this worker knows, with nothing on its way.
    fn last_state(&mut self, format: u16) -> io::Result<WorkerState> {
        if self.driver.missed() != self.missed {
            self.catch_up()?;
        }
        if self.engine.bypass() {
            self.renamed = Some(0);
        }
        while self.renamed.is_some() {
            self.forget_renamed();
        }
        self.take_follows();
        debug_assert!(self.rx.is_empty() && self.tx.is_empty());
        let engine = self.engine.export_as(format);
        Ok(WorkerState {
            driver: self.driver.export()?,
            engine: engine.ok_or(io::ErrorKind::Unsupported)?,
        })
    }

    /// Packets wait in the rings until it is decided who goes on. True: another process.
    fn stand_still(&mut self, decision: &Decision) -> bool {
        loop {
            self.driver.beat();
            if let Some(leaves) = decision.wait(STANDSTILL_BEAT) {
                return leaves;
            }
        }
    }

    /// Packets that policy bounds, though they belong to no flow, must come here.
    fn bound(&mut self) {
        let senders: Vec<_> = self.engine.bounded_senders().collect();
        self.driver.bound(&senders);
    }

    fn take_follows(&mut self) {
        let driver = &mut self.driver;
        self.engine
            .take_follows(|key, number| driver.follow(&key, number));
    }

    /// After a bypass: a part of those that have begun anew meanwhile is forgotten. Their packets do not come.
    fn forget_renamed(&mut self) {
        let Some(place) = self.renamed else { return };
        let (driver, part) = (&self.driver, (place, CONNECTIONS_PER_TURN));
        let next = self.engine.forget_renamed(part, |key| driver.follows(key));
        self.renamed = (next != 0).then_some(next);
    }

    fn set_bypass(&mut self, on: bool) -> io::Result<()> {
        if !on && self.engine.bypass() {
            self.renamed = Some(0);
        }
        let now = monotonic_ns();
        self.engine
            .set_bypass(on, now, &mut self.driver, &mut self.tx);
        self.transmit(now)
    }

    /// Passes on what was taken before the kernel took over, until nothing waits.
    fn drain(&mut self) -> io::Result<()> {
        self.set_bypass(true)?;
        let end = monotonic_ns() + DRAIN_LIMIT_NS;
        while monotonic_ns() < end {
            if self.turn()? == 0 {
                if self.driver.stats().frames.tx_queued == 0 {
                    break;
                }
                self.driver.wait(Some(DRAIN_SLEEP_NS))?;
            }
        }
        Ok(())
    }

    fn status(&self) -> Status {
        Status {
            counters: *self.engine.counters(),
            driver: self.driver.stats(),
            connections: self.engine.connections(),
            held_bytes: self.engine.held_bytes(),
            bypass: self.engine.bypass(),
            histograms: *self.engine.histograms(),
            worker: self.histograms,
            recorder: self
                .tape
                .as_ref()
                .map(|tape| tape.stats())
                .unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests;
