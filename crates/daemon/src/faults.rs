//! Plugins that fail are told on the standard error output.

use std::collections::BTreeMap;

/// Failures of plugins that have been told.
#[derive(Default)]
pub(crate) struct Faults(BTreeMap<&'static str, u32>);

impl Faults {
    /// Tells of the new ones, in a line for each plugin.
    pub(crate) fn tell(&mut self) {
        for status in windlass_plugin::statuses() {
            let told = self.0.insert(status.name, status.faults).unwrap_or(0);
            let (true, Some(last)) = (status.faults > told, status.last_fault) else {
                continue;
            };
            let then = match status.suspended {
                true => "it is not asked any more: mend it and add it again",
                false => "its fallback goes on with the flow",
            };
            eprintln!("windlass: plugin {}: {last}; {then}", status.name);
        }
    }
}
