//! Conditions of rules, in CEL (Common Expression Language, cel-spec): parsed by the `cel` crate,
//! checked against what there is to ask about, and lowered to a tree of plain data.
//!
//! Everything textual happens here, once. What is evaluated later ([`Condition::holds`]) are
//! comparisons of numbers, addresses and names.

mod comparisons;
mod condition;
mod lower;
pub(crate) mod scope;
mod types;
mod values;

use cel::common::ast::SourceInfo;
use cel::parser::Parser;
use core::ops::Range;

pub use condition::{Condition, Facts};
pub use scope::{FLOW, PATH, Scope, Variable};
pub use types::Type;

/// Deepest nesting of an expression.
const DEPTH_MAX: u16 = 32;

/// What is wrong with an expression. Places are in characters of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Where.
    pub at: Range<usize>,
    /// What.
    pub what: String,
    /// How to mend it.
    pub help: String,
}

impl Mistake {
    fn new(at: Range<usize>, what: impl Into<String>, help: impl Into<String>) -> Mistake {
        Mistake {
            at,
            what: what.into(),
            help: help.into(),
        }
    }
}

/// The condition that `text` describes over what `scope` knows.
///
/// # Errors
/// It is no CEL, asks for what is not known, compares what cannot be compared, or is not a
/// condition.
pub fn compile(text: &str, scope: &'static Scope) -> Result<Condition, Mistake> {
    let parser = Parser::default().max_recursion_depth(DEPTH_MAX);
    match parser.parse_with_source_info(text) {
        Ok((expr, info)) => lower::condition(&expr, &Places(&info), scope),
        Err(errors) => Err(syntax(text, errors.errors.first(), scope)),
    }
}

/// Where the parts of an expression are.
struct Places<'a>(&'a SourceInfo);

impl Places<'_> {
    fn of(&self, id: u64) -> Range<usize> {
        match self.0.offset_for(id) {
            Some((start, stop)) => start as usize..(stop.max(start) as usize + 1),
            None => 0..1,
        }
    }
}

fn syntax(text: &str, error: Option<&cel::ParseError>, scope: &Scope) -> Mistake {
    let (line, column) = error.map_or((1, 1), |e| e.pos);
    let before: usize = text
        .split_inclusive('\n')
        .take((line.max(1) - 1) as usize)
        .map(|line| line.chars().count())
        .sum();
    let end = text.chars().count();
    let at = (before + (column.max(1) - 1) as usize).min(end);
    let said = error.map_or("", |e| e.msg.as_str());
    let said = said.strip_prefix("Syntax error: ").unwrap_or(said);
    let said = said.split(" expecting ").next().unwrap_or(said);
    let rest: String = text.chars().skip(at).collect();
    let word: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
    let help = match word.as_str() {
        "and" | "AND" => "write && for and".to_owned(),
        "or" | "OR" => "write || for or".to_owned(),
        "not" | "NOT" => "write ! for not".to_owned(),
        _ if rest.starts_with('=') => "write == to compare".to_owned(),
        _ => format!("write a CEL expression, for example {}", scope.example),
    };
    let what = if rest.trim().is_empty() {
        "the expression ends too early".to_owned()
    } else {
        format!("not understood: {said}")
    };
    Mistake::new(at..at + word.chars().count().max(1), what, help)
}

#[cfg(test)]
mod tests;
