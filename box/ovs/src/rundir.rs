//! Where the daemons of Open vSwitch are.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use anyhow::{Context, Result};

/// Where their sockets are, unless `OVS_RUNDIR` says otherwise.
const RUNDIR: &str = "/var/run/openvswitch";

/// The folder of the daemons' sockets.
pub(crate) fn rundir() -> PathBuf {
    std::env::var_os("OVS_RUNDIR").map_or_else(|| PathBuf::from(RUNDIR), PathBuf::from)
}

/// That ovs-vswitchd answers for a bridge, without a program being run.
///
/// # Errors
/// When it does not.
pub(crate) fn check_answering(bridge: &str) -> Result<()> {
    let socket = rundir().join(format!("{bridge}.mgmt"));
    UnixStream::connect(&socket).with_context(|| {
        let socket = socket.display();
        format!("ovs-vswitchd does not answer for bridge {bridge} at {socket}: does it run?")
    })?;
    Ok(())
}
