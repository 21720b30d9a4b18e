//! Plugins that fail, and workers that stand still, are told on the standard error output.

use std::collections::BTreeMap;

use windlass_cc::Catalog;

use crate::log;

/// What has been told.
#[derive(Default)]
pub(crate) struct Faults {
    /// Failures of each plugin.
    plugins: BTreeMap<&'static str, u32>,
    /// Packets that the kernel has forwarded because no worker took any.
    unread: u64,
}

impl Faults {
    /// Tells that the memory of the process has reached its limit, or that there is room again.
    pub(crate) fn tell_memory(&self, full: bool) {
        match full {
            true => log::warning(
                "the process has as much memory as memory_mb in [limits] allows: new connections pass, those that run are \
                 governed as before",
            ),
            false => log::notice("there is memory again: new connections are governed"),
        }
    }

    /// Tells of new packets that no worker took.
    pub(crate) fn tell_unread(&mut self, unread: u64) {
        let new = unread.saturating_sub(self.unread);
        self.unread = unread;
        if new > 0 {
            log::warning(format_args!(
                "a worker stood still for longer than bypass_after_ms, and the kernel forwarded {new} \
                 packets in its place; windlass follows each connection again once both of its ends agree"
            ));
        }
    }

    /// Tells of new failures of plugins, in a line for each.
    pub(crate) fn tell(&mut self, catalog: &Catalog) {
        for status in windlass_plugin::statuses(catalog) {
            let told = self.plugins.insert(status.name, status.faults).unwrap_or(0);
            let (true, Some(last)) = (status.faults > told, status.last_fault) else {
                continue;
            };
            let then = match status.suspended {
                true => "it is not asked any more: mend it and add it again",
                false => "its fallback goes on with the flow",
            };
            log::warning(format_args!("plugin {}: {last}; {then}", status.name));
        }
    }
}
