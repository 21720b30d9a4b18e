//! What a module says of itself: TOML, from its export `windlass_about`.

use std::sync::Arc;

use serde::Deserialize;
use windlass_cc::plugin::{Code, Description, PARAMETERS_MAX, STATE_BYTES_MAX};
use windlass_cc::{Parameter, Range, Signals};

use crate::PluginError;

/// Bytes that it may have.
pub(crate) const ABOUT_BYTES_MAX: usize = 16 * 1024;

/// What a module says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct About {
    name: String,
    summary: String,
    source: String,
    advice: String,
    slows_down_at: Vec<Signal>,
    state_bytes: usize,
    #[serde(default = "yes")]
    prr: bool,
    #[serde(default)]
    parameter: Vec<Setting>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Signal {
    Loss,
    Ecn,
    Delay,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Setting {
    name: String,
    meaning: String,
    least: f64,
    most: f64,
    default: f64,
    #[serde(default)]
    whole: bool,
    #[serde(default)]
    unit: String,
}

fn yes() -> bool {
    true
}

/// For as long as the process lives: what is known of an algorithm is `'static`.
fn keep(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

impl About {
    /// Reads it.
    ///
    /// # Errors
    /// It is no TOML, lacks something, or wants more than there is.
    pub(crate) fn read(text: &str) -> Result<About, PluginError> {
        let wrong =
            |e: toml::de::Error| PluginError::About(e.to_string().trim().replace('\n', " "));
        let about: About = toml::from_str(text).map_err(wrong)?;
        let too_much = |what: &str, count, most| {
            (count > most).then(|| PluginError::About(format!("{count} {what}: at most {most}")))
        };
        let parameters = too_much("parameters", about.parameter.len(), PARAMETERS_MAX);
        let state = too_much("bytes of state", about.state_bytes, STATE_BYTES_MAX);
        parameters.or(state).map_or(Ok(about), Err)
    }

    /// Bytes that it keeps for a flow.
    pub(crate) fn state_bytes(&self) -> usize {
        self.state_bytes
    }

    /// The same for the registry, with the code that it is about.
    pub(crate) fn describe(self, code: Arc<dyn Code>) -> Description {
        let mut defaults = [0.0; PARAMETERS_MAX];
        for (setting, default) in self.parameter.iter().zip(&mut defaults) {
            *default = setting.default;
        }
        let parameters = self.parameter.into_iter().map(|setting| Parameter {
            name: keep(setting.name),
            meaning: keep(setting.meaning),
            range: Range::Number {
                least: setting.least,
                most: setting.most,
                whole: setting.whole,
                unit: keep(setting.unit),
            },
        });
        let slows_down_at = |signal| self.slows_down_at.contains(&signal);
        Description {
            name: keep(self.name),
            about: windlass_cc::About {
                summary: keep(self.summary),
                source: keep(self.source),
                advice: keep(self.advice),
                signals: Signals {
                    loss: slows_down_at(Signal::Loss),
                    ecn: slows_down_at(Signal::Ecn),
                    delay: slows_down_at(Signal::Delay),
                },
            },
            parameters: parameters.collect::<Vec<_>>().leak(),
            defaults,
            state_bytes: self.state_bytes,
            prr: self.prr,
            code,
        }
    }
}
