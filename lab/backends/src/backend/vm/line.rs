//! What the half of the back end inside the guest tells the half outside: JSON, a line each.

use std::io::Write;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use windlass_experiment::Observed;

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// From now on setups run, in their order.
    Begun,
    /// What came of one.
    Done {
        /// Its place in the guest's list.
        at: usize,
        /// What came of it.
        observed: Box<Observed>,
    },
}

impl Line {
    /// # Errors
    /// When it is none.
    pub(super) fn of_text(text: &str) -> Result<Line> {
        serde_json::from_str(text).with_context(|| format!("the guest printed {text:?}"))
    }
}

/// Prints it at once.
///
/// # Errors
/// When nobody reads it.
pub(super) fn print(line: &Line) -> Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    let mut output = std::io::stdout().lock();
    output.write_all(&text)?;
    Ok(output.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_printed() {
        let observed = Observed {
            error: Some("one\ntwo".to_owned()),
            ..Observed::default()
        };
        let line = Line::Done {
            at: 3,
            observed: Box::new(observed.clone()),
        };
        let text = serde_json::to_string(&line).expect("JSON");
        assert!(!text.contains('\n'));
        let Line::Done { at, observed: read } = Line::of_text(&text).expect("a line") else {
            panic!("another line");
        };
        assert_eq!((at, *read), (3, observed));
        assert!(matches!(Line::of_text("\"begun\""), Ok(Line::Begun)));
        assert!(Line::of_text("Segmentation fault").is_err());
    }
}
