//! Between two processes on one machine: messages, with descriptors.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg,
    sendmsg, socketpair,
};

/// Longest message, bytes.
const MESSAGE_MAX_BYTES: usize = 1 << 17;
/// Descriptors with one message: the kernel's `SCM_MAX_FD`.
pub const DESCRIPTORS_MAX: usize = 253;

/// One end.
#[derive(Debug)]
pub struct Channel(OwnedFd);

impl Channel {
    /// Both ends; the second is for the other process, and is inherited by none.
    ///
    /// # Errors
    /// The kernel's.
    pub fn pair() -> io::Result<(Channel, OwnedFd)> {
        let (near, far) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        Ok((Channel(near), far))
    }

    /// The end that another process has made.
    pub fn of(fd: OwnedFd) -> Channel {
        Channel(fd)
    }

    /// Sends a message with copies of these descriptors.
    ///
    /// # Errors
    /// The kernel's; the message or the number of descriptors is too large.
    pub fn send(&self, message: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        if message.len() > MESSAGE_MAX_BYTES || descriptors.len() > DESCRIPTORS_MAX {
            return Err(io::Error::other("too much for one message"));
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        let parts = [IoSlice::new(message)];
        sendmsg(&self.0, &parts, &mut ancillary, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// The next message and its descriptors.
    ///
    /// # Errors
    /// `TimedOut`, `UnexpectedEof` when the other process has closed its end, the kernel's.
    pub fn receive(&self, within: Duration) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
        self.wait(Instant::now() + within)?;
        let mut message = vec![0; MESSAGE_MAX_BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut message)];
        let received = recvmsg(&self.0, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
        let mut descriptors = Vec::new();
        for control in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = control {
                descriptors.extend(rights);
            }
        }
        if received.bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if received
            .flags
            .intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC)
        {
            return Err(io::Error::other("a message was cut short"));
        }
        message.truncate(received.bytes);
        Ok((message, descriptors))
    }

    /// Returns when the other process has closed its end.
    ///
    /// # Errors
    /// `TimedOut`, the kernel's.
    pub fn wait_for_end(&self, within: Duration) -> io::Result<()> {
        match self.receive(within) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            Err(e) if e.kind() == io::ErrorKind::ConnectionReset => Ok(()),
            Err(e) => Err(e),
            Ok(_) => Err(io::Error::other("an unexpected message")),
        }
    }

    fn wait(&self, deadline: Instant) -> io::Result<()> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
            let mut fds = [PollFd::from_borrowed_fd(self.0.as_fd(), PollFlags::IN)];
            match poll(&mut fds, Some(&timeout)) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }
}

/// A file in memory with these bytes, for what is too long for a message.
///
/// # Errors
/// The kernel's.
pub fn memory_file(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("windlass state", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

/// The bytes of such a file.
///
/// # Errors
/// The kernel's.
pub fn read_memory_file(file: OwnedFd) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = File::from(file);
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(5);

    #[test]
    fn descriptors_go_along_with_a_message() {
        let (near, far) = Channel::pair().expect("a pair");
        let far = Channel::of(far);
        let files: Vec<OwnedFd> = (0u8..40)
            .map(|n| memory_file(&[n; 9]).expect("a file"))
            .collect();
        let borrowed: Vec<_> = files.iter().map(AsFd::as_fd).collect();
        near.send(b"forty", &borrowed).expect("room");
        let (message, arrived) = far.receive(SOON).expect("a message");
        assert_eq!(message, b"forty");
        assert_eq!(arrived.len(), 40);
        for (n, file) in (0u8..).zip(arrived) {
            assert_eq!(read_memory_file(file).expect("its bytes"), [n; 9]);
        }
    }

    #[test]
    fn an_end_that_is_closed_is_told_from_one_that_is_silent() {
        let (near, far) = Channel::pair().expect("a pair");
        let silent = near.receive(Duration::from_millis(10)).unwrap_err();
        assert_eq!(silent.kind(), io::ErrorKind::TimedOut);
        drop(far);
        let closed = near.receive(SOON).unwrap_err();
        assert_eq!(closed.kind(), io::ErrorKind::UnexpectedEof);
        assert!(near.wait_for_end(SOON).is_ok());
        assert!(near.send(&vec![0; MESSAGE_MAX_BYTES + 1], &[]).is_err());
    }
}
