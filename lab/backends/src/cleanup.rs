//! What a laboratory leaves behind when it cannot clean up in the ordinary way, and signals.
//!
//! All that a lab makes carries the process id in its name, so that it can be found again: by this
//! process at the second Ctrl-C or at a panic that aborts, by the next one after a `kill -9`.

use std::path::PathBuf;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use anyhow::{Result, bail};
use tempfile::TempDir;

use crate::netns;

const PREFIX: &str = "wl-lab-";
/// What a shell reports for a process that SIGINT ended.
const EXIT_INTERRUPTED: i32 = 130;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static LABS: AtomicU32 = AtomicU32::new(0);

/// A name for the parts of one lab that no other lab has: `wl-lab-<pid>-<n>`.
pub fn lab_name() -> String {
    let number = LABS.fetch_add(1, Ordering::Relaxed);
    format!("{PREFIX}{}-{number}", std::process::id())
}

/// A temporary folder that belongs to a lab.
///
/// # Errors
/// When it cannot be made.
pub fn lab_folder(lab: &str) -> Result<TempDir> {
    Ok(tempfile::Builder::new()
        .prefix(&format!("{lab}-"))
        .tempdir()?)
}

/// Removes what labs of processes that are no more have left: namespaces, the processes in
/// them, temporary folders.
pub fn remove_stale() {
    remove(|pid| !PathBuf::from(format!("/proc/{pid}")).exists());
}

/// From now on SIGINT, SIGTERM and SIGHUP make [`check_interrupted`] fail, so that the work
/// unwinds; a second one removes everything at once and exits. So does a panic that aborts.
///
/// # Errors
/// When the process has another handler already.
pub fn catch_signals() -> Result<()> {
    static ONCE: Once = Once::new();
    let mut result = Ok(());
    ONCE.call_once(|| {
        result = ctrlc::set_handler(|| {
            if INTERRUPTED.swap(true, Ordering::Relaxed) {
                remove(|pid| pid == std::process::id());
                std::process::exit(EXIT_INTERRUPTED);
            }
        });
        #[cfg(panic = "abort")]
        {
            let report = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                report(panic);
                remove(|pid| pid == std::process::id());
            }));
        }
    });
    Ok(result?)
}

/// Whether a signal has asked for the end.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// # Errors
/// When a signal has asked for the end.
pub fn check_interrupted() -> Result<()> {
    if interrupted() {
        bail!("interrupted");
    }
    Ok(())
}

fn remove(of: impl Fn(u32) -> bool) {
    let ours = |name: &str| owner(name).is_some_and(&of);
    for name in netns::names().into_iter().filter(|n| ours(n)) {
        netns::remove(&name);
    }
    let Ok(entries) = std::fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        // A symbolic link is none of ours, and `file_type` does not follow it.
        if entry.file_type().is_ok_and(|t| t.is_dir()) && ours(&name.to_string_lossy()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// The process that gave something its name.
fn owner(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_their_owner() {
        let name = lab_name();
        assert_eq!(owner(&name), Some(std::process::id()));
        assert_eq!(owner(&format!("{name}-box")), Some(std::process::id()));
        assert_ne!(name, lab_name());
        assert_eq!(owner("wl-lab-x-box"), None);
        assert_eq!(owner("wl-other-12-box"), None);
    }

    #[test]
    fn folders_of_the_dead_go_and_those_of_the_living_stay() {
        let beyond_pid_max = u32::MAX;
        let stale = std::env::temp_dir().join(format!("{PREFIX}{beyond_pid_max}-0-x"));
        std::fs::create_dir_all(stale.join("inner")).expect("a folder");
        let living = lab_folder(&lab_name()).expect("a folder");
        remove_stale();
        assert!(!stale.exists());
        assert!(living.path().exists());
    }
}
