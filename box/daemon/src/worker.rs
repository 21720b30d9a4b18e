//! One worker: a driver, an engine, and the loop that feeds the one from the other.

use std::io;
use std::sync::mpsc::{Receiver, TryRecvError};

use windlass_engine::{Engine, Pkt, Side, Tx};
use windlass_io::{Driver, monotonic_ns};

use crate::command::{Command, Status, WorkerHistograms};
use crate::events::Events;
use crate::telling::Telling;
use crate::trace::Probe;

/// Packets taken from one side before the other has its turn.
const BATCH_PACKETS: usize = 64;
/// Room for what one turn sends: most packets cause one, a repair or a timer a few more.
const TX_ROOM: usize = 16 * BATCH_PACKETS;
/// Longest sleep, so that commands do not wait longer, ns.
const SLEEP_MAX_NS: u64 = 20_000_000;
/// Longest time that a worker which stops goes on transmitting what waits, ns.
const DRAIN_LIMIT_NS: u64 = 300_000_000;
/// What has waited for longer than this is not sent on, ns: its sender has sent it again.
const STALE_NS: u64 = 200_000_000;
/// Sleep between the turns of a worker that stops, ns.
const DRAIN_SLEEP_NS: u64 = 1_000_000;

/// What one thread owns.
pub(crate) struct Worker<D> {
    driver: D,
    engine: Engine,
    commands: Receiver<Command>,
    probe: Option<Probe>,
    events: Events,
    /// Who has asked for all flows.
    telling: Telling,
    rx: Vec<Pkt>,
    tx: Vec<Tx>,
    /// What the kernel had forwarded in this worker's place, and when its last turn ended, ns.
    missed: u64,
    /// A flood of SYNs is on.
    pressed: bool,
    turned_at: u64,
    histograms: WorkerHistograms,
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
            events,
            telling: Telling::default(),
            rx: Vec::with_capacity(BATCH_PACKETS),
            tx: Vec::with_capacity(TX_ROOM),
            missed: 0,
            pressed: false,
            turned_at: monotonic_ns(),
            histograms: WorkerHistograms::default(),
        }
    }

    /// Works until it is told to stop.
    ///
    /// # Errors
    /// The driver's: the interface is gone, or the kernel refuses.
    pub(crate) fn run(mut self) -> io::Result<()> {
        while self.obey()? {
            let tells = self.telling.tell(&self.engine);
            if self.turn()? == 0 && !tells {
                let now = monotonic_ns();
                let due = [self.engine.poll_at(), self.probe.as_ref().map(Probe::due)];
                let sleep = due.into_iter().flatten().min();
                let sleep = sleep.map_or(SLEEP_MAX_NS, |at| at.saturating_sub(now));
                self.driver.wait(Some(sleep.min(SLEEP_MAX_NS)))?;
            }
        }
        self.drain()
    }

    /// A batch from each side, the servers' first: an ACK never overtakes the data that it
    /// follows. Returns how many packets there were.
    fn turn(&mut self) -> io::Result<usize> {
        if self.driver.missed() != self.missed {
            self.catch_up()?;
        }
        let began = monotonic_ns();
        let mut count = 0;
        for side in [Side::Inside, Side::Outside] {
            count += self.driver.receive(side, BATCH_PACKETS, &mut self.rx)?;
            // After receiving: an earlier time would make RTTs too short when the worker has been
            // kept off its core in between.
            let now = monotonic_ns();
            self.engine
                .on_packets(now, side, &self.rx, &mut self.driver, &mut self.tx);
            self.rx.clear();
        }
        let now = monotonic_ns();
        self.engine.on_timer(now, &mut self.driver, &mut self.tx);
        // Before anything leaves: the answer to a SYN must find the connection followed.
        let driver = &mut self.driver;
        self.engine
            .take_follows(|key, number| driver.follow(&key, number));
        self.driver.transmit(&mut self.tx)?;
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
        self.turned_at = now;
        Ok(count)
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
        self.driver.transmit(&mut self.tx)
    }

    /// What was left here before the kernel forwarded the rest is passed on, or dropped if it is too old to be of
    /// use.
    fn drop_what_waits(&mut self, stale: bool) -> io::Result<()> {
        for side in [Side::Inside, Side::Outside] {
            while self.driver.receive(side, BATCH_PACKETS, &mut self.rx)? > 0 {
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

    /// Follows what has been asked; false: stop.
    fn obey(&mut self) -> io::Result<bool> {
        loop {
            // Whoever asked may have gone: an answer that nobody takes is no error.
            match self.commands.try_recv() {
                Ok(Command::Flows(most, answer)) => self.telling.ask(most, answer),
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
                    _ = answer.send(());
                }
                Ok(Command::MemoryFull(full)) => self.engine.set_memory_full(full),
                Ok(Command::Stop) | Err(TryRecvError::Disconnected) => return Ok(false),
                Err(TryRecvError::Empty) => return Ok(true),
            }
        }
    }

    fn set_bypass(&mut self, on: bool) -> io::Result<()> {
        self.engine
            .set_bypass(on, monotonic_ns(), &mut self.driver, &mut self.tx);
        self.driver.transmit(&mut self.tx)
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
        }
    }
}

#[cfg(test)]
mod tests;
