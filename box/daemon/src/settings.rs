//! What a daemon is to do.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use windlass_engine::Limits;
use windlass_io::{DriverConfig, Follows, Prefer, monotonic_ns};
use windlass_policy::{
    Config, IoMode, MetricsListen, Overrides, Policy, Priority, RecorderConfig, StandbyConfig,
};

use crate::{RunError, TraceSettings};

/// What a daemon is to do.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How packets are obtained.
    pub driver: DriverConfig,
    /// Who is governed.
    pub policy: Policy,
    /// Memory of the process beside the packet frames, MB.
    pub memory_mb: u32,
    /// How soon workers run.
    pub priority: Priority,
    /// The processors that they run on, one each in turn; empty: any.
    pub cpus: Vec<u32>,
    /// Limits of the whole box.
    pub limits: Limits,
    /// Path of the control socket.
    pub control_socket: PathBuf,
    /// Where metrics can be scraped.
    pub metrics: Option<MetricsListen>,
    /// Another box that stands by, if there is one.
    pub standby: Option<StandbyConfig>,
    /// How much the flight recorder keeps, if there is one.
    pub recorder: Option<RecorderConfig>,
    /// What to record.
    pub trace: Option<TraceSettings>,
    /// An interface that is gone is waited for; else the daemon ends.
    pub waits: bool,
    /// What SIGHUP reads again, and what stands in its place then.
    pub reload: Option<Reload>,
}

/// Where the configuration came from.
#[derive(Clone, Debug)]
pub struct Reload {
    /// The configuration file.
    pub path: PathBuf,
    /// What the command line puts in the place of what it says.
    pub overrides: Overrides,
}

/// A number that nobody outside knows.
pub(crate) fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// What the system's clock says, ns since 1970.
pub(crate) fn unix_ns() -> u64 {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH);
    unix.map_or(0, |since| since.as_nanos() as u64)
}

/// Tells the policy what the workers' clock means.
pub(crate) fn set_clock(policy: &mut Policy) {
    policy.set_clock(monotonic_ns(), unix_ns());
}

impl Settings {
    /// What the configuration says.
    ///
    /// # Errors
    /// [`RunError::Settings`] when it does not name both interfaces.
    pub fn new(config: &Config, trace: Option<TraceSettings>) -> Result<Settings, RunError> {
        let device = &config.device;
        let (Some(inside), Some(outside)) = (&device.inside, &device.outside) else {
            return Err(RunError::Settings(
                "both interfaces must be named: --inside IF --outside IF, or inside and outside \
                 in [box] of the configuration file"
                    .to_owned(),
            ));
        };
        let mut policy = config.policy();
        set_clock(&mut policy);
        policy.set_seed(seed());
        Ok(Settings {
            driver: DriverConfig {
                inside: inside.clone(),
                outside: outside.clone(),
                queue: 0,
                frames: device.frames,
                frame_size: device.frame_size,
                ports: policy.governed_ports().unwrap_or_default(),
                patience_ms: device.bypass_after_ms,
                follows: Some(Follows {
                    flows: u32::try_from(config.limits.flows).unwrap_or(u32::MAX),
                    syns_per_second: config.box_limits.syns_per_second,
                    syns_per_second_per_prefix: config.box_limits.syns_per_second_per_prefix,
                    strangers_per_second: config.box_limits.strangers_per_second,
                }),
                seed: seed() as u32,
                prefer: match device.mode {
                    IoMode::Auto => Prefer::Auto,
                    IoMode::Native => Prefer::Native,
                    IoMode::Generic => Prefer::Generic,
                    IoMode::Packet => Prefer::Packet,
                },
            },
            policy,
            memory_mb: config.box_limits.memory_mb,
            priority: device.priority,
            cpus: device.cpus.clone(),
            limits: config.limits,
            control_socket: PathBuf::from(&device.control_socket),
            metrics: config.metrics.clone(),
            standby: config.standby.clone(),
            recorder: config.recorder,
            trace,
            waits: true,
            reload: None,
        })
    }

    /// The part of each of `workers` in the limits. What is held has a limit of the driver's as well
    /// ([`windlass_engine::Pool::room`]): one prefix alone never gets so far that others are held less or passed for it.
    pub(crate) fn worker_limits(&self, workers: usize) -> Limits {
        let share = workers.max(1) as u64;
        let limits = &self.limits;
        Limits {
            flows: (limits.flows / workers.max(1)).max(1),
            flows_per_prefix: (limits.flows_per_prefix / workers.max(1)).max(1),
            half_open: (limits.half_open / workers.max(1)).max(1),
            half_open_per_prefix: (limits.half_open_per_prefix / workers.max(1)).max(1),
            segments_total: (limits.segments_total / share).max(1),
            held_packets_total: (limits.held_packets_total / share).max(1),
            held_packets_per_prefix: (limits.held_packets_per_prefix / share)
                .min(u64::from(self.driver.hold_frames()) / 3 * 2)
                .max(1),
            held_bytes_total: (limits.held_bytes_total / share).max(1),
            ..*limits
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_cc::Catalog;

    use super::*;

    fn settings(text: &str) -> Result<Settings, RunError> {
        let config = Config::parse(text, "w.toml", &Catalog::new());
        Settings::new(&config.unwrap(), None)
    }

    #[test]
    fn the_ports_of_the_rules_are_those_of_the_driver() {
        let text = "version = 1\n[box]\ninside = \"a\"\noutside = \"b\"\nmode = \"generic\"\n\
                    [[rule]]\nports = [443, 80]\n";
        let driver = settings(text).unwrap().driver;
        assert_eq!(driver.ports, [80, 443]);
        assert_eq!(driver.prefer, Prefer::Generic);
        assert_eq!(
            (driver.inside.as_str(), driver.outside.as_str()),
            ("a", "b")
        );
    }

    #[test]
    fn without_interfaces_there_is_no_daemon() {
        let error = settings("version = 1\n[box]\ninside = \"a\"\n").unwrap_err();
        assert!(error.to_string().contains("--outside IF"), "{error}");
    }

    #[test]
    fn workers_share_the_limits() {
        let text = "version = 1\n[box]\ninside = \"a\"\noutside = \"b\"\n\
                    [limits]\nflows = 100\nheld_bytes_total = 8_000_000\n";
        let settings = settings(text).unwrap();
        let of_one = settings.worker_limits(1);
        let frames = u64::from(settings.driver.hold_frames());
        assert_eq!(of_one.held_packets_per_prefix, frames / 3 * 2);
        let held_packets_per_prefix = settings.limits.held_packets_per_prefix;
        let alone = Limits {
            held_packets_per_prefix,
            ..of_one
        };
        assert_eq!(alone, settings.limits);
        let of_four = settings.worker_limits(4);
        assert_eq!((of_four.flows, of_four.held_bytes_total), (25, 2_000_000));
        assert_eq!(
            (of_four.half_open, of_four.half_open_per_prefix),
            (1 << 14, 1 << 11)
        );
        assert_eq!(of_four.segments_total, 1 << 19);
    }
}
