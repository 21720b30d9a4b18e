//! What help and documents tell people to type, typed.

use std::fs;
use std::path::Path;

use windlass_terminal::usage;

use super::*;

#[test]
fn every_usage_line_can_be_typed() {
    let values = [
        ("FILE", "smoke.toml"),
        ("FOLDER", "man"),
        ("SHELL", "bash"),
        ("INSIDE", "eth1"),
        ("OUTSIDE", "eth2"),
    ];
    let commands = usage::commands(&Cli::command());
    assert!(commands.len() > 6, "{commands:?}");
    for words in commands {
        usage::type_usage(&Cli::command(), &words, &values).unwrap();
    }
}

#[test]
fn every_example_of_the_documents_can_be_typed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let documents = fs::read_dir(root.join("docs")).unwrap();
    let documents = documents.map(|entry| entry.unwrap().path());
    let documents = documents.filter(|path| path.extension().is_some_and(|e| e == "md"));
    let mut tried = 0;
    for path in documents.chain([root.join("README.md")]) {
        let text = fs::read_to_string(&path).unwrap();
        for line in usage::examples(&text, "windlass") {
            let words = usage::words_of(&line).unwrap();
            let typed = match words.get(1).map(String::as_str) {
                Some("lab") => &words[1..],
                Some("demo") => &words[..],
                _ => continue,
            };
            if typed.iter().any(|word| word.contains('…')) {
                continue;
            }
            tried += 1;
            let done = Cli::command().try_get_matches_from(typed);
            assert!(done.is_ok(), "{}: {line}: {done:?}", path.display());
        }
    }
    assert!(tried >= 3, "{tried}");
}
