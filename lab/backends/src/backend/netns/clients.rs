//! The clients: one thread that fetches all transfers of all client hosts.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use anyhow::{Context, Result, bail};
use windlass_io::{monotonic_ns, separate_open_files};

use super::plan::Plan;
use super::poller::{Event, Poller};
use super::sockets::{Asked, Places, begin_connection};
use crate::cleanup::interrupted;

const BUFFER_BYTES: usize = 1 << 18;

/// What a client knows of a transfer.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    /// `CLOCK_MONOTONIC` just before `connect()`, ns; `None` if the run was over before.
    pub began_ns: Option<u64>,
    /// Until the last byte, or the cut-off.
    pub ended_ns: u64,
    pub received: u64,
    /// All has arrived, and as it was sent.
    pub intact: bool,
    pub error: Option<String>,
    /// Seconds from the start of the run, and bytes so far.
    pub arrivals: Vec<(f64, u64)>,
    pub local: Option<SocketAddr>,
    asked: bool,
    arrival_at_ns: u64,
}

impl Fetched {
    fn under_way(&self) -> bool {
        self.began_ns.is_some() && !self.over()
    }

    fn over(&self) -> bool {
        self.intact || self.error.is_some()
    }
}

struct Work<'a> {
    plan: &'a Plan,
    start_ns: u64,
    places: Places,
    poller: Poller,
    /// By their index in the plan.
    fetched: Vec<Fetched>,
    streams: &'a mut Vec<Option<TcpStream>>,
    /// In order of their start.
    waiting: std::vec::IntoIter<usize>,
    /// Those that begin when another of their group has ended.
    held_back: Vec<usize>,
    /// Foreground flows that have not ended.
    left: usize,
    buffer: Vec<u8>,
}

/// The clients' thread. It has open files of its own: of those that a process may have (`ulimit -n`), either end of a flow
/// would need one otherwise. So no socket leaves the thread.
#[derive(Debug)]
pub(super) struct Clients {
    hold: Sender<()>,
    thread: JoinHandle<()>,
}

impl Clients {
    /// Fetches all transfers, those in the background until the others have ended. The run began at
    /// `start_ns`; `clients` are the names of their namespaces. Returns early when a signal came. The connections stay.
    pub(super) fn fetch_all(
        plan: &Arc<Plan>,
        start_ns: u64,
        clients: Vec<String>,
    ) -> Result<(Vec<Fetched>, Clients)> {
        let (tell, told) = channel();
        let (hold, held) = channel::<()>();
        let plan = Arc::clone(plan);
        let work = move || {
            let mut streams = plan.flows.iter().map(|_| None).collect();
            let _ = tell.send(fetch(&plan, start_ns, &clients, &mut streams));
            // Until the other end is dropped.
            let _ = held.recv();
        };
        let named = std::thread::Builder::new().name("clients".to_owned());
        let thread = named.spawn(work)?;
        let clients = Clients { hold, thread };
        match told.recv() {
            Ok(Ok(fetched)) => Ok((fetched, clients)),
            Ok(Err(e)) => clients.break_connections().and(Err(e)),
            Err(_) => bail!("the clients' thread panicked"),
        }
    }

    /// Resets all connections.
    pub(super) fn break_connections(self) -> Result<()> {
        drop(self.hold);
        match self.thread.join() {
            Ok(()) => Ok(()),
            Err(_) => bail!("the clients' thread panicked"),
        }
    }
}

fn fetch(
    plan: &Plan,
    start_ns: u64,
    clients: &[String],
    streams: &mut Vec<Option<TcpStream>>,
) -> Result<Vec<Fetched>> {
    separate_open_files().context("no open files of its own for a thread")?;
    Work::new(plan, start_ns, Places::open(clients)?, streams)?.run()
}

impl<'a> Work<'a> {
    fn new(
        plan: &'a Plan,
        start_ns: u64,
        places: Places,
        streams: &'a mut Vec<Option<TcpStream>>,
    ) -> Result<Work<'a>> {
        let has_time = |index: &usize| plan.flows[*index].start_ns.is_some();
        let (mut waiting, held_back): (Vec<_>, Vec<_>) = (0..plan.flows.len()).partition(has_time);
        waiting.sort_by_key(|index| plan.flows[*index].start_ns);
        Ok(Work {
            plan,
            start_ns,
            places,
            poller: Poller::new()?,
            fetched: plan.flows.iter().map(|_| Fetched::default()).collect(),
            streams,
            waiting: waiting.into_iter(),
            held_back,
            left: plan.flows.iter().filter(|flow| !flow.background).count(),
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    fn run(mut self) -> Result<Vec<Fetched>> {
        let deadline = self.start_ns + self.plan.limit_ns;
        let fixed_length = self.plan.fixed_length;
        while (self.left > 0 || fixed_length) && monotonic_ns() < deadline && !interrupted() {
            let next = self.start_due();
            for event in self
                .poller
                .wait(Some(next.map_or(deadline, |at| at.min(deadline))))?
            {
                self.attend(event);
            }
        }
        let now = monotonic_ns();
        let flows = self.plan.flows.iter();
        for (fetched, flow) in self
            .fetched
            .iter_mut()
            .zip(flows)
            .filter(|(f, _)| !f.over())
        {
            fetched.ended_ns = now;
            if !flow.background && !fixed_length {
                let limit = self.plan.limit_ns as f64 / 1e9;
                fetched.error = Some(format!(
                    "cut off at the time limit of {limit} s, after {} of {} bytes",
                    fetched.received, flow.bytes
                ));
            }
        }
        Ok(self.fetched)
    }

    /// Starts what is due. When the next one is.
    fn start_due(&mut self) -> Option<u64> {
        while let Some(&flow) = self.waiting.as_slice().first() {
            let at = self.start_ns + self.plan.flows[flow].start_ns.unwrap_or(0);
            if at > monotonic_ns() {
                return Some(at);
            }
            self.waiting.next();
            if let Err(e) = self.begin(flow) {
                self.fail(flow, format!("{e:#}"));
            }
        }
        None
    }

    /// One has ended, well or not: the next of its group begins.
    fn over(&mut self, flow: usize) {
        self.left -= usize::from(!self.plan.flows[flow].background);
        let group = self.plan.flows[flow].group;
        let of_group = |index: &usize| self.plan.flows[*index].group == group;
        while let Some(at) = self.held_back.iter().position(of_group) {
            let next = self.held_back.remove(at);
            match self.begin(next) {
                Ok(()) => return,
                Err(e) => self.note_failure(next, format!("{e:#}")),
            }
            self.left -= usize::from(!self.plan.flows[next].background);
        }
    }

    fn begin(&mut self, flow: usize) -> Result<()> {
        let asked = &self.plan.flows[flow];
        self.places.enter(asked.client)?;
        let fetched = &mut self.fetched[flow];
        let began_ns = monotonic_ns();
        fetched.began_ns = Some(began_ns);
        fetched.arrival_at_ns = began_ns;
        let stream = begin_connection(asked.server_socket(), &asked.client_congestion_control)?;
        self.poller.add(&stream, flow as u64)?;
        self.streams[flow] = Some(stream);
        Ok(())
    }

    fn attend(&mut self, event: Event) {
        let flow = event.token as usize;
        if !self.fetched[flow].under_way() {
            return;
        }
        match self.advance(flow, event) {
            Ok(()) => {}
            Err(e) => self.fail(flow, format!("{e:#}")),
        }
    }

    fn advance(&mut self, flow: usize, event: Event) -> Result<()> {
        let fetched = &mut self.fetched[flow];
        let Some(stream) = &mut self.streams[flow] else {
            return Ok(());
        };
        if !fetched.asked && event.writable {
            if let Some(e) = stream.take_error()? {
                return Err(e.into());
            }
            fetched.local = stream.local_addr().ok();
            Asked::write(stream, flow)?;
            fetched.asked = true;
        }
        if event.readable || event.ended {
            self.read(flow, event.ended)?;
        }
        Ok(())
    }

    /// Reads and checks what has come.
    fn read(&mut self, flow: usize, to_the_end: bool) -> Result<()> {
        let fetched = &mut self.fetched[flow];
        let Some(stream) = &mut self.streams[flow] else {
            return Ok(());
        };
        let whole = self.plan.flows[flow].bytes;
        loop {
            let count = match stream.read(&mut self.buffer) {
                Ok(0) => bail!(
                    "the server ended after {} of {whole} bytes",
                    fetched.received
                ),
                Ok(count) => count,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => bail!("{e}, after {} of {whole} bytes", fetched.received),
            };
            let now = monotonic_ns();
            let came = &self.buffer[..count];
            if let Some(at) = self.plan.pattern.difference(flow, fetched.received, came) {
                bail!("byte {at} is not the one that was sent");
            }
            fetched.received += count as u64;
            if fetched.received > whole {
                bail!("{} bytes came, {whole} were asked for", fetched.received);
            }
            let interval = self.plan.series_interval_ns;
            let complete = fetched.received == whole;
            if interval > 0 && (now >= fetched.arrival_at_ns || complete) {
                let since = (now - self.start_ns) as f64 / 1e9;
                fetched.arrivals.push((since, fetched.received));
                fetched.arrival_at_ns = now - now % interval + interval;
            }
            if complete {
                fetched.intact = true;
                fetched.ended_ns = now;
                self.over(flow);
                return Ok(());
            }
            if count < BUFFER_BYTES && !to_the_end {
                return Ok(());
            }
        }
    }

    fn fail(&mut self, flow: usize, error: String) {
        self.note_failure(flow, error);
        self.over(flow);
    }

    fn note_failure(&mut self, flow: usize, error: String) {
        let fetched = &mut self.fetched[flow];
        fetched.error = Some(error);
        fetched.ended_ns = monotonic_ns();
        self.streams[flow] = None;
    }
}
