//! The documents: links lead to a file that is there, and to a heading that it has; each page has its place.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A page, by what links ask of it.
#[derive(Default)]
struct Page {
    anchors: BTreeSet<String>,
    links: Vec<String>,
}

/// As GitHub and mdBook make them of a heading, apart from numbers behind the second of the same.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter_map(|c| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    });
    kept.collect()
}

fn read(text: &str) -> Page {
    let mut page = Page::default();
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let name = anchor(&heading.take().unwrap_or_default());
                let before = seen.entry(name.clone()).or_default();
                page.anchors.insert(match *before {
                    0 => name,
                    n => format!("{name}-{n}"),
                });
                *before += 1;
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                page.links.push(dest_url.into_string());
            }
            _ => {}
        }
    }
    page
}

/// Without `.` and `..`, and without asking the file system: a link may lead nowhere.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

fn root() -> PathBuf {
    plain(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
}

/// The Markdown files of a folder and of those in it.
fn pages_below(folder: &Path, pages: &mut BTreeMap<PathBuf, Page>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages_below(&path, pages);
        } else if path.extension().is_some_and(|e| e == "md") {
            let text = fs::read_to_string(&path).unwrap();
            pages.insert(path, read(&text));
        }
    }
}

/// What is wrong with a link, if anything.
fn wrong(from: &Path, link: &str, pages: &BTreeMap<PathBuf, Page>) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, part) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => from.to_owned(),
        file => plain(&from.parent().unwrap().join(file)),
    };
    let known = pages.get(&target);
    if known.is_none() && !target.exists() {
        return Some(format!("{}: {link}: no such file", from.display()));
    }
    let is_there = part.is_empty() || known.is_none_or(|page| page.anchors.contains(part));
    (!is_there).then(|| format!("{}: {link}: no such heading", from.display()))
}

fn all_wrong(pages: &BTreeMap<PathBuf, Page>) -> (usize, Vec<String>) {
    let links = pages
        .iter()
        .flat_map(|(from, page)| page.links.iter().map(move |link| (from, link)));
    let (mut checked, mut found) = (0, Vec::new());
    for (from, link) in links {
        checked += 1;
        found.extend(wrong(from, link, pages));
    }
    (checked, found)
}

#[test]
fn links_of_the_documents_lead_somewhere() {
    let mut pages = BTreeMap::new();
    for folder in [
        "docs",
        "box",
        "core",
        "lab",
        "sim",
        "quic",
        "sdk",
        "packaging",
    ] {
        pages_below(&root().join(folder), &mut pages);
    }
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let path = root().join(name);
        let text = fs::read_to_string(&path).unwrap();
        pages.insert(path, read(&text));
    }
    let (checked, wrong) = all_wrong(&pages);
    assert!(checked > 200, "{checked}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The book as `make docs` lays it out: nothing in it leads out of it.
#[test]
fn links_of_the_book_lead_somewhere() {
    let Some(book) = std::env::var_os("WINDLASS_BOOK") else {
        eprintln!(
            "skipped: WINDLASS_BOOK is not set to the folder of the book's sources, as make docs does"
        );
        return;
    };
    let book = plain(&root().join(book));
    let mut pages = BTreeMap::new();
    pages_below(&book, &mut pages);
    let (checked, mut wrong) = all_wrong(&pages);
    for (from, page) in &pages {
        for link in page.links.iter().filter(|link| !link.contains("://")) {
            let file = link.split('#').next().unwrap();
            let target = plain(&from.parent().unwrap().join(file));
            if !target.starts_with(&book) {
                wrong.push(format!("{}: {link}: out of the book", from.display()));
            }
        }
    }
    assert!(checked > 200, "{checked}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A page that no chapter names is not in the book.
#[test]
fn every_page_is_in_the_table_of_contents_once() {
    let docs = root().join("docs");
    let mut pages = BTreeMap::new();
    pages_below(&docs, &mut pages);
    let summary = docs.join("SUMMARY.md");
    let listed = pages.remove(&summary).expect("docs/SUMMARY.md").links;
    let listed: Vec<PathBuf> = listed.iter().map(|link| plain(&docs.join(link))).collect();
    for page in pages.keys() {
        let times = listed.iter().filter(|listed| *listed == page).count();
        assert_eq!(times, 1, "{} in docs/SUMMARY.md", page.display());
    }
}

#[test]
fn what_leads_nowhere_is_found() {
    let here = root().join("docs/here.md");
    let text = "# A `b`, c\n# A b, c\n[1](#a-b-c) [2](#a-b-c-1) [3](#a) [4](nowhere.md) [5](install.md#nothing)";
    let mut pages = BTreeMap::from([(here, read(text))]);
    let install = root().join("docs/install.md");
    pages.insert(install, read("# Installing"));
    let (checked, wrong) = all_wrong(&pages);
    assert_eq!((checked, wrong.len()), (5, 3), "{wrong:?}");
}

/// A newcomer reads it in ten minutes.
#[test]
fn the_architecture_is_short() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (lines, words) = (text.lines().count(), text.split_whitespace().count());
    assert!(
        lines <= 250 && words <= 3_000,
        "{lines} lines, {words} words"
    );
}
