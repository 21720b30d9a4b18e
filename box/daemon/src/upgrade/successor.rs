//! The process that takes over.

use std::os::fd::OwnedFd;
use std::thread;

use windlass_cc::Catalog;
use windlass_engine::{Decide, Engine, Limits, Side};
use windlass_io::handover::{Channel, DRIVER_FORMAT, Estate, HeirDriver, Plan, read_memory_file};
use windlass_io::{AnyDriver, Driver, DriverConfig, Session, monotonic_ns};

use super::{END_LIMIT, Message, STANDSTILL_LIMIT, START_LIMIT, hear, say, unexpected};
use crate::RunError;
use crate::processor::Processor;

/// The process that governs until this one does.
pub(crate) struct Predecessor {
    channel: Channel,
    estate: Option<Estate>,
    /// Bypass is on.
    pub bypass: bool,
}

impl Predecessor {
    /// Says that this process is there, and hears what the other has.
    ///
    /// # Errors
    /// [`RunError::Upgrade`].
    pub(crate) fn meet(channel: Channel) -> Result<Predecessor, RunError> {
        let hello = Message::Hello {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            connections_format: Engine::OLDEST_STATE_FORMAT,
            newest_connections_format: Some(Engine::STATE_FORMAT),
            driver_format: DRIVER_FORMAT,
        };
        say(&channel, &hello, &[]).map_err(|e| RunError::Upgrade(e.to_string()))?;
        let (message, descriptors) = hear(&channel, START_LIMIT).map_err(RunError::Upgrade)?;
        let Message::Estate {
            plan,
            bypass,
            links,
        } = message
        else {
            return Err(RunError::Upgrade(unexpected(&message)));
        };
        let estate = estate(plan, links, descriptors).ok_or_else(|| {
            RunError::Upgrade("it has sent other descriptors than it said".into())
        })?;
        Ok(Predecessor {
            channel,
            estate: Some(estate),
            bypass,
        })
    }

    /// Makes ready what it has for this process. It governs.
    ///
    /// # Errors
    /// [`RunError`]; the other process has been told.
    pub(crate) fn prepare(
        &mut self,
        config: &DriverConfig,
    ) -> Result<(Session, Vec<HeirDriver>), RunError> {
        let estate = self.estate.take();
        let estate = estate.ok_or_else(|| RunError::Upgrade("it was taken before".to_owned()))?;
        let made = Session::inherit(config, estate);
        made.map_err(|e| self.refuse(&e.to_string()).unwrap_or(e.into()))
    }

    /// Has the other stop, and goes on with its connections, under policies of `policy`: its XDP program is not attached any
    /// more when this returns.
    ///
    /// # Errors
    /// [`RunError`]; the other process has been told, and governs on.
    pub(crate) fn take_over(
        &mut self,
        session: &mut Session,
        heirs: Vec<HeirDriver>,
        (limits, catalog): (Limits, &Catalog),
        policy: impl Fn() -> Box<dyn Decide> + Sync,
    ) -> Result<Vec<(AnyDriver, Engine)>, RunError> {
        let take = || {
            say(&self.channel, &Message::Ready, &[]).map_err(|e| e.to_string())?;
            let (message, files) = hear(&self.channel, START_LIMIT)?;
            let Message::States = message else {
                return Err(unexpected(&message));
            };
            if files.len() != 2 * heirs.len() {
                return Err("it has other workers than it said".to_owned());
            }
            let mut files = files.into_iter();
            let mut workers = Vec::new();
            for heir in heirs {
                let mut next = || read(files.next());
                let (engine, driver) = (next()?, next()?);
                let driver = session.driver(heir, &driver).map_err(|e| e.to_string())?;
                let now = monotonic_ns();
                let engine = Engine::import(&engine, policy(), catalog, limits, now);
                let (engine, _) = engine.map_err(|e| e.to_string())?;
                workers.push(followed(driver, engine, session));
            }
            session.take_place().map_err(|e| e.to_string())?;
            say(&self.channel, &Message::Taken, &[]).map_err(|e| e.to_string())?;
            match hear(&self.channel, STANDSTILL_LIMIT)?.0 {
                Message::Go => Ok(workers),
                other => Err(unexpected(&other)),
            }
        };
        // Workers of the other process stand still meanwhile: a thread of its own, so that no other one keeps its priority.
        let taken = thread::scope(|scope| {
            let hurried = scope.spawn(|| {
                Processor::hurry();
                take()
            });
            let panicked = |_| Err("it panicked".to_owned());
            hurried.join().unwrap_or_else(panicked)
        });
        taken.map_err(|why| {
            self.refuse(&why);
            RunError::Upgrade(why)
        })
    }

    /// Tells the other that this process governs, and waits for its end.
    pub(crate) fn say_running(&self) {
        // It ends, whether it hears of it or not.
        let _ = say(&self.channel, &Message::Running, &[]);
        let _ = self.channel.wait_for_end(END_LIMIT);
    }

    /// Tells the other, which says so to whoever asked for it.
    fn refuse(&self, why: &str) -> Option<RunError> {
        let refused = Message::Refused {
            why: why.to_owned(),
        };
        say(&self.channel, &refused, &[]).err()?;
        None
    }
}

/// Before its first packet comes: the connections are known to the XDP program.
fn followed(mut driver: AnyDriver, mut engine: Engine, session: &Session) -> (AnyDriver, Engine) {
    let sides = [Side::Inside, Side::Outside].into_iter();
    for (side, partial) in sides.zip(session.info().partial_checksums) {
        engine.set_partial_checksums(side, partial);
    }
    engine.take_follows(|key, number| driver.follow(&key, number));
    (driver, engine)
}

fn read(file: Option<OwnedFd>) -> Result<Vec<u8>, String> {
    let file = file.ok_or("a state is missing")?;
    read_memory_file(file).map_err(|e| e.to_string())
}

/// The links come first, and each driver has the same part of the rest.
fn estate(plan: Plan, links: usize, mut descriptors: Vec<OwnedFd>) -> Option<Estate> {
    if links > descriptors.len() {
        return None;
    }
    let mut rest = descriptors.split_off(links).into_iter();
    let each = rest.len().checked_div(plan.queues())?;
    let drivers: Vec<Vec<OwnedFd>> = (0..plan.queues())
        .map(|_| rest.by_ref().take(each).collect())
        .collect();
    rest.next().is_none().then_some(Estate {
        plan,
        links: descriptors,
        drivers,
    })
}
