//! An algorithm and how it is set, in one word, as it is typed: `cubic`, `cubic:linux`,
//! `compound:infocom,beta=0.3`.

use core::fmt;

use crate::{
    AlgorithmId, Catalog, Parameter, Range, Settings, UnknownAlgorithm, Value, WrongSetting,
};

/// Text that names no algorithm as it can be set.
#[derive(Clone, Debug, PartialEq)]
pub enum WrongText {
    /// There is no such algorithm.
    Algorithm(UnknownAlgorithm),
    /// There is no such preset or parameter, or the value is out of its range.
    Setting(WrongSetting),
    /// A plugin cannot go on where a plugin has failed.
    Fallback(AlgorithmId),
    /// A second preset, or one behind a parameter.
    Misplaced(String),
}

impl fmt::Display for WrongText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WrongText::Algorithm(wrong) => wrong.fmt(f),
            WrongText::Setting(wrong) => wrong.fmt(f),
            WrongText::Fallback(plugin) => write!(
                f,
                "{plugin} is a plugin too: name an algorithm of Windlass' own, for example \
                 fallback=cubic"
            ),
            WrongText::Misplaced(word) => write!(
                f,
                "\"{word}\" is no PARAMETER=VALUE: write NAME[:PRESET][,PARAMETER=VALUE…], or \
                 NAME:PARAMETER=VALUE[,…] without a preset"
            ),
        }
    }
}

impl core::error::Error for WrongText {}

/// Beside the parameters of a plugin: the algorithm that goes on when it fails.
const FALLBACK: &str = "fallback";

impl Catalog {
    /// Reads `NAME[:[PRESET][,PARAMETER=VALUE…]]`.
    ///
    /// # Errors
    /// There is no such algorithm, preset, parameter or value.
    pub fn settings(&self, text: &str) -> Result<Settings, WrongText> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let id = self.algorithm(name).map_err(WrongText::Algorithm)?;
        let mut settings = Settings::from(id);
        let words = rest.split(',').map(str::trim).filter(|w| !w.is_empty());
        for (n, word) in words.enumerate() {
            match word.split_once('=') {
                Some((FALLBACK, name)) if settings.fallback().is_some() => {
                    settings = settings.with_fallback(self.fallback(name.trim())?);
                }
                Some((name, value)) => assign(&mut settings, name.trim(), value.trim())?,
                None if n == 0 => settings.apply_preset(word).map_err(WrongText::Setting)?,
                None => return Err(WrongText::Misplaced(word.to_owned())),
            }
        }
        Ok(settings)
    }

    fn fallback(&self, name: &str) -> Result<AlgorithmId, WrongText> {
        match self.algorithm(name).map_err(WrongText::Algorithm)? {
            plugin @ AlgorithmId::Plugin(_) => Err(WrongText::Fallback(plugin)),
            own => Ok(own),
        }
    }
}

/// What [`Catalog::settings`] reads: the name, and the parameters that are not as the source has them.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let defaults = Settings::from(self.id());
        f.write_str(self.id().name())?;
        let mut between = ':';
        for parameter in self.id().parameters() {
            let value = self.get(parameter.name);
            if let Some(value) = value.filter(|v| defaults.get(parameter.name) != Some(*v)) {
                write!(f, "{between}{}={value}", parameter.name)?;
                between = ',';
            }
        }
        if let Some(fallback) = self.fallback().filter(|f| defaults.fallback() != Some(*f)) {
            write!(f, "{between}{FALLBACK}={fallback}")?;
        }
        Ok(())
    }
}

fn assign(settings: &mut Settings, name: &str, text: &str) -> Result<(), WrongText> {
    let parameter = settings.parameter(name).map_err(WrongText::Setting)?;
    let value = value(parameter, text).ok_or_else(|| {
        WrongText::Setting(WrongSetting::Value {
            parameter: parameter.name,
            range: parameter.range,
            value: text.to_owned(),
        })
    })?;
    settings.set(name, value).map_err(WrongText::Setting)
}

fn value(parameter: &Parameter, text: &str) -> Option<Value> {
    match parameter.range {
        Range::Number { .. } => text.parse().ok().map(Value::Number),
        Range::Flag => text.parse().ok().map(Value::Flag),
        Range::Choice(words) => {
            let word = words.iter().find(|word| **word == text)?;
            Some(Value::Choice(word))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_and_every_value_can_be_typed() {
        let read = |text: &str| Catalog::new().settings(text);
        for id in AlgorithmId::ALL {
            assert_eq!(read(id.name()), Ok(Settings::from(*id)));
            for preset in id.presets() {
                let mut by_preset = Settings::from(*id);
                by_preset.apply_preset(preset.name).expect("it is listed");
                assert_eq!(read(&by_preset.to_string()), Ok(by_preset));
                let typed = format!("{id}:{}", preset.name);
                assert_eq!(read(&typed), Ok(by_preset), "{typed}");
                let values = preset.values.iter().map(|(n, v)| format!("{n}={v}"));
                let typed = format!("{id}:{}", values.collect::<Vec<_>>().join(","));
                assert_eq!(read(&typed), Ok(by_preset), "{typed}");
            }
        }
    }

    #[test]
    fn parameters_go_over_the_preset() {
        let settings = Catalog::new()
            .settings("cubic:linux, beta=0.5")
            .expect("right");
        let mut expected = Settings::from(AlgorithmId::Cubic);
        expected.apply_preset("linux").expect("it is listed");
        expected.set("beta", Value::Number(0.5)).expect("in range");
        assert_eq!(settings, expected);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| Catalog::new().settings(text).unwrap_err().to_string();
        assert!(error("cubik").starts_with("unknown algorithm \"cubik\"; known: reno cubic"));
        assert!(error("cubic:fast").starts_with("cubic has no preset \"fast\""));
        assert!(error("cubic:betta=1").starts_with("cubic has no parameter \"betta\""));
        assert_eq!(
            error("cubic:beta=much"),
            "beta cannot be much: a number from 0.1 to 0.95"
        );
        assert_eq!(
            error("cubic:beta=NaN"),
            "beta cannot be NaN: a number from 0.1 to 0.95"
        );
        assert!(error("cubic:beta=0.5,linux").starts_with("\"linux\" is no PARAMETER=VALUE"));
    }
}
