//! A generator of floods. It stands behind the link, at the box's outside: the link neither limits
//! it nor loses the transfers' packets to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use windlass_io::packet::{Injector, Interface};
use windlass_lab::topology::{EMULATOR_NEAR, emulator_far};

use crate::frames::{Kind, Maker, complete};
use crate::lab::Lab;
use crate::load::spawn_inside;

/// Frames for a system call, of a flood that keeps to a rate as many as come due in this time.
const BATCH: usize = 64;
const BATCHES_PER_SECOND: u64 = 2_000;
const FRAME_BYTES: usize = 2048;
/// Real packets that copies are made of: the newest ones.
const REAL_PACKETS: usize = 256;
/// The longest sleep of a generator that keeps to a rate.
const NAP: Duration = Duration::from_micros(200);

/// What to send.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub kind: Kind,
    /// Frames a second; none: as many as go.
    pub rate: Option<u64>,
    /// Ends by itself after so many frames.
    pub frames: u64,
    pub port: u16,
    pub seed: u64,
}

/// What was sent.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sent {
    pub frames: u64,
    pub took: Duration,
}

impl Sent {
    pub fn per_second(&self) -> f64 {
        self.frames as f64 / self.took.as_secs_f64().max(1e-3)
    }
}

/// A running flood. Dropping it ends it.
pub struct Flood {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Sent>>>,
}

impl Flood {
    pub fn start(lab: &Lab, plan: Plan) -> Result<Flood> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut generator = {
            let stop = Arc::clone(&stop);
            lab.topology.net.inside(|| Generator::new(plan, stop))?
        };
        let thread = spawn_inside(&lab.topology.net, "flood", move || generator.run())?;
        Ok(Flood {
            stop,
            thread: Some(thread),
        })
    }

    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends it, if it has not ended.
    pub fn stop(mut self) -> Result<Sent> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("stopped once");
        thread.join().map_err(|_| anyhow!("the flood panicked"))?
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

struct Generator {
    plan: Plan,
    maker: Maker,
    out: Injector,
    /// The client's packets on their way, for copies.
    tap: Option<Interface>,
    real: Vec<Vec<u8>>,
    taken: usize,
    stop: Arc<AtomicBool>,
}

impl Generator {
    fn new(plan: Plan, stop: Arc<AtomicBool>) -> Result<Generator> {
        let tap = match plan.kind {
            Kind::Damaged | Kind::Forged => Some(Interface::open(&emulator_far(0))?),
            _ => None,
        };
        Ok(Generator {
            maker: Maker::new(plan.kind, plan.port, plan.seed),
            plan,
            out: Injector::open(EMULATOR_NEAR)?,
            tap,
            real: Vec::new(),
            taken: 0,
            stop,
        })
    }

    fn run(&mut self) -> Result<Sent> {
        let begin = Instant::now();
        let due = self
            .plan
            .rate
            .map(|rate| (rate / BATCHES_PER_SECOND).max(1) as usize);
        let batch = due.map_or(BATCH, |due| due.min(BATCH));
        let mut frames = vec![Vec::with_capacity(FRAME_BYTES); batch];
        let mut count = 0;
        while !self.stop.load(Ordering::Relaxed) && count < self.plan.frames {
            if let Some(rate) = self.plan.rate
                && count as f64 >= begin.elapsed().as_secs_f64() * rate as f64
            {
                std::thread::sleep(NAP);
                continue;
            }
            self.listen()?;
            if self.tap.is_some() && self.real.is_empty() {
                std::thread::sleep(NAP);
                continue;
            }
            for (number, frame) in frames.iter_mut().enumerate() {
                let real = self.real.get(number * 7 % self.real.len().max(1));
                self.maker.make(frame, real.map_or(&[], Vec::as_slice));
            }
            count += self.send(&frames)?;
        }
        Ok(Sent {
            frames: count,
            took: begin.elapsed(),
        })
    }

    /// How many frames the interface has taken, all of them if nobody ends the flood. While it takes none, the generator
    /// sleeps: it shares the processors with those whom it floods, and would only wear them out.
    fn send(&mut self, frames: &[Vec<u8>]) -> Result<u64> {
        let mut sent = 0;
        while sent < frames.len() && !self.stop.load(Ordering::Relaxed) {
            match self.out.send(&frames[sent..])? {
                0 => std::thread::sleep(NAP),
                some => sent += some,
            }
        }
        Ok(sent as u64)
    }

    /// Takes what the client has sent; the newest packets replace the oldest.
    fn listen(&mut self) -> Result<()> {
        let Some(tap) = &mut self.tap else {
            return Ok(());
        };
        let mut frame = [0; FRAME_BYTES];
        while let Some(received) = tap.recv(&mut frame)? {
            let mut bytes = frame[..received.len].to_vec();
            complete(&mut bytes);
            if self.real.len() < REAL_PACKETS {
                self.real.push(bytes);
            } else {
                self.real[self.taken % REAL_PACKETS] = bytes;
            }
            self.taken += 1;
        }
        Ok(())
    }
}
