//! A kernel and an initramfs of this host's programs.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::archive::Archive;
use crate::kernel::Kernel;
use crate::module::Modules;
use crate::program;

/// The first process of the guest.
const INIT: &[u8] = include_bytes!("init.sh");
/// What carries the output of the job.
const PORT_MODULES: [&str; 2] = ["virtio_mmio", "virtio_console"];

/// What a guest has beside a kernel and busybox.
#[derive(Clone, Debug)]
pub struct Contents<'a> {
    /// Programs of this host: their names in the guest's `/usr/bin`, and their files here. Their
    /// libraries go where they are here.
    pub programs: Vec<(&'a str, PathBuf)>,
    /// Programs of this host, by their name and the Debian package that brings them.
    pub tools: &'a [(&'a str, &'a str)],
    /// Other files of this host: where they are in the guest, and here.
    pub files: Vec<(PathBuf, PathBuf)>,
    /// Kernel modules that are loaded, with those that they need.
    pub modules: &'a [&'a str],
}

/// What every guest is made of.
struct Parts {
    qemu: PathBuf,
    busybox: PathBuf,
    kernel: Kernel,
}

fn parts() -> Result<Parts> {
    if !cfg!(target_arch = "x86_64") {
        bail!("the guest is an x86-64 machine that runs this host's programs");
    }
    Ok(Parts {
        qemu: program::find("qemu-system-x86_64", "qemu-system-x86")?,
        busybox: program::find("busybox", "busybox-static")?,
        kernel: Kernel::current()?,
    })
}

/// Whether guests can run on this host. Fetches the kernel if the cache does not have it.
///
/// # Errors
/// What is missing, and how to get it.
pub fn check_host() -> Result<()> {
    parts().map(drop)
}

/// All that a guest boots from.
#[derive(Clone, Debug)]
pub struct Image {
    pub(crate) qemu: PathBuf,
    pub(crate) kernel: PathBuf,
    pub(crate) initramfs: Vec<u8>,
}

impl Image {
    /// Finds the programs, fetches the kernel if the cache does not have it, and puts all
    /// together.
    ///
    /// # Errors
    /// When something is not installed or cannot be fetched, with what to do about it.
    pub fn prepare(contents: &Contents) -> Result<Image> {
        let Parts {
            qemu,
            busybox,
            kernel,
        } = parts()?;
        let mut programs = contents.programs.clone();
        for (name, package) in contents.tools {
            programs.push((name, program::find(name, package)?));
        }
        let mut archive = Archive::default();
        archive.add("init", INIT)?;
        archive.add("bin/busybox", &read(&busybox)?)?;
        for (name, file) in &programs {
            let path = PathBuf::from("usr/bin").join(name);
            archive.add(path, &program::stripped(file)?)?;
        }
        let files = programs.into_iter().map(|(_, file)| file);
        let files: Vec<PathBuf> = files.chain([busybox]).collect();
        for library in program::libraries(&files)? {
            archive.add(&library, &read(&library)?)?;
        }
        for (place, file) in &contents.files {
            archive.add(place, &read(file)?)?;
        }
        add_modules(&mut archive, &kernel, contents.modules)?;
        Ok(Image {
            qemu,
            kernel: kernel.image,
            initramfs: archive.finish()?,
        })
    }
}

fn add_modules(archive: &mut Archive, kernel: &Kernel, wanted: &[&str]) -> Result<()> {
    let wanted = [&PORT_MODULES, wanted].concat();
    let mut order = String::new();
    for module in Modules::of(&kernel.modules)?.in_order(&wanted)? {
        let name = format!("{}.ko", module.name);
        archive.add(PathBuf::from("modules").join(&name), &module.content)?;
        order += &format!("{name}\n");
    }
    archive.add("modules/order", order.as_bytes())
}

fn read(file: &PathBuf) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}
