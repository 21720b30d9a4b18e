//! A condition as plain data, and whether it holds.

use windlass_wire::Addr;

use crate::prefix::Prefix;

const SECOND_NS: f64 = 1e9;
const DAY_S: f64 = 86_400.0;
/// The first of January 1970 was a Thursday; CEL counts from Sunday, 0.
const EPOCH_WEEKDAY: f64 = 4.0;

/// What is the case. Variables by their index in the scope.
pub trait Facts {
    /// A number; durations in nanoseconds, points in time in nanoseconds since 1970.
    fn number(&self, variable: u8) -> f64;
    /// True or false.
    fn flag(&self, variable: u8) -> bool;
    /// A name.
    fn text(&self, variable: u8) -> &str;
    /// An address.
    fn address(&self, variable: u8) -> Addr;
}

/// How two things are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
}

impl Order {
    /// What holds when this does not.
    pub(super) fn negated(self) -> Order {
        match self {
            Order::Less => Order::GreaterOrEqual,
            Order::LessOrEqual => Order::Greater,
            Order::Greater => Order::LessOrEqual,
            Order::GreaterOrEqual => Order::Less,
            Order::Equal => Order::NotEqual,
            Order::NotEqual => Order::Equal,
        }
    }

    /// The same with the sides exchanged.
    pub(super) fn mirrored(self) -> Order {
        match self {
            Order::Less => Order::Greater,
            Order::LessOrEqual => Order::GreaterOrEqual,
            Order::Greater => Order::Less,
            Order::GreaterOrEqual => Order::LessOrEqual,
            same => same,
        }
    }

    fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Order::Less => left < right,
            Order::LessOrEqual => left <= right,
            Order::Greater => left > right,
            Order::GreaterOrEqual => left >= right,
            Order::Equal => left == right,
            Order::NotEqual => left != right,
        }
    }

    /// The sign by which a right side that is constant gives way: up for "less", down for "greater".
    fn gives_way(self) -> f64 {
        match self {
            Order::Less | Order::LessOrEqual => 1.0,
            Order::Greater | Order::GreaterOrEqual => -1.0,
            Order::Equal | Order::NotEqual => 0.0,
        }
    }
}

/// How numbers are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `/` of whole numbers: toward zero.
    DivideWhole,
    /// `%`
    Modulo,
}

/// A part of a point in time, as CEL names its getters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockPart {
    /// `getHours()`, 0 to 23.
    Hours,
    /// `getMinutes()`, 0 to 59.
    Minutes,
    /// `getDayOfWeek()`, 0 for Sunday.
    DayOfWeek,
}

/// A number, a duration (ns) or a point in time (ns since 1970).
#[derive(Clone, PartialEq, Debug)]
pub enum Number {
    /// Always the same.
    Constant(f64),
    /// A variable.
    Variable(u8),
    /// Two, joined.
    Joined(Operation, Box<[Number; 2]>),
    /// A part of a point in time, in a zone that is so many seconds ahead of UTC.
    Clock(ClockPart, Box<Number>, i32),
}

/// A condition. Negations have been driven down to the comparisons, so that all of it gives way in
/// the same direction (see [`Condition::holds`]).
#[derive(Clone, PartialEq, Debug)]
pub enum Condition {
    /// Always, or never.
    Constant(bool),
    /// A variable that is true, or false.
    Flag(u8, bool),
    /// Two numbers compared.
    Compare(Order, Box<[Number; 2]>),
    /// A number that is one of these, or none of them.
    OneOf(Box<Number>, Vec<f64>, bool),
    /// A name that is one of these, or none of them.
    Named(u8, Vec<String>, bool),
    /// A name that begins, ends or goes on like this, or does not.
    Resembles(u8, Resemblance, String, bool),
    /// An address that lies in one of these prefixes, or in none.
    Within(u8, Vec<Prefix>, bool),
    /// Two addresses that are the same, or not.
    SameAddress([u8; 2], bool),
    /// All of these.
    All(Vec<Condition>),
    /// At least one of these.
    Any(Vec<Condition>),
}

/// What a name has in common with a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resemblance {
    /// `startsWith`
    Start,
    /// `endsWith`
    End,
    /// `contains`
    Part,
}

struct Nothing;

impl Facts for Nothing {
    fn number(&self, _: u8) -> f64 {
        f64::NAN
    }

    fn flag(&self, _: u8) -> bool {
        false
    }

    fn text(&self, _: u8) -> &str {
        ""
    }

    fn address(&self, _: u8) -> Addr {
        Addr(0)
    }
}

impl Number {
    /// A constant, if it is made of constants only.
    pub(super) fn folded(self) -> Number {
        match &self {
            Number::Joined(_, sides)
                if sides.iter().all(|side| matches!(side, Number::Constant(_))) =>
            {
                Number::Constant(self.value(&Nothing))
            }
            _ => self,
        }
    }

    fn value(&self, facts: &impl Facts) -> f64 {
        match self {
            Number::Constant(value) => *value,
            Number::Variable(index) => facts.number(*index),
            Number::Joined(operation, sides) => {
                let (left, right) = (sides[0].value(facts), sides[1].value(facts));
                match operation {
                    Operation::Add => left + right,
                    Operation::Subtract => left - right,
                    Operation::Multiply => left * right,
                    Operation::Divide => left / right,
                    Operation::DivideWhole => libm::trunc(left / right),
                    Operation::Modulo => libm::fmod(left, right),
                }
            }
            Number::Clock(part, number, ahead) => {
                let seconds = libm::floor(number.value(facts) / SECOND_NS) + f64::from(*ahead);
                let days = libm::floor(seconds / DAY_S);
                let of_day = seconds - days * DAY_S;
                match part {
                    ClockPart::Hours => libm::floor(of_day / 3600.0),
                    ClockPart::Minutes => libm::floor(of_day / 60.0) % 60.0,
                    ClockPart::DayOfWeek => libm::fmod(days + EPOCH_WEEKDAY, 7.0),
                }
            }
        }
    }

    fn visit(&self, each: &mut impl FnMut(u8)) {
        match self {
            Number::Constant(_) => {}
            Number::Variable(index) => each(*index),
            Number::Joined(_, sides) => sides.iter().for_each(|n| n.visit(each)),
            Number::Clock(_, number, _) => number.visit(each),
        }
    }
}

impl Condition {
    /// Whether it holds. `ease` is the hysteresis of a condition that is in force: bounds that are
    /// constants give way by this share of themselves (0.1: `rtt < 50 ms` holds up to 55 ms), so
    /// that what made it hold does not stop to at once. 0 for all others.
    pub fn holds(&self, facts: &impl Facts, ease: f64) -> bool {
        match self {
            Condition::Constant(value) => *value,
            Condition::Flag(index, wanted) => facts.flag(*index) == *wanted,
            Condition::Compare(order, sides) => {
                let [left, right] = &**sides;
                let bound = match right {
                    Number::Constant(bound) => bound + bound.abs() * ease * order.gives_way(),
                    other => other.value(facts),
                };
                order.holds(left.value(facts), bound)
            }
            Condition::OneOf(number, values, wanted) => {
                let number = number.value(facts);
                values.contains(&number) == *wanted
            }
            Condition::Named(index, names, wanted) => {
                let name = facts.text(*index);
                names.iter().any(|n| n == name) == *wanted
            }
            Condition::Resembles(index, how, text, wanted) => {
                let name = facts.text(*index);
                let found = match how {
                    Resemblance::Start => name.starts_with(text.as_str()),
                    Resemblance::End => name.ends_with(text.as_str()),
                    Resemblance::Part => name.contains(text.as_str()),
                };
                found == *wanted
            }
            Condition::Within(index, prefixes, wanted) => {
                let address = facts.address(*index);
                prefixes.iter().any(|p| p.contains(address)) == *wanted
            }
            Condition::SameAddress([a, b], wanted) => {
                (facts.address(*a) == facts.address(*b)) == *wanted
            }
            Condition::All(parts) => parts.iter().all(|part| part.holds(facts, ease)),
            Condition::Any(parts) => parts.iter().any(|part| part.holds(facts, ease)),
        }
    }

    /// Calls `each` with every variable that it asks about, repeated ones too.
    pub fn visit(&self, each: &mut impl FnMut(u8)) {
        match self {
            Condition::Constant(_) => {}
            Condition::Flag(index, _)
            | Condition::Named(index, ..)
            | Condition::Resembles(index, ..)
            | Condition::Within(index, ..) => each(*index),
            Condition::Compare(_, sides) => sides.iter().for_each(|n| n.visit(each)),
            Condition::OneOf(number, ..) => number.visit(each),
            Condition::SameAddress(both, _) => both.iter().for_each(|index| each(*index)),
            Condition::All(parts) | Condition::Any(parts) => {
                parts.iter().for_each(|part| part.visit(each));
            }
        }
    }
}
