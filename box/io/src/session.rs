//! Opening: from two interface names to drivers that deliver packets.

use std::io;

use windlass_engine::Side;

use crate::any::AnyDriver;
use crate::driver::{DriverConfig, DriverInfo, Mode, Prefer};
use crate::error::{OpenError, system};
use crate::interface::{self, Interface, Problem, Severity};
use crate::netlink;
use crate::packet::PacketDriver;
use crate::program::{Program, QUEUES_PER_SIDE, RunBy, Switches, XdpCounters};
use crate::xdp::{Obtained, Place, XdpDriver};

/// What the kernel leaves free in front of a received packet (`XDP_PACKET_HEADROOM`).
const XDP_HEADROOM_BYTES: u32 = 256;

/// The attached program and its drivers. While it lives, governed packets are taken; when it is
/// dropped, or the process dies, the bridge forwards them (except with AF_PACKET).
#[derive(Debug)]
pub struct Session {
    pub(crate) xdp: Option<Xdp>,
    /// Packets that the program had passed before it was switched on: nobody's bypass.
    pub(crate) passed_before: u64,
    pub(crate) drivers: Vec<AnyDriver>,
    pub(crate) info: DriverInfo,
    pub(crate) warnings: Vec<Problem>,
}

/// The program, and what its drivers are.
#[derive(Debug)]
pub(crate) struct Xdp {
    pub(crate) program: Program,
    pub(crate) switches: Switches,
    pub(crate) names: [String; 2],
    pub(crate) queues: Vec<(Place, Obtained)>,
}

impl Session {
    /// Checks the interfaces, attaches the XDP programs and binds the sockets, or opens AF_PACKET
    /// if that is preferred. Works in the network namespace of the calling thread.
    ///
    /// # Errors
    /// [`OpenError`]; needs `CAP_NET_ADMIN`, `CAP_NET_RAW`, `CAP_BPF`, `CAP_PERFMON` and memory that may be locked.
    pub fn open(config: &DriverConfig) -> Result<Session, OpenError> {
        validate(config)?;
        if config.prefer == Prefer::Packet {
            return open_packet(config);
        }
        let warnings = judge(interface::check(&config.inside, &config.outside))?;
        judge(interface::occupied(&[&config.inside, &config.outside]))?;
        let get = |name: &String| Interface::get(name).map_err(system(name));
        let sides = [get(&config.inside)?, get(&config.outside)?];
        let queues = queues_served(config, &sides)?;
        let mut program = Program::load(config.follows.unwrap_or_default().flows)
            .map_err(system("loading the XDP program"))?;
        let mode = attach(&mut program, config, &sides)?;
        let mut drivers = Vec::new();
        let mut opened = Vec::new();
        for queue in queues.clone() {
            let (driver, place, got) = open_queue(&mut program, config, &sides, queue, mode)
                .map_err(system(format!("AF_XDP sockets of queue {queue}")))?;
            drivers.push(AnyDriver::Xdp(driver));
            opened.push((place, got));
        }
        let Some(obtained) = opened.iter().map(|(_, got)| *got).reduce(weaker) else {
            return Err(OpenError::Config("no queue to serve".to_owned()));
        };
        let max_packet = match obtained.multi_buffer {
            true => sides[0].max_frame(),
            false => sides[0]
                .max_frame()
                .min(config.frame_size - XDP_HEADROOM_BYTES),
        };
        let (switches, passed_before) = switch_on(&mut program, config, &sides, max_packet)
            .map_err(system("configuring the XDP program"))?;
        Ok(Session {
            xdp: Some(Xdp {
                program,
                switches,
                names: [config.inside.clone(), config.outside.clone()],
                queues: opened,
            }),
            passed_before,
            info: DriverInfo {
                mode,
                zero_copy: obtained.zero_copy,
                queues: drivers.len() as u32,
                tx_checksum: obtained.tx_checksum,
                multi_buffer: obtained.multi_buffer,
                tx_budget: obtained.tx_budget,
                fail_open: true,
                partial_checksums: [&sides[0], &sides[1]].map(Interface::may_be_partial),
                max_packet,
            },
            drivers,
            warnings,
        })
    }

    /// The drivers, one per queue; the first call takes them all.
    pub fn drivers(&mut self) -> Vec<AnyDriver> {
        std::mem::take(&mut self.drivers)
    }

    /// What was obtained.
    pub fn info(&self) -> &DriverInfo {
        &self.info
    }

    /// What is not as it should be, but no reason to refuse.
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// What the XDP program saw; all zeros with AF_PACKET.
    pub fn counters(&self) -> io::Result<XdpCounters> {
        match &self.xdp {
            Some(Xdp { program, .. }) => {
                let mut counters = program.counters()?;
                counters.passed_bypass -= self.passed_before.min(counters.passed_bypass);
                Ok(counters)
            }
            None => Ok(XdpCounters::default()),
        }
    }

    /// The bridge may have another address than when the session was opened: what is for it is not taken.
    ///
    /// # Errors
    /// The kernel's.
    pub fn learn_addresses(&mut self, inside: &str, outside: &str) -> io::Result<()> {
        match &mut self.xdp {
            Some(Xdp { program, .. }) => {
                let sides = [Interface::get(inside)?, Interface::get(outside)?];
                program.set_local_macs(&local_macs(&sides)?)
            }
            None => Ok(()),
        }
    }

    /// True: the kernel forwards everything. No effect with AF_PACKET.
    pub fn set_bypass(&mut self, on: bool) -> io::Result<()> {
        match &mut self.xdp {
            Some(Xdp { switches, .. }) => switches.set_bypass(on),
            None => Ok(()),
        }
    }
}

/// From here on packets are taken: the sockets are ready. The answer has what had passed until then.
pub(crate) fn switch_on(
    program: &mut Program,
    config: &DriverConfig,
    sides: &[Interface; 2],
    max_packet: u32,
) -> io::Result<(Switches, u64)> {
    program.configure(config, max_packet)?;
    program.set_local_macs(&local_macs(sides)?)?;
    let mut switches = program.switches()?;
    switches.set_bypass(false)?;
    // Only now: packets pass until the switch is on.
    let passed = program.counters()?.passed_bypass;
    Ok((switches, passed))
}

fn validate(config: &DriverConfig) -> Result<(), OpenError> {
    let wrong = |what: &str| Err(OpenError::Config(what.to_owned()));
    if !matches!(config.frame_size, 2048 | 4096) {
        return wrong("frame_size must be 2048 or 4096 bytes");
    }
    if config.frames < 64 || u64::from(config.frames) * u64::from(config.frame_size) > 1 << 40 {
        return wrong("frames must be at least 64, and a terabyte at most");
    }
    Ok(())
}

/// Refuses, or returns the warnings.
fn judge(problems: Vec<Problem>) -> Result<Vec<Problem>, OpenError> {
    let (refusals, warnings): (Vec<_>, Vec<_>) = problems
        .into_iter()
        .partition(|p| p.severity == Severity::Refusal);
    if refusals.is_empty() {
        Ok(warnings)
    } else {
        Err(OpenError::Interfaces(refusals))
    }
}

/// Queues that both interfaces have, in both directions.
fn queues_served(
    config: &DriverConfig,
    sides: &[Interface; 2],
) -> Result<std::ops::Range<u32>, OpenError> {
    let counts = sides.iter().map(|i| i.rx_queues.min(i.tx_queues));
    let end = counts.min().unwrap_or(0).min(QUEUES_PER_SIDE);
    if config.queue >= end {
        return Err(OpenError::Config(format!(
            "queue {} does not exist: {} and {} have {end} in common",
            config.queue, config.inside, config.outside
        )));
    }
    Ok(config.queue..end)
}

fn attach(
    program: &mut Program,
    config: &DriverConfig,
    sides: &[Interface; 2],
) -> Result<Mode, OpenError> {
    let mut mode = Mode::Native;
    for (side, interface) in [Side::Inside, Side::Outside].into_iter().zip(sides) {
        let what = format!("attaching the XDP program to {}", interface.name);
        let mut run_by = |by| program.attach(side, interface.index, by);
        let native = match config.prefer {
            Prefer::Generic => Err(io::ErrorKind::Unsupported.into()),
            _ => run_by(RunBy::Driver),
        };
        match (native, config.prefer) {
            (Ok(()), _) => {}
            (Err(e), Prefer::Native) => return Err(system(what)(e)),
            (Err(_), _) => {
                run_by(RunBy::Stack).map_err(system(what))?;
                mode = Mode::Generic;
            }
        }
    }
    Ok(mode)
}

/// Addresses of the box: those of the interfaces, and of the bridge they are in.
fn local_macs(sides: &[Interface; 2]) -> io::Result<Vec<[u8; 6]>> {
    let bridge = sides[0].bridge.as_deref();
    let links = netlink::links()?;
    let of_bridge = links.iter().filter(|l| Some(l.name.as_str()) == bridge);
    let macs = of_bridge.map(|l| l.mac).chain(sides.iter().map(|i| i.mac));
    Ok(macs.flatten().collect())
}

fn open_queue(
    program: &mut Program,
    config: &DriverConfig,
    sides: &[Interface; 2],
    queue: u32,
    mode: Mode,
) -> io::Result<(XdpDriver, Place, Obtained)> {
    let place = Place {
        interfaces: [sides[0].index, sides[1].index],
        queue,
        frames: config.frames,
        frame_size: config.frame_size,
        seed: config.seed,
        syns_per_second: config.follows.unwrap_or_default().syns_per_second,
        native: mode == Mode::Native,
    };
    let (driver, obtained) = XdpDriver::open(place, program.switches()?, program.pulse(queue)?)?;
    for side in [Side::Inside, Side::Outside] {
        program.set_socket(side, queue, driver.socket(side))?;
    }
    Ok((driver, place, obtained))
}

fn weaker(a: Obtained, b: Obtained) -> Obtained {
    Obtained {
        zero_copy: a.zero_copy && b.zero_copy,
        multi_buffer: a.multi_buffer && b.multi_buffer,
        tx_checksum: a.tx_checksum && b.tx_checksum,
        tx_budget: a.tx_budget.min(b.tx_budget),
    }
}

fn open_packet(config: &DriverConfig) -> Result<Session, OpenError> {
    let warnings = judge(interface::check_packet(&config.inside, &config.outside))?;
    let driver = PacketDriver::open(config).map_err(system("AF_PACKET sockets"))?;
    Ok(Session {
        xdp: None,
        passed_before: 0,
        info: DriverInfo {
            mode: Mode::Packet,
            zero_copy: false,
            queues: 1,
            tx_checksum: true,
            multi_buffer: true,
            tx_budget: 1,
            fail_open: false,
            // The kernel tells of each packet whether its checksum is partial.
            partial_checksums: [true, true],
            max_packet: crate::packet::MAX_PACKET_BYTES,
        },
        drivers: vec![AnyDriver::Packet(driver)],
        warnings,
    })
}
