//! How large the parts of the code may be. Who reads a function sees all of it at once, and who reads a type keeps its fields
//! in mind.

use std::fs;
use std::path::{Path, PathBuf};

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Fields, ImplItemFn, ItemFn, ItemMod, ItemStruct, TraitItemFn};

/// Lines of a function, from its name to its last brace.
const FUNCTION_LINES: usize = 60;
/// Fields of a type.
const FIELDS: usize = 20;
/// Lines of a file.
const FILE_LINES: usize = 500;
/// Folders with code of the workspace, and what is built apart from it.
const FOLDERS: [&str; 7] = ["box", "core", "fuzz", "lab", "quic", "sdk", "sim"];
/// A type that stands for a table has a field for each column, and no part of it could be named otherwise.
const TABLES: [&str; 1] = ["lab/experiment/src/rows.rs: Row"];

/// What is too large in one file.
#[derive(Default)]
struct Sizes {
    path: String,
    too_large: Vec<String>,
    functions: usize,
}

impl Sizes {
    /// A test tells a story from its beginning to its end: only its file has a limit.
    fn of(path: String, code: &str, tests: bool) -> Sizes {
        let file = syn::parse_file(code).unwrap_or_else(|e| panic!("{path}: {e}"));
        let mut sizes = Sizes {
            path,
            ..Sizes::default()
        };
        let lines = code.lines().count();
        if lines > FILE_LINES {
            let path = &sizes.path;
            let what = format!("{path} has {lines} lines, more than {FILE_LINES}: divide it");
            sizes.too_large.push(what);
        }
        if !tests {
            sizes.visit_file(&file);
        }
        sizes
    }

    fn function(&mut self, signature: &syn::Signature, block: &Block) {
        self.functions += 1;
        let (first, last) = (signature.span().start().line, block.span().end().line);
        let lines = last + 1 - first;
        if lines > FUNCTION_LINES {
            let (path, name) = (&self.path, &signature.ident);
            let what =
                format!("{path}:{first}: {name} has {lines} lines, more than {FUNCTION_LINES}");
            self.too_large.push(format!("{what}: give its steps names"));
        }
    }
}

/// Only built for tests.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        let cfg = path.is_ident("cfg")
            && attribute
                .parse_args::<syn::Ident>()
                .is_ok_and(|what| what == "test");
        cfg || path.is_ident("test")
    })
}

/// The layout is that of somebody else's structure.
fn is_foreign(item: &ItemStruct) -> bool {
    item.attrs.iter().any(|attribute| {
        let laid_out = attribute.path().is_ident("repr");
        laid_out
            && attribute
                .parse_args::<syn::Ident>()
                .is_ok_and(|what| what == "C")
    })
}

impl<'ast> Visit<'ast> for Sizes {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !is_test(&item.attrs) {
            self.function(&item.sig, &item.block);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        let fields = match &item.fields {
            Fields::Named(fields) => fields.named.len(),
            Fields::Unnamed(_) | Fields::Unit => 0,
        };
        let name = format!("{}: {}", self.path, item.ident);
        if fields > FIELDS && !is_foreign(item) && !TABLES.contains(&name.as_str()) {
            let what = format!("{name} has {fields} fields, more than {FIELDS}");
            self.too_large
                .push(format!("{what}: make parts that mean something"));
        }
    }
}

/// Files of code below `folder`, and whether they are tests, but not what is built aside.
fn code_below(folder: &Path, tests: bool, found: &mut Vec<(PathBuf, bool)>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name == "target" || name.starts_with('.') {
            continue;
        }
        let tests = tests || name == "tests" || name == "tests.rs";
        if path.is_dir() {
            code_below(&path, tests, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push((path, tests));
        }
    }
}

#[test]
fn functions_types_and_files_can_be_seen_at_once() {
    let root = fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let root = root.expect("the workspace is there");
    let mut files = Vec::new();
    for folder in FOLDERS {
        code_below(&root.join(folder), false, &mut files);
    }
    let (mut too_large, mut functions) = (Vec::new(), 0);
    for (file, tests) in &files {
        let code = fs::read_to_string(file).expect("text");
        let path = file.strip_prefix(&root).expect("below it");
        let sizes = Sizes::of(path.display().to_string(), &code, *tests);
        functions += sizes.functions;
        too_large.extend(sizes.too_large);
    }
    assert!(
        functions > 3_000,
        "{functions} functions of {} files",
        files.len()
    );
    assert!(too_large.is_empty(), "{}", too_large.join("\n"));
}

#[test]
fn what_is_too_large_is_found() {
    let body = "    step();\n".repeat(FUNCTION_LINES);
    let fields = |count: usize| -> String { (0..count).map(|n| format!("f{n}: u8, ")).collect() };
    let found_in = |code: &str, tests| Sizes::of("a.rs".to_owned(), code, tests).too_large.len();
    let found = |code: &str| found_in(code, false);
    let long = format!("fn a() {{\n{body}}}\n");
    assert_eq!(found(&long), 1);
    assert_eq!(found(&format!("struct A;\nimpl A {{\n{long}}}\n")), 1);
    assert_eq!(found(&format!("#[cfg(test)]\nmod tests {{\n{long}}}\n")), 0);
    assert_eq!(found(&format!("struct A {{ {} }}", fields(FIELDS))), 0);
    assert_eq!(found(&format!("struct A {{ {} }}", fields(FIELDS + 1))), 1);
    let foreign = format!("#[repr(C)]\nstruct A {{ {} }}", fields(FIELDS + 1));
    assert_eq!(found(&foreign), 0);
    assert_eq!(found_in(&long, true), 0);
    let long = "// a line\n".repeat(FILE_LINES + 1);
    assert_eq!((found(&long), found_in(&long, true)), (1, 1));
}
