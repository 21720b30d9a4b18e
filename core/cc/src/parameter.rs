//! What an operator can set of an algorithm: each parameter with its name, unit, meaning, range and
//! default, and named sets of values.

use core::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{MILLISECOND, Nanos};

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// In the unit of the parameter.
    Number(f64),
    /// On or off.
    Flag(bool),
    /// One of the words that [`Range::Choice`] lists.
    Choice(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => write!(f, "{number}"),
            Value::Flag(flag) => write!(f, "{flag}"),
            Value::Choice(word) => f.pad(word),
        }
    }
}

/// The values that a parameter can take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// From `least` to `most`, both included.
    Number {
        /// Smallest value.
        least: f64,
        /// Largest value.
        most: f64,
        /// Whole numbers only.
        whole: bool,
        /// Unit; empty for a bare number.
        unit: &'static str,
    },
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
}

impl Range {
    /// Any number from `least` to `most`.
    pub const fn number(least: f64, most: f64, unit: &'static str) -> Range {
        Range::Number {
            least,
            most,
            whole: false,
            unit,
        }
    }

    /// A whole number from `least` to `most`.
    pub const fn whole(least: u32, most: u32, unit: &'static str) -> Range {
        Range::Number {
            least: least as f64,
            most: most as f64,
            whole: true,
            unit,
        }
    }

    /// Whether `value` is one of them.
    pub fn contains(&self, value: Value) -> bool {
        match (self, value) {
            (
                Range::Number {
                    least, most, whole, ..
                },
                Value::Number(n),
            ) => (*least..=*most).contains(&n) && (!whole || n == libm::trunc(n)),
            (Range::Flag, Value::Flag(_)) => true,
            (Range::Choice(words), Value::Choice(word)) => words.contains(&word),
            _ => false,
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Range::Number {
                least,
                most,
                whole,
                unit,
            } => {
                let kind = if *whole { "a whole number" } else { "a number" };
                write!(f, "{kind} from {least} to {most}")?;
                if unit.is_empty() {
                    Ok(())
                } else {
                    write!(f, " {unit}")
                }
            }
            Range::Flag => f.write_str("true or false"),
            Range::Choice(words) => {
                for (n, word) in words.iter().enumerate() {
                    write!(f, "{}\"{word}\"", if n == 0 { "" } else { " or " })?;
                }
                Ok(())
            }
        }
    }
}

/// One thing that can be set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its key in a configuration file.
    pub name: &'static str,
    /// What it does, with its source.
    pub meaning: &'static str,
    /// What it may be.
    pub range: Range,
}

/// Values that belong together, by name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// What `preset = "…"` says.
    pub name: &'static str,
    /// Where the values come from.
    pub meaning: &'static str,
    /// What differs from the defaults.
    pub values: &'static [(&'static str, Value)],
}

/// The parameters of one algorithm. The default is the algorithm as its source has it.
pub trait Parameters:
    Copy + fmt::Debug + Default + PartialEq + Serialize + DeserializeOwned
{
    /// All of them.
    const LIST: &'static [Parameter];
    /// Named sets of values.
    const PRESETS: &'static [Preset];

    /// The value of the parameter `name`.
    fn get(&self, name: &str) -> Option<Value>;

    /// Sets it, without a look at the range; `None` if there is no such one or it is of another
    /// type.
    fn put(&mut self, name: &str, value: Value) -> Option<()>;
}

/// A type that a parameter can have.
pub(crate) trait Field: Copy {
    fn value(self) -> Value;
    fn from_value(value: Value) -> Option<Self>;
}

impl Field for f64 {
    fn value(self) -> Value {
        Value::Number(self)
    }

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }
}

impl Field for u32 {
    fn value(self) -> Value {
        Value::Number(f64::from(self))
    }

    fn from_value(value: Value) -> Option<Self> {
        f64::from_value(value).map(|number| number as u32)
    }
}

impl Field for bool {
    fn value(self) -> Value {
        Value::Flag(self)
    }

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Flag(flag) => Some(flag),
            _ => None,
        }
    }
}

/// A gain or share, kept as a whole number of thousandths: no rounding that depends on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Thousandths(pub u32);

impl Thousandths {
    /// As a factor for `mul_div(…, x, 1000)`.
    pub const fn get(self) -> u64 {
        self.0 as u64
    }
}

impl Field for Thousandths {
    fn value(self) -> Value {
        Value::Number(f64::from(self.0) / 1000.0)
    }

    fn from_value(value: Value) -> Option<Self> {
        f64::from_value(value).map(|number| Thousandths(libm::round(number * 1000.0) as u32))
    }
}

/// A span of time, set in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Millis(pub u32);

impl Millis {
    /// In nanoseconds.
    pub const fn nanos(self) -> Nanos {
        self.0 as Nanos * MILLISECOND
    }
}

impl Field for Millis {
    fn value(self) -> Value {
        Value::Number(f64::from(self.0))
    }

    fn from_value(value: Value) -> Option<Self> {
        u32::from_value(value).map(Millis)
    }
}

/// Declares the parameters of an algorithm: a struct whose fields have a documentation comment (the
/// meaning), a type, a default and a [`Range`]; and, after them, its presets.
macro_rules! parameters {
    ($(#[doc = $about:literal])+ $name:ident {
        $($(#[doc = $doc:literal])+ $(#[serde($($serde:tt)+)])? $field:ident: $type:ty = $default:expr, $range:expr;)*
    } $($preset:expr),* $(,)?) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $name {
            $($(#[doc = $doc])+ $(#[serde($($serde)+)])? pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)* }
            }
        }

        impl $crate::Parameters for $name {
            const LIST: &'static [$crate::Parameter] = &[$($crate::Parameter {
                name: stringify!($field),
                meaning: concat!($($doc),+),
                range: $range,
            },)*];
            const PRESETS: &'static [$crate::Preset] = &[$($preset),*];

            fn get(&self, name: &str) -> Option<$crate::Value> {
                match name {
                    $(stringify!($field) => Some($crate::parameter::Field::value(self.$field)),)*
                    _ => None,
                }
            }

            // Both are for algorithms without parameters.
            #[allow(unused_variables, unreachable_code)]
            fn put(&mut self, name: &str, value: $crate::Value) -> Option<()> {
                match name {
                    $(stringify!($field) => {
                        self.$field = $crate::parameter::Field::from_value(value)?;
                    })*
                    _ => return None,
                }
                Some(())
            }
        }
    };
}

/// Declares an enumeration whose values have names in configuration files.
macro_rules! choices {
    ($(#[$about:meta])+ $name:ident { $($(#[$doc:meta])+ $variant:ident = $text:literal,)+ }) => {
        $(#[$about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$doc])+ $variant,)+
        }

        impl $name {
            /// The words for it.
            pub const RANGE: $crate::Range = $crate::Range::Choice(&[$($text),+]);
        }

        impl $crate::parameter::Field for $name {
            fn value(self) -> $crate::Value {
                $crate::Value::Choice(match self { $($name::$variant => $text),+ })
            }

            fn from_value(value: $crate::Value) -> Option<Self> {
                match value {
                    $($crate::Value::Choice($text) => Some($name::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use {choices, parameters};

parameters! {
    /// An algorithm without parameters.
    NoParameters {}
}

choices! {
    /// Which of two authorities is followed where they differ.
    Profile {
        /// The RFC, Internet-Draft or paper.
        Rfc = "rfc",
        /// The Linux kernel's module, its integer arithmetic included.
        Linux = "linux",
    }
}
