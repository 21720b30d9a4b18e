//! One Windlass for an interface.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::geteuid;

use crate::RunError;

/// The interfaces are this process's as long as it lives. Each is claimed by a socket with an abstract
/// name, which belongs to the network namespace, as interfaces do, and goes with the process.
pub(crate) struct InterfaceClaim(#[allow(dead_code, reason = "held, not used")] Vec<UnixListener>);

impl InterfaceClaim {
    /// # Errors
    /// [`RunError::InterfaceTaken`].
    pub(crate) fn claim(names: [&str; 2]) -> Result<InterfaceClaim, RunError> {
        let mut claimed = Vec::new();
        for name in names {
            let Ok(address) = SocketAddr::from_abstract_name(format!("windlass/{name}")) else {
                continue;
            };
            match UnixListener::bind_addr(&address) {
                Ok(listener) => claimed.push(listener),
                Err(e) if e.kind() == io::ErrorKind::AddrInUse => {
                    if let Some(pid) = claimant(&address) {
                        let name = name.to_owned();
                        return Err(RunError::InterfaceTaken { name, pid });
                    }
                }
                // It protects against a mistake; without it nothing is wrong.
                Err(_) => {}
            }
        }
        Ok(InterfaceClaim(claimed))
    }
}

/// Who has the name, unless it is somebody who could not govern anything: any user can make such sockets.
fn claimant(address: &SocketAddr) -> Option<i32> {
    let stream = UnixStream::connect_addr(address).ok()?;
    let peer = getsockopt(&stream, PeerCredentials).ok()?;
    let may_govern = peer.uid() == 0 || peer.uid() == geteuid().as_raw();
    may_govern.then(|| peer.pid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_has_one_windlass_until_that_ends() {
        let name = |n: u32| format!("sole{n}-{}", std::process::id());
        let [a, b, c] = [1, 2, 3].map(name);
        let first = InterfaceClaim::claim([&a, &b]).unwrap();
        match InterfaceClaim::claim([&c, &b]).err() {
            Some(RunError::InterfaceTaken { name, pid }) => {
                assert_eq!((name, pid as u32), (b.clone(), std::process::id()));
            }
            other => panic!("{other:?}"),
        }
        drop(first);
        assert!(InterfaceClaim::claim([&c, &b]).is_ok());
    }
}
