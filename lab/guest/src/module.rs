//! Kernel modules: where they are, and in which order they can be loaded.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// The field of a module's `.modinfo` section that names the modules it needs.
const DEPENDS: &[u8] = b"\0depends=";

/// A module as the kernel loads it.
#[derive(Debug)]
pub struct Module {
    /// Its name, with `_` for `-`.
    pub name: String,
    /// The object file.
    pub content: Vec<u8>,
}

/// All modules of a kernel.
#[derive(Debug)]
pub struct Modules {
    files: BTreeMap<String, PathBuf>,
    builtin: Vec<String>,
}

impl Modules {
    /// Looks into `lib/modules/<version>`.
    ///
    /// # Errors
    /// When that cannot be read.
    pub fn of(folder: &Path) -> Result<Modules> {
        let mut files = BTreeMap::new();
        collect(folder, &mut files)?;
        let list = folder.join("modules.builtin");
        let text = fs::read_to_string(&list).with_context(|| list.display().to_string())?;
        let builtin = text.lines().map(|line| name(Path::new(line))).collect();
        Ok(Modules { files, builtin })
    }

    /// These modules and those that they need, each after those that it needs.
    /// What is built into the kernel is left out.
    ///
    /// # Errors
    /// When the kernel does not have one of them, or one is compressed and `xz` is not installed.
    pub fn in_order(&self, wanted: &[&str]) -> Result<Vec<Module>> {
        let mut order = Vec::new();
        for module in wanted {
            self.visit(module, &mut order)?;
        }
        Ok(order)
    }

    fn visit(&self, module: &str, order: &mut Vec<Module>) -> Result<()> {
        if self.builtin.iter().any(|b| b == module) {
            return Ok(());
        }
        let Some(file) = self.files.get(module) else {
            bail!("the guest's kernel has no module {module}");
        };
        if order.iter().any(|known| known.name == module) {
            return Ok(());
        }
        let content = read(file).with_context(|| file.display().to_string())?;
        for needed in depends(&content) {
            self.visit(&needed, order)?;
        }
        let name = module.to_owned();
        order.push(Module { name, content });
        Ok(())
    }
}

fn collect(folder: &Path, files: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            collect(&path, files)?;
        } else if is_module(&path) {
            files.insert(name(&path), path);
        }
    }
    Ok(())
}

/// Debian compresses those of Linux 6.12.
fn is_module(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".ko") || name.ends_with(".ko.xz")
}

/// A module's name: its file's, with `_` for `-`.
fn name(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split(".ko").next().unwrap_or_default();
    stem.replace('-', "_")
}

fn read(file: &Path) -> Result<Vec<u8>> {
    if file.extension().is_none_or(|e| e != "xz") {
        return Ok(fs::read(file)?);
    }
    let unpacked = Command::new("xz").arg("-dc").arg(file).output();
    let unpacked = unpacked.context("cannot run xz; on Debian: apt-get install xz-utils")?;
    let said = String::from_utf8_lossy(&unpacked.stderr);
    ensure!(unpacked.status.success(), "xz: {}", said.trim());
    Ok(unpacked.stdout)
}

fn depends(module: &[u8]) -> Vec<String> {
    let at = module.windows(DEPENDS.len()).position(|w| w == DEPENDS);
    let Some(at) = at else { return Vec::new() };
    let value = &module[at + DEPENDS.len()..];
    let value = value.split(|b| *b == 0).next().unwrap_or_default();
    let names = String::from_utf8_lossy(value);
    let names = names.split(',').filter(|n| !n.is_empty());
    names.map(|n| n.replace('-', "_")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_comes_after_those_that_it_needs() {
        let folder = tempfile::tempdir().expect("a folder");
        let net = folder.path().join("kernel/net");
        fs::create_dir_all(&net).expect("a folder");
        let modules = [("stp", "llc"), ("llc", ""), ("bridge", "stp,llc,x-tables")];
        for (module, needs) in modules {
            let content = format!("code\0license=GPL\0depends={needs}\0name={module}\0");
            fs::write(net.join(format!("{module}.ko")), content).expect("written");
        }
        let builtin = "kernel/net/netfilter/x-tables.ko\n";
        fs::write(folder.path().join("modules.builtin"), builtin).expect("written");
        let modules = Modules::of(folder.path()).expect("read");
        let order = modules.in_order(&["bridge", "llc", "x_tables"]);
        let order = order.expect("all there");
        let names: Vec<_> = order.iter().map(|module| &module.name).collect();
        assert_eq!(names, ["llc", "stp", "bridge"]);
        assert!(
            order[1]
                .content
                .starts_with(b"code\0license=GPL\0depends=llc\0")
        );
        let error = modules.in_order(&["nothing"]).expect_err("not there");
        assert!(error.to_string().contains("no module nothing"), "{error}");
    }

    #[test]
    fn a_compressed_module_is_read_as_the_kernel_loads_it() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("modules.builtin"), "").expect("written");
        let plain = folder.path().join("tcp-bbr.ko");
        fs::write(&plain, "code\0depends=\0").expect("written");
        let xz = Command::new("xz").arg(&plain).status();
        if !xz.is_ok_and(|status| status.success()) {
            println!("skipped: xz is not installed");
            return;
        }
        assert!(!plain.exists());
        let modules = Modules::of(folder.path()).expect("read");
        let order = modules.in_order(&["tcp_bbr"]).expect("it is there");
        assert_eq!(order[0].content, b"code\0depends=\0");
    }
}
