//! One end of a wire is a kernel's, the other ours: frames go out and come in as they are.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sched::{CpuSet, sched_getcpu, sched_setaffinity};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, connect, listen, socket,
};
use nix::unistd::Pid;
use windlass_io::interface::Interface;
use windlass_io::packet;

use super::drops::{Dropped, Drops, MARKER};
use super::lab::{A, B, Lab};
use super::random::Random;
use super::repair;

/// Where the kernel listens.
pub const PORT: u16 = 5000;
/// What the kernel takes for the MAC address of the other end. It is not that of the interface, so
/// that the network stack which that has ignores all that comes.
pub const PEER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 0x99];

/// Challenge ACKs and answers to what is out of window are not rationed (RFC 5961 §7).
const SETTINGS: [(&str, &str); 5] = [
    ("tcp_invalid_ratelimit", "0"),
    ("tcp_challenge_ack_limit", "2147483647"),
    ("tcp_syncookies", "0"),
    ("tcp_max_syn_backlog", "100000"),
    ("tcp_ecn", "0"),
];

/// The wire, for a thread that stays in the kernel's namespace and on one processor.
pub struct Bench {
    pub random: Random,
    pub listener: TcpListener,
    pub mac: [u8; 6],
    wire: packet::Interface,
    drops: Drops,
    ports: u16,
    marker: Vec<u8>,
}

impl Bench {
    /// Runs `work` with a wire of its own; `None`, with the reason printed, where that cannot be.
    pub fn with<T: Send + 'static>(
        seed: u64,
        work: impl FnOnce(&mut Bench) -> T + Send + 'static,
    ) -> Option<T> {
        let lab = Lab::new(1500)?;
        let peer = PEER_MAC.map(|byte| format!("{byte:02x}")).join(":");
        let far = B.to_string();
        let neighbour = [
            "neigh",
            "add",
            &far,
            "lladdr",
            &peer,
            "dev",
            "a0",
            "nud",
            "permanent",
        ];
        lab.ip("a", &neighbour);
        // Every ACK at once.
        let route = [
            "route",
            "replace",
            "10.79.0.0/24",
            "dev",
            "a0",
            "quickack",
            "1",
        ];
        lab.ip("a", &route);
        let wire = lab.within("m", || packet::Interface::open("a1"));
        let wire = wire.expect("a packet socket");
        lab.within("a", move || match Bench::open(seed, wire) {
            Ok(mut bench) => Some(work(&mut bench)),
            Err(reason) => {
                eprintln!("skipped: {reason}");
                None
            }
        })
    }

    fn open(seed: u64, wire: packet::Interface) -> Result<Bench, String> {
        for (name, value) in SETTINGS {
            let path = format!("/proc/sys/net/ipv4/{name}");
            fs::write(&path, value).map_err(|e| format!("{path}: {e}"))?;
        }
        // What is sent over a veth pair is received on the same processor, within the call.
        let processor = sched_getcpu().map_err(|e| e.to_string())?;
        let mut here = CpuSet::new();
        let pinned = here
            .set(processor)
            .and_then(|()| sched_setaffinity(Pid::from_raw(0), &here));
        pinned.map_err(|e| e.to_string())?;
        let listener = TcpListener::bind((A, PORT)).map_err(|e| e.to_string())?;
        // Handshakes that a segment has left half-open stay for a while.
        let backlog = Backlog::new(4096).map_err(|e| e.to_string())?;
        listen(&listener, backlog).map_err(|e| e.to_string())?;
        listener.set_nonblocking(true).map_err(|e| e.to_string())?;
        let own = Interface::get("a0").map_err(|e| e.to_string())?;
        let mac = own.mac.ok_or("no MAC address")?;
        let mut marker = [&mac[..], &PEER_MAC, &MARKER.to_be_bytes()].concat();
        marker.resize(60, 0);
        Ok(Bench {
            random: Random(seed),
            listener,
            mac,
            wire,
            drops: Drops::watch(processor)?,
            ports: 1024,
            marker,
        })
    }

    /// A port of ours that no connection has had for long.
    pub fn port(&mut self) -> u16 {
        self.ports = if self.ports == 60_000 {
            1024
        } else {
            self.ports + 1
        };
        self.ports
    }

    /// Gives the kernel a frame; what it dropped by the time that it had dealt with it.
    pub fn give(&mut self, frame: &[u8]) -> Vec<Dropped> {
        // What has gone before is not of interest: the queues of sockets that were closed.
        assert!(self.wire.send(&self.marker).expect("send"));
        self.drops.until_marker();
        assert!(self.wire.send(frame).expect("send"));
        assert!(self.wire.send(&self.marker).expect("send"));
        self.drops.until_marker()
    }

    /// The next frame that the kernel has sent.
    pub fn take(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let received = self.wire.recv(buffer).expect("receive");
        received.map(|received| received.len)
    }

    /// A socket of the kernel's that connects to this port of ours, with this initial sequence
    /// number if there is one.
    pub fn connect(&self, port: u16, sequence: Option<u32>) -> OwnedFd {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Inet, SockType::Stream, flags, None).expect("a socket");
        if let Some(sequence) = sequence {
            repair::begin_with(&socket, sequence).expect("TCP_REPAIR");
        }
        let SocketAddr::V4(to) = SocketAddr::from((B, port)) else {
            unreachable!("an IPv4 address");
        };
        let connecting = connect(socket.as_raw_fd(), &SockaddrIn::from(to));
        assert_eq!(connecting, Err(nix::errno::Errno::EINPROGRESS));
        socket
    }
}

/// What the kernel has counted in this thread's namespace (`nstat`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counted {
    /// Connections that were reset before they were established.
    pub embryonic_resets: u64,
    /// Challenge ACKs sent (RFC 5961).
    pub challenges: u64,
}

impl Counted {
    pub fn now() -> Counted {
        let text = fs::read_to_string("/proc/thread-self/net/netstat").expect("netstat");
        let mut lines = text.lines().filter(|line| line.starts_with("TcpExt:"));
        let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
        let value = |name: &str| {
            let mut pairs = names.split(' ').zip(values.split(' '));
            let found = pairs.find(|(n, _)| *n == name).expect("listed");
            found.1.parse().expect("a number")
        };
        Counted {
            embryonic_resets: value("EmbryonicRsts"),
            challenges: value("TCPChallengeACK"),
        }
    }
}
