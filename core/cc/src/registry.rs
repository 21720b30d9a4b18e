//! What follows from the list of algorithms (`lib.rs`): each is known by the name that Linux gives it.

use core::fmt;
use core::str::FromStr;

use serde::de::{self, DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeTuple, Serializer};

use crate::catalog::Catalog;
use crate::plugin::{Plugin, PluginId, PluginParameters};
use crate::settings::Settings;
use crate::{
    About, AckEvent, Beginning, CongestionControl, CongestionEvent, Control, Nanos, Parameter,
    Parameters, Path, Preset, SendEvent, Value,
};

macro_rules! registry {
    ($($module:ident::$variant:ident = $name:literal;)+) => {
        /// Any of the algorithms, as plain data.
        #[derive(Clone, Debug)]
        // A flow pays for the one it has, and not for the largest of them.
        pub enum Algorithm {
            $(#[doc = $name] $variant(Box<crate::algorithms::$module::$variant>),)+
            /// One from outside.
            Plugin(Box<Plugin>),
        }

        /// The name of an algorithm.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum AlgorithmId {
            $(#[doc = $name] $variant,)+
            /// One from outside.
            Plugin(PluginId),
        }

        /// The parameters of any of the algorithms.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) enum AnyParameters {
            $($variant(<crate::algorithms::$module::$variant as CongestionControl>::Parameters),)+
            Plugin(PluginParameters),
        }

        impl AlgorithmId {
            /// Those of Windlass' own, in the order of the registry.
            pub const ALL: &'static [AlgorithmId] = &[$(AlgorithmId::$variant),+];

            /// The Linux name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(AlgorithmId::$variant => $name,)+
                    AlgorithmId::Plugin(id) => id.description().name,
                }
            }

            /// What it says of itself.
            pub const fn about(self) -> &'static About {
                match self {
                    $(AlgorithmId::$variant => &<crate::algorithms::$module::$variant as CongestionControl>::ABOUT,)+
                    AlgorithmId::Plugin(id) => &id.description().about,
                }
            }

            /// What can be set.
            pub const fn parameters(self) -> &'static [Parameter] {
                match self {
                    $(AlgorithmId::$variant => {
                        <<crate::algorithms::$module::$variant as CongestionControl>::Parameters as Parameters>::LIST
                    })+
                    AlgorithmId::Plugin(id) => id.description().parameters,
                }
            }

            /// Named sets of values.
            pub const fn presets(self) -> &'static [Preset] {
                match self {
                    $(AlgorithmId::$variant => {
                        <<crate::algorithms::$module::$variant as CongestionControl>::Parameters as Parameters>::PRESETS
                    })+
                    AlgorithmId::Plugin(_) => &[],
                }
            }

            /// Bytes of state that a flow needs for it.
            pub const fn state_bytes(self) -> usize {
                match self {
                    $(AlgorithmId::$variant => size_of::<crate::algorithms::$module::$variant>(),)+
                    AlgorithmId::Plugin(_) => size_of::<Plugin>(),
                }
            }
        }

        impl AnyParameters {
            pub(crate) fn default_of(id: AlgorithmId) -> Self {
                match id {
                    $(AlgorithmId::$variant => AnyParameters::$variant(Default::default()),)+
                    AlgorithmId::Plugin(id) => AnyParameters::Plugin(PluginParameters::of(id)),
                }
            }

            pub(crate) const fn id(&self) -> AlgorithmId {
                match self {
                    $(AnyParameters::$variant(_) => AlgorithmId::$variant,)+
                    AnyParameters::Plugin(p) => AlgorithmId::Plugin(p.id),
                }
            }

            pub(crate) fn get(&self, name: &str) -> Option<Value> {
                match self {
                    $(AnyParameters::$variant(p) => p.get(name),)+
                    AnyParameters::Plugin(p) => p.get(name),
                }
            }

            pub(crate) fn put(&mut self, name: &str, value: Value) -> Option<()> {
                match self {
                    $(AnyParameters::$variant(p) => p.put(name, value),)+
                    AnyParameters::Plugin(p) => p.put(name, value),
                }
            }

            /// See [`CongestionControl::complete`]. An algorithm that these are not of stays as it is.
            pub(crate) fn complete(&self, algorithm: &mut Algorithm) {
                match (self, algorithm) {
                    $((AnyParameters::$variant(p), Algorithm::$variant(a)) => a.complete(p),)+
                    _ => {}
                }
            }

            pub(crate) fn start(&self, beginning: &Beginning<'_>) -> Algorithm {
                match self {
                    $(AnyParameters::$variant(p) => {
                        Algorithm::$variant(Box::new(CongestionControl::new(beginning, p)))
                    })+
                    AnyParameters::Plugin(p) => {
                        Algorithm::Plugin(Box::new(Plugin::new(beginning, p)))
                    }
                }
            }
        }

        /// As the pair of its name and its state, so that the order of the registry may change.
        impl Serialize for Algorithm {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut pair = serializer.serialize_tuple(2)?;
                pair.serialize_element(self.id().name())?;
                match self {
                    $(Algorithm::$variant(a) => pair.serialize_element(a)?,)+
                    Algorithm::Plugin(a) => pair.serialize_element(a)?,
                }
                pair.end()
            }
        }

        /// The pair of a name in this catalog and its state.
        struct Pair<'c>(&'c Catalog);

        impl<'de> Visitor<'de> for Pair<'_> {
            type Value = Algorithm;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of an algorithm and its state")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<Algorithm, A::Error> {
                let short = |n| de::Error::invalid_length(n, &self);
                let name: String = pair.next_element()?.ok_or_else(|| short(0))?;
                let id = self.0.algorithm(&name).map_err(de::Error::custom)?;
                Ok(match id {
                    $(AlgorithmId::$variant => {
                        Algorithm::$variant(pair.next_element()?.ok_or_else(|| short(1))?)
                    })+
                    AlgorithmId::Plugin(id) => {
                        let plugin = pair.next_element_seed(id)?.ok_or_else(|| short(1))?;
                        Algorithm::Plugin(Box::new(plugin))
                    }
                })
            }
        }

        /// Every method as in [`CongestionControl`].
        impl Algorithm {
            /// Which one it is.
            pub fn id(&self) -> AlgorithmId {
                match self {
                    $(Algorithm::$variant(_) => AlgorithmId::$variant,)+
                    Algorithm::Plugin(a) => AlgorithmId::Plugin(a.id()),
                }
            }

            registry!(@forward [$($variant)+]
                /// See [`CongestionControl::on_sent`].
                fn on_sent(&mut self, event: &SendEvent, path: &Path);
                /// See [`CongestionControl::on_ack`].
                fn on_ack(&mut self, event: &AckEvent, path: &Path);
                /// See [`CongestionControl::on_congestion`].
                fn on_congestion(&mut self, event: &CongestionEvent, path: &Path);
                /// See [`CongestionControl::on_recovery_exit`].
                fn on_recovery_exit(&mut self, now: Nanos, path: &Path);
                /// See [`CongestionControl::on_rto`].
                fn on_rto(&mut self, now: Nanos, path: &Path);
                /// See [`CongestionControl::on_spurious`].
                fn on_spurious(&mut self, now: Nanos, path: &Path);
                /// See [`CongestionControl::on_idle_restart`].
                fn on_idle_restart(&mut self, now: Nanos, idle: Nanos, path: &Path);
                /// See [`CongestionControl::on_pipe_full`].
                fn on_pipe_full(&mut self, now: Nanos, path: &Path);
            );

            /// See [`CongestionControl::control`].
            pub fn control(&self) -> Control {
                match self {
                    $(Algorithm::$variant(a) => a.control(),)+
                    Algorithm::Plugin(a) => a.control(),
                }
            }

            /// See [`CongestionControl::uses_prr`].
            pub fn uses_prr(&self) -> bool {
                match self {
                    $(Algorithm::$variant(a) => a.uses_prr(),)+
                    Algorithm::Plugin(a) => a.uses_prr(),
                }
            }
        }
    };
    (@forward $variants:tt $($(#[$doc:meta])* fn $method:ident(&mut self $(, $arg:ident: $ty:ty)*);)+) => {
        $(registry!(@method $variants $(#[$doc])* fn $method(&mut self $(, $arg: $ty)*));)+
    };
    (@method [$($variant:ident)+] $(#[$doc:meta])* fn $method:ident(&mut self $(, $arg:ident: $ty:ty)*)) => {
        registry!(@body [$($variant)+] [$(#[$doc])*] $method [$($arg: $ty),*] ($($arg),*));
    };
    (@body [$($variant:ident)+] [$(#[$doc:meta])*] $method:ident [$($arg:ident: $ty:ty),*] $args:tt) => {
        $(#[$doc])*
        pub fn $method(&mut self, $($arg: $ty),*) {
            match self {
                $(Algorithm::$variant(a) => registry!(@call a $method $args),)+
                Algorithm::Plugin(a) => registry!(@call a $method $args),
            }
        }
    };
    (@call $a:ident $method:ident ($($arg:ident),*)) => { $a.$method($($arg),*) };
}

with_algorithms!(registry);

/// Reads the state of an algorithm that is in the catalog.
impl<'de> DeserializeSeed<'de> for &Catalog {
    type Value = Algorithm;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Algorithm, D::Error> {
        deserializer.deserialize_tuple(2, Pair(self))
    }
}

impl AlgorithmId {
    /// What it is and where it comes from, in one line.
    pub const fn summary(self) -> &'static str {
        self.about().summary
    }

    /// A new instance, with default parameters, for a flow whose path is known as far as `path`
    /// says.
    pub fn start(self, path: &Path, seed: u64) -> Algorithm {
        Settings::from(self).start(&Beginning::new(path, seed))
    }
}

impl fmt::Display for AlgorithmId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no algorithm bears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAlgorithm {
    /// The name in question.
    pub name: String,
    /// Those that there are.
    pub known: Vec<&'static str>,
}

impl UnknownAlgorithm {
    pub(crate) fn new(name: &str, known: &[AlgorithmId]) -> UnknownAlgorithm {
        UnknownAlgorithm {
            name: name.to_owned(),
            known: known.iter().map(|id| id.name()).collect(),
        }
    }
}

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown algorithm \"{}\"; known:", self.name)?;
        for known in &self.known {
            write!(f, " {known}")?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownAlgorithm {}

/// Windlass' own only: [`Catalog::algorithm`] knows plugins too.
impl FromStr for AlgorithmId {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
        let own = AlgorithmId::ALL;
        let found = own.iter().find(|id| id.name() == name);
        found
            .copied()
            .ok_or_else(|| UnknownAlgorithm::new(name, own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_start_what_they_say() {
        for id in AlgorithmId::ALL {
            assert_eq!(id.to_string().parse(), Ok(*id));
            assert_eq!(id.start(&Path::new(1448), 1).id(), *id);
            let about = id.about();
            assert!(
                !about.summary.contains('\n') && about.summary.len() < 100,
                "{id}"
            );
            assert!(!about.source.is_empty() && about.advice.len() > 100, "{id}");
        }
    }

    #[test]
    fn an_unknown_name_is_named_with_the_known_ones() {
        let error = "cubik".parse::<AlgorithmId>().unwrap_err();
        let known = "unknown algorithm \"cubik\"; known: reno cubic bbr bbr3";
        assert!(error.to_string().starts_with(known), "{error}");
    }
}
