//! One at a time: attaching, detaching and repairing.

use std::fs::File;
use std::path::PathBuf;

use anyhow::{Context, Result};

/// Where the daemons of Open vSwitch have their sockets, unless `OVS_RUNDIR` says otherwise.
const RUNDIR: &str = "/var/run/openvswitch";

/// The folder of the daemons' sockets.
fn rundir() -> PathBuf {
    std::env::var_os("OVS_RUNDIR").map_or_else(|| PathBuf::from(RUNDIR), PathBuf::from)
}

/// Waits until nobody else changes attachments of this Open vSwitch. Ends when dropped, and with
/// the process. The folder itself is locked: nothing is left behind.
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
