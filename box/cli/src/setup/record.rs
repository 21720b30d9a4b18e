//! How the machine was before `windlass setup`, so that it can be again.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::plan::Step;

const VERSION: u32 = 1;

/// What was done, in its order. It is written before each change is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    version: u32,
    pub inside: String,
    pub outside: String,
    /// Neither interface was in a bridge: one that Windlass makes of them is its own.
    pub unbridged: bool,
    pub steps: Vec<Step>,
    pub files: Vec<Kept>,
    pub service: Option<ServiceBefore>,
}

/// A file that was written or replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    pub path: PathBuf,
    /// What was in it; `None`: there was none.
    pub before: Option<String>,
    /// What setup has put there.
    pub wrote: String,
}

/// How the service was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ServiceBefore {
    pub enabled: bool,
    pub active: bool,
}

impl Record {
    pub(super) fn new(inside: &str, outside: &str, unbridged: bool) -> Record {
        Record {
            version: VERSION,
            inside: inside.to_owned(),
            outside: outside.to_owned(),
            unbridged,
            steps: Vec::new(),
            files: Vec::new(),
            service: None,
        }
    }

    /// The one that is there, if there is one.
    pub(super) fn read(path: &Path) -> Result<Option<Record>> {
        let what = || format!("record of the set-up, {}", path.display());
        let text = match fs::read_to_string(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.with_context(what)?,
        };
        let record: Record = serde_json::from_str(&text).with_context(what)?;
        if record.version != VERSION {
            bail!(
                "{} has version {}, this windlass reads {VERSION}",
                what(),
                record.version
            );
        }
        Ok(Some(record))
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        replace(path, &serde_json::to_string_pretty(self)?)
    }

    /// Remembers how the machine was before a step; what it remembers already stays.
    pub(super) fn add_step(&mut self, step: &Step) {
        if !self.steps.iter().any(|known| known.apply == step.apply) {
            self.steps.push(step.clone());
        }
    }

    /// Remembers what was in a file before the first time that it was written.
    pub(super) fn add_file(&mut self, path: &Path, before: Option<String>, wrote: &str) {
        if let Some(kept) = self.files.iter_mut().find(|kept| kept.path == path) {
            wrote.clone_into(&mut kept.wrote);
            return;
        }
        self.files.push(Kept {
            path: path.to_owned(),
            before,
            wrote: wrote.to_owned(),
        });
    }
}

/// Replaces a file as a whole, or leaves it as it was. Its folder is made if it is not there.
pub(super) fn replace(path: &Path, text: &str) -> Result<()> {
    let write = || {
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder)?;
        let new = path.with_extension("new");
        let mut file = fs::File::create(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// What is in a file; `None`: there is none.
pub(super) fn content(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        text => {
            Ok(Some(text.with_context(|| {
                format!("cannot read {}", path.display())
            })?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_first_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/record.json");
        assert_eq!(Record::read(&path).unwrap(), None);
        let mut record = Record::new("a", "b", true);
        let file = Path::new("/x/w.toml");
        record.add_file(file, Some("old".to_owned()), "first");
        record.add_file(file, Some("first".to_owned()), "second");
        record.write(&path).unwrap();
        let read = Record::read(&path).unwrap().unwrap();
        assert_eq!(read, record);
        assert_eq!(read.files[0].before.as_deref(), Some("old"));
        assert_eq!(read.files[0].wrote, "second");
        fs::write(&path, "{}").unwrap();
        let error = Record::read(&path).unwrap_err().to_string();
        assert!(error.contains("a/record.json"), "{error}");
    }
}
