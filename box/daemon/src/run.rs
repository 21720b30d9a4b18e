//! From the first check to the orderly stop.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use windlass_cc::Catalog;

use crate::config_files::Reader;
use crate::control::{Condition, Handler, Server, Socket};
use crate::events::{Draft, EventKind, Events, Keeper, Lookout};
use crate::faults::Faults;
use crate::footprint::Footprint;
use crate::interface_claim::InterfaceClaim;
use crate::memory::{self, Saver};
use crate::open::Opened;
use crate::supervise::Supervisor;
use crate::trace::Recorder;
use crate::view::Sampler;
use crate::{RunError, Settings, changes, metrics};

/// How often it is looked after what tells nobody of itself.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// What the daemon has to react to.
pub(crate) enum Event {
    Stop,
    Reload,
    WorkerEnded,
    /// Of interfaces.
    Change,
}

/// Runs the box until SIGTERM or SIGINT. SIGHUP reads the configuration again. Calls `opened` once,
/// when it governs. Policies to come name algorithms of the catalog. To be called once in a process: it sets the signal handlers.
///
/// An interface that is gone is waited for, unless [`Settings::waits`] is false.
///
/// # Errors
/// [`RunError`]; the kernel then carries every flow that it can.
pub fn run(
    settings: Settings,
    catalog: Catalog,
    opened: impl FnOnce(&Opened<'_>),
) -> Result<(), RunError> {
    let (events, incoming) = mpsc::channel();
    handle_signals(events.clone())?;
    let socket = Socket::bind(&settings.control_socket)?;
    let metrics = settings.metrics.as_ref().map(metrics::Listener::bind);
    let metrics = metrics.transpose()?;
    let sole = InterfaceClaim::claim([&settings.driver.inside, &settings.driver.outside])?;
    let policy = Arc::new(RwLock::new(settings.policy.clone()));
    let trace = settings.trace.as_ref();
    let recorder = trace.map(|trace| Recorder::start(trace, Arc::clone(&policy)));
    let recorder = recorder.transpose()?;
    memory::load(&settings.policy);
    let (told, inbox) = Events::new();
    let keeper = Keeper::start(&told, inbox, Arc::clone(&policy)).map_err(RunError::thread)?;
    let handler = Arc::new(Handler {
        live: RwLock::new(None),
        condition: Mutex::new(Condition {
            trace_failed: recorder.as_ref().map(Recorder::failed),
            ..Condition::default()
        }),
        policy: Arc::clone(&policy),
        catalog: RwLock::new(catalog),
        bypass: AtomicBool::new(false),
        inside: settings.driver.inside.clone(),
        outside: settings.driver.outside.clone(),
        ports: settings.driver.ports.clone(),
        started: Instant::now(),
        events: told.clone(),
        sampler: Sampler::default(),
    });
    changes::tell(events.clone()).map_err(|e| RunError::system("watching the interfaces", &e))?;
    let mut supervisor = Supervisor::open(&settings, &handler, recorder.as_ref(), &events)?;
    let saver = Saver::start(&policy).map_err(RunError::thread)?;
    let reader = Reader::start(settings.reload.clone(), Arc::clone(&handler));
    let reader = reader.map_err(RunError::thread)?;
    supervisor.opened().inspect(|what| opened(what));
    let names = format!("{} > {}", settings.driver.inside, settings.driver.outside);
    let draft = Draft::new(
        EventKind::Started,
        format!("{names}: new flows are governed"),
    );
    told.tell(draft);
    let lookout = Lookout::start(Arc::clone(&handler)).map_err(RunError::thread)?;
    let server = Server::start(socket, Arc::clone(&handler)).map_err(RunError::thread)?;
    let scraped = metrics.map(|listener| metrics::Server::start(listener, Arc::clone(&handler)));
    let scraped = scraped.transpose().map_err(RunError::thread)?;
    let outcome = watch(&mut supervisor, &handler, &reader, &incoming);
    drop((server, scraped, lookout));
    let ended = supervisor.end();
    let draft = Draft::new(
        EventKind::Stopped,
        "the bridge carries every flow from here on",
    );
    told.tell(draft);
    drop(keeper);
    drop((saver, sole));
    let recorded = recorder.map_or(Ok(()), Recorder::finish);
    outcome.and(ended).and(recorded)
}

/// Returns when the daemon is to stop.
fn watch(
    supervisor: &mut Supervisor<'_>,
    handler: &Handler,
    reader: &Reader,
    events: &Receiver<Event>,
) -> Result<(), RunError> {
    let mut faults = Faults::new(&handler.events);
    let mut footprint = Footprint::new(supervisor.memory_limit_bytes());
    loop {
        faults.tell(&handler.catalog());
        handler.sampler.tidy();
        if let Some(full) = footprint.look() {
            faults.tell_memory(full);
        }
        // Workers that have begun meanwhile have to know, too; without any, nobody has.
        let full = footprint.is_full();
        let _ = handler.with_live(|live| {
            live.workers.set_memory_full(full);
            Ok(())
        });
        if let Some(unread) = handler.unread() {
            faults.tell_unread(unread);
        }
        match events.recv_timeout(CHECK_INTERVAL) {
            Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Ok(Event::Reload) => reader.again(),
            Ok(Event::Change | Event::WorkerEnded) => supervisor.look()?,
            Err(RecvTimeoutError::Timeout) => supervisor.tick()?,
        }
    }
}

/// SIGTERM and SIGINT stop the daemon, SIGHUP makes it read its configuration again.
fn handle_signals(events: Sender<Event>) -> Result<(), RunError> {
    let failed = |e: io::Error| RunError::system("setting signal handlers", &e);
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
    named.spawn(wait).map(drop).map_err(RunError::thread)
}
