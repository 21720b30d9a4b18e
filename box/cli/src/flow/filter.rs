//! Which flows are wanted.

use windlass_daemon::view::FlowFilter;
use windlass_engine::LimitedBy;
use windlass_policy::Prefix;

use crate::values;

/// Conditions of which all must hold.
#[derive(clap::Args, Default)]
pub(crate) struct Filter {
    /// Only those that this rule governs.
    #[arg(long, value_name = "NAME")]
    rule: Option<String>,
    /// Only those whose receiver has this address, or one of this prefix.
    #[arg(long, value_name = "PREFIX")]
    client: Option<Prefix>,
    /// Only those that this limits.
    #[arg(long, value_name = "WHAT", value_parser = values::limited_by())]
    limited_by: Option<LimitedBy>,
    /// Only those that something other than their sender limits, and that are slower than this rate [default: 1mbit].
    #[arg(long, value_name = "RATE", num_args = 0..=1, default_missing_value = "1mbit", value_parser = values::bits_per_second)]
    slow: Option<u64>,
}

impl Filter {
    /// The same in the words of the daemon.
    pub(crate) fn wanted(&self) -> FlowFilter {
        FlowFilter {
            rule: self.rule.clone(),
            client: self.client.map(|prefix| prefix.to_string()),
            limited_by: self.limited_by.map(|by| by.name().to_owned()),
            slow_bps: self.slow,
        }
    }
}
