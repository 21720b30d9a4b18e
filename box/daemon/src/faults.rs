//! Plugins that fail, workers that stand still, and memory that is full are told as events.

use std::collections::BTreeMap;

use windlass_cc::Catalog;

use crate::events::{Draft, EventKind, Events};

/// What has been told.
pub(crate) struct Faults<'a> {
    events: &'a Events,
    /// Failures of each plugin.
    plugins: BTreeMap<&'static str, u32>,
    /// Packets that the kernel has forwarded because no worker took any.
    unread: u64,
}

impl<'a> Faults<'a> {
    pub(crate) fn new(events: &'a Events) -> Faults<'a> {
        Faults {
            events,
            plugins: BTreeMap::new(),
            unread: 0,
        }
    }

    /// Tells that the memory of the process has reached its limit, or that there is room again.
    pub(crate) fn tell_memory(&self, full: bool) {
        let draft = match full {
            true => Draft::new(
                EventKind::LimitReached,
                "the process has as much memory as memory_mb in [limits] allows: new connections pass, \
                 those that run are governed as before",
            ),
            false => Draft::new(
                EventKind::LimitOver,
                "there is memory again: new connections are governed",
            ),
        };
        self.events.tell(draft.because("memory_mb"));
    }

    /// Tells of new packets that no worker took.
    pub(crate) fn tell_unread(&mut self, unread: u64) {
        let new = unread.saturating_sub(self.unread);
        self.unread = unread;
        if new > 0 {
            let text = format!(
                "a worker stood still for longer than bypass_after_ms, and the kernel forwarded {new} packets in its \
                 place; windlass follows each connection again once both of its ends agree"
            );
            let draft = Draft::new(EventKind::WorkerLate, text);
            self.events.tell(draft.with("packets", new));
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
            let text = format!("plugin {}: {last}; {then}", status.name);
            let draft = Draft::new(EventKind::PluginFailed, text).because(status.name);
            let faults = u64::from(status.faults);
            self.events.tell(draft.with("faults", faults));
        }
    }
}
