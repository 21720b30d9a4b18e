//! Whether anything crosses a box that says nothing of itself.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use windlass_experiment::setup::{client_address, server_address};

use crate::cleanup::check_interrupted;
use crate::emulator::Ends;
use crate::topology::Topology;

/// The discard service (RFC 863).
const DISCARD_PORT: u16 = 9;
const INTERVAL: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends packets from the first server towards the first client until one comes out of the box.
pub(super) fn wait_until_forwarding(
    topology: &Topology,
    ends: &mut Ends,
    name: &str,
) -> Result<()> {
    ends.discard();
    let socket = topology.servers[0].inside(|| {
        let socket = UdpSocket::bind((server_address(0), 0))?;
        socket.connect((client_address(0), DISCARD_PORT))?;
        Ok(socket)
    })?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        check_interrupted()?;
        socket.send(b"through?").context("cannot send a probe")?;
        std::thread::sleep(INTERVAL);
        if ends.discard() > 0 {
            return Ok(());
        }
        if Instant::now() > deadline {
            bail!("nothing crosses `{name}` within {} s", PATIENCE.as_secs());
        }
    }
}
