//! A controller, and how an algorithm is set, as data: to carry the flows of one process over to the next.

use core::fmt;

use serde::{Deserialize, Serialize};

use crc::{CRC_32_ISCSI, Crc};
use postcard::Deserializer;
use postcard::de_flavors::Slice;
use postcard::de_flavors::crc::CrcModifier;
use serde::de::DeserializeSeed;

use crate::controller::Rest;
use crate::{Catalog, Controller, Range, Settings, Value};

/// Raised whenever the state of an algorithm changes its fields.
const VERSION: u16 = 3;
const CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// Bytes that are not the state of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportError {
    /// They were exported by another version.
    Version(u16),
    /// They are not what was exported: cut short, or changed.
    Damaged,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImportError::Version(found) => write!(
                f,
                "the state of the flow has format {found}, this program reads {VERSION}: start \
                 the flow anew from its path"
            ),
            ImportError::Damaged => {
                f.write_str("the state of the flow is damaged: start it anew from its path")
            }
        }
    }
}

impl core::error::Error for ImportError {}

impl Controller {
    /// The whole state: algorithm, parameters, the open recovery episode.
    ///
    /// # Panics
    /// Never: every state can be written.
    pub fn export(&self) -> Vec<u8> {
        let record = (VERSION, self.parts());
        postcard::to_allocvec_crc32(&record, CHECKSUM.digest()).expect("plain data")
    }

    /// The controller that was exported; it goes on as if nothing had happened. Its algorithm must be in the catalog. `settings` are
    /// those that it had.
    ///
    /// # Errors
    /// The bytes are damaged, or from a version with another format, or of an algorithm that there is not.
    pub fn import(
        bytes: &[u8],
        settings: &Settings,
        catalog: &Catalog,
    ) -> Result<Controller, ImportError> {
        let damaged = |_| ImportError::Damaged;
        let checked = CrcModifier::new(Slice::new(bytes), CHECKSUM.digest());
        let mut input = Deserializer::from_flavor(checked);
        let version = u16::deserialize(&mut input).map_err(damaged)?;
        if version != VERSION {
            return Err(ImportError::Version(version));
        }
        let mut algorithm = catalog.deserialize(&mut input).map_err(damaged)?;
        settings.complete(&mut algorithm);
        let rest = Rest::deserialize(&mut input).map_err(damaged)?;
        input.finalize().map_err(damaged)?;
        Ok(Controller::of_parts(algorithm, rest))
    }
}

/// [`Settings`] by names, which mean the same in another process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingsByName {
    algorithm: String,
    /// Of a plugin.
    fallback: Option<String>,
    values: Vec<(String, Setting)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Setting {
    Number(f64),
    Flag(bool),
    Choice(String),
}

impl Settings {
    /// The names of algorithm and parameters, and their values.
    pub fn by_name(&self) -> SettingsByName {
        let values = self.id().parameters().iter().filter_map(|parameter| {
            let value = match self.get(parameter.name)? {
                Value::Number(number) => Setting::Number(number),
                Value::Flag(flag) => Setting::Flag(flag),
                Value::Choice(word) => Setting::Choice(word.to_owned()),
            };
            Some((parameter.name.to_owned(), value))
        });
        SettingsByName {
            algorithm: self.id().name().to_owned(),
            fallback: self.fallback().map(|id| id.name().to_owned()),
            values: values.collect(),
        }
    }
}

impl SettingsByName {
    /// What they name in this catalog; `None` if it has no such algorithm. A parameter that the algorithm does not have,
    /// or not so, keeps its default.
    pub fn find(&self, catalog: &Catalog) -> Option<Settings> {
        let mut settings = Settings::from(catalog.algorithm(&self.algorithm).ok()?);
        if let Some(fallback) = self.fallback.as_deref().and_then(|name| name.parse().ok()) {
            settings = settings.with_fallback(fallback);
        }
        for (name, setting) in &self.values {
            let Ok(parameter) = settings.parameter(name) else {
                continue;
            };
            let value = match (setting, &parameter.range) {
                (Setting::Number(number), _) => Some(Value::Number(*number)),
                (Setting::Flag(flag), _) => Some(Value::Flag(*flag)),
                (Setting::Choice(word), Range::Choice(words)) => {
                    let known = words.iter().find(|known| *known == word);
                    known.map(|word| Value::Choice(word))
                }
                (Setting::Choice(_), _) => None,
            };
            if let Some(value) = value {
                _ = settings.set(name, value);
            }
        }
        Some(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AlgorithmId, Path};

    #[test]
    fn settings_mean_the_same_by_name() {
        let catalog = Catalog::new();
        for id in AlgorithmId::ALL {
            let mut presets = vec![Settings::from(*id)];
            for preset in id.presets() {
                let mut settings = Settings::from(*id);
                settings.apply_preset(preset.name).unwrap();
                presets.push(settings);
            }
            for settings in presets {
                assert_eq!(settings.by_name().find(&catalog), Some(settings), "{id}");
            }
        }
        let unknown = SettingsByName {
            algorithm: "none".to_owned(),
            ..Settings::from(AlgorithmId::Bbr).by_name()
        };
        assert_eq!(unknown.find(&catalog), None);
    }

    #[test]
    fn damage_is_noticed_wherever_it_is() {
        for id in AlgorithmId::ALL {
            let bytes = Controller::new(*id, &Path::new(1448), 3).export();
            assert!(bytes.len() < 600, "{id}: {} bytes", bytes.len());
            let (settings, catalog) = (Settings::from(*id), Catalog::new());
            let import = |bytes: &[u8]| Controller::import(bytes, &settings, &catalog);
            assert_eq!(import(&bytes).map(|c| c.id()), Ok(*id));
            for at in 0..bytes.len() {
                let mut damaged = bytes.clone();
                damaged[at] ^= 0x11;
                assert!(import(&damaged).is_err(), "{id} at {at}");
                assert!(import(&bytes[..at]).is_err(), "{id} cut at {at}");
            }
        }
    }

    /// The format of the state is older than these.
    #[test]
    fn parameters_that_the_format_lacks_are_those_of_the_rule() {
        let mut settings = Settings::from(AlgorithmId::Bbr);
        for name in ["newcomer", "climb"] {
            settings.set(name, Value::Flag(false)).expect("a parameter");
        }
        let controller = Controller::new(settings, &Path::new(1448), 3);
        let bytes = controller.export();
        let imported = Controller::import(&bytes, &settings, &Catalog::new()).expect("exported");
        assert_eq!(format!("{imported:?}"), format!("{controller:?}"));
        let of_another = Settings::from(AlgorithmId::Cubic);
        let imported = Controller::import(&bytes, &of_another, &Catalog::new()).expect("exported");
        assert_ne!(format!("{imported:?}"), format!("{controller:?}"));
    }

    #[test]
    fn another_version_is_told() {
        let mut bytes = Controller::new(AlgorithmId::Reno, &Path::new(1448), 3).export();
        bytes[0] = 9;
        let settings = Settings::from(AlgorithmId::Reno);
        let error = Controller::import(&bytes, &settings, &Catalog::new()).unwrap_err();
        assert_eq!(error, ImportError::Version(9));
        assert!(error.to_string().contains("format 9"));
    }
}
