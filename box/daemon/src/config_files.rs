//! The configuration file, and the `conf.d` beside it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use windlass_policy::ConfigFile;

use crate::control::Handler;
use crate::events::{Draft, EventKind};
use crate::{Reload, regular_file};

/// Where a daemon looks for its configuration when nobody names one.
pub const DEFAULT_CONFIG: &str = "/etc/windlass/windlass.toml";
/// Folder beside the configuration file, whose `.toml` files come behind it in the order of their
/// names.
const FOLDER: &str = "conf.d";
/// Longest file: a thousand rules are a tenth of it.
const FILE_MAX_BYTES: u64 = 1 << 20;
/// Most files in the folder.
const FILES_MAX: usize = 256;

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("configuration file {}: {reason}", path.display())]
pub struct Unreadable {
    /// Which one.
    pub path: PathBuf,
    /// What the kernel said, or what is wrong with it.
    pub reason: io::Error,
}

/// Reads the configuration file at `path`, and those of the `conf.d` in the same folder.
///
/// # Errors
/// One of them cannot be read, is no regular file, is too long, or is not UTF-8.
pub fn read(path: &Path) -> Result<Vec<ConfigFile>, Unreadable> {
    let folder = path.parent().unwrap_or(Path::new(".")).join(FOLDER);
    let mut paths = vec![path.to_owned()];
    paths.extend(in_folder(&folder)?);
    paths.iter().map(|path| read_one(path)).collect()
}

fn read_one(path: &Path) -> Result<ConfigFile, Unreadable> {
    let text = regular_file::read(path, FILE_MAX_BYTES);
    let text = text.map_err(|source| unreadable(path, source))?;
    let name = path.display().to_string();
    Ok(ConfigFile { name, text })
}

fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, Unreadable> {
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|source| unreadable(folder, source))?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|source| unreadable(folder, source))?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            paths.push(path);
        }
    }
    if paths.len() > FILES_MAX {
        let what = format!("there are more than {FILES_MAX} files in it (put some together)");
        return Err(unreadable(folder, io::Error::other(what)));
    }
    paths.sort();
    Ok(paths)
}

fn unreadable(path: &Path, source: io::Error) -> Unreadable {
    Unreadable {
        path: path.to_owned(),
        reason: source,
    }
}

/// A thread that reads the configuration when it is told to. Nobody waits for it: a file system that
/// hangs keeps only it.
pub(crate) struct Reader(Sender<()>);

impl Reader {
    pub(crate) fn start(reload: Option<Reload>, handler: Arc<Handler>) -> io::Result<Reader> {
        let (orders, received) = mpsc::channel();
        let work = move || follow(&received, reload.as_ref(), &handler);
        let named = thread::Builder::new().name("configuration".to_owned());
        named.spawn(work)?;
        Ok(Reader(orders))
    }

    /// Has it read again.
    pub(crate) fn again(&self) {
        let _ = self.0.send(());
    }
}

fn follow(orders: &Receiver<()>, reload: Option<&Reload>, handler: &Handler) {
    while orders.recv().is_ok() {
        // Orders that came meanwhile are one: it reads what is there now.
        while orders.try_recv().is_ok() {}
        match reload {
            Some(reload) => apply(reload, handler),
            None => handler.events.tell(Draft::new(
                EventKind::ReloadFailed,
                "SIGHUP: there is no configuration file to read again",
            )),
        }
    }
}

/// A mistake leaves the rules in charge as they are.
fn apply(Reload { path, overrides }: &Reload, handler: &Handler) {
    let files = read(path).map_err(|e| e.to_string());
    let applied = files.and_then(|files| handler.apply(&files, overrides));
    handler.events.tell(match applied {
        Ok(rules) => Draft::new(
            EventKind::Reloaded,
            format!("{} is in charge", path.display()),
        )
        .with("rules", rules),
        Err(error) => Draft::new(
            EventKind::ReloadFailed,
            format!("the rules stay as they were: {error}"),
        ),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    #[test]
    fn further_files_come_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let main = folder.path().join("windlass.toml");
        assert!(
            read(&main)
                .unwrap_err()
                .to_string()
                .contains("windlass.toml")
        );
        fs::write(&main, "version = 1\n").unwrap();
        assert_eq!(read(&main).unwrap().len(), 1);
        let further = folder.path().join(FOLDER);
        fs::create_dir(&further).unwrap();
        for name in ["20-b.toml", "10-a.toml", "notes.txt", "30.toml~"] {
            fs::write(further.join(name), name).unwrap();
        }
        let texts: Vec<String> = read(&main).unwrap().into_iter().map(|f| f.text).collect();
        assert_eq!(texts, ["version = 1\n", "10-a.toml", "20-b.toml"]);
    }

    #[test]
    fn only_regular_files_of_a_size_that_is_one_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let main = folder.path().join("windlass.toml");
        let said = || read(&main).unwrap_err().to_string();
        mkfifo(&main, Mode::S_IRWXU).unwrap();
        assert!(said().contains("no regular file"), "{}", said());
        fs::remove_file(&main).unwrap();
        fs::create_dir(&main).unwrap();
        assert!(said().contains("no regular file"), "{}", said());
        fs::remove_dir(&main).unwrap();
        // 300 MB, none of which are on the disk.
        let file = File::create(&main).unwrap();
        file.set_len(300 << 20).unwrap();
        assert!(said().contains("longer than 1048576 bytes"), "{}", said());
        file.set_len(FILE_MAX_BYTES).unwrap();
        assert_eq!(read(&main).unwrap()[0].text.len() as u64, FILE_MAX_BYTES);
    }
}
