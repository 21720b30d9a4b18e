//! Values within expressions, and the functions that make them.

use cel::common::ast::{CallExpr, IdedExpr};

use super::Mistake;
use super::condition::{ClockPart, Number};
use super::lower::Lowering;
use super::types::Type;
use crate::prefix::Prefix;

const NANOS_PER_S: f64 = 1e9;
/// Units of `duration()`, as CEL has them (Go's `time.ParseDuration`).
const UNITS: [(&str, f64); 6] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("ms", 1e6),
    ("s", NANOS_PER_S),
    ("m", 60.0 * NANOS_PER_S),
    ("h", 3600.0 * NANOS_PER_S),
];
const CLOCK_PARTS: [(&str, ClockPart); 3] = [
    ("getHours", ClockPart::Hours),
    ("getMinutes", ClockPart::Minutes),
    ("getDayOfWeek", ClockPart::DayOfWeek),
];
const FUNCTIONS: [&str; 10] = [
    "duration",
    "ip",
    "cidr",
    "containsIP",
    "startsWith",
    "endsWith",
    "contains",
    "getHours",
    "getMinutes",
    "getDayOfWeek",
];
/// Furthest from UTC that a clock is.
const ZONE_MAX_S: i32 = 14 * 3600;

/// A value that is not a condition made of others.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// A constant.
    Bool(bool),
    /// A variable that is true or false.
    Flag(u8),
    /// A number, a duration, a point in time.
    Number(Type, Number),
    /// A constant.
    Text(String),
    /// A variable that is a name.
    Name(u8),
    /// A variable that is an address.
    Address(u8),
    /// A constant address.
    Prefix(Prefix),
    /// A constant prefix.
    Cidr(Prefix),
}

impl Value {
    pub fn kind(&self) -> Type {
        match self {
            Value::Bool(_) | Value::Flag(_) => Type::Bool,
            Value::Number(kind, _) => *kind,
            Value::Text(_) | Value::Name(_) => Type::String,
            Value::Address(_) | Value::Prefix(_) => Type::Ip,
            Value::Cidr(_) => Type::Cidr,
        }
    }

    /// For messages.
    pub fn what(&self) -> String {
        self.kind().to_string()
    }
}

/// Whether comparing the two means anything.
pub(super) fn comparable(left: &Value, right: &Value) -> bool {
    let (left, right) = (left.kind(), right.kind());
    left == right || (left.is_number() && right.is_number())
}

impl Lowering<'_> {
    /// A call of a function by name.
    pub fn function(&self, expr: &IdedExpr, call: &CallExpr) -> Result<Value, Mistake> {
        let name = call.func_name.as_str();
        if let Some((_, part)) = CLOCK_PARTS.iter().find(|(n, _)| *n == name) {
            return self.clock(expr, call, *part);
        }
        let constant: fn(&str) -> Result<Value, String> = match name {
            "duration" => |text| {
                Ok(Value::Number(
                    Type::Duration,
                    Number::Constant(duration(text)?),
                ))
            },
            "ip" => |text| Ok(Value::Prefix(address(text)?)),
            "cidr" => |text| Ok(Value::Cidr(text.parse()?)),
            _ => {
                return Err(Mistake::new(
                    self.at(expr),
                    format!("there is no function \"{name}\" here"),
                    crate::error::suggest(name, &FUNCTIONS),
                ));
            }
        };
        let text = match call.args.as_slice() {
            [text] if call.target.is_none() => self.value(text)?,
            _ => Value::Bool(false),
        };
        let Value::Text(text) = text else {
            let what = format!("{name}() takes one constant string");
            let example = match name {
                "duration" => "duration(\"50ms\")",
                "ip" => "ip(\"192.0.2.7\")",
                _ => "cidr(\"10.0.0.0/8\")",
            };
            return Err(Mistake::new(
                self.at(expr),
                what,
                format!("write {example}"),
            ));
        };
        constant(&text).map_err(|help| {
            let what = format!("{name}(\"{text}\") is not understood");
            Mistake::new(self.at(&call.args[0]), what, help)
        })
    }

    fn clock(&self, expr: &IdedExpr, call: &CallExpr, part: ClockPart) -> Result<Value, Mistake> {
        let name = &call.func_name;
        let wrong = |what: String, help: &str| Mistake::new(self.at(expr), what, help);
        let Some(target) = &call.target else {
            let what = format!("{name}() is asked of a point in time");
            return Err(wrong(what, "write time.getHours()"));
        };
        let Value::Number(Type::Timestamp, number) = self.value(target)? else {
            let what = format!("{name}() is asked of a point in time");
            return Err(wrong(what, "write time.getHours()"));
        };
        let ahead = match call.args.as_slice() {
            [] => Some(0),
            [zone] => match self.value(zone)? {
                Value::Text(text) => zone_s(&text),
                _ => None,
            },
            _ => None,
        };
        let Some(ahead) = ahead else {
            let what = format!("{name}() takes the distance from UTC, or nothing");
            return Err(wrong(what, "write for example time.getHours(\"+01:00\")"));
        };
        let clock = Number::Clock(part, Box::new(number), ahead);
        Ok(Value::Number(Type::Int, clock))
    }
}

/// `"1.5s"`, `"50ms"`, `"1m30s"`, in nanoseconds.
fn duration(text: &str) -> Result<f64, String> {
    let help = || "write a number and a unit (ns, us, ms, s, m, h): \"50ms\", \"1m30s\"".to_owned();
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    let mut sum = 0.0;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or_else(help)?;
        let number: f64 = rest[..digits].parse().map_err(|_| help())?;
        rest = &rest[digits..];
        let letters = rest
            .find(|c: char| !c.is_alphabetic())
            .unwrap_or(rest.len());
        let unit = UNITS.iter().find(|(name, _)| *name == &rest[..letters]);
        sum += number * unit.ok_or_else(help)?.1;
        rest = &rest[letters..];
    }
    if text.is_empty() {
        Err(help())
    } else {
        Ok(sign * sum)
    }
}

fn address(text: &str) -> Result<Prefix, String> {
    if text.contains('/') {
        return Err("an address has no length; of prefixes: cidr(\"10.0.0.0/8\")".to_owned());
    }
    let prefix: Result<Prefix, String> = text.parse();
    prefix.map_err(|_| "write an address: \"192.0.2.7\" or \"2001:db8::1\"".to_owned())
}

/// `"+01:00"`, `"-05:30"`, `"UTC"`: seconds ahead of UTC.
fn zone_s(text: &str) -> Option<i32> {
    if text == "UTC" {
        return Some(0);
    }
    let (sign, rest) = match (text.strip_prefix('-'), text.strip_prefix('+')) {
        (Some(rest), _) => (-1, rest),
        (_, Some(rest)) => (1, rest),
        _ => (1, text),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes): (u8, u8) = (hours.parse().ok()?, minutes.parse().ok()?);
    let seconds = i32::from(hours) * 3600 + i32::from(minutes) * 60;
    (minutes < 60 && seconds <= ZONE_MAX_S).then_some(sign * seconds)
}
