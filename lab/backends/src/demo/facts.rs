//! Where it was measured.

use std::process::Command;

use serde::Serialize;

use super::{Case, Options};

/// The machine and the programs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Facts {
    /// Kernel release and version.
    pub kernel: String,
    /// Processor model.
    pub processor: String,
    /// Processors.
    pub processors: usize,
    /// Load averages when it began.
    pub load_average: String,
    /// `nginx -v`.
    pub nginx: String,
    /// `curl --version`, first line.
    pub curl: String,
    /// `windlass --version`; empty if it was not measured.
    pub windlass: String,
}

impl Facts {
    /// Looks around. What cannot be found out stays empty.
    pub fn gather(options: &Options) -> Facts {
        let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let kernel = ["ostype", "osrelease", "version"]
            .map(|name| file(&format!("/proc/sys/kernel/{name}")).trim().to_owned());
        let model = file("/proc/cpuinfo").lines().find_map(|l| {
            Some(
                l.strip_prefix("model name")?
                    .split_once(':')?
                    .1
                    .trim()
                    .to_owned(),
            )
        });
        let load = file("/proc/loadavg");
        Facts {
            kernel: kernel.join(" "),
            processor: model.unwrap_or_default(),
            processors: std::thread::available_parallelism().map_or(0, usize::from),
            load_average: load.split(' ').take(3).collect::<Vec<_>>().join(" "),
            nginx: first_line(Command::new("nginx").arg("-v")),
            curl: first_line(Command::new("curl").arg("--version")),
            windlass: match options.cases.contains(&Case::WindlassBbr) {
                true => first_line(Command::new(&options.windlass).arg("--version")),
                false => String::new(),
            },
        }
    }
}

/// Of what it says, wherever it says it: nginx tells its version on standard error.
fn first_line(command: &mut Command) -> String {
    let Ok(output) = command.output() else {
        return String::new();
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    text.lines().next().unwrap_or_default().trim().to_owned()
}
