//! Which cells of an experiment are meant.

use crate::experiment::{Cell, Experiment};
use crate::scalar::Scalar;

/// What a value must be.
#[derive(Clone, PartialEq, Debug)]
pub enum Test {
    /// One of these.
    OneOf(Vec<Scalar>),
    /// A number less than this.
    Less(f64),
    /// A number up to this.
    AtMost(f64),
    /// A number greater than this.
    Greater(f64),
    /// A number from this on.
    AtLeast(f64),
    /// Anything else.
    Not(Scalar),
}

impl Test {
    /// Reads `>= 1`, `< 3`, `!= 0`, or a value.
    ///
    /// # Errors
    /// When no number follows a comparison.
    pub fn of_text(text: &str) -> Result<Test, String> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("!=") {
            return Ok(Test::Not(Scalar::of_text(rest.trim())));
        }
        for sign in [">=", "<=", ">", "<"] {
            let Some(rest) = text.strip_prefix(sign) else {
                continue;
            };
            let number: Option<f64> = rest.trim().parse().ok();
            let number = number.filter(|n| n.is_finite());
            let number = number.ok_or(format!("no number after {sign}"))?;
            return Ok(match sign {
                ">=" => Test::AtLeast(number),
                "<=" => Test::AtMost(number),
                ">" => Test::Greater(number),
                _ => Test::Less(number),
            });
        }
        Ok(Test::OneOf(vec![Scalar::of_text(text)]))
    }

    /// Whether it holds for `value`.
    pub fn holds(&self, value: &Scalar) -> bool {
        let number = value.number();
        match self {
            Test::OneOf(list) => list.iter().any(|v| v.same(value)),
            Test::Not(other) => !other.same(value),
            Test::Less(limit) => number.is_some_and(|n| n < *limit),
            Test::AtMost(limit) => number.is_some_and(|n| n <= *limit),
            Test::Greater(limit) => number.is_some_and(|n| n > *limit),
            Test::AtLeast(limit) => number.is_some_and(|n| n >= *limit),
        }
    }
}

/// What is asked of a cell.
#[derive(Clone, PartialEq, Debug)]
pub struct Condition {
    /// A parameter, or `case`.
    pub key: String,
    /// What its value must be.
    pub test: Test,
}

impl Condition {
    /// Reads `rtt_ms=100`, `rtt_ms=100,200`, `loss_percent>=1`.
    ///
    /// # Errors
    /// When it is none of these.
    pub fn of_text(text: &str) -> Result<Condition, String> {
        let help = "write for example rtt_ms=100, rtt_ms=100,200 or loss_percent>=1";
        let at = text.find(['=', '<', '>', '!']).ok_or(help)?;
        let (key, rest) = (text[..at].trim(), &text[at..]);
        if key.is_empty() {
            return Err(help.to_owned());
        }
        let test = match rest.strip_prefix('=') {
            Some(values) => {
                let values = values.split(',').map(|v| Scalar::of_text(v.trim()));
                Test::OneOf(values.collect())
            }
            None => Test::of_text(rest)?,
        };
        Ok(Condition {
            key: key.to_owned(),
            test,
        })
    }

    /// Its parameter's value in a cell.
    fn value(&self, parameters: &[String], cell: &Cell) -> Option<Scalar> {
        if self.key == "case" {
            return Some(Scalar::Text(cell.case.clone()));
        }
        let found = parameters.iter().position(|name| *name == self.key);
        found.map(|at| cell.values[at].clone())
    }

    /// That each value it names is one of `experiment`'s.
    ///
    /// # Errors
    /// When no cell has one of them.
    pub fn check_values(&self, experiment: &Experiment) -> Result<(), String> {
        let Test::OneOf(named) = &self.test else {
            return Ok(());
        };
        let values = experiment.cells.iter();
        let values = values.filter_map(|cell| self.value(&experiment.parameters, cell));
        let mut known: Vec<Scalar> = Vec::new();
        for value in values {
            if !known.iter().any(|other| other.same(&value)) {
                known.push(value);
            }
        }
        let Some(strange) = named.iter().find(|n| !known.iter().any(|k| k.same(n))) else {
            return Ok(());
        };
        let known: Vec<String> = known.iter().map(Scalar::to_string).collect();
        let mend = match strange {
            Scalar::Text(text) if text.contains('=') => "; a second condition is a second --where",
            _ => "",
        };
        Err(format!(
            "no cell has {} {strange}; there are: {}{mend}",
            self.key,
            known.join(", ")
        ))
    }

    /// Whether it holds for a cell of an experiment with these parameters.
    pub fn holds(&self, parameters: &[String], cell: &Cell) -> bool {
        let value = self.value(parameters, cell);
        value.is_some_and(|value| self.test.holds(&value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell() -> Cell {
        Cell {
            case: "bursts".to_owned(),
            values: vec![Scalar::Integer(100), Scalar::Float(0.5)],
        }
    }

    #[test]
    fn typed_conditions_choose_cells() {
        let parameters = ["rtt_ms".to_owned(), "loss_percent".to_owned()];
        for (text, holds) in [
            ("rtt_ms=100", true),
            ("rtt_ms=100.0", true),
            ("rtt_ms=10,100", true),
            ("rtt_ms=10,20", false),
            ("rtt_ms>=100", true),
            ("rtt_ms>100", false),
            ("rtt_ms<101", true),
            ("rtt_ms<=99", false),
            ("rtt_ms!=100", false),
            ("loss_percent<1", true),
            ("case=bursts", true),
            ("case!=bursts", false),
            ("case>1", false),
            ("other=1", false),
        ] {
            let condition = Condition::of_text(text).expect(text);
            assert_eq!(condition.holds(&parameters, &cell()), holds, "{text}");
        }
        for text in ["", "rtt_ms", "=1", "rtt_ms>=", "rtt_ms>x", "rtt_ms<nan"] {
            assert!(Condition::of_text(text).is_err(), "{text}");
        }
    }
}
