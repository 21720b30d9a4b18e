//! One of Windlass's algorithms, and how it is set, as it stands in files.

use core::fmt;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use windlass_cc::{Catalog, Range, Settings, Value};

use crate::scalar::Scalar;

/// An algorithm, and the parameters that are not as its source has them. Shows as TOML.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Algorithm {
    /// Its Linux name.
    pub name: String,
    /// Values of parameters, by name.
    pub parameters: BTreeMap<String, Scalar>,
}

impl From<&Settings> for Algorithm {
    fn from(settings: &Settings) -> Algorithm {
        let defaults = Settings::from(settings.id());
        let names = settings.id().parameters().iter().map(|p| p.name);
        let set = names.filter(|name| settings.get(name) != defaults.get(name));
        let value = |name: &str| {
            Some(match settings.get(name)? {
                Value::Number(number) if number.fract() == 0.0 => Scalar::Integer(number as i64),
                Value::Number(number) => Scalar::Float(number),
                Value::Flag(flag) => Scalar::Boolean(flag),
                Value::Choice(word) => Scalar::Text(word.to_owned()),
            })
        };
        Algorithm {
            name: settings.id().name().to_owned(),
            parameters: set
                .filter_map(|n| Some((n.to_owned(), value(n)?)))
                .collect(),
        }
    }
}

impl Algorithm {
    /// In one word, as command lines take it: `NAME:PARAMETER=VALUE,…`.
    pub fn word(&self) -> String {
        let parameters = self.parameters.iter();
        let set: Vec<String> = parameters
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        match set.is_empty() {
            true => self.name.clone(),
            false => format!("{}:{}", self.name, set.join(",")),
        }
    }

    /// As algorithms take it, of those in the catalog.
    ///
    /// # Errors
    /// There is no such algorithm, parameter or value.
    pub fn settings(&self, catalog: &Catalog) -> Result<Settings, String> {
        let id = catalog.algorithm(&self.name).map_err(|e| format!("{e}"))?;
        let mut settings = Settings::from(id);
        for (name, value) in &self.parameters {
            let parameter = settings.parameter(name).map_err(|e| format!("{e}"))?;
            let Some(value) = setting(value, &parameter.range) else {
                return Err(format!("{name} cannot be {value}: {}", parameter.range));
            };
            settings.set(name, value).map_err(|e| format!("{e}"))?;
        }
        Ok(settings)
    }
}

fn setting(value: &Scalar, range: &Range) -> Option<Value> {
    match (value, range) {
        (Scalar::Boolean(flag), _) => Some(Value::Flag(*flag)),
        (Scalar::Text(text), Range::Choice(words)) => {
            let word = words.iter().find(|word| *word == text)?;
            Some(Value::Choice(word))
        }
        _ => value.number().map(Value::Number),
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.parameters.is_empty() {
            return write!(f, "\"{}\"", self.name);
        }
        write!(f, "{{ name = \"{}\"", self.name)?;
        for (name, value) in &self.parameters {
            match value {
                Scalar::Text(word) => write!(f, ", {name} = \"{word}\"")?,
                value => write!(f, ", {name} = {value}")?,
            }
        }
        f.write_str(" }")
    }
}

#[cfg(test)]
mod tests {
    use windlass_cc::AlgorithmId;

    use super::*;

    #[test]
    fn every_preset_survives_the_file_and_the_way_into_a_guest() {
        let catalog = Catalog::new();
        for id in AlgorithmId::ALL {
            let mut all = vec![Settings::from(*id)];
            for preset in id.presets() {
                let mut settings = Settings::from(*id);
                settings.apply_preset(preset.name).expect("it is listed");
                all.push(settings);
            }
            for settings in all {
                let algorithm = Algorithm::from(&settings);
                assert_eq!(algorithm.settings(&catalog), Ok(settings));
                assert_eq!(catalog.settings(&algorithm.word()), Ok(settings));
                let json = serde_json::to_string(&algorithm).expect("it can be written");
                assert_eq!(
                    serde_json::from_str::<Algorithm>(&json).ok(),
                    Some(algorithm)
                );
            }
        }
    }

    #[test]
    fn it_shows_as_toml() {
        let mut cubic = Settings::from(AlgorithmId::Cubic);
        assert_eq!(Algorithm::from(&cubic).to_string(), "\"cubic\"");
        cubic.set("beta", Value::Number(0.8)).expect("in range");
        cubic
            .set("profile", Value::Choice("linux"))
            .expect("listed");
        let text = "{ name = \"cubic\", beta = 0.8, profile = \"linux\" }";
        assert_eq!(Algorithm::from(&cubic).to_string(), text);
        let mut wrong = Algorithm::from(&cubic);
        wrong
            .parameters
            .insert("beta".to_owned(), Scalar::Text("much".to_owned()));
        assert!(
            wrong
                .settings(&Catalog::new())
                .unwrap_err()
                .contains("beta cannot be much")
        );
    }
}
