//! Keeps the box between its two interfaces, whatever becomes of them and of their bridge.

use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use windlass_engine::Decide;
use windlass_io::bridge::BridgeState;
use windlass_io::interface::{check, check_links, check_packet};
use windlass_io::watch::{Lookout, Port};
use windlass_io::{Prefer, Session};
use windlass_policy::Policy;

use crate::bridge::{Home, Mended};
use crate::complaints::Complaints;
use crate::control::{Handler, Trouble};
use crate::events::{Draft, EventKind};
use crate::open::{Opened, bridge, open};
use crate::run::Event;
use crate::session_workers::{Lost, Pair, SessionWorkers, anew};
use crate::trace::Recorder;
use crate::upgrade::Predecessor;
use crate::{RunError, Settings, last_events, log};

/// Ticks between two looks when nothing tells of a change.
const TICKS_PER_LOOK: u32 = 5;
/// An interface that is being deleted fails its workers first, and is gone so much later at the latest.
const GOING: Duration = Duration::from_millis(200);
/// Time between two attempts to open the box again that fail.
const RETRY: Duration = Duration::from_secs(1);

/// The box, open or waiting.
pub(crate) struct Supervisor<'a> {
    settings: &'a Settings,
    handler: &'a Handler,
    recorder: Option<&'a Recorder>,
    events: Sender<Event>,
    lookout: Lookout,
    /// `None` while an interface is waited for.
    workers: Option<SessionWorkers>,
    /// Of the interfaces that the workers works on.
    indices: [u32; 2],
    /// As it was at the start, and where the interfaces belong.
    bridge: Option<BridgeState>,
    home: Option<Home>,
    told: Complaints,
    /// Why the box could not be opened again the last time.
    refused: Option<String>,
    ticks: u32,
    retry_at: Instant,
}

impl<'a> Supervisor<'a> {
    /// Opens the box for the first time.
    ///
    /// # Errors
    /// [`RunError`]: at the start nothing is waited for.
    pub(crate) fn open(
        settings: &'a Settings,
        handler: &'a Handler,
        recorder: Option<&'a Recorder>,
        events: &Sender<Event>,
    ) -> Result<Supervisor<'a>, RunError> {
        let (session, bridge) = open(&settings.driver)?;
        let mut supervisor = Supervisor::of(settings, handler, recorder, events, bridge)?;
        let ports = supervisor.look_first()?;
        supervisor.employ(session, &ports)?;
        supervisor.begin(&ports);
        Ok(supervisor)
    }

    /// Takes the box over from a process that has it.
    ///
    /// # Errors
    /// [`RunError`]: the other process governs on.
    pub(crate) fn take_over(
        settings: &'a Settings,
        handler: &'a Handler,
        recorder: Option<&'a Recorder>,
        events: &Sender<Event>,
        predecessor: &mut Predecessor,
    ) -> Result<Supervisor<'a>, RunError> {
        let bridge = bridge(&settings.driver)?;
        let mut supervisor = Supervisor::of(settings, handler, recorder, events, bridge)?;
        let ports = supervisor.look_first()?;
        let (session, heirs) = predecessor.prepare(&settings.driver)?;
        let begin = |session: &mut Session, policy: &Policy| {
            let count = heirs.len();
            let one = || -> Box<dyn Decide> { Box::new(policy.for_one_of(count)) };
            let kept = (settings.worker_limits(count), &*handler.catalog());
            predecessor.take_over(session, heirs, kept, one)
        };
        supervisor.put_to_work(session, begin, &ports)?;
        // With more patience than is configured, nothing is wrong that would not show otherwise.
        let _ = handler.with_live(|live| {
            // Who answers has begun to read.
            live.workers.status().map_err(|e| e.to_string())?;
            let begun = live.wire().begin(&settings.driver);
            begun.map_err(|e| e.to_string())
        });
        supervisor.begin(&ports);
        Ok(supervisor)
    }

    fn of(
        settings: &'a Settings,
        handler: &'a Handler,
        recorder: Option<&'a Recorder>,
        events: &Sender<Event>,
        bridge: Option<BridgeState>,
    ) -> Result<Supervisor<'a>, RunError> {
        let asking = |e| RunError::system("asking for the interfaces", &e);
        let lookout = Lookout::open().map_err(asking)?;
        Ok(Supervisor {
            settings,
            handler,
            recorder,
            events: events.clone(),
            lookout,
            workers: None,
            indices: [0; 2],
            home: bridge.as_ref().map(Home::new),
            bridge,
            told: Complaints::default(),
            refused: None,
            ticks: 0,
            retry_at: Instant::now(),
        })
    }

    fn look_first(&mut self) -> Result<[Option<Port>; 2], RunError> {
        let ports = self.lookout.look(self.names());
        let ports = ports.map_err(|e| RunError::system("asking for the interfaces", &e))?;
        match self.missing(&ports) {
            Some(name) => Err(RunError::InterfaceGone {
                name: name.to_owned(),
            }),
            None => Ok(ports),
        }
    }

    /// What is known at the start is told by whoever has started it.
    fn begin(&mut self, ports: &[Option<Port>; 2]) {
        let warnings = self.workers.iter().flat_map(|workers| &workers.warnings);
        for warning in warnings {
            self.told.know(&warning.what);
        }
        self.publish(ports, Mended::default());
    }

    /// What was obtained at the start.
    pub(crate) fn opened(&self) -> Option<Opened<'_>> {
        let workers = self.workers.as_ref()?;
        Some(Opened {
            driver: &workers.info,
            bridge: self.bridge.as_ref(),
            warnings: &workers.warnings,
        })
    }

    /// Time has passed, and nothing was told.
    pub(crate) fn tick(&mut self) -> Result<(), RunError> {
        self.ticks += 1;
        let troubles = self.handler.condition().troubles.clone();
        self.told.tell(&troubles, &self.handler.events);
        // A worker that panicked tells nothing.
        let ended = self.workers.as_ref().is_none_or(SessionWorkers::has_ended);
        match ended || self.ticks.is_multiple_of(TICKS_PER_LOOK) {
            true => self.look(),
            false => Ok(()),
        }
    }

    /// Looks at the interfaces and their bridge, and does what is to be done.
    ///
    /// # Errors
    /// The box cannot go on.
    pub(crate) fn look(&mut self) -> Result<(), RunError> {
        // What cannot be asked, for want of memory perhaps, says nothing about the interfaces.
        let Ok(mut ports) = self.lookout.look(self.names()) else {
            return Ok(());
        };
        self.count_lost();
        if let Some(workers) = &self.workers {
            let ended = workers.has_ended();
            if ended && self.lost(&ports).is_none() {
                thread::sleep(GOING);
                ports = self.lookout.look(self.names()).unwrap_or(ports);
            }
            match self.lost(&ports) {
                Some((name, why)) => self.suspend(name, why, &ports)?,
                None if ended => return self.fail(&ports),
                None => {}
            }
        }
        let mended = self.mend(&ports);
        if mended.changed {
            ports = self.lookout.look(self.names()).unwrap_or(ports);
        }
        if self.workers.is_none() {
            self.resume(&ports);
        }
        self.publish(&ports, mended);
        Ok(())
    }

    /// Workers that have panicked, while others work: the kernel forwards their queues from now on, and the others' flows
    /// notice nothing.
    fn count_lost(&mut self) {
        let lost = self.workers.as_mut().map(SessionWorkers::take_lost);
        for Lost { queue, why } in lost.into_iter().flatten() {
            let what = format!(
                "the worker of queue {queue} has panicked ({why}): the kernel forwards this queue, the others are governed"
            );
            log::critical(&what);
            let mut condition = self.handler.condition();
            condition.workers_panicked += 1;
            condition.lost_workers.push(what);
        }
    }

    /// What the process may have: as much as is configured, the packet frames, and the flight recorder.
    pub(crate) fn memory_limit_bytes(&self) -> u64 {
        let queues = self
            .workers
            .as_ref()
            .map_or(1, |workers| workers.info.queues);
        let driver = &self.settings.driver;
        let frames = u64::from(driver.frames) * u64::from(driver.frame_size);
        let recorder = self.settings.recorder.map_or(0, |r| u64::from(r.memory_mb));
        ((u64::from(self.settings.memory_mb) + recorder) << 20) + u64::from(queues) * frames
    }

    /// Ends the box.
    ///
    /// # Errors
    /// [`RunError::Worker`].
    pub(crate) fn end(&mut self) -> Result<(), RunError> {
        let workers = self.workers.take();
        workers.map_or(Ok(()), |workers| workers.end(self.handler))
    }

    fn names(&self) -> [&'a str; 2] {
        let driver = &self.settings.driver;
        [&driver.inside, &driver.outside]
    }

    fn missing(&self, ports: &[Option<Port>; 2]) -> Option<&'a str> {
        let mut both = self.names().into_iter().zip(ports);
        both.find(|(_, port)| port.is_none()).map(|(name, _)| name)
    }

    /// The interface that is not any more the one that the workers works on.
    fn lost(&self, ports: &[Option<Port>; 2]) -> Option<(&'a str, String)> {
        let all = self.names().into_iter().zip(ports).zip(self.indices);
        for ((name, port), index) in all {
            match port {
                None => return Some((name, gone(name))),
                Some(port) if port.index != index => {
                    return Some((name, format!("interface {name} was deleted and made again")));
                }
                Some(_) => {}
            }
        }
        None
    }

    /// Workers have ended although both interfaces are there. One that is down may come up again.
    fn fail(&mut self, ports: &[Option<Port>; 2]) -> Result<(), RunError> {
        let both = self.names().into_iter().zip(ports);
        let mut down = both.filter(|(_, port)| port.as_ref().is_some_and(|p| !p.up));
        if let Some((name, _)) = down.next() {
            return self.suspend(name, format!("interface {name} is down"), ports);
        }
        self.end()?;
        Err(RunError::Worker {
            queue: 0,
            reason: "it has ended".to_owned(),
        })
    }

    /// Ends the workers, and waits.
    fn suspend(
        &mut self,
        name: &str,
        why: String,
        ports: &[Option<Port>; 2],
    ) -> Result<(), RunError> {
        if !self.settings.waits {
            let name = name.to_owned();
            return Err(RunError::InterfaceGone { name });
        }
        let text =
            format!("{why}: nothing is governed until it can be taken back; windlass waits for it");
        let draft = Draft::new(EventKind::InterfaceGone, text).because(name);
        self.handler.events.tell(draft);
        self.told.know(&why);
        self.handler.condition().waiting = Some(why);
        self.publish(ports, Mended::default());
        // That workers fail whose interface is gone is no news.
        let _ = self.end();
        self.retry_at = Instant::now();
        Ok(())
    }

    fn mend(&mut self, ports: &[Option<Port>; 2]) -> Mended {
        let names = self.names();
        let Some(home) = &mut self.home else {
            return Mended::default();
        };
        let mended = home.mend(&self.lookout, names, ports);
        for text in &mended.told {
            let draft = Draft::new(EventKind::BridgeChanged, text);
            self.handler.events.tell(draft);
        }
        if mended.changed {
            // Without a live box there is nothing that would have to know.
            let _ = self.handler.with_live(|live| {
                let learned = live.wire().learn_addresses(names);
                learned.map_err(|e| e.to_string())
            });
        }
        mended
    }

    /// Opens the box again if both interfaces are there, up, and where they belong.
    fn resume(&mut self, ports: &[Option<Port>; 2]) {
        if let Some(name) = self.missing(ports) {
            self.handler.condition().waiting = Some(gone(name));
            return;
        }
        let (names, home) = (self.names(), self.home.as_ref());
        let at_home = |port: &Port| {
            let above = port.master.as_ref().map(|m| &m.name);
            home.is_none_or(|home| above == Some(&home.name))
        };
        for (name, port) in names.into_iter().zip(ports) {
            let Some(port) = port else { return };
            let lacks = if !port.up {
                format!("interface {name} is down")
            } else if !at_home(port) {
                format!("interface {name} is not where it was")
            } else {
                continue;
            };
            self.handler.condition().waiting = Some(lacks);
            return;
        }
        if Instant::now() < self.retry_at {
            return;
        }
        let opened = open(&self.settings.driver);
        match opened.and_then(|(session, _)| self.employ(session, ports)) {
            Ok(()) => {
                let mut condition = self.handler.condition();
                condition.waiting = None;
                condition.reopened += 1;
                self.refused = None;
                drop(condition);
                let text = format!("{} > {} again: new flows are governed", names[0], names[1]);
                let draft = Draft::new(EventKind::InterfaceBack, text);
                self.handler.events.tell(draft);
            }
            Err(error) => {
                self.retry_at = Instant::now() + RETRY;
                let why = error.to_string();
                if self.refused.replace(why.clone()).as_ref() != Some(&why) {
                    let text = format!("it cannot be opened again yet: {why}");
                    let draft = Draft::new(EventKind::Trouble, text).because("open");
                    self.handler.events.tell(draft);
                }
                self.handler.condition().waiting = Some(why);
            }
        }
    }

    fn employ(&mut self, session: Session, ports: &[Option<Port>; 2]) -> Result<(), RunError> {
        let settings = self.settings;
        let begin = |session: &mut Session, policy: &Policy| Ok(anew(session, policy, settings));
        self.put_to_work(session, begin, ports)
    }

    fn put_to_work(
        &mut self,
        session: Session,
        begin: impl FnOnce(&mut Session, &Policy) -> Result<Vec<Pair>, RunError>,
        ports: &[Option<Port>; 2],
    ) -> Result<(), RunError> {
        let (settings, handler) = (self.settings, self.handler);
        let workers = SessionWorkers::start(
            session,
            begin,
            settings,
            handler,
            self.recorder,
            &self.events,
        )?;
        self.indices = ports.each_ref().map(|p| p.as_ref().map_or(0, |p| p.index));
        let (queues, names) = (workers.info.queues, self.names());
        last_events::note(&format!(
            "{} > {} opened with {queues} worker(s)",
            names[0], names[1]
        ));
        self.workers = Some(workers);
        self.handler.condition().lost_workers.clear();
        Ok(())
    }

    /// Keeps what is wrong now for whoever asks, and tells it.
    fn publish(&mut self, ports: &[Option<Port>; 2], mended: Mended) {
        let mut troubles = mended.troubles;
        let names @ [inside, outside] = self.names();
        for (name, _) in names.into_iter().zip(ports).filter(|(_, p)| p.is_none()) {
            troubles.push(Trouble {
                what: gone(name),
                mend: "make it again: windlass takes it back by itself".to_owned(),
            });
        }
        let problems = match self.settings.driver.prefer {
            _ if self.missing(ports).is_some() => Vec::new(),
            Prefer::Packet => check_packet(inside, outside),
            _ if mended.gone => check_links(inside, outside),
            _ => check(inside, outside),
        };
        troubles.extend(problems.into_iter().map(|p| Trouble {
            what: p.what,
            mend: p.fix,
        }));
        self.told.tell(&troubles, &self.handler.events);
        let mut condition = self.handler.condition();
        condition.bridge = self.home.as_ref().map(|home| home.name.clone());
        condition.troubles = troubles;
    }
}

fn gone(name: &str) -> String {
    format!("interface {name} is gone")
}
