//! From the first check to the orderly stop.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGABRT, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use windlass_cc::Catalog;
use windlass_io::MemoryHolder;
use windlass_io::handover::Channel;
use windlass_policy::Policy;

use crate::config_files::Reader;
use crate::control::{Condition, Handler, Server, Socket};
use crate::events::{Draft, EventKind, Events, Keeper, Lookout};
use crate::faults::Faults;
use crate::footprint::Footprint;
use crate::interface_claim::InterfaceClaim;
use crate::memory::{self, Saver};
use crate::open::Opened;
use crate::recorder::NANOS_PER_SECOND;
use crate::service::Service;
use crate::standby::Doorway;
use crate::supervise::Supervisor;
use crate::trace::Recorder;
use crate::upgrade::{Predecessor, Upgrade};
use crate::view::Sampler;
use crate::{RunError, Settings, changes, last_events, log, metrics};

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
/// `predecessor` is the channel to a process that governs, and that this one takes over from ([`crate::SUCCESSOR_VARIABLE`]).
///
/// # Errors
/// [`RunError`]; the kernel then carries every flow that it can, or the other process governs on.
pub fn run(
    settings: Settings,
    catalog: Catalog,
    predecessor: Option<Channel>,
    opened: impl FnOnce(&Opened<'_>),
) -> Result<(), RunError> {
    let (events, incoming) = mpsc::channel();
    last_events::tell_at_panics();
    handle_signals(events.clone())?;
    let _holder = MemoryHolder::start().inspect_err(tell_no_holder);
    // What is wrong with it is told while another process governs.
    let doorway = Doorway::open(&settings)?;
    // Another process that governs has both until it has ended.
    let alone = predecessor.is_none();
    let entrance = alone.then(|| Entrance::open(&settings)).transpose()?;
    let predecessor = predecessor.map(Predecessor::meet).transpose()?;
    let policy = Arc::new(RwLock::new(settings.policy.clone()));
    let trace = settings.trace.as_ref();
    let recorder = trace.map(|trace| Recorder::start(trace, Arc::clone(&policy)));
    let recorder = recorder.transpose()?;
    memory::load(&settings.policy);
    let (told, inbox) = Events::new();
    let keeper = Keeper::start(&told, inbox, Arc::clone(&policy)).map_err(RunError::thread)?;
    let bypass = predecessor.as_ref().is_some_and(|other| other.bypass);
    let condition = Condition {
        trace_failed: recorder.as_ref().map(Recorder::failed),
        ..Condition::default()
    };
    let handler = Arc::new(Handler {
        bypass: AtomicBool::new(bypass),
        condition: Mutex::new(condition),
        ..handler(&settings, catalog, &policy, &events, &told)
    });
    changes::tell(events.clone()).map_err(|e| RunError::starting("watching the interfaces", &e))?;
    let mut supervisor = match predecessor {
        None => Supervisor::open(&settings, &handler, recorder.as_ref(), &events)?,
        Some(other) => take_over(&settings, &handler, recorder.as_ref(), &events, other)?,
    };
    let entrance = entrance.map_or_else(|| Entrance::open(&settings), Ok)?;
    let saver = Saver::start(&policy).map_err(RunError::thread)?;
    let reader = Reader::start(settings.reload.clone(), Arc::clone(&handler));
    let reader = reader.map_err(RunError::thread)?;
    let mut service = Service::new();
    service.await_workers(&handler);
    supervisor.opened().inspect(|what| opened(what));
    told.tell(started(&settings));
    let lookout = Lookout::start(Arc::clone(&handler)).map_err(RunError::thread)?;
    let (served, begun) = entrance.serve(&handler)?;
    let standby = doorway.start(&handler, alone)?;
    let outcome = watch(&mut supervisor, &mut service, &handler, &reader, &incoming);
    if !handler.upgrade.is_done() {
        service.stopping();
    }
    drop((served, standby, lookout));
    let ended = supervisor.end();
    told.tell(stopped(&handler));
    drop((keeper, saver, begun));
    let recorded = recorder.map_or(Ok(()), Recorder::finish);
    outcome.and(ended).and(recorded)
}

/// It governs all the same.
fn tell_no_holder(error: &io::Error) {
    let lost = "if this process is killed, the wire loses the packets of some milliseconds";
    log::warning(format_args!(
        "{lost} (a process that holds its memory cannot be started: {error})"
    ));
}

/// Another process governs, and does not from then on.
fn take_over<'a>(
    settings: &'a Settings,
    handler: &'a Arc<Handler>,
    recorder: Option<&'a Recorder>,
    events: &'a Sender<Event>,
    mut other: Predecessor,
) -> Result<Supervisor<'a>, RunError> {
    let supervisor = Supervisor::take_over(settings, handler, recorder, events, &mut other)?;
    other.say_running();
    Ok(supervisor)
}

/// What answers to requests, before anything governs.
fn handler(
    settings: &Settings,
    catalog: Catalog,
    policy: &Arc<RwLock<Policy>>,
    events: &Sender<Event>,
    told: &Events,
) -> Handler {
    let seconds = settings.recorder.map(|recorder| recorder.seconds);
    Handler {
        live: RwLock::new(None),
        condition: Mutex::default(),
        policy: Arc::clone(policy),
        catalog: RwLock::new(catalog),
        bypass: AtomicBool::new(false),
        recorded_for: seconds.map(|seconds| u64::from(seconds) * NANOS_PER_SECOND),
        inside: settings.driver.inside.clone(),
        outside: settings.driver.outside.clone(),
        ports: settings.driver.ports.clone(),
        started: Instant::now(),
        upgrade: Upgrade::new(no_upgrade(settings), events.clone()),
        events: told.clone(),
        sampler: Sampler::default(),
    }
}

/// Said when it governs.
fn started(settings: &Settings) -> Draft {
    let (inside, outside) = (&settings.driver.inside, &settings.driver.outside);
    let what = format!("{inside} > {outside}: new flows are governed");
    Draft::new(EventKind::Started, what)
}

/// Said when it does not any more.
fn stopped(handler: &Handler) -> Draft {
    let what = match handler.upgrade.is_done() {
        true => "another process goes on with every flow",
        false => "the bridge carries every flow from here on",
    };
    Draft::new(EventKind::Stopped, what)
}

/// Where others find the daemon, and what keeps a second one from its interfaces.
struct Entrance {
    socket: Socket,
    metrics: Option<metrics::Listener>,
    claim: InterfaceClaim,
    keeping: last_events::Keeping,
}

/// Who answers requests.
type Served = (Server, Option<metrics::Server>);
/// What a process has for itself as long as it runs.
type Begun = (last_events::Keeping, InterfaceClaim);

impl Entrance {
    fn open(settings: &Settings) -> Result<Entrance, RunError> {
        let metrics = settings.metrics.as_ref().map(metrics::Listener::bind);
        let socket = Socket::bind(&settings.control_socket)?;
        Ok(Entrance {
            metrics: metrics.transpose()?,
            claim: InterfaceClaim::claim([&settings.driver.inside, &settings.driver.outside])?,
            // Nobody else runs.
            keeping: last_events::Keeping::begin(&settings.control_socket),
            socket,
        })
    }

    /// Requests are answered from now on; the claim stays, and so does what is kept for the next process.
    fn serve(self, handler: &Arc<Handler>) -> Result<(Served, Begun), RunError> {
        let server = Server::start(self.socket, Arc::clone(handler)).map_err(RunError::thread)?;
        let start = |listener| metrics::Server::start(listener, Arc::clone(handler));
        let scraped = self.metrics.map(start).transpose();
        let scraped = scraped.map_err(RunError::thread)?;
        Ok(((server, scraped), (self.keeping, self.claim)))
    }
}

/// Why another process cannot take over.
fn no_upgrade(settings: &Settings) -> Option<String> {
    if !settings.waits {
        return Some("with Open vSwitch, stop windlass and start the other".to_owned());
    }
    let trace = settings.trace.as_ref()?;
    Some(format!(
        "the other process would write over the trace {}: start windlass without --trace",
        trace.path.display()
    ))
}

/// Returns when the daemon is to stop.
fn watch(
    supervisor: &mut Supervisor<'_>,
    service: &mut Service,
    handler: &Handler,
    reader: &Reader,
    events: &Receiver<Event>,
) -> Result<(), RunError> {
    let mut faults = Faults::new(&handler.events);
    let mut footprint = Footprint::new(supervisor.memory_limit_bytes());
    loop {
        service.tick(handler);
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
        match events.recv_timeout(service.interval(CHECK_INTERVAL)) {
            Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Ok(Event::Reload) => reader.again(),
            // Another process governs: what becomes of the workers here is as it should be.
            Ok(Event::Change | Event::WorkerEnded) | Err(RecvTimeoutError::Timeout)
                if handler.upgrade.is_done() => {}
            Ok(Event::Change | Event::WorkerEnded) => supervisor.look()?,
            Err(RecvTimeoutError::Timeout) => supervisor.tick()?,
        }
    }
}

/// SIGTERM and SIGINT stop the daemon, SIGHUP makes it read its configuration again. SIGABRT, which is the watchdog's, has it
/// tell its last events before it dies.
fn handle_signals(events: Sender<Event>) -> Result<(), RunError> {
    let failed = |e: io::Error| RunError::starting("setting signal handlers", &e);
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGABRT]).map_err(failed)?;
    let wait = move || {
        for signal in signals.forever() {
            let event = match signal {
                SIGABRT => {
                    last_events::tell_at_end("ended by SIGABRT, as a watchdog does");
                    let _ = emulate_default_handler(SIGABRT);
                    return;
                }
                SIGHUP => Event::Reload,
                _ => Event::Stop,
            };
            if events.send(event).is_err() {
                return;
            }
        }
    };
    let named = thread::Builder::new().name("signals".to_owned());
    named.spawn(wait).map(drop).map_err(RunError::thread)
}
