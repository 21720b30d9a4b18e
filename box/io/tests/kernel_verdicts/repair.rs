//! The initial sequence number of a connection that the kernel opens, chosen by us (`TCP_REPAIR`,
//! tcp(7)): the number at which a repaired socket would go on is the first of one that connects.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

const SEND_QUEUE: libc::c_int = 2;

/// Makes a socket that is not connected begin with this number.
pub fn begin_with(socket: &impl AsFd, sequence: u32) -> io::Result<()> {
    set(socket, libc::TCP_REPAIR, 1)?;
    set(socket, libc::TCP_REPAIR_QUEUE, SEND_QUEUE)?;
    set(socket, libc::TCP_QUEUE_SEQ, sequence as libc::c_int)?;
    set(socket, libc::TCP_REPAIR, 0)
}

fn set(socket: &impl AsFd, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: pointer and length describe `value`, which the kernel only reads. (The nix crate has
    // no options of these names.)
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            name,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
