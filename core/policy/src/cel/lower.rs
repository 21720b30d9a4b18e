//! From the syntax tree to a condition: names are looked up, kinds checked, negations driven down.

use core::ops::Range;

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators};

use super::condition::{Condition, Number, Operation, Order, Resemblance};
use super::scope::Scope;
use super::types::Type;
use super::values::Value;
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
