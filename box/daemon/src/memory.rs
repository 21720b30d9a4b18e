//! What `auto` and the guard have learned, kept in files over restarts.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::Serialize;
use windlass_io::monotonic_ns;
use windlass_policy::{MemoryConfig, Policy};

use crate::events::{Severity, log::say};
use crate::regular_file;
use crate::settings::unix_ns;

/// How much learning a crash may cost.
const SAVE_INTERVAL: Duration = Duration::from_secs(60);
/// Longest file: more than two weeks of history, and what is kept of as many prefixes as may be known.
const BYTES_PER_PREFIX: u64 = 4096;
const FILE_BYTES: u64 = 64 << 20;

/// Takes over what the files have.
pub(crate) fn load(policy: &Policy) {
    let auto = policy.auto();
    let names = auto.arm_names();
    load_file("auto", &auto.config().memory, |text| {
        let mut reader = serde_json::Deserializer::from_str(text);
        auto.with_chooser(|c| c.recall(&mut reader, &names, monotonic_ns()))
    });
    if let Some(guard) = policy.guard() {
        load_file("guard", &guard.config().memory, |text| {
            let mut reader = serde_json::Deserializer::from_str(text);
            guard.with_guard(|g| g.recall(&mut reader, unix_ns()))
        });
    }
}

/// A file that cannot be read is told and left as it is, until the next save replaces it: learning begins anew.
fn load_file(
    what: &str,
    memory: &MemoryConfig,
    recall: impl FnOnce(&str) -> serde_json::Result<()>,
) {
    let path = Path::new(&memory.file);
    let most = FILE_BYTES + memory.prefixes as u64 * BYTES_PER_PREFIX;
    let text = match regular_file::read(path, most) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return,
        Err(e) => {
            return say(
                Severity::Warning,
                &format!("{what}: {}: {e}", path.display()),
            );
        }
    };
    if let Err(e) = recall(&text) {
        let path = path.display();
        let text =
            format!("{what}: {path} is not what windlass has written, learning begins anew: {e}");
        say(Severity::Warning, &text);
    }
}

/// Replaces the files, if anything was learned: each as a whole, or it stays as it was. `told`: whose failure has been told.
fn save(policy: &RwLock<Policy>, told: &mut Told) {
    let (auto, guard) = {
        let policy = policy.read().unwrap_or_else(PoisonError::into_inner);
        (policy.auto().clone(), policy.guard().cloned())
    };
    if auto.with_chooser(|chooser| chooser.prefixes() > 0) {
        let names = auto.arm_names();
        let kept = auto.with_chooser(|c| c.keep(&names, monotonic_ns()));
        let saved = save_file(&auto.config().memory, &kept);
        tell("auto", &auto.config().memory, saved, &mut told.auto);
    }
    if let Some(guard) = guard {
        let kept = guard.with_guard(|g| g.keep());
        let saved = save_file(&guard.config().memory, &kept);
        tell("guard", &guard.config().memory, saved, &mut told.guard);
    }
}

#[derive(Default)]
struct Told {
    auto: bool,
    guard: bool,
}

fn tell(what: &str, memory: &MemoryConfig, saved: std::io::Result<()>, told: &mut bool) {
    if let Err(e) = saved
        && !std::mem::replace(told, true)
    {
        let file = &memory.file;
        let text = format!("{what}: {file}: {e}: what is learned is not kept");
        say(Severity::Warning, &text);
    }
}

fn save_file(memory: &MemoryConfig, kept: &impl Serialize) -> std::io::Result<()> {
    let path = PathBuf::from(&memory.file);
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let new = path.with_extension("new");
    let mut file = std::io::BufWriter::new(fs::File::create(&new)?);
    serde_json::to_writer(&mut file, kept)?;
    let file = file
        .into_inner()
        .map_err(std::io::IntoInnerError::into_error)?;
    file.sync_all()?;
    fs::rename(&new, &path)
}

/// A thread that saves now and then, and when it is dropped.
pub(crate) struct Saver {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Saver {
    /// Starts one.
    pub(crate) fn start(policy: &Arc<RwLock<Policy>>) -> std::io::Result<Saver> {
        let (stop, stopped) = mpsc::channel::<()>();
        let policy = Arc::clone(policy);
        let mut told = Told::default();
        let work = move || loop {
            let last = stopped.recv_timeout(SAVE_INTERVAL) != Err(RecvTimeoutError::Timeout);
            save(&policy, &mut told);
            if last {
                return;
            }
        };
        let thread = thread::Builder::new()
            .name("memory".to_owned())
            .spawn(work)?;
        Ok(Saver {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_cc::Catalog;
    use windlass_policy::Config;

    fn policy(file: &Path) -> Policy {
        let text = format!("version = 1\n[auto]\nfile = \"{}\"\n", file.display());
        Config::parse(&text, "w.toml", &Catalog::new())
            .unwrap()
            .policy()
    }

    fn prefixes(policy: &Policy) -> usize {
        policy.auto().with_chooser(|c| c.prefixes())
    }

    #[test]
    fn what_is_learned_is_there_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/auto.json");
        let first = policy(&file);
        load(&first);
        let transfer = windlass_engine::Transfer {
            bytes: 1_000_000,
            duration: 1_000_000_000,
            largest_before: 0,
            complete: true,
        };
        first
            .auto()
            .with_chooser(|c| c.learn(7, 1, &transfer, monotonic_ns()));
        let shared = Arc::new(RwLock::new(first));
        drop(Saver::start(&shared).unwrap());
        let second = policy(&file);
        load(&second);
        assert_eq!(prefixes(&second), 1);
        // A damaged file loses nothing but what it had.
        fs::write(&file, "{").unwrap();
        let third = policy(&file);
        load(&third);
        assert_eq!(prefixes(&third), 0);
    }
}
