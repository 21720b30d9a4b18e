//! The workers of one session, from its opening to its end.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use windlass_engine::{Engine, Side};
use windlass_io::interface::Problem;
use windlass_io::{AnyDriver, DriverInfo, Session, monotonic_ns};
use windlass_policy::Policy;

use crate::command::Workers;
use crate::control::{Handler, Live};
use crate::processor::Processor;
use crate::recorder::tape;
use crate::run::Event;
use crate::settings::seed;
use crate::trace::Recorder;
use crate::worker::Worker;
use crate::{RunError, Settings};

/// How long workers may take to end. The kernel closes their sockets under a lock that may be held for
/// seconds on a busy machine.
const END_LIMIT: Duration = Duration::from_secs(20);
/// Between two looks whether they have.
const END_PAUSE: Duration = Duration::from_millis(2);

/// What a worker works with.
pub(crate) type Pair = (AnyDriver, Engine);
type Handle = JoinHandle<io::Result<()>>;

/// Threads that work, one a queue. What they work on is in [`Handler::live`].
pub(crate) struct SessionWorkers {
    pub info: DriverInfo,
    pub warnings: Vec<Problem>,
    handles: Vec<Handle>,
}

impl SessionWorkers {
    /// Starts them on the drivers of a session, with the engines that `begin` makes for them under a policy: those of the
    /// handler, where the session stays until [`SessionWorkers::end`].
    pub(crate) fn start(
        mut session: Session,
        begin: impl FnOnce(&mut Session, &Policy) -> Result<Vec<Pair>, RunError>,
        settings: &Settings,
        handler: &Handler,
        recorder: Option<&Recorder>,
        events: &Sender<Event>,
    ) -> Result<SessionWorkers, RunError> {
        // Held until whoever brings another policy finds the workers at the handler.
        let policy = handler
            .policy
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let count = session.info().queues as usize;
        let processors =
            Processor::all(count, &settings.cpus, settings.priority).map_err(RunError::Settings)?;
        let pairs = begin(&mut session, &policy)?;
        let (workers, commands) = Workers::new(pairs.len());
        let mut running = SessionWorkers {
            info: session.info().clone(),
            warnings: session.warnings().to_vec(),
            handles: Vec::new(),
        };
        let mut started = Ok(());
        for (((driver, engine), commands), processor) in
            pairs.into_iter().zip(commands).zip(processors)
        {
            let probe = recorder.map(Recorder::probe);
            let mut worker = Worker::new(driver, engine, commands, probe);
            if let Some(recorder) = &settings.recorder {
                worker = worker.record(tape(recorder, workers.count()));
            }
            match start(worker, processor, events.clone()) {
                Ok(handle) => running.handles.push(handle),
                Err(e) => started = Err(e),
            }
        }
        let live = Live {
            workers,
            driver: running.info.clone(),
            wire: Mutex::new(Box::new(session)),
        };
        *handler.live.write().unwrap_or_else(PoisonError::into_inner) = Some(live);
        drop(policy);
        if handler.bypass.load(Ordering::Acquire) {
            // The status says so if it has not reached them all.
            let _ = handler.bypass(true);
        }
        match started {
            Ok(()) => Ok(running),
            Err(e) => running.end(handler).and(Err(e)),
        }
    }

    /// One of them has ended, or panicked.
    pub(crate) fn has_ended(&self) -> bool {
        self.handles.iter().any(Handle::is_finished)
    }

    /// Ends all of them and the session. The first that had failed is the error.
    pub(crate) fn end(self, handler: &Handler) -> Result<(), RunError> {
        // Whoever asks now is told that there is no box; whoever has asked is answered first.
        let live = handler
            .live
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(live) = &live {
            // Whether all answered or not: the kernel has taken over, and the workers end.
            let _ = live.bypass(true);
            live.workers.stop();
        }
        join(self.handles)
    }
}

/// Engines that know no connection yet, for the drivers of a session that has been opened.
pub(crate) fn anew(session: &mut Session, policy: &Policy, settings: &Settings) -> Vec<Pair> {
    let drivers = session.drivers();
    let count = drivers.len();
    let engine = || {
        let (part, limits) = (policy.for_one_of(count), settings.worker_limits(count));
        let mut engine = Engine::new(Box::new(part), limits, monotonic_ns(), seed());
        let sides = [Side::Inside, Side::Outside].into_iter();
        for (side, partial) in sides.zip(session.info().partial_checksums) {
            engine.set_partial_checksums(side, partial);
        }
        engine
    };
    drivers
        .into_iter()
        .map(|driver| (driver, engine()))
        .collect()
}

fn start(
    worker: Worker<AnyDriver>,
    processor: Processor,
    events: Sender<Event>,
) -> Result<Handle, RunError> {
    let body = move || {
        processor.take();
        let ended = worker.run();
        let _ = events.send(Event::WorkerEnded);
        ended
    };
    let named = thread::Builder::new().name("worker".to_owned());
    named.spawn(body).map_err(RunError::thread)
}

/// Waits for all workers, but not for ever: one that is stuck must not keep the daemon. The first that
/// failed is the error.
fn join(handles: Vec<Handle>) -> Result<(), RunError> {
    let deadline = Instant::now() + END_LIMIT;
    let mut outcome = Ok(());
    for (queue, handle) in handles.into_iter().enumerate() {
        let reason = match ended(handle, deadline) {
            Some(Ok(Ok(()))) => continue,
            Some(Ok(Err(e))) => e.to_string(),
            Some(Err(_)) => "it panicked".to_owned(),
            None => format!("it has not ended within {} s", END_LIMIT.as_secs()),
        };
        outcome = outcome.and(Err(RunError::Worker { queue, reason }));
    }
    outcome
}

/// How the thread has ended; `None` if it has not.
fn ended(handle: Handle, deadline: Instant) -> Option<thread::Result<io::Result<()>>> {
    while !handle.is_finished() {
        if Instant::now() >= deadline {
            return None;
        }
        thread::sleep(END_PAUSE);
    }
    Some(handle.join())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_stuck_is_not_waited_for() {
        let soon = || Instant::now() + Duration::from_millis(20);
        let stuck = thread::spawn(|| {
            thread::park_timeout(Duration::from_secs(5));
            Ok(())
        });
        assert!(ended(stuck, soon()).is_none());
        let quick = thread::spawn(|| Ok(()));
        let late = Instant::now() + Duration::from_secs(5);
        assert!(ended(quick, late).is_some_and(|end| end.is_ok_and(|end| end.is_ok())));
    }
}
