//! What is wrong with a script, or with a box.

use std::fmt;

/// A line that cannot be read, or that is not fulfilled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptError {
    /// Line number, from 1.
    pub line: usize,
    /// The line.
    pub text: String,
    /// What was expected and what came, or what cannot be read.
    pub what: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)?;
        for line in self.what.lines() {
            write!(f, "\n    {line}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ScriptError {}
