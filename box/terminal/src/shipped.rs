//! Where the files are that come with Windlass: found from any folder by the names that the manual has for them.

use std::path::{Component, Path, PathBuf};

/// Beside the folder of the program: `/usr/share` of `/usr/bin`, `/usr/local/share` of `/usr/local/bin`.
const INSTALLED: &str = "../share/windlass";

/// Files of one kind, in a folder of this name: in that of the source, and where they are installed.
#[derive(Clone, Copy, Debug)]
pub struct Shipped(&'static str);

/// The experiments of the laboratory.
pub const EXPERIMENTS: Shipped = Shipped("experiments");
/// Configuration files whose rules are of use to others.
pub const POLICIES: Shipped = Shipped("policies");

impl Shipped {
    /// The folder: that of the folder one is in, else the installed one.
    pub fn folder(self) -> PathBuf {
        let here = PathBuf::from(self.0);
        let there = self
            .installed()
            .filter(|folder| !here.is_dir() && folder.is_dir());
        there.unwrap_or(here)
    }

    /// The file that is meant: a path; or one that comes with Windlass, by its name with `.toml` or without, or by its path in
    /// the source: `experiments/smoke.toml`.
    pub fn file(self, named: &Path) -> PathBuf {
        self.in_folder(named, &self.folder())
    }

    /// Whether the file is meant to come with Windlass, and does not: nothing of its kind is installed.
    pub fn lacks(self, named: &Path) -> bool {
        let meant = named.starts_with(self.0) && self.name_of(named).is_some();
        meant && !named.exists() && !self.folder().is_dir()
    }

    fn installed(self) -> Option<PathBuf> {
        let own = std::env::current_exe().ok()?;
        Some(self.beside(own.parent()?))
    }

    fn beside(self, programs: &Path) -> PathBuf {
        let folder = programs.join(INSTALLED).join(self.0);
        folder.canonicalize().unwrap_or(folder)
    }

    /// The name of a file in the folder, if it is one of these by its path or has no folder at all.
    fn name_of(self, named: &Path) -> Option<&Path> {
        let inside = named.strip_prefix(self.0).unwrap_or(named);
        let mut parts = inside.components();
        let plain = matches!(parts.next(), Some(Component::Normal(_))) && parts.next().is_none();
        plain.then_some(inside)
    }

    fn in_folder(self, named: &Path, folder: &Path) -> PathBuf {
        let Some(name) = self.name_of(named).filter(|_| !named.exists()) else {
            return named.to_owned();
        };
        let plain = folder.join(name);
        let mut both = [plain.with_extension("toml"), plain].into_iter();
        both.find(|file| file.is_file()).unwrap_or(named.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_its_name_and_another_path_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("smoke.toml");
        std::fs::write(&file, "").unwrap();
        let find = |named: &str| EXPERIMENTS.in_folder(Path::new(named), folder.path());
        for named in [
            "smoke",
            "smoke.toml",
            "experiments/smoke.toml",
            "experiments/smoke",
        ] {
            assert_eq!(find(named), file, "{named}");
        }
        for other in [
            "none.toml",
            "elsewhere/smoke.toml",
            "policies/smoke.toml",
            "experiments/older/smoke.toml",
            "experiments/../smoke.toml",
            "../smoke.toml",
            "/smoke.toml",
            "experiments",
        ] {
            assert_eq!(find(other), Path::new(other));
        }
        let path = file.to_str().unwrap();
        assert_eq!(find(path), file);
    }

    #[test]
    fn installed_files_are_beside_the_programs() {
        let root = tempfile::tempdir().unwrap();
        let (programs, folder) = (
            root.path().join("bin"),
            root.path().join("share/windlass/policies"),
        );
        std::fs::create_dir_all(&programs).unwrap();
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(POLICIES.beside(&programs), folder.canonicalize().unwrap());
    }

    #[test]
    fn what_is_not_installed_is_told_only_of_what_comes_with_windlass() {
        // The tests run in the folder of this crate, which has neither.
        assert!(POLICIES.lacks(Path::new("policies/algorithm-1.toml")));
        for other in [
            "w.toml",
            "/etc/windlass/windlass.toml",
            "policies/mine/w.toml",
        ] {
            assert!(!POLICIES.lacks(Path::new(other)), "{other}");
        }
    }
}
