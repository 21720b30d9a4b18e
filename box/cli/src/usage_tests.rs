//! What help and documents tell people to type, typed.

use std::fs;
use std::path::Path;

use windlass_terminal::usage;

use super::*;

fn program() -> clap::Command {
    values::with_algorithms(Cli::command(), &Catalog::new())
}

const VALUES: [(&str, &str); 9] = [
    ("IF", "eth1"),
    ("BRIDGE", "br0"),
    ("FLOW", "tcp,tp_dst=443"),
    ("SWITCH", "on"),
    ("SHELL", "bash"),
    ("FOLDER", "man"),
    ("FILE", "windlass.toml"),
    ("FILE.wasm", "mine.wasm"),
    ("NAME", "bbr"),
];
/// What has a comma or a bracket in its name.
const COMPOUND_VALUES: [(&str, &str); 3] = [
    ("KEY", "10.0.0.1:443>192.0.2.7:5555"),
    ("NAME,NAME", "bbr,cubic"),
    ("ADDR:PORT>ADDR:PORT", "10.0.0.1:443>192.0.2.7:5555"),
];

/// With quotation marks around what a shell would take for its own.
fn quoted() -> Vec<(&'static str, String)> {
    let quote = |(name, value)| (name, format!("'{value}'"));
    VALUES
        .into_iter()
        .chain(COMPOUND_VALUES)
        .map(quote)
        .collect()
}

#[test]
fn every_usage_line_can_be_typed() {
    let quoted = quoted();
    let values: Vec<(&str, &str)> = quoted
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let commands = usage::commands(&program());
    assert!(commands.len() > 25, "{commands:?}");
    let wrong = |words: &Vec<String>| usage::type_usage(&program(), words, &values).err();
    let wrong: Vec<String> = commands.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_example_of_the_documents_can_be_typed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let documents = fs::read_dir(root.join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let documents = documents.filter(|path| path.extension().is_some_and(|e| e == "md"));
    let (mut tried, mut wrong) = (0, Vec::new());
    for path in documents.chain([root.join("README.md")]) {
        let text = fs::read_to_string(&path).unwrap();
        for line in usage::examples(&text, "windlass") {
            let mut words = usage::words_of(&line).unwrap();
            // A plugin that is not there.
            words
                .iter_mut()
                .filter(|word| *word == "mine")
                .for_each(|word| "bbr".clone_into(word));
            // `…` stands for more than can be written.
            if words.iter().any(|word| word.contains('…')) {
                continue;
            }
            tried += 1;
            if let Err(error) = program().try_get_matches_from(&words)
                && error.exit_code() != 0
            {
                wrong.push(format!("{}: {line}\n{error}", path.display()));
            }
        }
    }
    assert!(tried > 30, "{tried}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
