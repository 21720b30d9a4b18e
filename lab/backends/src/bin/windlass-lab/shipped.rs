//! Where the experiments are that come with the laboratory.

use std::path::{Path, PathBuf};

const FOLDER: &str = "experiments";
/// Beside the folder of the program: `/usr/share` of `/usr/bin`, `/usr/local/share` of `/usr/local/bin`.
const INSTALLED: &str = "../share/windlass";

/// The folder of experiments: that of the folder one is in, else the installed one.
pub(crate) fn folder() -> PathBuf {
    let here = PathBuf::from(FOLDER);
    let installed = std::env::current_exe().ok();
    let installed = installed.and_then(|own| Some(installed_beside(own.parent()?)));
    let there = installed.filter(|folder| !here.is_dir() && folder.is_dir());
    there.unwrap_or(here)
}

fn installed_beside(programs: &Path) -> PathBuf {
    let folder = programs.join(INSTALLED).join(FOLDER);
    folder.canonicalize().unwrap_or(folder)
}

/// The file that is meant: a path, or the name of an experiment that comes with the laboratory, with `.toml` or without.
pub(crate) fn file(named: &Path) -> PathBuf {
    in_folder(named, &folder())
}

fn in_folder(named: &Path, folder: &Path) -> PathBuf {
    if named.exists() || named.components().count() != 1 {
        return named.to_owned();
    }
    let plain = folder.join(named);
    let mut both = [plain.with_extension("toml"), plain].into_iter();
    both.find(|file| file.is_file()).unwrap_or(named.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiment_is_found_by_its_name_and_a_path_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("smoke.toml");
        std::fs::write(&file, "").unwrap();
        let find = |named: &str| in_folder(Path::new(named), folder.path());
        assert_eq!((find("smoke"), find("smoke.toml")), (file.clone(), file));
        for other in ["none.toml", "elsewhere/smoke.toml"] {
            assert_eq!(find(other), Path::new(other));
        }
    }

    #[test]
    fn installed_experiments_are_beside_the_programs() {
        let root = tempfile::tempdir().unwrap();
        let (programs, folder) = (
            root.path().join("bin"),
            root.path().join("share/windlass/experiments"),
        );
        std::fs::create_dir_all(&programs).unwrap();
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(installed_beside(&programs), folder.canonicalize().unwrap());
    }
}
