//! The attachment of the XDP program to an interface (linux/bpf.h, `BPF_LINK_CREATE` and `BPF_LINK_UPDATE`).
//!
//! The crate that loads the program makes links as well, but their descriptors cannot be had, and another process needs
//! them to go on.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_LINK_UPDATE: libc::c_long = 29;
/// `enum bpf_attach_type`.
const BPF_XDP: u32 = 37;
/// Zeroed words behind what is said: kernels that know more of the structure read more of it.
const ATTR_WORDS: usize = 16;

/// Who runs the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RunBy {
    /// The network stack (`XDP_FLAGS_SKB_MODE`).
    Stack = 1 << 1,
    /// The network driver (`XDP_FLAGS_DRV_MODE`).
    Driver = 1 << 2,
}

/// A program at an interface. It stays there as long as somebody has the link open.
#[derive(Debug)]
pub(crate) struct Link(OwnedFd);

impl Link {
    /// Attaches a program.
    pub(crate) fn attach(program: BorrowedFd<'_>, interface: u32, by: RunBy) -> io::Result<Link> {
        let words = [program.as_raw_fd() as u32, interface, BPF_XDP, by as u32];
        let fd = bpf(BPF_LINK_CREATE, words)?;
        // SAFETY: the descriptor was just made and nobody else owns it.
        Ok(Link(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The link of another process.
    pub(crate) fn inherited(fd: OwnedFd) -> Link {
        Link(fd)
    }

    /// Puts a program in the place of the one that is attached. No packet meets neither.
    pub(crate) fn put(&self, program: BorrowedFd<'_>) -> io::Result<()> {
        let words = [self.0.as_raw_fd() as u32, program.as_raw_fd() as u32, 0, 0];
        bpf(BPF_LINK_UPDATE, words).map(drop)
    }

    /// The same link for another process.
    pub(crate) fn share(&self) -> io::Result<OwnedFd> {
        self.0.try_clone()
    }
}

fn bpf(command: libc::c_long, words: [u32; 4]) -> io::Result<i32> {
    let mut attr = [0u32; ATTR_WORDS];
    attr[..4].copy_from_slice(&words);
    // SAFETY: the kernel reads as much of `attr` as its length says; the words are no pointers.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, attr.as_ptr(), size_of_val(&attr)) };
    crate::sys::check(result as libc::c_int)
}
