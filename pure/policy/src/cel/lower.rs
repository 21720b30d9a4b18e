//! From the syntax tree to a condition: names are looked up, kinds checked, negations driven down.

use core::ops::Range;

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators};

use super::condition::{Condition, Number, Operation, Order, Resemblance};
use super::scope::Scope;
use super::types::Type;
use super::values::{self, Value};
use super::{Mistake, Places};

const ORDERS: [(&str, Order); 6] = [
    (operators::LESS, Order::Less),
    (operators::LESS_EQUALS, Order::LessOrEqual),
    (operators::GREATER, Order::Greater),
    (operators::GREATER_EQUALS, Order::GreaterOrEqual),
    (operators::EQUALS, Order::Equal),
    (operators::NOT_EQUALS, Order::NotEqual),
];
const OPERATIONS: [(&str, Operation); 5] = [
    (operators::ADD, Operation::Add),
    (operators::SUBSTRACT, Operation::Subtract),
    (operators::MULTIPLY, Operation::Multiply),
    (operators::DIVIDE, Operation::Divide),
    (operators::MODULO, Operation::Modulo),
];
const RESEMBLANCES: [(&str, Resemblance); 3] = [
    ("startsWith", Resemblance::Start),
    ("endsWith", Resemblance::End),
    ("contains", Resemblance::Part),
];

/// The whole expression, which must be a condition.
pub(super) fn condition(
    expr: &IdedExpr,
    places: &Places<'_>,
    scope: &'static Scope,
) -> Result<Condition, Mistake> {
    Lowering { places, scope }.condition(expr, true)
}

pub(super) struct Lowering<'a> {
    pub places: &'a Places<'a>,
    pub scope: &'static Scope,
}

impl Lowering<'_> {
    pub fn at(&self, expr: &IdedExpr) -> Range<usize> {
        self.places.of(expr.id)
    }

    /// A condition, or, unless `wanted`, its negation.
    fn condition(&self, expr: &IdedExpr, wanted: bool) -> Result<Condition, Mistake> {
        let Expr::Call(call) = &expr.expr else {
            return self.plain(expr, wanted);
        };
        let both = |parts: &[IdedExpr]| -> Result<Vec<Condition>, Mistake> {
            parts.iter().map(|p| self.condition(p, wanted)).collect()
        };
        match (call.func_name.as_str(), wanted) {
            (operators::LOGICAL_NOT, _) => self.condition(&call.args[0], !wanted),
            (operators::LOGICAL_AND, true) | (operators::LOGICAL_OR, false) => {
                Ok(Condition::All(both(&call.args)?))
            }
            (operators::LOGICAL_OR, true) | (operators::LOGICAL_AND, false) => {
                Ok(Condition::Any(both(&call.args)?))
            }
            (operators::IN, _) => self.is_in(expr, call, wanted),
            ("containsIP", _) => self.contains_ip(expr, call, wanted),
            (name, _) => {
                if let Some((_, order)) = ORDERS.iter().find(|(n, _)| *n == name) {
                    return self.compare(expr, call, *order, wanted);
                }
                if let Some((_, how)) = RESEMBLANCES.iter().find(|(n, _)| *n == name) {
                    return self.resembles(expr, call, *how, wanted);
                }
                self.plain(expr, wanted)
            }
        }
    }

    /// A value that is true or false by itself.
    fn plain(&self, expr: &IdedExpr, wanted: bool) -> Result<Condition, Mistake> {
        match self.value(expr)? {
            Value::Flag(index) => Ok(Condition::Flag(index, wanted)),
            Value::Bool(value) => Ok(Condition::Constant(value == wanted)),
            other => Err(Mistake::new(
                self.at(expr),
                format!(
                    "{} is no condition: it is {}",
                    self.name(expr),
                    other.what()
                ),
                format!("compare it with something, as in {}", self.scope.example),
            )),
        }
    }

    /// How `expr` is called in messages.
    fn name(&self, expr: &IdedExpr) -> String {
        match &expr.expr {
            Expr::Ident(name) => name.clone(),
            Expr::Call(call) if !call.func_name.contains('_') => format!("{}()", call.func_name),
            _ => "this".to_owned(),
        }
    }

    fn compare(
        &self,
        expr: &IdedExpr,
        call: &CallExpr,
        order: Order,
        wanted: bool,
    ) -> Result<Condition, Mistake> {
        let (left, right) = (self.value(&call.args[0])?, self.value(&call.args[1])?);
        let order = if wanted { order } else { order.negated() };
        if !values::comparable(&left, &right) {
            return Err(self.mismatch(&call.args, &left, &right));
        }
        let equality = match order {
            Order::Equal => Some(true),
            Order::NotEqual => Some(false),
            _ => None,
        };
        match (left, right, equality) {
            (Value::Number(_, left), Value::Number(_, right), _) => {
                Ok(comparison(order, left, right))
            }
            (Value::Flag(index), Value::Bool(value), Some(equal))
            | (Value::Bool(value), Value::Flag(index), Some(equal)) => {
                Ok(Condition::Flag(index, value == equal))
            }
            (Value::Name(index), Value::Text(text), Some(equal))
            | (Value::Text(text), Value::Name(index), Some(equal)) => {
                Ok(Condition::Named(index, vec![text], equal))
            }
            (Value::Address(index), Value::Prefix(one), Some(equal))
            | (Value::Prefix(one), Value::Address(index), Some(equal)) => {
                Ok(Condition::Within(index, vec![one], equal))
            }
            (Value::Address(a), Value::Address(b), Some(equal)) => {
                Ok(Condition::SameAddress([a, b], equal))
            }
            (left, ..) => Err(Mistake::new(
                self.at(expr),
                format!(
                    "{} cannot be ordered, or both sides are constants",
                    left.what()
                ),
                "compare a variable, with == or !=",
            )),
        }
    }

    /// Two sides that cannot be compared, and what the second would have to be.
    fn mismatch(&self, sides: &[IdedExpr], left: &Value, right: &Value) -> Mistake {
        // The side that is not a variable is the one to mend.
        let first_is_variable = matches!(sides[0].expr, Expr::Ident(_));
        let (wrong, wanted) = match first_is_variable {
            true => (&sides[1], left),
            false => (&sides[0], right),
        };
        let what = format!("{} cannot be compared with {}", left.what(), right.what());
        let example = wanted.kind().example();
        Mistake::new(self.at(wrong), what, format!("write for example {example}"))
    }

    fn is_in(&self, expr: &IdedExpr, call: &CallExpr, wanted: bool) -> Result<Condition, Mistake> {
        let Expr::List(list) = &call.args[1].expr else {
            return Err(Mistake::new(
                self.at(&call.args[1]),
                "in wants a list",
                "write [80, 443]; of a prefix: cidr(\"10.0.0.0/8\").containsIP(src)",
            ));
        };
        let element = self.value(&call.args[0])?;
        let mut numbers = Vec::new();
        let mut names = Vec::new();
        let mut prefixes = Vec::new();
        for item in &list.elements {
            let value = self.value(item)?;
            if !values::comparable(&element, &value) {
                return Err(self.mismatch(&[call.args[0].clone(), item.clone()], &element, &value));
            }
            match value {
                Value::Number(_, Number::Constant(number)) => numbers.push(number),
                Value::Text(text) => names.push(text),
                Value::Prefix(prefix) => prefixes.push(prefix),
                _ => {
                    let help = "write constants into the list";
                    return Err(Mistake::new(self.at(item), "this is not a constant", help));
                }
            }
        }
        match element {
            Value::Number(_, number) => Ok(Condition::OneOf(Box::new(number), numbers, wanted)),
            Value::Name(index) => Ok(Condition::Named(index, names, wanted)),
            Value::Address(index) => Ok(Condition::Within(index, prefixes, wanted)),
            other => Err(Mistake::new(
                self.at(expr),
                format!("{} before in", other.what()),
                "ask about a variable: sport in [80, 443]",
            )),
        }
    }

    fn contains_ip(
        &self,
        expr: &IdedExpr,
        call: &CallExpr,
        wanted: bool,
    ) -> Result<Condition, Mistake> {
        let wrong = || {
            let what = "containsIP asks whether a prefix has an address";
            Mistake::new(
                self.at(expr),
                what,
                "write cidr(\"10.0.0.0/8\").containsIP(src)",
            )
        };
        let (Some(target), [address]) = (&call.target, call.args.as_slice()) else {
            return Err(wrong());
        };
        match (self.value(target)?, self.value(address)?) {
            (Value::Cidr(prefix), Value::Address(index)) => {
                Ok(Condition::Within(index, vec![prefix], wanted))
            }
            _ => Err(wrong()),
        }
    }

    fn resembles(
        &self,
        expr: &IdedExpr,
        call: &CallExpr,
        how: Resemblance,
        wanted: bool,
    ) -> Result<Condition, Mistake> {
        let wrong = || {
            let name = &call.func_name;
            let what = format!("{name} compares the text of a variable with a constant");
            Mistake::new(
                self.at(expr),
                what,
                format!("write interface.{name}(\"lan\")"),
            )
        };
        let (Some(target), [text]) = (&call.target, call.args.as_slice()) else {
            return Err(wrong());
        };
        match (self.value(target)?, self.value(text)?) {
            (Value::Name(index), Value::Text(text)) => {
                Ok(Condition::Resembles(index, how, text, wanted))
            }
            _ => Err(wrong()),
        }
    }

    /// Any expression that is not a condition made of others.
    pub fn value(&self, expr: &IdedExpr) -> Result<Value, Mistake> {
        match &expr.expr {
            Expr::Ident(name) => self.variable(expr, name),
            Expr::Literal(literal) => self.literal(expr, literal),
            Expr::Call(call) => self.call(expr, call),
            Expr::Select(select) => Err(Mistake::new(
                self.at(expr),
                format!("there is no field \"{}\"", select.field),
                format!(
                    "there are only variables: {}",
                    self.scope.names().join(", ")
                ),
            )),
            Expr::List(_) => Err(Mistake::new(
                self.at(expr),
                "a list stands behind in",
                "write sport in [80, 443]",
            )),
            _ => Err(Mistake::new(
                self.at(expr),
                "maps, messages and macros (has, all, exists, map, filter) are not known here",
                "use comparisons joined by && and ||",
            )),
        }
    }

    fn variable(&self, expr: &IdedExpr, name: &str) -> Result<Value, Mistake> {
        let Some((index, kind)) = self.scope.find(name) else {
            let names = self.scope.names();
            return Err(Mistake::new(
                self.at(expr),
                format!("there is no variable \"{name}\" in {}", self.scope.title),
                crate::error::suggest(name, &names),
            ));
        };
        Ok(match kind {
            Type::Bool => Value::Flag(index),
            Type::String => Value::Name(index),
            Type::Ip | Type::Cidr => Value::Address(index),
            number => Value::Number(number, Number::Variable(index)),
        })
    }

    fn literal(&self, expr: &IdedExpr, literal: &LiteralValue) -> Result<Value, Mistake> {
        let number = |kind, value| Ok(Value::Number(kind, Number::Constant(value)));
        match literal {
            LiteralValue::Boolean(value) => Ok(Value::Bool(*value.inner())),
            LiteralValue::Int(value) => number(Type::Int, *value.inner() as f64),
            LiteralValue::UInt(value) => number(Type::Int, *value.inner() as f64),
            LiteralValue::Double(value) => number(Type::Double, *value.inner()),
            LiteralValue::String(value) => Ok(Value::Text(value.inner().to_owned())),
            LiteralValue::Bytes(_) | LiteralValue::Null => Err(Mistake::new(
                self.at(expr),
                "bytes and null are not known here",
                "use numbers, strings, durations and addresses",
            )),
        }
    }

    fn call(&self, expr: &IdedExpr, call: &CallExpr) -> Result<Value, Mistake> {
        let name = call.func_name.as_str();
        if let Some((_, operation)) = OPERATIONS.iter().find(|(n, _)| *n == name) {
            return self.join(expr, call, *operation);
        }
        match (name, call.args.as_slice()) {
            (operators::NEGATE, [number]) => match self.value(number)? {
                Value::Number(kind, number) if kind != Type::Timestamp => {
                    let zero = Number::Constant(0.0);
                    let sides = Box::new([zero, number]);
                    let joined = Number::Joined(Operation::Subtract, sides).folded();
                    Ok(Value::Number(kind, joined))
                }
                other => Err(Mistake::new(
                    self.at(expr),
                    format!("{} has no negative", other.what()),
                    "negate numbers and durations only",
                )),
            },
            (operators::CONDITIONAL, _) => Err(Mistake::new(
                self.at(expr),
                "? : is not known here",
                "write (a && b) || (!a && c)",
            )),
            _ => self.function(expr, call),
        }
    }

    fn join(
        &self,
        expr: &IdedExpr,
        call: &CallExpr,
        operation: Operation,
    ) -> Result<Value, Mistake> {
        let (left, right) = (self.value(&call.args[0])?, self.value(&call.args[1])?);
        let wrong = || {
            let what = format!("{} and {} cannot be joined so", left.what(), right.what());
            let help =
                "join numbers of one kind (1.0 for 1 beside a fraction), or durations by + and -";
            Mistake::new(self.at(expr), what, help)
        };
        let (Value::Number(a, x), Value::Number(b, y)) = (&left, &right) else {
            return Err(wrong());
        };
        let additive = matches!(operation, Operation::Add | Operation::Subtract);
        let (kind, operation) = match (a, b, operation) {
            (Type::Int, Type::Int, Operation::Divide) => (Type::Int, Operation::DivideWhole),
            (Type::Int, Type::Int, operation) => (Type::Int, operation),
            (Type::Double, Type::Double, operation) if operation != Operation::Modulo => {
                (Type::Double, operation)
            }
            (Type::Duration, Type::Duration, operation) if additive => (Type::Duration, operation),
            (Type::Timestamp, Type::Duration, operation) if additive => {
                (Type::Timestamp, operation)
            }
            _ => return Err(wrong()),
        };
        let joined = Number::Joined(operation, Box::new([x.clone(), y.clone()])).folded();
        Ok(Value::Number(kind, joined))
    }
}

/// The constant stands on the right.
fn comparison(order: Order, left: Number, right: Number) -> Condition {
    match (left, right) {
        (left @ Number::Constant(_), right) => {
            Condition::Compare(order.mirrored(), Box::new([right, left]))
        }
        (left, right) => Condition::Compare(order, Box::new([left, right])),
    }
}
