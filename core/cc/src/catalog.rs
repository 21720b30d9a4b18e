//! The algorithms that a program knows by their names.

use crate::plugin::{Description, PluginId, WrongPlugin};
use crate::registry::{AlgorithmId, UnknownAlgorithm};

/// Plugins that a catalog may take in during its life, replaced ones included: flows that run keep the
/// code they began with.
pub const PLUGINS_MAX: usize = 64;

/// Windlass' own algorithms, and the plugins that its owner has taken in.
///
/// A program makes one and hands it to whoever reads names of algorithms. Two catalogs know nothing of each other, so
/// what a text means depends on the text and the catalog alone. It cannot be cloned: a plugin that replaces another does so for
/// all flows of the catalog.
#[derive(Debug, Default)]
pub struct Catalog {
    /// In the order in which they came.
    plugins: Vec<PluginId>,
}

impl Catalog {
    /// One that knows Windlass' own.
    pub const fn new() -> Catalog {
        Catalog {
            plugins: Vec::new(),
        }
    }

    /// Takes a plugin in under its name. One of the same name is replaced for flows to come.
    ///
    /// # Errors
    /// The name is taken, the description has a mistake, or there have been too many.
    pub fn register(&mut self, description: Description) -> Result<AlgorithmId, WrongPlugin> {
        if AlgorithmId::ALL
            .iter()
            .any(|id| id.name() == description.name)
        {
            return Err(WrongPlugin::NameTaken(description.name));
        }
        if let Some(mistake) = description.mistake() {
            return Err(WrongPlugin::Description(mistake));
        }
        if self.plugins.len() >= PLUGINS_MAX {
            return Err(WrongPlugin::TooMany);
        }
        let older = self.plugin(description.name);
        let id = PluginId::new(self.plugins.len(), description);
        if let Some(older) = older {
            older.replace_by(id);
        }
        self.plugins.push(id);
        Ok(AlgorithmId::Plugin(id))
    }

    /// The plugins by name, the newest of each.
    pub fn plugins(&self) -> Vec<PluginId> {
        let mut newest: Vec<PluginId> = self.plugins.clone();
        newest.retain(|id| id.newest() == *id);
        newest.sort_by_key(|id| id.name());
        newest
    }

    /// All algorithms: Windlass' own in the order of the registry, then the plugins.
    pub fn algorithms(&self) -> Vec<AlgorithmId> {
        let own = AlgorithmId::ALL.iter().copied();
        let plugins = self.plugins().into_iter().map(AlgorithmId::Plugin);
        own.chain(plugins).collect()
    }

    /// The algorithm of this name; of plugins, the newest.
    ///
    /// # Errors
    /// There is none.
    pub fn algorithm(&self, name: &str) -> Result<AlgorithmId, UnknownAlgorithm> {
        let plugin = || self.plugin(name).map(AlgorithmId::Plugin);
        let found = name.parse().ok().or_else(plugin);
        found.ok_or_else(|| UnknownAlgorithm::new(name, &self.algorithms()))
    }

    fn plugin(&self, name: &str) -> Option<PluginId> {
        let newest = self.plugins.iter().rev();
        newest.copied().find(|id| id.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::plugin::{Call, Code, Fault, FlowState, Health, PARAMETERS_MAX};
    use crate::{About, Controller, Path, Settings, Signals};

    /// It does nothing.
    struct Idle;

    impl Code for Idle {
        fn call(&self, _: &Call<'_>, _: &mut FlowState) -> Result<(), Fault> {
            Ok(())
        }

        fn on_fault(&self, _: Fault) {}

        fn health(&self) -> Health {
            Health::default()
        }
    }

    fn plugin(name: &'static str) -> Description {
        Description {
            name,
            about: About {
                summary: "",
                source: "",
                advice: "",
                signals: Signals::LOSS,
            },
            parameters: &[],
            defaults: [0.0; PARAMETERS_MAX],
            state_bytes: 0,
            prr: true,
            code: Arc::new(Idle),
        }
    }

    #[test]
    fn two_catalogs_do_not_see_each_others_plugins() {
        let (mut one, mut other) = (Catalog::new(), Catalog::new());
        let shared = one.register(plugin("shared")).expect("a plugin");
        assert!(other.algorithm("shared").is_err());
        assert!(other.settings("shared").is_err());
        assert_eq!(other.algorithms(), AlgorithmId::ALL);
        let theirs = other.register(plugin("shared")).expect("a plugin");
        assert_ne!(shared, theirs);
        assert_ne!(shared.cmp(&theirs), core::cmp::Ordering::Equal);
        // What replaces one of them leaves the other as it is.
        let newer = other.register(plugin("shared")).expect("a plugin");
        assert_eq!(other.algorithm("shared"), Ok(newer));
        assert_eq!(Settings::from(theirs).newest(), newer.into());
        assert_eq!(one.algorithm("shared"), Ok(shared));
        assert_eq!(Settings::from(shared).newest(), shared.into());
    }

    #[test]
    fn what_a_name_means_does_not_depend_on_what_was_read_before() {
        let words = ["cubic:beta=0.5", "late", "late:fallback=reno", "nonsense"];
        let read = |catalog: &Catalog| words.map(|word| catalog.settings(word).is_ok());
        let empty = Catalog::new();
        assert_eq!(read(&empty), [true, false, false, false]);
        let mut full = Catalog::new();
        let late = full.register(plugin("late")).expect("a plugin");
        assert_eq!(read(&full), [true, true, true, false]);
        assert_eq!(read(&empty), [true, false, false, false]);
        assert_eq!(read(&Catalog::new()), [true, false, false, false]);
        assert!(
            "late".parse::<AlgorithmId>().is_err(),
            "it is not Windlass' own"
        );
        assert_eq!(full.algorithm("late"), Ok(late));
        let error = full.algorithm("nonsense").expect_err("no algorithm");
        assert!(error.to_string().ends_with(" sourdough late"), "{error}");
    }

    #[test]
    fn the_state_of_a_plugins_flow_is_read_with_its_catalog() {
        let mut catalog = Catalog::new();
        let id = catalog.register(plugin("kept")).expect("a plugin");
        let bytes = Controller::new(id, &Path::new(1448), 1).export();
        let settings = Settings::from(id);
        let read = Controller::import(&bytes, &settings, &catalog).map(|c| c.id());
        assert_eq!(read, Ok(id));
        assert!(Controller::import(&bytes, &settings, &Catalog::new()).is_err());
    }

    #[test]
    fn there_is_a_limit_and_names_of_windlass_are_taken() {
        let mut catalog = Catalog::new();
        let taken = catalog.register(plugin("cubic"));
        assert_eq!(taken, Err(WrongPlugin::NameTaken("cubic")));
        for _ in 0..PLUGINS_MAX {
            catalog.register(plugin("again")).expect("there is room");
        }
        assert_eq!(catalog.register(plugin("again")), Err(WrongPlugin::TooMany));
        let all = catalog.plugins();
        assert_eq!((all.len(), all[0].number()), (1, PLUGINS_MAX - 1));
    }
}
