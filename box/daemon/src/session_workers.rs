//! The workers of one session, from its opening to its end.

use std::any::Any;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use windlass_engine::{Engine, Side};
use windlass_io::interface::Problem;
use windlass_io::{AnyDriver, DriverInfo, Session, monotonic_ns};
use windlass_policy::Policy;

use crate::command::Workers;
use crate::control::{Handler, Live};
use crate::heart::Heart;
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
    threads: Vec<WorkerThread>,
}

struct WorkerThread {
    queue: usize,
    heart: Arc<Heart>,
    handle: Handle,
}

/// A worker that has panicked while others work.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub queue: usize,
    pub why: String,
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
        let policy = handler.policy.read();
        let policy = policy.unwrap_or_else(PoisonError::into_inner);
        let count = session.info().queues as usize;
        let processors =
            Processor::all(count, &settings.cpus, settings.priority).map_err(RunError::Settings)?;
        let pairs = begin(&mut session, &policy)?;
        let (workers, commands) = Workers::new(pairs.len());
        let mut running = SessionWorkers {
            info: session.info().clone(),
            warnings: session.warnings().to_vec(),
            threads: Vec::new(),
        };
        let mut started = Ok(());
        let parts = pairs.into_iter().zip(commands).zip(processors);
        let follows = settings.driver.follows.unwrap_or_default();
        for (queue, (((driver, mut engine), commands), processor)) in parts.enumerate() {
            engine.watch_strangers(follows.strangers_per_second > 0);
            let probe = recorder.map(Recorder::probe);
            let told = handler.events.clone();
            let mut worker = Worker::new(driver, engine, commands, probe, told);
            if let Some(recorder) = &settings.recorder {
                worker = worker.record(tape(recorder, workers.count()));
            }
            let heart = Arc::clone(&workers.hearts()[queue]);
            let worker = worker.with_heart(Arc::clone(&heart));
            let work = move || {
                processor.take();
                worker.run()
            };
            match WorkerThread::start(queue, heart, events.clone(), work) {
                Ok(thread) => running.threads.push(thread),
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
        self.threads
            .iter()
            .any(|thread| thread.handle.is_finished())
    }

    /// Those that have panicked, and belong to it no longer. If none would be left, all stay: it has ended.
    pub(crate) fn take_lost(&mut self) -> Vec<Lost> {
        take_lost(&mut self.threads)
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
        join(self.threads)
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

impl WorkerThread {
    fn start(
        queue: usize,
        heart: Arc<Heart>,
        events: Sender<Event>,
        work: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> Result<WorkerThread, RunError> {
        let ending = Ending {
            heart: Arc::clone(&heart),
            events,
        };
        let body = move || {
            let _ending = ending;
            work()
        };
        let named = thread::Builder::new().name("worker".to_owned());
        let handle = named.spawn(body).map_err(RunError::thread)?;
        Ok(WorkerThread {
            queue,
            heart,
            handle,
        })
    }

    fn is_lost(&self) -> bool {
        self.handle.is_finished() && self.heart.has_stopped()
    }
}

/// What a worker's thread does last, also when it panics: its packets, sockets and flows are gone then, and the kernel
/// forwards its queue.
struct Ending {
    heart: Arc<Heart>,
    events: Sender<Event>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        if thread::panicking() {
            self.heart.stop();
        }
        let _ = self.events.send(Event::WorkerEnded);
    }
}

fn take_lost(threads: &mut Vec<WorkerThread>) -> Vec<Lost> {
    if threads.iter().all(WorkerThread::is_lost) {
        return Vec::new();
    }
    let (lost, left): (Vec<_>, Vec<_>) = threads.drain(..).partition(WorkerThread::is_lost);
    *threads = left;
    let why = |thread: WorkerThread| Lost {
        queue: thread.queue,
        why: match thread.handle.join() {
            Err(panic) => words(&*panic),
            Ok(_) => String::new(),
        },
    };
    lost.into_iter().map(why).collect()
}

/// What a panic says.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("without a word").to_owned()
}

/// Waits for all workers, but not for ever: one that is stuck must not keep the daemon. The first that
/// failed is the error.
fn join(threads: Vec<WorkerThread>) -> Result<(), RunError> {
    let deadline = Instant::now() + END_LIMIT;
    let mut outcome = Ok(());
    for WorkerThread { queue, handle, .. } in threads {
        let reason = match ended(handle, deadline) {
            Some(Ok(Ok(()))) => continue,
            Some(Ok(Err(e))) => e.to_string(),
            Some(Err(panic)) => format!("it panicked: {}", words(&*panic)),
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
    use std::sync::mpsc;

    use super::*;

    fn started(
        queue: usize,
        events: &Sender<Event>,
        work: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> WorkerThread {
        WorkerThread::start(queue, Arc::default(), events.clone(), work).unwrap()
    }

    #[test]
    fn a_worker_that_panics_is_taken_out_and_the_others_stay() {
        let (events, incoming) = mpsc::channel();
        let (stop, stopped) = mpsc::channel::<()>();
        let mut threads = vec![
            started(0, &events, || panic!("no such flow")),
            started(1, &events, move || {
                let _ = stopped.recv();
                Ok(())
            }),
        ];
        assert!(matches!(incoming.recv(), Ok(Event::WorkerEnded)));
        while !threads[0].handle.is_finished() {
            thread::sleep(END_PAUSE);
        }
        let lost = take_lost(&mut threads);
        let why = "no such flow".to_owned();
        assert_eq!(lost, [Lost { queue: 0, why }]);
        assert_eq!(threads.len(), 1);
        assert_eq!(take_lost(&mut threads), []);
        drop(stop);
        assert!(join(threads).is_ok());
    }

    #[test]
    fn the_last_worker_that_panics_is_the_end() {
        let (events, _incoming) = mpsc::channel();
        let mut threads = vec![started(3, &events, || panic!("no such flow"))];
        while !threads[0].handle.is_finished() {
            thread::sleep(END_PAUSE);
        }
        assert_eq!(take_lost(&mut threads), []);
        let error = join(threads).unwrap_err().to_string();
        let expected = "the worker of queue 3 failed: it panicked: no such flow";
        assert_eq!(error, expected);
    }

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
