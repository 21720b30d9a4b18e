//! Two values set beside each other: compared, looked for in a list, or in a prefix.

use cel::common::ast::{CallExpr, Expr, IdedExpr};

use super::Mistake;
use super::condition::{Condition, Number, Order, Resemblance};
use super::lower::Lowering;
use super::values::{self, Value};

impl Lowering<'_> {
    pub fn compare(
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

    pub fn is_in(
        &self,
        expr: &IdedExpr,
        call: &CallExpr,
        wanted: bool,
    ) -> Result<Condition, Mistake> {
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

    pub fn contains_ip(
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

    pub fn resembles(
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
