//! Values of parameters.

use core::fmt;

use serde::{Deserialize, Serialize};

/// A value that a parameter takes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// True or false.
    Boolean(bool),
    /// A word.
    Text(String),
}

impl Scalar {
    /// The number that it is, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Scalar::Integer(i) => Some(*i as f64),
            Scalar::Float(f) => Some(*f),
            Scalar::Boolean(_) | Scalar::Text(_) => None,
        }
    }

    /// Equal in value: 1 is 1.0.
    pub fn same(&self, other: &Scalar) -> bool {
        match (self.number(), other.number()) {
            (Some(a), Some(b)) => a == b,
            _ => self == other,
        }
    }

    /// What somebody has typed: a number or a truth value if it reads like one, else a word.
    pub fn of_text(text: &str) -> Scalar {
        if let Ok(i) = text.parse() {
            return Scalar::Integer(i);
        }
        match (text.parse::<f64>(), text) {
            (Ok(f), _) if f.is_finite() => Scalar::Float(f),
            (_, "true") => Scalar::Boolean(true),
            (_, "false") => Scalar::Boolean(false),
            _ => Scalar::Text(text.to_owned()),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Integer(i) => write!(f, "{i}"),
            Scalar::Float(x) => write!(f, "{x}"),
            Scalar::Boolean(b) => write!(f, "{b}"),
            Scalar::Text(text) => f.write_str(text),
        }
    }
}
