//! What all programs of Windlass do at a terminal.
//!
//! They find the files that come with Windlass, print text or JSON, write quantities as `ss` and `tc` do, and end with an exit code.
#![forbid(unsafe_code)]

mod for_shells;
mod quantity;
pub mod shipped;
#[cfg(feature = "usage")]
pub mod usage;

pub use for_shells::{CompletionsArgs, ManualArgs};
pub use quantity::{byte_count, bytes, millis, rate};

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use anyhow::Result;

/// Writes to stdout; a reader that has gone (`| head`) is no error.
///
/// # Errors
/// The output cannot be written.
pub fn print(text: &str) -> Result<ExitCode> {
    print_more(text)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes to stdout; false if the reader has gone, and more is of no use.
///
/// # Errors
/// The output cannot be written.
pub fn print_more(text: &str) -> Result<bool> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(false),
        written => Ok(written.map(|()| true)?),
    }
}

/// Writes JSON, readable.
///
/// # Errors
/// The output cannot be written.
pub fn print_json(value: &impl serde::Serialize) -> Result<ExitCode> {
    print(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// The exit code of a command: what it says itself, or 1 after its error is told on stderr.
pub fn end(done: Result<ExitCode>) -> ExitCode {
    done.unwrap_or_else(|error| {
        eprintln!("windlass: {error:#}");
        ExitCode::FAILURE
    })
}
