//! Sockets of servers and clients.

use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::libc::linger;
use nix::sys::socket::sockopt::{Linger, ReuseAddr, TcpCongestion};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, connect, getsockopt, listen,
    setsockopt, socket,
};
use windlass_experiment::Setup;
use windlass_experiment::setup::server_address;

use super::plan::{PORT, Plan};
use crate::netns;
use crate::topology::Topology;

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// A connection that is dropped is reset: nothing of it is left for the next run.
const RESET: linger = linger {
    l_onoff: 1,
    l_linger: 0,
};

/// A listener on every server with the host's own congestion control. Whether the kernel has all
/// that the plan needs is known then.
pub(super) fn listeners(
    topology: &Topology,
    setup: &Setup,
    plan: &Plan,
) -> Result<Vec<TcpListener>> {
    let mut all = Vec::new();
    for (index, (namespace, host)) in topology.servers.iter().zip(&setup.servers).enumerate() {
        let at = SocketAddrV4::new(server_address(index), PORT);
        let mut needed: Vec<&str> = plan
            .flows
            .iter()
            .filter(|flow| flow.server == index)
            .map(|flow| flow.congestion_control.as_str())
            .collect();
        needed.sort_unstable();
        needed.dedup();
        let listener = namespace.inside(|| {
            for name in needed {
                set_congestion_control(&tcp_socket()?, name)?;
            }
            let fd = tcp_socket()?;
            set_congestion_control(&fd, &host.congestion_control)?;
            setsockopt(&fd, ReuseAddr, &true)?;
            bind(fd.as_raw_fd(), &SockaddrIn::from(at))?;
            listen(&fd, Backlog::MAXALLOWABLE)?;
            Ok(TcpListener::from(fd))
        });
        all.push(listener.with_context(|| format!("server {index}"))?);
    }
    Ok(all)
}

/// The next connection, if one waits.
pub(super) fn accept(listener: &TcpListener) -> Result<Option<TcpStream>> {
    match listener.accept() {
        Ok((stream, _)) => {
            stream.set_nonblocking(true)?;
            setsockopt(&stream, Linger, &RESET)?;
            Ok(Some(stream))
        }
        // The client of a connection that waited may have given up.
        Err(e) if is_later(&e) || e.kind() == ErrorKind::ConnectionAborted => Ok(None),
        Err(e) => Err(e).context("a server cannot accept (see `ulimit -n`)"),
    }
}

/// Begins to connect, in the calling thread's network namespace.
pub(super) fn begin_connection(
    to: SocketAddrV4,
    own_congestion_control: &str,
) -> Result<TcpStream> {
    let fd = tcp_socket()?;
    set_congestion_control(&fd, own_congestion_control)?;
    setsockopt(&fd, Linger, &RESET)?;
    match connect(fd.as_raw_fd(), &SockaddrIn::from(to)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(TcpStream::from(fd)),
        Err(e) => Err(e).with_context(|| format!("cannot connect to {to}")),
    }
}

fn tcp_socket() -> Result<OwnedFd> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let made = socket(AddressFamily::Inet, SockType::Stream, flags, None);
    made.context("cannot make a socket (see `ulimit -n`)")
}

/// Sets the congestion control of a socket, unless it has it, and reads it back.
pub(super) fn set_congestion_control(socket: &impl AsFd, name: &str) -> Result<()> {
    let fd = socket.as_fd();
    if congestion_control(&fd)? == name {
        return Ok(());
    }
    setsockopt(&fd, TcpCongestion, &OsString::from(name)).with_context(|| {
        let available = std::fs::read_to_string(AVAILABLE).unwrap_or_default();
        let available = available.trim();
        format!(
            "the kernel refuses the congestion control {name:?} (it has: {available}; others may \
             be had by: modprobe tcp_{name})"
        )
    })?;
    let kept = congestion_control(&fd)?;
    if kept != name {
        bail!("the socket uses {kept}, not {name}");
    }
    Ok(())
}

fn congestion_control(fd: &impl AsFd) -> Result<String> {
    let name = getsockopt(fd, TcpCongestion)?;
    let name = name.to_string_lossy();
    Ok(name.trim_end_matches('\0').to_owned())
}

/// What a client asks for: a flow, by its number.
#[derive(Debug, Default)]
pub(super) struct Asked {
    bytes: [u8; 8],
    read: usize,
}

impl Asked {
    /// Asks. So few bytes always fit into a fresh socket.
    pub(super) fn write(stream: &mut TcpStream, flow: usize) -> std::io::Result<()> {
        stream.write_all(&(flow as u64).to_be_bytes())
    }

    /// Reads on. The flow, once it is known.
    pub(super) fn read(&mut self, stream: &mut TcpStream) -> Result<Option<usize>> {
        while self.read < self.bytes.len() {
            match stream.read(&mut self.bytes[self.read..]) {
                Ok(0) => bail!("the client went away"),
                Ok(count) => self.read += count,
                Err(e) if is_later(&e) => return Ok(None),
                Err(e) => return Err(e.into()),
            }
        }
        Ok(self.flow())
    }

    /// The flow, once it is known.
    pub(super) fn flow(&self) -> Option<usize> {
        let whole = self.read == self.bytes.len();
        whole.then(|| u64::from_be_bytes(self.bytes) as usize)
    }
}

/// There is nothing now. An interrupted call comes back with the next event.
fn is_later(e: &std::io::Error) -> bool {
    e.kind() == ErrorKind::WouldBlock
}

/// Namespaces, to be entered again and again by one thread.
#[derive(Debug)]
pub(super) struct Places {
    files: Vec<File>,
    now: Option<usize>,
}

impl Places {
    /// Those with these names.
    pub(super) fn open(names: &[String]) -> Result<Places> {
        let files = names.iter().map(|name| netns::open(name));
        Ok(Places {
            files: files.collect::<Result<_>>()?,
            now: None,
        })
    }

    /// Moves the calling thread into the one with this index.
    pub(super) fn enter(&mut self, index: usize) -> Result<()> {
        if self.now != Some(index) {
            let file = self.files.get(index);
            let file = file.with_context(|| format!("there is no client {index}"))?;
            netns::enter(file).context("cannot enter a client's network namespace")?;
            self.now = Some(index);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_congestion_control_that_is_not_there_is_refused_with_a_remedy() {
        let fd = tcp_socket().expect("a socket");
        let own = congestion_control(&fd).expect("a name");
        set_congestion_control(&fd, &own).expect("its own");
        let error = set_congestion_control(&fd, "no_such").expect_err("none");
        let text = format!("{error:#}");
        assert!(
            text.contains("modprobe tcp_no_such") && text.contains(&own),
            "{text}"
        );
    }

    #[test]
    fn a_request_in_pieces() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let to = listener.local_addr().expect("bound");
        let mut client = TcpStream::connect(to).expect("a client");
        let (mut server, _) = listener.accept().expect("a server");
        server.set_nonblocking(true).expect("set");
        let mut asked = Asked::default();
        assert_eq!(asked.read(&mut server).expect("nothing"), None);
        let bytes = 0x0102u64.to_be_bytes();
        client.set_nodelay(true).expect("set");
        for part in [&bytes[..5], &bytes[5..]] {
            assert_eq!(asked.flow(), None);
            client.write_all(part).expect("sent");
            while asked.read < 5 || asked.flow().is_none() && part.len() == 3 {
                asked.read(&mut server).expect("read");
            }
        }
        assert_eq!(asked.flow(), Some(0x0102));
        drop(client);
        let mut none = Asked::default();
        let gone = std::iter::repeat_with(|| none.read(&mut server)).find(|r| r.is_err());
        assert!(gone.is_some());
    }
}
