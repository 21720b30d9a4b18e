//! Transfers between the lab's hosts, thousands at once, by one thread that has both of their ends.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent};
use nix::sys::eventfd::EventFd;
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, connect, listen, socket,
};
use windlass_experiment::setup::server_address;
use windlass_lab::netns::Namespace;

use crate::connection::Connection;
use crate::content::Content;
use crate::lab::Lab;
use crate::transfer::{End, Transfer, Way};

/// A transfer that stands still for so long has failed.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
const EVENTS: usize = 256;
const BACKLOG: i32 = 4096;
/// Of the events that are no connection's.
const WAKE: u64 = u64::MAX;
const LISTENER: u64 = u64::MAX - 1;

/// What the thread and its masters share.
struct Shared {
    transfers: Mutex<Vec<Arc<Transfer>>>,
    wake: EventFd,
    stop: AtomicBool,
}

/// Running transfers. Dropping it breaks them off.
pub struct Load {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Result<()>>>,
    pub port: u16,
}

impl Load {
    pub fn start(lab: &Lab) -> Result<Load> {
        let (server, client) = (&lab.topology.servers[0], &lab.topology.clients[0]);
        let listener = server.inside(|| Ok(TcpListener::bind((server_address(0), 0))?))?;
        listen(&listener, Backlog::new(BACKLOG)?)?;
        listener.set_nonblocking(true)?;
        let to = listener.local_addr()?;
        let shared = Arc::new(Shared {
            transfers: Mutex::default(),
            wake: EventFd::from_flags(nix::sys::eventfd::EfdFlags::EFD_NONBLOCK)?,
            stop: AtomicBool::new(false),
        });
        let namespace = client.open()?;
        let mut ends = Ends::new(Arc::clone(&shared), listener, to)?;
        let thread = thread::Builder::new().name("load".into()).spawn(move || {
            windlass_lab::netns::enter(&namespace)?;
            ends.run()
        })?;
        Ok(Load {
            shared,
            thread: Some(thread),
            port: to.port(),
        })
    }

    /// Begins a transfer of so many bytes, or an endless one.
    pub fn begin(&self, way: Way, bytes: Option<u64>) -> Arc<Transfer> {
        let mut all = self.shared.transfers.lock().expect("no panic");
        let transfer = Arc::new(Transfer::new(all.len() as u64, way, bytes));
        all.push(Arc::clone(&transfer));
        drop(all);
        let _ = self.shared.wake.write(1);
        transfer
    }

    /// All transfers that have been begun.
    pub fn begun(&self) -> Vec<Arc<Transfer>> {
        self.shared.transfers.lock().expect("no panic").clone()
    }

    pub fn begin_many(&self, count: usize, way: Way, bytes: Option<u64>) -> Vec<Arc<Transfer>> {
        (0..count).map(|_| self.begin(way, bytes)).collect()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        let _ = self.shared.wake.write(1);
        if let Some(thread) = self.thread.take()
            && let Ok(Err(e)) = thread.join()
        {
            eprintln!("the load's thread: {e:#}");
        }
    }
}

/// All connections, both ends of each.
struct Ends {
    shared: Arc<Shared>,
    epoll: Epoll,
    listener: TcpListener,
    to: SocketAddr,
    content: Content,
    /// As the masters had them last.
    transfers: Vec<Arc<Transfer>>,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
}

impl Ends {
    fn new(shared: Arc<Shared>, listener: TcpListener, to: SocketAddr) -> Result<Ends> {
        use nix::sys::epoll::EpollFlags;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER))?;
        epoll.add(&shared.wake, EpollEvent::new(EpollFlags::EPOLLIN, WAKE))?;
        Ok(Ends {
            shared,
            epoll,
            listener,
            to,
            content: Content::new(),
            transfers: Vec::new(),
            connections: Vec::new(),
            free: Vec::new(),
        })
    }

    fn run(&mut self) -> Result<()> {
        let mut events = [EpollEvent::empty(); EVENTS];
        let mut looked = Instant::now();
        while !self.shared.stop.load(Ordering::Acquire) {
            let ready = match self
                .epoll
                .wait(&mut events, LOOK_INTERVAL.as_millis() as u16)
            {
                Ok(ready) => ready,
                Err(Errno::EINTR) => 0,
                Err(e) => return Err(e.into()),
            };
            for event in &events[..ready] {
                match event.data() {
                    WAKE => self.dial()?,
                    LISTENER => self.accept()?,
                    token => self.advance(token as usize)?,
                }
            }
            if looked.elapsed() >= LOOK_INTERVAL {
                looked = Instant::now();
                self.give_up_the_silent();
            }
        }
        Ok(())
    }

    fn dial(&mut self) -> Result<()> {
        let _ = self.shared.wake.read();
        let known = self.transfers.len();
        let all = self.shared.transfers.lock().expect("no panic");
        self.transfers.extend_from_slice(&all[known..]);
        drop(all);
        for number in known..self.transfers.len() {
            let transfer = Arc::clone(&self.transfers[number]);
            match connecting(self.to) {
                Ok(socket) => {
                    transfer.note_port(socket.local_addr()?.port());
                    self.take_in(Connection::dialled(socket, transfer))?;
                }
                Err(e) => transfer.conclude(Some(format!("connect: {e:#}"))),
            }
        }
        Ok(())
    }

    fn accept(&mut self) -> Result<()> {
        while let Ok((socket, _)) = self.listener.accept() {
            socket.set_nonblocking(true)?;
            self.take_in(Connection::accepted(socket))?;
        }
        Ok(())
    }

    fn take_in(&mut self, connection: Connection) -> Result<()> {
        let slot = self.free.pop().unwrap_or(self.connections.len());
        let event = EpollEvent::new(connection.interest(), slot as u64);
        self.epoll.add(&connection.socket, event)?;
        match self.connections.get_mut(slot) {
            Some(place) => *place = Some(connection),
            None => self.connections.push(Some(connection)),
        }
        Ok(())
    }

    fn advance(&mut self, slot: usize) -> Result<()> {
        let Some(connection) = self.connections.get_mut(slot).and_then(Option::as_mut) else {
            return Ok(());
        };
        let before = connection.interest();
        connection.advance(&self.content, &self.transfers);
        if connection.is_over() {
            self.remove(slot);
        } else if connection.interest() != before {
            let mut event = EpollEvent::new(connection.interest(), slot as u64);
            self.epoll.modify(&connection.socket, &mut event)?;
        }
        Ok(())
    }

    /// Closing the socket takes it out of the epoll set.
    fn remove(&mut self, slot: usize) {
        self.connections[slot] = None;
        self.free.push(slot);
    }

    /// Both ends of a transfer that has failed go, and those of one that stands still.
    fn give_up_the_silent(&mut self) {
        for slot in 0..self.connections.len() {
            let Some(connection) = &mut self.connections[slot] else {
                continue;
            };
            let Some(transfer) = connection.transfer.clone() else {
                continue;
            };
            let failed = matches!(transfer.end(), Some(End::Failed(_)));
            if !failed && transfer.end().is_none() && transfer.silent_for() > PATIENCE {
                connection.fail("it stands still");
            }
            if failed || connection.is_over() {
                self.remove(slot);
            }
        }
    }
}

/// A socket that has begun to connect.
fn connecting(to: SocketAddr) -> Result<TcpStream> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let fd: OwnedFd = socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
    match connect(
        std::os::fd::AsRawFd::as_raw_fd(&fd),
        &SockaddrStorage::from(to),
    ) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(fd.into()),
        Err(e) => Err(e).context("connect"),
    }
}

/// Runs a flood's or a program's thread in a namespace.
pub fn spawn_inside<T: Send + 'static>(
    namespace: &Namespace,
    name: &str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<JoinHandle<Result<T>>> {
    let file = namespace.open()?;
    let thread = thread::Builder::new().name(name.to_owned());
    Ok(thread.spawn(move || {
        windlass_lab::netns::enter(&file)?;
        work()
    })?)
}
