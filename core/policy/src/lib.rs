//! Configuration files, and the rules that say how each flow is governed.
//!
//! [`Config::parse`] reads the text of a configuration file (TOML). For a mistake, it reports the place and the remedy.
//! docs/policy.md describes the file.
//!
//! [`Policy`] is made of the rules. It answers the engine's question: is this direction of this connection governed, and
//! by what? The first rule that matches decides. A flow that no rule matches is left alone. A file without rules governs
//! every flow whose sender is inside.
#![forbid(unsafe_code)]

mod algorithm;
mod auto;
mod auto_config;
pub mod cel;
mod config;
mod device;
mod error;
mod explain;
mod facts;
mod files;
mod guard;
mod guard_config;
mod limits;
mod memory_config;
mod metrics_config;
mod policy;
mod prefix;
mod priors;
pub mod read;
mod recorder_config;
mod rule;
mod settings;
mod standby_config;
mod switching;
mod tally;
mod tenants;
mod trial;
mod web_config;

pub use algorithm::read as read_algorithm;
pub use auto::{Auto, PrefixBelief};
pub use auto_config::{AutoConfig, DEFAULT_AUTO_FILE, Priors};
pub use config::{Config, ConfigFile, DEFAULT_CONTROL_SOCKET, Overrides, VERSION};
pub use device::{BoxConfig, IoMode, Priority};
pub use error::{ConfigError, Wrong, suggest};
pub use explain::{Explanation, Judged, SwitchState};
pub use guard::SharedGuard;
pub use guard_config::{DEFAULT_GUARD_FILE, GuardConfig};
pub use limits::BoxLimits;
pub use memory_config::MemoryConfig;
pub use metrics_config::MetricsListen;
pub use policy::Policy;
pub use prefix::Prefix;
pub use recorder_config::RecorderConfig;
pub use rule::{Match, Rule, Senders};
pub use settings::{Extent, FEEDBACKS, MODES, REDUNDANCIES, mode_named, redundancy_named};
pub use standby_config::StandbyConfig;
pub use switching::{Switch, SwitchList};
pub use tally::{RuleTried, Tried};
pub use tenants::Owner;
pub use trial::SharedTrial;
pub use web_config::WebConfig;
