//! What `auto` has learned, kept in a file over restarts.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use windlass_io::monotonic_ns;
use windlass_policy::{Auto, Policy};

use crate::regular_file;

/// How much learning a crash may cost.
const SAVE_INTERVAL: Duration = Duration::from_secs(60);
/// Longest file: more than what is kept of as many prefixes as may be known.
const BYTES_PER_PREFIX: u64 = 4096;
const FILE_BYTES: u64 = 1 << 20;

/// Takes over what the file has. A file that cannot be read is told and left as it is, until the next
/// save replaces it: learning begins anew.
pub(crate) fn load(auto: &Auto) {
    let path = Path::new(&auto.config().file);
    let most = FILE_BYTES + auto.config().prefixes as u64 * BYTES_PER_PREFIX;
    let text = match regular_file::read(path, most) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return,
        Err(e) => return eprintln!("windlass: auto: {}: {e}", path.display()),
    };
    let names = auto.arm_names();
    let mut reader = serde_json::Deserializer::from_str(&text);
    let recalled = auto.with_chooser(|c| c.recall(&mut reader, &names, monotonic_ns()));
    if let Err(e) = recalled {
        eprintln!(
            "windlass: auto: {} is not what windlass has written, learning begins anew: {e}",
            path.display()
        );
    }
}

/// Replaces the file as a whole, or leaves it as it was.
fn save(auto: &Auto) -> std::io::Result<()> {
    let path = PathBuf::from(&auto.config().file);
    let names = auto.arm_names();
    let kept = auto.with_chooser(|c| c.keep(&names, monotonic_ns()));
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let new = path.with_extension("new");
    let mut file = fs::File::create(&new)?;
    serde_json::to_writer(&mut file, &kept)?;
    file.flush()?;
    file.sync_all()?;
    fs::rename(&new, &path)
}

/// A thread that saves now and then, and when it is dropped.
pub(crate) struct Saver {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Saver {
    /// Starts one, if something is there to be learned.
    pub(crate) fn start(policy: &Arc<RwLock<Policy>>) -> std::io::Result<Saver> {
        let (stop, stopped) = mpsc::channel::<()>();
        let policy = Arc::clone(policy);
        let mut told = false;
        let work = move || loop {
            let last = stopped.recv_timeout(SAVE_INTERVAL) != Err(RecvTimeoutError::Timeout);
            let auto = {
                let policy = policy.read().unwrap_or_else(PoisonError::into_inner);
                policy.auto().clone()
            };
            let learned = auto.with_chooser(|chooser| chooser.prefixes() > 0);
            if learned
                && let Err(e) = save(&auto)
                && !told
            {
                told = true;
                eprintln!(
                    "windlass: auto: {}: {e}: what is learned is not kept",
                    auto.config().file
                );
            }
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
    use windlass_policy::Config;

    fn policy(file: &Path) -> Policy {
        let text = format!("version = 1\n[auto]\nfile = \"{}\"\n", file.display());
        Config::parse(&text, "w.toml").unwrap().policy()
    }

    fn prefixes(policy: &Policy) -> usize {
        policy.auto().with_chooser(|c| c.prefixes())
    }

    #[test]
    fn what_is_learned_is_there_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/auto.json");
        let first = policy(&file);
        load(first.auto());
        let transfer = windlass_engine::Transfer {
            bytes: 1_000_000,
            duration: 1_000_000_000,
        };
        first
            .auto()
            .with_chooser(|c| c.learn(7, 1, &transfer, monotonic_ns()));
        let shared = Arc::new(RwLock::new(first));
        drop(Saver::start(&shared).unwrap());
        let second = policy(&file);
        load(second.auto());
        assert_eq!(prefixes(&second), 1);
        // A damaged file loses nothing but what it had.
        fs::write(&file, "{").unwrap();
        let third = policy(&file);
        load(third.auto());
        assert_eq!(prefixes(&third), 0);
    }
}
