//! Kernel modules: where they are, and in which order they can be loaded.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The field of a module's `.modinfo` section that names the modules it needs.
const DEPENDS: &[u8] = b"\0depends=";

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

    /// The files of these modules and of those that they need, each after those that it needs.
    /// What is built into the kernel is left out.
    ///
    /// # Errors
    /// When the kernel does not have one of them.
    pub fn in_order(&self, wanted: &[&str]) -> Result<Vec<PathBuf>> {
        let mut order = Vec::new();
        for module in wanted {
            self.visit(module, &mut order)?;
        }
        Ok(order)
    }

    fn visit(&self, module: &str, order: &mut Vec<PathBuf>) -> Result<()> {
        if self.builtin.iter().any(|b| b == module) {
            return Ok(());
        }
        let Some(file) = self.files.get(module) else {
            bail!("the guest's kernel has no module {module}");
        };
        if order.contains(file) {
            return Ok(());
        }
        let content = fs::read(file).with_context(|| file.display().to_string())?;
        for needed in depends(&content) {
            self.visit(&needed, order)?;
        }
        order.push(file.clone());
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
        } else if path.extension().is_some_and(|e| e == "ko") {
            files.insert(name(&path), path);
        }
    }
    Ok(())
}

/// A module's name: its file's, with `_` for `-`.
fn name(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    stem.replace('-', "_")
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
        let names: Vec<_> = order.expect("all there").iter().map(|f| name(f)).collect();
        assert_eq!(names, ["llc", "stp", "bridge"]);
        let error = modules.in_order(&["nothing"]).expect_err("not there");
        assert!(error.to_string().contains("no module nothing"), "{error}");
    }
}
