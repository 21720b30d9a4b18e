//! The configuration file, and the `conf.d` beside it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use windlass_policy::ConfigFile;

/// Where a daemon looks for its configuration when nobody names one.
pub const DEFAULT_CONFIG: &str = "/etc/windlass/windlass.toml";
/// Folder beside the configuration file, whose `.toml` files come behind it in the order of their
/// names.
const FOLDER: &str = "conf.d";

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("configuration file {}: {reason}", path.display())]
pub struct Unreadable {
    /// Which one.
    pub path: PathBuf,
    /// What the kernel said.
    pub reason: io::Error,
}

/// Reads the configuration file at `path`, and those of the `conf.d` in the same folder.
///
/// # Errors
/// One of them cannot be read, or is not UTF-8.
pub fn read(path: &Path) -> Result<Vec<ConfigFile>, Unreadable> {
    let folder = path.parent().unwrap_or(Path::new(".")).join(FOLDER);
    let mut paths = vec![path.to_owned()];
    paths.extend(in_folder(&folder)?);
    paths.iter().map(|path| read_one(path)).collect()
}

fn read_one(path: &Path) -> Result<ConfigFile, Unreadable> {
    let text = fs::read_to_string(path).map_err(|source| unreadable(path, source))?;
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
    paths.sort();
    Ok(paths)
}

fn unreadable(path: &Path, source: io::Error) -> Unreadable {
    Unreadable {
        path: path.to_owned(),
        reason: source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
