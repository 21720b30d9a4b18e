//! The servers: one thread that serves all connections of all server hosts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{PipeReader, PipeWriter, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::{Result, anyhow};
use windlass_experiment::observed::Sample;
use windlass_io::monotonic_ns;
use windlass_io::tcp_info::TcpInfo;

use super::plan::Plan;
use super::poller::{Event, Poller};
use super::samples;
use super::sockets::{Asked, accept, set_congestion_control};

/// How long after the end of the transfers their last ACKs may take, ns.
const SETTLE_MAX_NS: u64 = 2_000_000_000;
const SETTLE_CHECK_NS: u64 = 2_000_000;

/// What a server knows of a transfer.
#[derive(Debug)]
pub(super) struct Served {
    /// Index in the plan.
    pub flow: usize,
    /// At the end.
    pub info: Option<TcpInfo>,
    pub samples: Vec<Sample>,
    pub error: Option<String>,
    stream: Option<TcpStream>,
}

impl Served {
    /// Resets the connection.
    pub(super) fn break_connection(&mut self) {
        self.stream = None;
    }
}

/// All servers at work.
#[derive(Debug)]
pub(super) struct Servers {
    finish: PipeWriter,
    thread: JoinHandle<Result<Vec<Served>>>,
}

impl Servers {
    /// Serves what comes to the listeners. The run began at `start_ns`.
    pub(super) fn start(
        listeners: Vec<TcpListener>,
        plan: Arc<Plan>,
        start_ns: u64,
    ) -> Result<Servers> {
        let (finished, finish) = std::io::pipe()?;
        let named = std::thread::Builder::new().name("servers".to_owned());
        let thread = named.spawn(move || Work::new(listeners, plan, start_ns)?.run(finished))?;
        Ok(Servers { finish, thread })
    }

    /// Waits for the last ACKs of what has been sent, and tells of every transfer that was asked
    /// for.
    pub(super) fn finish(self) -> Result<Vec<Served>> {
        drop(self.finish);
        let ended = self.thread.join();
        ended.map_err(|_| anyhow!("the servers' thread panicked"))?
    }
}

struct Connection {
    stream: TcpStream,
    asked: Asked,
    sent: u64,
    /// Where the writing stops next.
    until: u64,
    /// Between two writes.
    pausing: bool,
    /// Everything has been written.
    complete: bool,
    samples: Vec<Sample>,
    error: Option<String>,
}

struct Work {
    plan: Arc<Plan>,
    start_ns: u64,
    listeners: Vec<TcpListener>,
    poller: Poller,
    connections: Vec<Connection>,
    /// When which connection goes on writing.
    resumes: BinaryHeap<Reverse<(u64, usize)>>,
    sample_at: Option<u64>,
}

const FINISH: u64 = 0;
const LISTENERS: u64 = 1;

impl Work {
    fn new(listeners: Vec<TcpListener>, plan: Arc<Plan>, start_ns: u64) -> Result<Work> {
        let poller = Poller::new()?;
        for (token, listener) in (LISTENERS..).zip(&listeners) {
            poller.add(listener, token)?;
        }
        Ok(Work {
            start_ns,
            listeners,
            poller,
            connections: Vec::new(),
            resumes: BinaryHeap::new(),
            sample_at: (plan.series_interval_ns > 0).then_some(start_ns),
            plan,
        })
    }

    fn run(mut self, finished: PipeReader) -> Result<Vec<Served>> {
        self.poller.add(&finished, FINISH)?;
        let mut finishing = false;
        while !finishing {
            let resume = self.resumes.peek().map(|Reverse((at, _))| *at);
            let until = resume.into_iter().chain(self.sample_at).min();
            for event in self.poller.wait(until)? {
                finishing |= event.token == FINISH;
                self.handle(event)?;
            }
            self.on_time();
        }
        self.settle()?;
        let tell = |connection: Connection| {
            Some(Served {
                flow: connection.asked.flow()?,
                info: TcpInfo::of(&connection.stream).ok(),
                samples: connection.samples,
                error: connection.error,
                stream: Some(connection.stream),
            })
        };
        Ok(self.connections.into_iter().filter_map(tell).collect())
    }

    fn handle(&mut self, event: Event) -> Result<()> {
        let connections = LISTENERS + self.listeners.len() as u64;
        if event.token >= connections {
            self.attend((event.token - connections) as usize);
        } else if event.token >= LISTENERS {
            let listener = &self.listeners[(event.token - LISTENERS) as usize];
            while let Some(stream) = accept(listener)? {
                let token = connections + self.connections.len() as u64;
                self.poller.add(&stream, token)?;
                self.connections.push(Connection {
                    stream,
                    asked: Asked::default(),
                    sent: 0,
                    until: 0,
                    pausing: false,
                    complete: false,
                    samples: Vec::new(),
                    error: None,
                });
            }
        }
        Ok(())
    }

    fn attend(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let done = match connection.asked.flow() {
            Some(flow) => connection.write(&self.plan, flow),
            None => connection.ask(&self.plan),
        };
        match done {
            Ok(Some(resume_at)) => self.resumes.push(Reverse((resume_at, index))),
            Ok(None) => {}
            Err(e) => connection.error = Some(format!("{e:#}")),
        }
    }

    /// Goes on after pauses, and takes samples.
    fn on_time(&mut self) {
        let now = monotonic_ns();
        while let Some(Reverse((at, index))) = self.resumes.peek().copied()
            && at <= now
        {
            self.resumes.pop();
            self.connections[index].pausing = false;
            self.attend(index);
        }
        if let Some(at) = self.sample_at.filter(|at| *at <= now) {
            let time_s = (now - self.start_ns) as f64 / 1e9;
            for connection in self.connections.iter_mut().filter(|c| c.error.is_none()) {
                if connection.asked.flow().is_some()
                    && let Ok(info) = TcpInfo::of(&connection.stream)
                {
                    connection.samples.push(samples::of_server(time_s, &info));
                }
            }
            let missed = (now - at) / self.plan.series_interval_ns;
            self.sample_at = Some(at + (missed + 1) * self.plan.series_interval_ns);
        }
    }

    /// Until all that was written has been acknowledged.
    fn settle(&mut self) -> Result<()> {
        let deadline = monotonic_ns() + SETTLE_MAX_NS;
        let mut left: Vec<&Connection> = self.connections.iter().filter(|c| c.complete).collect();
        while !left.is_empty() && monotonic_ns() < deadline {
            left.retain(|connection| {
                let info = TcpInfo::of(&connection.stream);
                info.is_ok_and(|i| i.unacked_packets > 0 || i.notsent_bytes > 0)
            });
            if !left.is_empty() {
                std::thread::sleep(std::time::Duration::from_nanos(SETTLE_CHECK_NS));
            }
        }
        Ok(())
    }
}

impl Connection {
    /// Reads what the client asks for, and begins to send it.
    fn ask(&mut self, plan: &Plan) -> Result<Option<u64>> {
        let Some(flow) = self.asked.read(&mut self.stream)? else {
            return Ok(None);
        };
        let asked = plan.flows.get(flow);
        let asked = asked.ok_or_else(|| anyhow!("a client asked for flow {flow}"))?;
        set_congestion_control(&self.stream, &asked.congestion_control)?;
        if asked.pause_ns > 0 {
            // What such an application writes is to leave at once.
            self.stream.set_nodelay(true)?;
        }
        self.until = asked.write_bytes.min(asked.bytes);
        self.write(plan, flow)
    }

    /// Writes until it would block, all is written, or there is a pause: until when.
    fn write(&mut self, plan: &Plan, flow: usize) -> Result<Option<u64>> {
        let asked = &plan.flows[flow];
        if self.complete || self.pausing || self.error.is_some() {
            return Ok(None);
        }
        loop {
            while self.sent < self.until {
                let slice = plan.pattern.slice(flow, self.sent, self.until - self.sent);
                match self.stream.write(slice) {
                    Ok(count) => self.sent += count as u64,
                    Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return Ok(None),
                    Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(e) => return Err(e.into()),
                }
            }
            if self.sent == asked.bytes {
                self.complete = true;
                self.stream.shutdown(Shutdown::Write)?;
                return Ok(None);
            }
            self.until = (self.until + asked.write_bytes).min(asked.bytes);
            if asked.pause_ns > 0 {
                self.pausing = true;
                return Ok(Some(monotonic_ns() + asked.pause_ns));
            }
        }
    }
}
