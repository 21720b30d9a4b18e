//! From the first check to the orderly stop.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::net::if_::if_nametoindex;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use windlass_engine::{Engine, Side};
use windlass_io::{AnyDriver, monotonic_ns};
use windlass_policy::Policy;

use crate::command::Workers;
use crate::control::{self, Desk, Server};
use crate::faults::Faults;
use crate::footprint::Footprint;
use crate::memory::{self, Saver};
use crate::open::{Opened, open};
use crate::processor::Processor;
use crate::settings::seed;
use crate::trace::Recorder;
use crate::worker::Worker;
use crate::{Reload, RunError, Settings, config_files};

/// How often it is checked that the interfaces are still there.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

enum Event {
    Stop,
    Reload,
    WorkerEnded,
}

type Handle = JoinHandle<io::Result<()>>;

/// Runs the box until SIGTERM or SIGINT. SIGHUP reads the configuration again. Calls `opened` once,
/// when it governs. To be called once in a process: it sets the signal handlers.
///
/// # Errors
/// [`RunError`]; the kernel then carries every flow that it can.
pub fn run(settings: Settings, opened: impl FnOnce(&Opened<'_>)) -> Result<(), RunError> {
    let (events, incoming) = mpsc::channel();
    handle_signals(events.clone())?;
    let listener = control::bind(&settings.control_socket)?;
    let socket = RemoveOnDrop(settings.control_socket.clone());
    let (mut session, bridge) = open(&settings.driver)?;
    let drivers = session.drivers();
    let (workers, commands) = Workers::new(drivers.len());
    let recorder = recorder(&settings)?;
    memory::load(settings.policy.auto());
    let policy = Arc::new(RwLock::new(settings.policy.clone()));
    let saver = Saver::start(&policy).map_err(thread_failed)?;
    let processors = Processor::all(drivers.len(), &settings.cpus, settings.priority)
        .map_err(RunError::Settings)?;
    let mut handles = Vec::new();
    for (driver, (commands, processor)) in drivers
        .into_iter()
        .zip(commands.into_iter().zip(processors))
    {
        let limits = settings.worker_limits(workers.count());
        let part = settings.policy.for_one_of(workers.count());
        let mut engine = Engine::new(Box::new(part), limits, monotonic_ns(), seed());
        let sides = [Side::Inside, Side::Outside].into_iter();
        for (side, partial) in sides.zip(session.info().partial_checksums) {
            engine.set_partial_checksums(side, partial);
        }
        let probe = recorder.as_ref().map(Recorder::probe);
        let worker = Worker::new(driver, engine, commands, probe);
        handles.push(start(worker, processor, events.clone())?);
    }
    let recording = recorder.map(|r| record(r, &policy)).transpose()?;
    opened(&Opened {
        driver: session.info(),
        bridge: bridge.as_ref(),
        warnings: session.warnings(),
    });
    let desk = Arc::new(Desk {
        workers: workers.clone(),
        driver: session.info().clone(),
        wire: Mutex::new(Box::new(session)),
        policy,
        inside: settings.driver.inside.clone(),
        outside: settings.driver.outside.clone(),
        started: Instant::now(),
    });
    let server = Server::start(listener, &settings.control_socket, Arc::clone(&desk))
        .map_err(thread_failed)?;
    let outcome = watch(&settings, &desk, &incoming, &handles);
    drop((server, socket));
    // Whether all answered or not: the kernel has taken over, and the workers end.
    let _ = desk.bypass(true);
    workers.stop();
    drop(saver);
    let ended = join(handles);
    let recorded = recording.map_or(Ok(()), |thread| finish(thread, &settings));
    outcome.and(ended).and(recorded)
}

/// The name of the socket goes with the process, whichever way it ends in order.
struct RemoveOnDrop(std::path::PathBuf);

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
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
    named.spawn(body).map_err(thread_failed)
}

/// Returns when the daemon is to stop.
fn watch(
    settings: &Settings,
    desk: &Desk,
    events: &Receiver<Event>,
    handles: &[Handle],
) -> Result<(), RunError> {
    let names = [&settings.driver.inside, &settings.driver.outside];
    let indices = names.map(|name| if_nametoindex(name.as_str()));
    let mut faults = Faults::default();
    let driver = &settings.driver;
    let frames =
        desk.workers.count() as u64 * u64::from(driver.frames) * u64::from(driver.frame_size);
    let mut footprint = Footprint::new(settings.memory_mb, frames);
    loop {
        faults.tell();
        if let Some(full) = footprint.look() {
            desk.workers.set_memory_full(full);
            faults.tell_memory(full);
        }
        if let Some(unread) = desk.unread() {
            faults.tell_unread(unread);
        }
        let event = events.recv_timeout(CHECK_INTERVAL);
        match event {
            Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Ok(Event::Reload) => {
                reload(settings, desk);
                continue;
            }
            _ => {}
        }
        for (name, index) in names.iter().zip(&indices) {
            if if_nametoindex(name.as_str()) != *index {
                return Err(RunError::InterfaceGone {
                    name: (*name).clone(),
                });
            }
        }
        // A worker that panicked sends no event.
        if event.is_ok() || handles.iter().any(Handle::is_finished) {
            return Ok(());
        }
    }
}

/// SIGTERM and SIGINT stop the daemon, SIGHUP makes it read its configuration again.
fn handle_signals(events: Sender<Event>) -> Result<(), RunError> {
    let failed = |e: io::Error| RunError::System {
        what: "setting signal handlers",
        reason: e.to_string(),
    };
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).map_err(failed)?;
    let wait = move || {
        for signal in signals.forever() {
            let event = if signal == SIGHUP {
                Event::Reload
            } else {
                Event::Stop
            };
            if events.send(event).is_err() {
                return;
            }
        }
    };
    let named = thread::Builder::new().name("signals".to_owned());
    named.spawn(wait).map(drop).map_err(thread_failed)
}

/// Reads the configuration again. A mistake leaves the rules in charge as they are.
fn reload(settings: &Settings, desk: &Desk) {
    let Some(Reload { path, overrides }) = &settings.reload else {
        return eprintln!("windlass: SIGHUP: there is no configuration file to read again");
    };
    let read = config_files::read(path).map_err(|e| e.to_string());
    match read.and_then(|files| desk.apply(&files, overrides)) {
        Ok(_) => eprintln!("windlass: {} is in charge", path.display()),
        Err(error) => eprintln!("windlass: the rules stay as they were: {error}"),
    }
}

/// Waits for all workers; the first that failed is the error.
fn join(handles: Vec<Handle>) -> Result<(), RunError> {
    let mut outcome = Ok(());
    for (queue, handle) in handles.into_iter().enumerate() {
        let reason = match handle.join() {
            Ok(Ok(())) => continue,
            Ok(Err(e)) => e.to_string(),
            Err(_) => "it panicked".to_owned(),
        };
        outcome = outcome.and(Err(RunError::Worker { queue, reason }));
    }
    outcome
}

fn recorder(settings: &Settings) -> Result<Option<Recorder>, RunError> {
    let Some(trace) = &settings.trace else {
        return Ok(None);
    };
    let created = Recorder::create(trace).map_err(|source| RunError::Trace {
        path: trace.path.clone(),
        source,
    })?;
    Ok(Some(created))
}

fn record(recorder: Recorder, policy: &Arc<RwLock<Policy>>) -> Result<Handle, RunError> {
    let policy = Arc::clone(policy);
    let named = thread::Builder::new().name("trace".to_owned());
    named
        .spawn(move || recorder.run(&policy))
        .map_err(thread_failed)
}

fn finish(thread: Handle, settings: &Settings) -> Result<(), RunError> {
    let written = match thread.join() {
        Ok(written) => written,
        Err(_) => Err(io::Error::other("its thread panicked")),
    };
    let path = settings.trace.as_ref().map(|t| t.path.clone());
    written.map_err(|source| RunError::Trace {
        path: path.unwrap_or_default(),
        source,
    })
}

fn thread_failed(error: io::Error) -> RunError {
    RunError::System {
        what: "starting a thread",
        reason: error.to_string(),
    }
}
