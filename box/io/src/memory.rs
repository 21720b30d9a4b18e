//! Mapped memory: the UMEM, and rings shared with the kernel.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// A mapping, unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to this value alone, like a heap allocation; no thread-local state.
unsafe impl Send for Mapping {}

impl Mapping {
    /// A file in memory, zeroed, in huge pages where the system offers them, that another process can map as well.
    pub(crate) fn file(len: usize) -> io::Result<(Self, OwnedFd)> {
        // SAFETY: a valid C string.
        let fd = crate::sys::check(unsafe {
            libc::memfd_create(c"windlass frames".as_ptr(), libc::MFD_CLOEXEC)
        })?;
        // SAFETY: the descriptor was just made and nobody else owns it.
        let file = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: no pointers are passed.
        crate::sys::check(unsafe { libc::ftruncate(fd, len as libc::off_t) })?;
        let mapping = Self::map(len, libc::MAP_SHARED, fd, 0)?;
        mapping.advise(libc::MADV_HUGEPAGE);
        mapping.advise(libc::MADV_DONTDUMP);
        Ok((mapping, file))
    }

    /// Frames have other people's data in them, which is not for core dumps. Advice may be refused without harm.
    fn advise(&self, advice: i32) {
        // SAFETY: the range is mapped for as long as this is there, and neither advice changes what is in it.
        unsafe { libc::madvise(self.base.as_ptr().cast(), self.len, advice) };
    }

    /// Such a file of another process.
    pub(crate) fn of_file(file: &OwnedFd, len: usize) -> io::Result<Self> {
        let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
        // SAFETY: `found` is valid for writing.
        crate::sys::check(unsafe { libc::fstat(file.as_raw_fd(), found.as_mut_ptr()) })?;
        // SAFETY: the call has succeeded, so the kernel has written it.
        let size = unsafe { found.assume_init() }.st_size;
        if u64::try_from(size) != Ok(len as u64) {
            return Err(io::Error::other(
                "the memory of the frames has another size",
            ));
        }
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        let mapping = Self::map(len, flags, file.as_raw_fd(), 0)?;
        mapping.advise(libc::MADV_DONTDUMP);
        Ok(mapping)
    }

    /// The ring of `socket` at `offset`, shared with the kernel.
    pub(crate) fn ring(socket: &OwnedFd, len: usize, offset: libc::off_t) -> io::Result<Self> {
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        Self::map(len, flags, socket.as_raw_fd(), offset)
    }

    /// A map of a BPF program that can be mapped, from its beginning.
    pub(crate) fn shared(map: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        Self::map(len, libc::MAP_SHARED, map.as_raw_fd(), 0)
    }

    /// The 64-bit word at `offset`, which others may read and write, too. Panics when it is not inside,
    /// or not aligned.
    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.len);
        // SAFETY: inside the mapping and aligned (asserted; the base is page aligned). Everybody who
        // shares it accesses whole words.
        unsafe { &*self.base.as_ptr().add(offset).cast::<AtomicU64>() }
    }

    fn map(len: usize, flags: i32, fd: i32, offset: libc::off_t) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses the address, so no existing mapping is replaced.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, fd, offset) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { base, len })
    }

    /// Start of the mapping.
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// `len` bytes at `offset`. Panics when they are not inside.
    pub(crate) fn bytes(&self, offset: usize, len: usize) -> &[u8] {
        assert!(offset <= self.len && len <= self.len - offset);
        // SAFETY: inside the mapping (asserted), which lives as long as the borrow. The kernel
        // writes only to frames in the fill ring, of which the frame pool hands out none, and to
        // slots that the trunk has given back.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(offset), len) }
    }

    /// The same, to be written.
    pub(crate) fn bytes_mut(&mut self, offset: usize, len: usize) -> &mut [u8] {
        assert!(offset <= self.len && len <= self.len - offset);
        // SAFETY: as in `bytes`, and exclusive through the borrow. The kernel may be reading a frame
        // that is being transmitted: it then sends the old or the new bytes, as the pool documents.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().add(offset), len) }
    }

    /// Copies `len` bytes from one offset to another. Panics when they are not inside.
    pub(crate) fn copy(&mut self, from: usize, to: usize, len: usize) {
        let all = self.bytes_mut(0, self.len);
        all.copy_within(from..from + len, to);
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: base and length of a mapping that this value made and nobody can use any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}
