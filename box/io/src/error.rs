//! Why a session cannot be opened.

use std::io;

use crate::interface::Problem;

/// Why nothing was opened. Nothing was changed then.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The configuration cannot be.
    #[error("{0}")]
    Config(String),
    /// The interfaces cannot work as they are set; each has a command that puts it right.
    #[error("{}", list(.0))]
    Interfaces(Vec<Problem>),
    /// The kernel refused something.
    #[error("{what}: {}", causes(.source))]
    System {
        /// What was attempted.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
}

fn list(problems: &[Problem]) -> String {
    let lines = problems
        .iter()
        .map(|p| format!("{} (try: {})", p.what, p.fix));
    lines.collect::<Vec<_>>().join("\n")
}

/// An error with what caused it: the kernel's word is at the end.
fn causes(error: &io::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.get_ref().and_then(|e| e.source());
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> OpenError {
    let what = what.into();
    move |source| OpenError::System { what, source }
}
