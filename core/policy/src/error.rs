//! Mistakes in a configuration file: where, what, and how to mend them.

use core::fmt;
use core::ops::Range;

/// A mistake in a configuration file. Displays as
///
/// ```text
/// windlass.toml:7:13: unknown algorithm "cubik"
///   7 | algorithm = "cubik"
///     |             ^^^^^^^
///   help: did you mean "cubic"? Known: reno, cubic, bbr, bbr3
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Name of the file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// How to mend it.
    pub help: String,
    /// The line itself.
    source_line: String,
    /// Characters to underline, at least 1.
    width: usize,
}

/// A mistake and the bytes of the text that make it.
#[derive(Clone, Debug)]
pub struct Wrong {
    /// The bytes.
    pub span: Range<usize>,
    /// What is wrong.
    pub what: String,
    /// How to mend it.
    pub help: String,
}

impl Wrong {
    /// A mistake at `span`.
    pub fn new(span: Range<usize>, what: impl Into<String>, help: impl Into<String>) -> Wrong {
        Wrong {
            span,
            what: what.into(),
            help: help.into(),
        }
    }

    /// The mistake with its place in `text`, the content of the file called `file`.
    pub fn locate(self, text: &str, file: &str) -> ConfigError {
        let at = floor_boundary(text, self.span.start);
        let end = floor_boundary(text, self.span.end).max(at);
        let before = &text[..at];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let source_line = text[line_start..].lines().next().unwrap_or_default();
        let line_end = line_start + source_line.len();
        let width = text[at..end.min(line_end).max(at)].chars().count();
        ConfigError {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: text[line_start..at].chars().count() + 1,
            what: self.what,
            help: self.help,
            source_line: source_line.to_owned(),
            width: width.max(1),
        }
    }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|&i| text.is_char_boundary(i))
        .unwrap_or(0)
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        // Tabs are kept, so that the caret stands below what it points at.
        let indent: String = self
            .source_line
            .chars()
            .take(self.column - 1)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        writeln!(
            f,
            "{}:{}:{}: {}",
            self.file, self.line, self.column, self.what
        )?;
        writeln!(f, "  {number} | {}", self.source_line)?;
        writeln!(f, "  {margin} | {indent}{}", "^".repeat(self.width))?;
        write!(f, "  help: {}", self.help)
    }
}

impl core::error::Error for ConfigError {}

/// "did you mean …? " if something known is close enough to be meant, and all that is known.
pub fn suggest<'a>(name: &str, known: &'a [&'a str]) -> String {
    let nearest = known
        .iter()
        .map(|k| (distance(name, k), k))
        .min_by_key(|(d, _)| *d)
        .filter(|(d, k)| *d <= 1 + k.len() / 4);
    let all = known.join(", ");
    match nearest {
        Some((_, meant)) => format!("did you mean \"{meant}\"? Known: {all}"),
        None => format!("known: {all}"),
    }
}

/// Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_levenshteins() {
        for (a, b, d) in [
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("same", "same", 0),
        ] {
            assert_eq!(distance(a, b), d);
            assert_eq!(distance(b, a), d);
        }
    }

    #[test]
    fn nothing_is_suggested_for_what_resembles_nothing() {
        assert_eq!(suggest("xyzzy", &["reno", "bbr"]), "known: reno, bbr");
    }

    #[test]
    fn the_caret_stands_below_the_mistake_behind_a_tab_and_wide_characters() {
        let text = "a = 1\n\té = \"ß\"\n";
        let at = text.find("\"ß").unwrap();
        let error = Wrong::new(at..at + 4, "w", "h").locate(text, "f");
        assert_eq!((error.line, error.column), (2, 6));
        let shown = error.to_string();
        assert_eq!(
            shown.lines().nth(2),
            Some("    | \t    ^^^"),
            "shown:\n{shown}"
        );
    }
}
