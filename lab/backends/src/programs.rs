//! The programs of Windlass that a laboratory starts: where they are.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::command::find;

/// Where to look for them: beside a program that is known, then on `PATH`.
#[derive(Clone, Debug)]
pub struct Programs {
    folder: PathBuf,
    windlass: Option<PathBuf>,
}

impl Programs {
    /// This `windlass`, and the others beside it.
    pub fn of(windlass: PathBuf) -> Programs {
        Programs {
            folder: windlass.parent().map(Path::to_owned).unwrap_or_default(),
            windlass: Some(windlass),
        }
    }

    /// Those beside this program.
    ///
    /// # Errors
    /// This program's own file cannot be found.
    pub fn installed() -> Result<Programs> {
        let own = std::env::current_exe().context("finding this program's own file")?;
        Ok(Programs {
            folder: own.parent().map(Path::to_owned).unwrap_or_default(),
            windlass: None,
        })
    }

    /// What stands in the path.
    ///
    /// # Errors
    /// It is not installed.
    pub fn windlass(&self) -> Result<PathBuf> {
        match &self.windlass {
            Some(named) => Ok(named.clone()),
            None => self.find("windlass"),
        }
    }

    /// What runs setups in a guest.
    ///
    /// # Errors
    /// It is not installed.
    pub fn lab(&self) -> Result<PathBuf> {
        self.find("windlass-lab")
    }

    /// What sends and receives over QUIC.
    ///
    /// # Errors
    /// It is not installed.
    pub fn transfer(&self) -> Result<PathBuf> {
        self.find("windlass-transfer")
    }

    fn find(&self, name: &str) -> Result<PathBuf> {
        let beside = self.folder.join(name);
        let found = if beside.is_file() {
            Some(beside)
        } else {
            find(name)
        };
        found.with_context(|| {
            let folder = self.folder.display();
            format!(
                "the program {name} is neither in {folder} nor on PATH: install it there (`make build` makes it in \
                 target/release)"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_others_are_beside_the_one_that_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| folder.path().join(name);
        let programs = Programs::of(file("windlass-of-yesterday"));
        assert_eq!(
            programs.windlass().expect("named"),
            file("windlass-of-yesterday")
        );
        std::fs::write(file("windlass-lab"), "").expect("written");
        assert_eq!(programs.lab().expect("beside"), file("windlass-lab"));
        let error = programs
            .find("windlass-other")
            .expect_err("none")
            .to_string();
        let place = folder.path().display().to_string();
        assert!(
            error.contains(&place) && error.contains("make build"),
            "{error}"
        );
    }
}
