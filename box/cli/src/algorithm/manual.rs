//! The chapter on algorithms in the manual, written from the registry.

use std::fmt::Write;

use windlass_cc::{AlgorithmId, Settings};

use super::signals;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/algorithms.md");
const BEGIN: &str = "<!-- the algorithms begin -->\n";
const END: &str = "<!-- the algorithms end -->\n";

/// What a cell of a table holds: a bar would end it.
fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

fn slows_down_at(id: AlgorithmId) -> String {
    let signals = signals(id);
    match signals.is_empty() {
        true => "no single signal".to_owned(),
        false => signals.join(", "),
    }
}

/// A line for each, then a section for each.
fn chapter() -> String {
    let mut text = "\n| algorithm | what it is | slows down at |\n| --- | --- | --- |\n".to_owned();
    for id in AlgorithmId::ALL {
        let (name, about, at) = (id.name(), id.about(), slows_down_at(*id));
        let _ = writeln!(
            text,
            "| [`{name}`](#{name}) | {} | {at} |",
            cell(about.summary)
        );
    }
    for id in AlgorithmId::ALL {
        section(&mut text, *id);
    }
    text + "\n"
}

fn section(text: &mut String, id: AlgorithmId) {
    let (name, about) = (id.name(), id.about());
    let advice = about
        .advice
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let _ = write!(
        text,
        "\n## {name}\n\n{}. {advice}\n\n* Source: {}\n* Slows down at: {}\n* State: {} bytes a flow\n",
        about.summary,
        about.source,
        slows_down_at(id),
        id.state_bytes()
    );
    let defaults = Settings::from(id);
    if !id.parameters().is_empty() {
        text.push_str("\n| parameter | default | range | meaning |\n| --- | ---: | --- | --- |\n");
    }
    for p in id.parameters() {
        let default = defaults
            .get(p.name)
            .map_or(String::new(), |v| v.to_string());
        let (range, meaning) = (cell(&p.range.to_string()), cell(p.meaning));
        let _ = writeln!(text, "| `{}` | {default} | {range} | {meaning} |", p.name);
    }
    if !id.presets().is_empty() {
        text.push_str("\n| preset | sets | meaning |\n| --- | --- | --- |\n");
    }
    for preset in id.presets() {
        let values = preset.values.iter().map(|(n, v)| format!("`{n}` = {v}"));
        let values = values.collect::<Vec<_>>().join(", ");
        let meaning = cell(preset.meaning);
        let _ = writeln!(text, "| `{}` | {values} | {meaning} |", preset.name);
    }
}

/// `WINDLASS_WRITE_DOCS=1` writes it.
#[test]
fn the_manual_has_every_algorithm() {
    let page = std::fs::read_to_string(PAGE).expect("docs/algorithms.md");
    let (before, rest) = page.split_once(BEGIN).expect("the algorithms begin");
    let (written, after) = rest.split_once(END).expect("the algorithms end");
    let chapter = chapter();
    if std::env::var_os("WINDLASS_WRITE_DOCS").is_some() {
        let page = format!("{before}{BEGIN}{chapter}{END}{after}");
        std::fs::write(PAGE, page).expect("docs/algorithms.md");
    } else {
        let how = "stale: WINDLASS_WRITE_DOCS=1 cargo test -p windlass-cli the_manual_has";
        assert!(written == chapter, "docs/algorithms.md is {how}");
    }
}
