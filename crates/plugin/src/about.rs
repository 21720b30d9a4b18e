//! What a module says of itself: TOML, from its export `windlass_about`.

use std::sync::Arc;

use serde::Deserialize;
use windlass_cc::plugin::{Code, Description, PARAMETERS_MAX};
use windlass_cc::{About, Parameter, Range, Signals};

use crate::PluginError;

/// Bytes that it may have.
pub(crate) const ABOUT_BYTES_MAX: usize = 16 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
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

/// Reads it.
///
/// # Errors
/// It is no TOML, or lacks something.
pub(crate) fn read(text: &str, code: Arc<dyn Code>) -> Result<Description, PluginError> {
    let wrong = |e: toml::de::Error| PluginError::About(e.to_string().trim().replace('\n', " "));
    let text: Text = toml::from_str(text).map_err(wrong)?;
    if text.parameter.len() > PARAMETERS_MAX {
        let count = text.parameter.len();
        let what = format!("{count} parameters: at most {PARAMETERS_MAX}");
        return Err(PluginError::About(what));
    }
    let mut defaults = [0.0; PARAMETERS_MAX];
    let mut parameters = Vec::new();
    for (setting, default) in text.parameter.into_iter().zip(&mut defaults) {
        *default = setting.default;
        parameters.push(Parameter {
            name: keep(setting.name),
            meaning: keep(setting.meaning),
            range: Range::Number {
                least: setting.least,
                most: setting.most,
                whole: setting.whole,
                unit: keep(setting.unit),
            },
        });
    }
    Ok(Description {
        name: keep(text.name),
        about: About {
            summary: keep(text.summary),
            source: keep(text.source),
            advice: keep(text.advice),
            signals: Signals {
                loss: text.slows_down_at.contains(&Signal::Loss),
                ecn: text.slows_down_at.contains(&Signal::Ecn),
                delay: text.slows_down_at.contains(&Signal::Delay),
            },
        },
        parameters: parameters.leak(),
        defaults,
        state_bytes: text.state_bytes,
        prr: text.prr,
        code,
    })
}
