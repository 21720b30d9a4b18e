//! What a value can be.

use core::fmt;

/// What a value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// True or false.
    Bool,
    /// A whole number.
    Int,
    /// A number with a fraction.
    Double,
    /// A span of time.
    Duration,
    /// A point in time.
    Timestamp,
    /// A name.
    String,
    /// An address.
    Ip,
    /// An address prefix.
    Cidr,
}

impl Type {
    /// How a constant of it is written.
    pub(super) fn example(self) -> &'static str {
        match self {
            Type::Bool => "true",
            Type::Int => "443",
            Type::Double => "0.01",
            Type::Duration => "duration(\"50ms\")",
            Type::Timestamp => "time.getHours() >= 22",
            Type::String => "\"blue\"",
            Type::Ip => "ip(\"192.0.2.7\")",
            Type::Cidr => "cidr(\"10.0.0.0/8\")",
        }
    }

    /// Numbers of both kinds can be compared with each other.
    pub(super) fn is_number(self) -> bool {
        matches!(self, Type::Int | Type::Double)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Type::Bool => "true or false",
            Type::Int => "a whole number",
            Type::Double => "a number",
            Type::Duration => "a duration",
            Type::Timestamp => "a point in time",
            Type::String => "a string",
            Type::Ip => "an address",
            Type::Cidr => "a prefix",
        })
    }
}
