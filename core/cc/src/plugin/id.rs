//! What names a plugin once it is known.

use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ptr;
use std::sync::OnceLock;

use super::Description;

struct Entry {
    number: usize,
    description: Description,
    /// The one of the same name that came next.
    replaced_by: OnceLock<PluginId>,
}

/// A plugin of a [`crate::Catalog`]. It leads to its code without a search, and it can be copied like a number.
///
/// What it leads to stays for as long as the process lives, since flows, rules and reports name it wherever they are.
#[derive(Clone, Copy)]
pub struct PluginId(&'static Entry);

impl PluginId {
    /// The one that is `number` in its catalog.
    pub(crate) fn new(number: usize, description: Description) -> PluginId {
        PluginId(Box::leak(Box::new(Entry {
            number,
            description,
            replaced_by: OnceLock::new(),
        })))
    }

    /// What it is.
    pub const fn description(self) -> &'static Description {
        &self.0.description
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        self.0.description.name
    }

    /// The newest of this name in its catalog.
    pub(crate) fn newest(self) -> PluginId {
        let mut id = self;
        while let Some(next) = id.0.replaced_by.get() {
            id = *next;
        }
        id
    }

    /// From now on `next` is newer. Called once, of the newest.
    pub(crate) fn replace_by(self, next: PluginId) {
        let set = self.0.replaced_by.set(next);
        debug_assert!(set.is_ok(), "{self:?} was replaced before");
    }

    /// Which one it is of those that its catalog has taken in, from 0.
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
        ptr::eq(self.0, other.0)
    }
}

impl Eq for PluginId {}

impl PartialOrd for PluginId {
    fn partial_cmp(&self, other: &PluginId) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// In one catalog, the order in which they came.
impl Ord for PluginId {
    fn cmp(&self, other: &PluginId) -> Ordering {
        let of_catalog = self.0.number.cmp(&other.0.number);
        of_catalog.then_with(|| ptr::from_ref(self.0).cmp(&ptr::from_ref(other.0)))
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
    /// The catalog has had [`crate::PLUGINS_MAX`] of them.
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
                "this process has taken in {} plugins, replaced ones included: start it anew",
                crate::PLUGINS_MAX
            ),
            WrongPlugin::Description(mistake) => f.write_str(mistake),
        }
    }
}

impl core::error::Error for WrongPlugin {}
