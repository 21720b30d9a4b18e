//! A session goes from one process to the next, and packets flow meanwhile.
//!
//! 1. The process that has the session shares descriptors: [`Session::share`], and [`crate::Driver::share`] of each driver.
//! 2. The next one makes everything ready with its own XDP program: [`Session::inherit`].
//! 3. The first stops its workers, and says what they know: [`crate::Driver::export`].
//! 4. The next one makes its drivers of that ([`Session::driver`]), and its program takes the place of the other's
//!    ([`Session::take_place`]).
//!
//! Until the drivers of the next one are used, the first may go on: with [`Session::take_place`], as if nothing had been.

mod channel;

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use serde::{Deserialize, Serialize};
use windlass_engine::Side;

use crate::any::AnyDriver;
use crate::driver::{DriverConfig, DriverInfo, Prefer};
use crate::error::{OpenError, system};
use crate::interface::Interface;
use crate::program::Program;
use crate::session::{Session, Xdp, switch_on};
use crate::xdp::{DESCRIPTORS, Heir, Obtained, Place};

pub use channel::{Channel, DESCRIPTORS_MAX, memory_file, read_memory_file};

/// Of the plan and of what drivers say. Raised whenever one of them is read otherwise.
pub const DRIVER_FORMAT: u16 = 1;

/// While one process hands over to another, packets may wait for so long, ms.
const STANDSTILL_PATIENCE_MS: u32 = 1000;

/// Before, the kernel lets nobody map the rings of a socket that is bound (`xsk_mmap`).
const OLD_KERNEL: &str =
    "to hand over AF_XDP sockets needs Linux 6.4: stop windlass, and start the other";

/// What a session is, for the process that takes it over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Names of the interfaces.
    pub interfaces: [String; 2],
    /// What was obtained.
    pub info: DriverInfo,
    pub(crate) queues: Vec<(Place, Obtained)>,
}

impl Plan {
    /// Queues that are served, with a driver each.
    pub fn queues(&self) -> usize {
        self.queues.len()
    }
}

/// Descriptors of a session, with its plan.
#[derive(Debug)]
pub struct Estate {
    /// What it is.
    pub plan: Plan,
    /// Of the attachments: inside, outside.
    pub links: Vec<OwnedFd>,
    /// Of each driver.
    pub drivers: Vec<Vec<OwnedFd>>,
}

/// A driver of another process, until that has stopped.
#[derive(Debug)]
pub struct HeirDriver(Heir);

impl Session {
    /// What another process needs to take this session over, and the links; an error with AF_PACKET.
    ///
    /// # Errors
    /// The kernel's, or `Unsupported`.
    pub fn share(&self) -> io::Result<(Plan, Vec<OwnedFd>)> {
        let Some(xdp) = &self.xdp else {
            let why =
                "sockets of AF_PACKET cannot be handed over: stop windlass, and start it again";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        };
        let plan = Plan {
            interfaces: xdp.names.clone(),
            info: self.info.clone(),
            queues: xdp.queues.clone(),
        };
        Ok((plan, xdp.program.share_links()?))
    }

    /// Makes ready to go on with a session of another process. That governs until [`Session::take_place`].
    ///
    /// # Errors
    /// [`OpenError`]; the configuration may differ in nothing that concerns interfaces, queues and frames.
    pub fn inherit(
        config: &DriverConfig,
        estate: Estate,
    ) -> Result<(Session, Vec<HeirDriver>), OpenError> {
        let Estate {
            plan,
            links,
            drivers,
        } = estate;
        agree(config, &plan)?;
        let links = links.try_into();
        let links = links.map_err(|_| damaged("the number of links"))?;
        if drivers.len() != plan.queues.len() {
            return Err(damaged("the number of drivers"));
        }
        let get = |name: &String| Interface::get(name).map_err(system(name));
        let sides = [get(&config.inside)?, get(&config.outside)?];
        let mut program = Program::load(config.follows.unwrap_or_default().flows)
            .map_err(system("loading the XDP program"))?;
        program.inherit(links);
        let mut heirs = Vec::new();
        for ((place, obtained), descriptors) in plan.queues.iter().zip(drivers) {
            let descriptors: Result<[OwnedFd; DESCRIPTORS], _> = descriptors.try_into();
            let descriptors = descriptors.map_err(|_| damaged("the descriptors of a driver"))?;
            let heir = inherit_queue(&mut program, *place, *obtained, descriptors);
            let heir = heir.map_err(|e| match e.raw_os_error() {
                Some(libc::EBUSY) => OpenError::Config(OLD_KERNEL.to_owned()),
                _ => system(format!("AF_XDP sockets of queue {}", place.queue))(e),
            })?;
            heirs.push(HeirDriver(heir));
        }
        let seed = plan.queues.first().map_or(0, |(place, _)| place.seed);
        let config = DriverConfig {
            seed,
            // Between two processes, nobody reads for a moment: [`Session::begin`].
            patience_ms: match config.patience_ms {
                0 => 0,
                ms => ms.max(STANDSTILL_PATIENCE_MS),
            },
            ..config.clone()
        };
        let (switches, _) = switch_on(&mut program, &config, &sides, plan.info.max_packet)
            .map_err(system("configuring the XDP program"))?;
        let session = Session {
            xdp: Some(Xdp {
                program,
                switches,
                names: plan.interfaces,
                queues: plan.queues,
            }),
            // It is not attached yet, and has passed nothing.
            passed_before: 0,
            info: plan.info,
            drivers: Vec::new(),
            warnings: Vec::new(),
        };
        Ok((session, heirs))
    }

    /// A driver goes on where the other process has stopped. `state` is what that has said ([`crate::Driver::export`]).
    ///
    /// # Errors
    /// The state is damaged, or the kernel refuses.
    pub fn driver(&self, heir: HeirDriver, state: &[u8]) -> io::Result<AnyDriver> {
        let Some(Xdp { program, .. }) = &self.xdp else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let pulse = program.pulse(heir.0.queue())?;
        let driver = heir.0.driver(state, program.switches()?, pulse)?;
        Ok(AnyDriver::Xdp(driver))
    }

    /// Puts this session's XDP program in the place of the one that is attached. No packet meets neither.
    ///
    /// # Errors
    /// The kernel's.
    pub fn take_place(&mut self) -> io::Result<()> {
        match &mut self.xdp {
            Some(xdp) => xdp.program.take_place(),
            None => Ok(()),
        }
    }
}

impl Session {
    /// Workers read what comes: from here on they may leave packets unread for no longer than is configured.
    ///
    /// # Errors
    /// The kernel's.
    pub fn begin(&mut self, config: &DriverConfig) -> io::Result<()> {
        match &mut self.xdp {
            Some(xdp) => xdp.switches.set_patience(config.patience_ms),
            None => Ok(()),
        }
    }
}

fn inherit_queue(
    program: &mut Program,
    place: Place,
    obtained: Obtained,
    descriptors: [OwnedFd; DESCRIPTORS],
) -> io::Result<Heir> {
    let heir = Heir::new(place, obtained, descriptors)?;
    for side in [Side::Inside, Side::Outside] {
        program.set_socket(side, place.queue, heir.socket(side).as_fd())?;
    }
    Ok(heir)
}

/// What is made anew only by a restart must be as it was.
fn agree(config: &DriverConfig, plan: &Plan) -> Result<(), OpenError> {
    let Some((place, _)) = plan.queues.first() else {
        return Err(damaged("the queues"));
    };
    let names = [config.inside.clone(), config.outside.clone()];
    let differs = if names != plan.interfaces {
        "inside and outside"
    } else if config.frames != place.frames {
        "frames"
    } else if config.frame_size != place.frame_size {
        "frame_size"
    } else if config.prefer == Prefer::Packet {
        "mode"
    } else {
        return Ok(());
    };
    Err(OpenError::Config(format!(
        "{differs} in [box] must be as before for an upgrade; to change that, stop windlass and start it again"
    )))
}

fn damaged(what: &str) -> OpenError {
    OpenError::Config(format!(
        "what the other windlass handed over is damaged: {what}"
    ))
}
