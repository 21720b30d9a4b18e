//! Where an experiment ran.

use std::fs;
use std::thread;

/// What is known of this machine, by name.
pub(crate) fn facts(backend: &str) -> Vec<(String, String)> {
    let file = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let kernel = ["ostype", "osrelease"].map(|n| file(&format!("/proc/sys/kernel/{n}")));
    let cpu = file("/proc/cpuinfo");
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name"));
    let model = model.and_then(|rest| Some(rest.split_once(':')?.1.trim().to_owned()));
    let processors = thread::available_parallelism().map_or(0, usize::from);
    let known = [
        ("Back end", backend.to_owned()),
        ("Windlass", env!("CARGO_PKG_VERSION").to_owned()),
        ("Host kernel", kernel.map(|k| k.trim().to_owned()).join(" ")),
        (
            "Processor",
            format!("{} × {}", processors, model.unwrap_or_default()),
        ),
    ];
    known.map(|(name, value)| (name.to_owned(), value)).to_vec()
}
