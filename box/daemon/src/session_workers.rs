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

use crate::command::Workers;
use crate::control::{Handler, Live};
use crate::processor::Processor;
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

type Handle = JoinHandle<io::Result<()>>;

/// Threads that work, one a queue. What they work on is in [`Handler::live`].
pub(crate) struct SessionWorkers {
    pub info: DriverInfo,
    pub warnings: Vec<Problem>,
    handles: Vec<Handle>,
}

impl SessionWorkers {
    /// Starts them on the drivers of a session, under the policy and the bypass of the handler, where the
    /// session stays until [`SessionWorkers::end`].
    pub(crate) fn start(
        mut session: Session,
        settings: &Settings,
        handler: &Handler,
        recorder: Option<&Recorder>,
        events: &Sender<Event>,
    ) -> Result<SessionWorkers, RunError> {
        let drivers = session.drivers();
        let (workers, commands) = Workers::new(drivers.len());
        let mut running = SessionWorkers {
            info: session.info().clone(),
            warnings: session.warnings().to_vec(),
            handles: Vec::new(),
        };
        // Held until whoever brings another policy finds the workers at the handler.
        let policy = handler
            .policy
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let processors = Processor::all(drivers.len(), &settings.cpus, settings.priority)
            .map_err(RunError::Settings)?;
        let mut started = Ok(());
        for ((driver, commands), processor) in drivers.into_iter().zip(commands).zip(processors) {
            let limits = settings.worker_limits(workers.count());
            let part = policy.for_one_of(workers.count());
            let mut engine = Engine::new(Box::new(part), limits, monotonic_ns(), seed());
            let sides = [Side::Inside, Side::Outside].into_iter();
            for (side, partial) in sides.zip(running.info.partial_checksums) {
                engine.set_partial_checksums(side, partial);
            }
            let probe = recorder.map(Recorder::probe);
            let told = handler.events.clone();
            let worker = Worker::new(driver, engine, commands, probe, told);
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
