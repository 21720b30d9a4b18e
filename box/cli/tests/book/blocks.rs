//! The blocks of the manual: which are commands, and which of those nobody runs here, and why.

use std::fs;
use std::path::{Path, PathBuf};

/// What a block is, as the line that opens it says.
#[derive(Debug, PartialEq)]
pub enum Kind {
    /// `sh`: commands.
    Commands,
    /// `console`: commands behind `$ `, and what they say.
    Session,
    /// `sh setup`, `sh run`, `sh undo`: a part of a recipe, which the tests of placements run.
    Recipe,
    /// `sh not-run: REASON` or `console not-run: REASON`.
    NotRun(String),
    /// No commands.
    Other,
}

#[derive(Debug)]
pub struct Block {
    /// From the top of the sources.
    pub page: String,
    /// Of the line that opens it, from 1.
    pub line: usize,
    pub kind: Kind,
    pub text: String,
}

const NO_COMMANDS: [&str; 7] = ["toml", "text", "yaml", "json", "rust", "c", "markdown"];

fn kind(info: &str) -> Result<Kind, String> {
    let (language, rest) = info.split_once(' ').unwrap_or((info, ""));
    let commands = matches!(language, "sh" | "console");
    match rest {
        "" if language == "sh" => Ok(Kind::Commands),
        "" if language == "console" => Ok(Kind::Session),
        "" if NO_COMMANDS.contains(&language) => Ok(Kind::Other),
        "setup" | "run" | "undo" if language == "sh" => Ok(Kind::Recipe),
        _ => match rest.strip_prefix("not-run: ") {
            Some(reason) if commands => Ok(Kind::NotRun(reason.to_owned())),
            _ => Err(format!("a block of no known kind: ```{info}")),
        },
    }
}

/// The blocks of a page, without the indent that they have in a list.
pub fn read(page: &str, text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut indent = None;
    for (at, line) in text.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        match (fence, indent) {
            (Some(info), None) => {
                indent = Some(line.len() - line.trim_start().len());
                let kind = kind(info).unwrap_or_else(|e| panic!("{page}:{}: {e}", at + 1));
                let (page, text) = (page.to_owned(), String::new());
                let line = at + 1;
                blocks.push(Block {
                    page,
                    line,
                    kind,
                    text,
                });
            }
            (Some(_), Some(_)) => indent = None,
            (None, Some(indent)) => {
                let block = blocks.last_mut().expect("it is open");
                block.text += line.get(indent..).unwrap_or("");
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The blocks of the manual and of the pages at the top, in the order of the pages' names.
pub fn all() -> Vec<Block> {
    let mut pages = vec![
        "ARCHITECTURE.md".into(),
        "CONTRIBUTING.md".into(),
        "README.md".into(),
    ];
    for folder in ["docs", "docs/decisions"] {
        let entries = fs::read_dir(root().join(folder)).unwrap();
        let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
        let names = names.filter(|name| name.ends_with(".md"));
        pages.extend(names.map(|name| format!("{folder}/{name}")));
    }
    pages.sort();
    let read_page = |page: &String| read(page, &fs::read_to_string(root().join(page)).unwrap());
    pages.iter().flat_map(read_page).collect()
}

impl Block {
    /// As a script for bash.
    pub fn script(&self) -> String {
        match self.kind {
            Kind::Session => {
                let commands = self.text.lines().filter_map(|line| line.strip_prefix("$ "));
                commands.map(|line| format!("{line}\n")).collect()
            }
            _ => self.text.clone(),
        }
    }

    /// Words of the answer that it shows which `said` lacks: all but figures, and but what stands behind a colon.
    pub fn missing_from<'a>(&'a self, said: &str) -> Vec<&'a str> {
        if self.kind != Kind::Session {
            return Vec::new();
        }
        let shown = self.text.lines().filter(|line| !line.starts_with("$ "));
        let words = shown.flat_map(str::split_whitespace);
        let words = words.map(|word| word.split_inclusive([':', '=']).next().unwrap_or(word));
        let firm = words.filter(|word| !word.contains(|c: char| c.is_ascii_digit() || c == '…'));
        firm.filter(|word| !said.contains(word)).collect()
    }
}

#[test]
fn blocks_are_read_as_they_stand() {
    let text = "a\n* b\n\n  ```console\n  $ windlass flow show\n  x:1 passed: 7 word\n  ```\n\n```sh not-run: takes hours\nmake soak\n```\n";
    let blocks = read("p.md", text);
    assert_eq!(blocks.len(), 2);
    assert_eq!((blocks[0].line, &blocks[0].kind), (4, &Kind::Session));
    assert_eq!(blocks[0].script(), "windlass flow show\n");
    assert_eq!(
        blocks[0].missing_from("x:2 passed: 1 word"),
        Vec::<&str>::new()
    );
    assert_eq!(blocks[0].missing_from("x:2"), ["passed:", "word"]);
    assert_eq!(blocks[1].kind, Kind::NotRun("takes hours".to_owned()));
    assert!(kind("").is_err() && kind("sh later").is_err() && kind("bash").is_err());
}
