//! One at a time: attaching, detaching and repairing.

use std::fs::File;

use anyhow::{Context, Result};

use crate::rundir::rundir;

/// Waits until nobody else changes attachments of this Open vSwitch. Ends when dropped, and with
/// the process. The folder of its sockets itself is locked: nothing is left behind.
///
/// # Errors
/// When there is no such folder: Open vSwitch does not run.
pub(crate) fn lock() -> Result<File> {
    let folder = rundir();
    let file = File::open(&folder).with_context(|| {
        format!(
            "Open vSwitch does not run: no folder {} (OVS_RUNDIR names another)",
            folder.display()
        )
    })?;
    file.lock()
        .with_context(|| format!("cannot lock {}", folder.display()))?;
    Ok(file)
}
