//! Plugins by their names, which are those of the process, like the names of a kernel's modules.

use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use std::sync::{OnceLock, PoisonError, RwLock};

use super::Description;
use crate::AlgorithmId;

/// Plugins that a process may take in during its life, replaced ones included: flows that run keep the
/// code they began with.
pub const PLUGINS_MAX: usize = 64;

static PLUGINS: RwLock<Vec<PluginId>> = RwLock::new(Vec::new());

struct Entry {
    number: usize,
    description: Description,
    /// The one of the same name that came next.
    replaced_by: OnceLock<PluginId>,
}

/// A plugin that is known to this process.
#[derive(Clone, Copy)]
pub struct PluginId(&'static Entry);

impl PluginId {
    /// What it is.
    pub const fn description(self) -> &'static Description {
        &self.0.description
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        self.0.description.name
    }

    /// The newest of this name.
    pub(crate) fn newest(self) -> PluginId {
        let mut id = self;
        while let Some(next) = id.0.replaced_by.get() {
            id = *next;
        }
        id
    }

    /// Which one it is of those that this process has taken in, from 0.
    pub const fn number(self) -> usize {
        self.0.number
    }
}

impl fmt::Debug for PluginId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.0.description.name, self.0.number)
    }
}

impl PartialEq for PluginId {
    fn eq(&self, other: &PluginId) -> bool {
        self.0.number == other.0.number
    }
}

impl Eq for PluginId {}

impl PartialOrd for PluginId {
    fn partial_cmp(&self, other: &PluginId) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PluginId {
    fn cmp(&self, other: &PluginId) -> Ordering {
        self.0.number.cmp(&other.0.number)
    }
}

impl Hash for PluginId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.number.hash(state);
    }
}

/// A plugin that cannot be taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrongPlugin {
    /// An algorithm of Windlass has this name.
    NameTaken(&'static str),
    /// It has had [`PLUGINS_MAX`] of them.
    TooMany,
    /// What it says of itself cannot be.
    Description(String),
}

impl fmt::Display for WrongPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WrongPlugin::NameTaken(name) => write!(
                f,
                "{name} is an algorithm of Windlass' own: give the plugin another name"
            ),
            WrongPlugin::TooMany => write!(
                f,
                "this process has taken in {PLUGINS_MAX} plugins, replaced ones included: start \
                 it anew"
            ),
            WrongPlugin::Description(mistake) => f.write_str(mistake),
        }
    }
}

impl core::error::Error for WrongPlugin {}

/// Makes a plugin known by its name. One of the same name is replaced for flows to come; it is never
/// forgotten, since flows that run refer to it.
///
/// # Errors
/// The name is taken, the description has a mistake, or there have been too many.
pub fn register(description: Description) -> Result<AlgorithmId, WrongPlugin> {
    if AlgorithmId::ALL
        .iter()
        .any(|id| id.name() == description.name)
    {
        return Err(WrongPlugin::NameTaken(description.name));
    }
    if let Some(mistake) = description.mistake() {
        return Err(WrongPlugin::Description(mistake));
    }
    let mut plugins = PLUGINS.write().unwrap_or_else(PoisonError::into_inner);
    if plugins.len() >= PLUGINS_MAX {
        return Err(WrongPlugin::TooMany);
    }
    let entry = Box::leak(Box::new(Entry {
        number: plugins.len(),
        description,
        replaced_by: OnceLock::new(),
    }));
    let id = PluginId(entry);
    for older in plugins.iter().filter(|p| p.name() == id.name()) {
        // Those that are replaced already lead here over the newest of them.
        let _ = older.0.replaced_by.set(id);
    }
    plugins.push(id);
    Ok(AlgorithmId::Plugin(id))
}

/// The plugins of this process, by name, the newest of each.
pub fn known() -> Vec<AlgorithmId> {
    let plugins = PLUGINS.read().unwrap_or_else(PoisonError::into_inner);
    let mut newest: Vec<PluginId> = Vec::new();
    for id in plugins.iter().rev() {
        if newest.iter().all(|n| n.name() != id.name()) {
            newest.push(*id);
        }
    }
    newest.sort_by_key(|id| id.name());
    newest.into_iter().map(AlgorithmId::Plugin).collect()
}

/// The newest plugin called `name`.
pub(crate) fn find(name: &str) -> Option<PluginId> {
    let plugins = PLUGINS.read().unwrap_or_else(PoisonError::into_inner);
    let newest = plugins.iter().rev();
    newest.copied().find(|id| id.name() == name)
}
