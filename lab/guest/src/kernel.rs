//! Debian's cloud kernel, unpacked into a cache and never installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::program::output;

/// The package that depends on the current one.
const META_PACKAGE: &str = "linux-image-cloud-amd64";
/// Names another kernel: a folder with `boot` and `lib/modules`, as a package has them.
const FOLDER: &str = "WINDLASS_GUEST_KERNEL";
/// How the names of the real ones begin.
const PREFIX: &str = "linux-image-";

/// An unpacked kernel package.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The kernel itself.
    pub image: PathBuf,
    /// `lib/modules/<version>`.
    pub modules: PathBuf,
}

impl Kernel {
    /// That of the folder which `WINDLASS_GUEST_KERNEL` names, else the current kernel package: from the cache, or downloaded. Without a
    /// package index it is the newest that the cache has.
    ///
    /// # Errors
    /// When it is not cached and cannot be downloaded.
    pub fn current() -> Result<Kernel> {
        if let Some(folder) = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty()) {
            let said = || format!("{FOLDER}={}", folder.display());
            return Kernel::of(Path::new(&folder)).with_context(said);
        }
        let cache = cache_folder()?;
        fs::create_dir_all(&cache)
            .with_context(|| format!("cannot make the cache folder {}", cache.display()))?;
        let package = match current_package() {
            Ok(package) => package,
            Err(error) => newest_cached(&cache).ok_or(error)?,
        };
        let folder = cache.join(&package);
        if !folder.exists() {
            download(&package, &folder)
                .with_context(|| format!("cannot fetch the guest's kernel ({package})"))?;
        }
        Kernel::of(&folder).with_context(|| format!("delete {} and try again", folder.display()))
    }

    fn of(folder: &Path) -> Result<Kernel> {
        Ok(Kernel {
            image: only_entry(&folder.join("boot"), "vmlinuz-")?,
            modules: only_entry(&folder.join("lib/modules"), "")?,
        })
    }
}

fn cache_folder() -> Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = match set("XDG_CACHE_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => {
            let home = set("HOME").context("neither HOME nor XDG_CACHE_HOME is set")?;
            Path::new(&home).join(".cache")
        }
    };
    Ok(cache.join("windlass/guest"))
}

fn current_package() -> Result<String> {
    let listed = output(
        Command::new("apt-cache")
            .env("LC_ALL", "C")
            .args(["depends", META_PACKAGE]),
    );
    let listed = listed.context("cannot look for the guest's kernel; perhaps: apt-get update")?;
    let found = parse_depends(&listed).map(str::to_owned);
    found.with_context(|| format!("apt-cache does not know which kernel {META_PACKAGE} is"))
}

fn parse_depends(listed: &str) -> Option<&str> {
    let mut needed = listed
        .lines()
        .filter_map(|l| l.trim().strip_prefix("Depends: "));
    needed.find(|package| package.starts_with(PREFIX))
}

fn newest_cached(cache: &Path) -> Option<String> {
    let entries = fs::read_dir(cache).ok()?.flatten();
    let kernels = entries.filter(|e| e.file_name().to_string_lossy().starts_with(PREFIX));
    let newest = kernels.max_by_key(|e| e.metadata().and_then(|m| m.modified()).ok())?;
    Some(newest.file_name().to_string_lossy().into_owned())
}

/// Downloads and unpacks; `folder` appears only when it is whole.
fn download(package: &str, folder: &Path) -> Result<()> {
    let cache = folder.parent().context("the cache has no folder")?;
    let work = tempfile::Builder::new()
        .prefix("download-")
        .tempdir_in(cache)?;
    let mut apt = Command::new("apt-get");
    apt.args(["download", "-q", package])
        .current_dir(work.path());
    output(&mut apt)?;
    let archive = only_entry(work.path(), PREFIX)?;
    let unpacked = work.path().join("unpacked");
    output(
        Command::new("dpkg-deb")
            .arg("-x")
            .arg(archive)
            .arg(&unpacked),
    )?;
    match fs::rename(&unpacked, folder) {
        Err(_) if folder.exists() => Ok(()), // somebody else was quicker
        renamed => Ok(renamed?),
    }
}

fn only_entry(folder: &Path, prefix: &str) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut matching = entries
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with(prefix));
    match (matching.next(), matching.next()) {
        (Some(entry), None) => Ok(entry.path()),
        _ => bail!("{} has not exactly one {prefix}*", folder.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_behind_the_package() {
        let listed = "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-56-cloud-amd64\n";
        assert_eq!(
            parse_depends(listed),
            Some("linux-image-6.1.0-56-cloud-amd64")
        );
        assert_eq!(parse_depends("linux-image-cloud-amd64\n"), None);
    }

    #[test]
    fn an_unpacked_package_has_one_kernel() {
        let folder = tempfile::tempdir().expect("a folder");
        let version = "6.1.0-1-cloud-amd64";
        let boot = folder.path().join("boot");
        fs::create_dir_all(&boot).expect("a folder");
        fs::create_dir_all(folder.path().join("lib/modules").join(version)).expect("a folder");
        assert!(Kernel::of(folder.path()).is_err());
        for file in ["vmlinuz-", "config-", "System.map-"] {
            fs::write(boot.join(format!("{file}{version}")), "").expect("written");
        }
        let kernel = Kernel::of(folder.path()).expect("a kernel");
        assert!(kernel.image.ends_with("boot/vmlinuz-6.1.0-1-cloud-amd64"));
        assert!(kernel.modules.ends_with(version));
    }
}
