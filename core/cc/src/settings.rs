//! An algorithm together with the values of its parameters.

use core::fmt;

use crate::registry::{Algorithm, AlgorithmId, AnyParameters};
use crate::{Beginning, Parameter, Range, Value};

/// Which algorithm, and how it is set. Made from an [`AlgorithmId`]: then all parameters have their
/// defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    parameters: AnyParameters,
}

impl From<AlgorithmId> for Settings {
    fn from(id: AlgorithmId) -> Settings {
        Settings {
            parameters: AnyParameters::default_of(id),
        }
    }
}

/// A parameter cannot be set so.
#[derive(Clone, Debug, PartialEq)]
pub enum WrongSetting {
    /// The algorithm has no such parameter.
    Unknown {
        /// The algorithm.
        algorithm: AlgorithmId,
        /// The name in question.
        name: String,
    },
    /// A value that the parameter cannot take.
    Value {
        /// The parameter.
        parameter: &'static str,
        /// What it can be.
        range: Range,
        /// What was asked for.
        value: String,
    },
    /// The algorithm has no such preset.
    Preset {
        /// The algorithm.
        algorithm: AlgorithmId,
        /// The name in question.
        name: String,
    },
}

impl Settings {
    /// Which algorithm.
    pub const fn id(&self) -> AlgorithmId {
        self.parameters.id()
    }

    /// The algorithm that goes on with a flow when a plugin fails. One of Windlass' own needs none.
    #[must_use]
    pub fn with_fallback(mut self, fallback: AlgorithmId) -> Settings {
        if let AnyParameters::Plugin(plugin) = &mut self.parameters {
            plugin.fallback = fallback;
        }
        self
    }

    /// The algorithm that [`Settings::with_fallback`] names; `None` unless this is a plugin.
    pub fn fallback(&self) -> Option<AlgorithmId> {
        match &self.parameters {
            AnyParameters::Plugin(plugin) => Some(plugin.fallback),
            _ => None,
        }
    }

    /// The same of the newest plugin of this name. A value that was set stays, if the newer one has it; others are as the
    /// newer one has them. One of Windlass' own is the newest.
    #[must_use]
    pub fn newest(mut self) -> Settings {
        if let AnyParameters::Plugin(plugin) = &mut self.parameters {
            *plugin = plugin.newest();
        }
        self
    }

    /// A new instance for a flow that comes to it so.
    pub fn start(&self, beginning: &Beginning<'_>) -> Algorithm {
        self.parameters.start(beginning)
    }

    /// Gives an algorithm that another process has handed over the parameters that the format of its state lacks.
    pub(crate) fn complete(&self, algorithm: &mut Algorithm) {
        self.parameters.complete(algorithm);
    }

    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<Value> {
        self.parameters.get(name)
    }

    /// Sets a parameter.
    ///
    /// # Errors
    /// There is no such parameter, or the value is out of its range.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), WrongSetting> {
        let parameter = self.parameter(name)?;
        let put = |parameters: &mut AnyParameters| parameters.put(name, value);
        if parameter.range.contains(value) && put(&mut self.parameters).is_some() {
            return Ok(());
        }
        Err(WrongSetting::Value {
            parameter: parameter.name,
            range: parameter.range,
            value: value.to_string(),
        })
    }

    /// The description of the parameter `name`.
    ///
    /// # Errors
    /// There is no such parameter.
    pub fn parameter(&self, name: &str) -> Result<&'static Parameter, WrongSetting> {
        let list = self.id().parameters();
        let found = list.iter().find(|parameter| parameter.name == name);
        found.ok_or_else(|| WrongSetting::Unknown {
            algorithm: self.id(),
            name: name.to_owned(),
        })
    }

    /// Sets what the preset `name` names, and leaves the rest.
    ///
    /// # Errors
    /// There is no such preset.
    pub fn apply_preset(&mut self, name: &str) -> Result<(), WrongSetting> {
        let preset = self.id().presets().iter().find(|p| p.name == name);
        let preset = preset.ok_or_else(|| WrongSetting::Preset {
            algorithm: self.id(),
            name: name.to_owned(),
        })?;
        preset
            .values
            .iter()
            .try_for_each(|(name, value)| self.set(name, *value))
    }
}

impl fmt::Display for WrongSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list<'a>(
            f: &mut fmt::Formatter<'_>,
            names: impl Iterator<Item = &'a str>,
        ) -> fmt::Result {
            let mut any = false;
            for name in names {
                write!(f, " {name}")?;
                any = true;
            }
            if any { Ok(()) } else { f.write_str(" none") }
        }
        match self {
            WrongSetting::Unknown { algorithm, name } => {
                write!(f, "{algorithm} has no parameter \"{name}\"; it has:")?;
                list(f, algorithm.parameters().iter().map(|p| p.name))
            }
            WrongSetting::Value {
                parameter,
                range,
                value,
            } => {
                write!(f, "{parameter} cannot be {value}: {range}")
            }
            WrongSetting::Preset { algorithm, name } => {
                write!(f, "{algorithm} has no preset \"{name}\"; it has:")?;
                list(f, algorithm.presets().iter().map(|p| p.name))
            }
        }
    }
}

impl core::error::Error for WrongSetting {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every default lies in its range, every preset can be applied, and what is set is read back.
    #[test]
    fn defaults_and_presets_are_within_their_ranges() {
        for id in AlgorithmId::ALL {
            let mut settings = Settings::from(*id);
            for parameter in id.parameters() {
                let value = settings.get(parameter.name).expect("it is listed");
                assert!(
                    parameter.range.contains(value),
                    "{id} {parameter:?}: {value}"
                );
                assert!(
                    !parameter.meaning.trim().is_empty(),
                    "{id} {}",
                    parameter.name
                );
                assert_eq!(settings.set(parameter.name, value), Ok(()));
            }
            assert_eq!(settings, Settings::from(*id));
            for preset in id.presets() {
                let mut changed = settings;
                assert_eq!(changed.apply_preset(preset.name), Ok(()), "{id}");
                for (name, value) in preset.values {
                    assert_eq!(changed.get(name), Some(*value), "{id} {}", preset.name);
                }
                assert_ne!(changed, settings, "{id} {}", preset.name);
            }
        }
    }

    #[test]
    fn what_cannot_be_set_is_told() {
        let mut cubic = Settings::from(AlgorithmId::Cubic);
        let error = |result: Result<(), WrongSetting>| result.unwrap_err().to_string();
        assert_eq!(
            error(cubic.set("beta", Value::Number(1.5))),
            "beta cannot be 1.5: a number from 0.1 to 0.95"
        );
        assert_eq!(
            error(cubic.set("slow_start", Value::Flag(true))),
            "slow_start cannot be true: \"standard\" or \"hystart++\" or \"hystart\""
        );
        assert!(error(cubic.set("betta", Value::Number(0.5))).contains("it has: c beta"));
        assert_eq!(
            error(cubic.apply_preset("none")),
            "cubic has no preset \"none\"; it has: abe linux"
        );
        assert_eq!(cubic, Settings::from(AlgorithmId::Cubic));
    }
}
