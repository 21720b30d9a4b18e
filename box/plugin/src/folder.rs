//! Where plugins are kept: a folder with a file `NAME.wasm` for each.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use windlass_cc::{AlgorithmId, Catalog};

use crate::{Added, MODULE_BYTES_MAX, PluginError, add};

/// A folder of plugins.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// The environment variable that names it.
    pub const VARIABLE: &str = "WINDLASS_PLUGINS";
    /// The folder, unless the variable names another.
    pub const USUAL: &str = "/var/lib/windlass/plugins";

    /// This one.
    pub fn new(path: impl Into<PathBuf>) -> Folder {
        Folder(path.into())
    }

    /// The one that `variable`, the value of [`Folder::VARIABLE`], names, or the usual one.
    pub fn chosen(variable: Option<&OsStr>) -> Folder {
        Folder(variable.map_or_else(|| Folder::USUAL.into(), PathBuf::from))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Takes all plugins of the folder into the catalog, by their names. One that cannot be used does not keep the
    /// others from it. A folder that does not exist is empty.
    pub fn load(&self, catalog: &mut Catalog) -> Vec<Result<Added, PluginError>> {
        let files = match self.files() {
            Ok(files) => files,
            Err(wrong) => return vec![Err(wrong)],
        };
        let mut load = |file: PathBuf| {
            let within = |e: PluginError| match e {
                e @ PluginError::File { .. } => e,
                e => PluginError::File {
                    path: file.clone(),
                    source: io::Error::other(e),
                },
            };
            add_file(catalog, &file).map_err(within)
        };
        files.into_iter().map(&mut load).collect()
    }

    /// Takes the module in `file` into the catalog, and keeps it in the folder under the name it gives itself; the
    /// answer says where.
    ///
    /// # Errors
    /// It cannot be used or not be kept; the folder is as it was then.
    pub fn add(&self, catalog: &mut Catalog, file: &Path) -> Result<(Added, PathBuf), PluginError> {
        let wasm = read(file)?;
        let added = add(catalog, &wasm)?;
        let place = self.keep(added.id, &wasm)?;
        Ok((added, place))
    }

    /// Takes a plugin out of the folder. Processes that know it go on knowing it.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn remove(&self, name: &str) -> Result<(), PluginError> {
        let names = self.names()?;
        if !names.iter().any(|known| known == name) {
            return Err(PluginError::Unknown {
                name: name.to_owned(),
                known: if names.is_empty() {
                    "none".into()
                } else {
                    names.join(", ")
                },
            });
        }
        let path = self.place(name);
        fs::remove_file(&path).map_err(|source| PluginError::File { path, source })
    }

    /// The names of those that are kept.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn names(&self) -> Result<Vec<String>, PluginError> {
        let name = |file: PathBuf| Some(file.file_stem()?.to_str()?.to_owned());
        Ok(self.files()?.into_iter().filter_map(name).collect())
    }

    /// The file of the plugin with this name, if it is kept.
    pub fn place(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.wasm"))
    }

    fn files(&self) -> Result<Vec<PathBuf>, PluginError> {
        let wrong = |source| PluginError::File {
            path: self.0.clone(),
            source,
        };
        let entries = match fs::read_dir(&self.0) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(wrong)?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry.map_err(wrong)?.path();
            if path.extension() == Some(OsStr::new("wasm")) {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    /// The whole file or none.
    fn keep(&self, id: AlgorithmId, wasm: &[u8]) -> Result<PathBuf, PluginError> {
        let path = self.place(id.name());
        let new = self.0.join(format!("{}.new", id.name()));
        let write = || {
            fs::create_dir_all(&self.0)?;
            let mut file = fs::File::create(&new)?;
            file.write_all(wasm)?;
            file.sync_all()?;
            fs::rename(&new, &path)
        };
        match write() {
            Ok(()) => Ok(path),
            Err(source) => {
                // What is left of it is of no use; that it cannot be removed says nothing new.
                let _ = fs::remove_file(&new);
                Err(PluginError::File { path, source })
            }
        }
    }
}

/// The folder of this machine.
pub fn installed() -> Folder {
    Folder::chosen(std::env::var_os(Folder::VARIABLE).as_deref())
}

/// Takes the plugins that are kept on this machine into the catalog. A program calls it before it reads names of algorithms.
/// The answer has the plugins that cannot be used, and why; they keep no program from its work.
pub fn load_installed(catalog: &mut Catalog) -> Vec<PluginError> {
    installed()
        .load(catalog)
        .into_iter()
        .filter_map(Result::err)
        .collect()
}

/// Takes the module in `file` into the catalog.
///
/// # Errors
/// It cannot be read or not be used.
pub fn add_file(catalog: &mut Catalog, file: &Path) -> Result<Added, PluginError> {
    add(catalog, &read(file)?)
}

fn read(file: &Path) -> Result<Vec<u8>, PluginError> {
    let wrong = |source| PluginError::File {
        path: file.to_owned(),
        source,
    };
    let found = fs::metadata(file).map_err(wrong)?;
    if !found.is_file() {
        return Err(wrong(io::Error::other("it is no regular file")));
    }
    if found.len() > MODULE_BYTES_MAX as u64 {
        return Err(PluginError::TooLarge(found.len() as usize));
    }
    let mut wasm = Vec::new();
    let most = fs::File::open(file).map(|f| f.take(MODULE_BYTES_MAX as u64 + 1));
    most.and_then(|mut f| f.read_to_end(&mut wasm))
        .map_err(wrong)?;
    Ok(wasm)
}
