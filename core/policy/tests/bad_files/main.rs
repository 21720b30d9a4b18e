//! Every mistake is found where it is, and its remedy named.

mod algorithms;
mod enforcement;
mod rules;
mod whole;

use windlass_cc::Catalog;
use windlass_policy::Config;

/// Text; line and column of the mistake; a part of what is wrong; a part of the remedy.
type Bad = (&'static str, (usize, usize), &'static str, &'static str);

const TABLES: &[&[Bad]] = &[whole::BAD, algorithms::BAD, rules::BAD, enforcement::BAD];

/// Every row of every table.
fn bad() -> impl Iterator<Item = &'static Bad> {
    TABLES.iter().copied().flatten()
}

/// What is not as the row says.
fn complaint(&(text, (line, column), what, help): &Bad) -> Option<String> {
    let error = match Config::parse(text, "w.toml", &Catalog::new()) {
        Ok(config) => return Some(format!("accepted:\n{text}\nas {config:?}")),
        Err(error) => error,
    };
    let shown = error.to_string();
    let source = text.lines().nth(line - 1).unwrap_or("");
    let as_wanted = (error.line, error.column) == (line, column)
        && error.what.contains(what)
        && error.help.contains(help)
        && shown.starts_with(&format!("w.toml:{line}:{column}: "))
        && shown.contains(&format!("{line} | {source}\n"))
        && shown.contains('^');
    (!as_wanted).then(|| format!("{line}:{column}, {what:?}, {help:?} wanted:\n{shown}"))
}

#[test]
fn every_mistake_is_found_and_mended() {
    assert!(bad().count() >= 40);
    let complaints: Vec<String> = bad().filter_map(complaint).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

#[test]
fn the_whole_message_reads_well() {
    let text = "version = 1\n\n[default]\nalgorithm = \"cubik\"\n";
    let shown = Config::parse(text, "/etc/w.toml", &Catalog::new())
        .unwrap_err()
        .to_string();
    let (head, tail) = shown.rsplit_once("Known: ").unwrap();
    assert_eq!(
        head,
        "/etc/w.toml:4:13: unknown algorithm \"cubik\"\n  4 | algorithm = \"cubik\"\n    \
         |             ^^^^^^^\n  help: did you mean \"cubic\"? "
    );
    assert!(tail.split(", ").any(|name| name == "reno"));
}

proptest::proptest! {
    /// Whatever the text: an answer with a place inside it, no panic.
    #[test]
    fn no_text_panics(text in "\\PC{0,200}", cut in 0usize..2000) {
        let whole = bad().map(|(t, ..)| *t).collect::<String>();
        let cut = (0..=cut.min(whole.len())).rev().find(|i| whole.is_char_boundary(*i)).unwrap();
        for text in [text.clone(), format!("{}{text}", &whole[..cut])] {
            if let Err(error) = Config::parse(&text, "f", &Catalog::new()) {
                proptest::prop_assert!(error.line <= text.matches('\n').count() + 1);
                proptest::prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}
