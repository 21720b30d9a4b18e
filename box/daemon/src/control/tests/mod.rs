//! The control socket with workers that are made up.

mod answers;
mod metrics;
mod slow_clients;
mod trials;

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use windlass_cc::Phase;
use windlass_engine::{
    AlgorithmId, Counters, Decide, Edition, FlowFigures, FlowInfo, LimitedBy, Side, TenantId,
    TenantInfo,
};
use windlass_io::handover::Plan;
use windlass_io::{DriverConfig, DriverInfo, DriverStats, Mode, XdpCounters};
use windlass_policy::{Config, ConfigFile, Policy};
use windlass_wire::{Addr, FlowKey};

use super::live::LiveSession;
use super::*;
use crate::RunError;
use crate::command::{Command, Flows, Status, Workers};
use crate::upgrade::Upgrade;
use crate::view::FlowFilter;

struct FakeWire(Arc<Mutex<Vec<String>>>);

impl LiveSession for FakeWire {
    fn set_bypass(&mut self, on: bool) -> io::Result<()> {
        self.0.lock().unwrap().push(format!("kernel {on}"));
        Ok(())
    }

    fn counters(&self) -> io::Result<XdpCounters> {
        Ok(XdpCounters {
            taken: 7,
            ..XdpCounters::default()
        })
    }

    fn learn_addresses(&mut self, _names: [&str; 2]) -> io::Result<()> {
        Ok(())
    }

    fn share(&self) -> io::Result<(Plan, Vec<OwnedFd>)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn take_place(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn begin(&mut self, _: &DriverConfig) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn info(port: u16) -> FlowInfo {
    let addr = |text: &str| Addr::from(text.parse::<std::net::IpAddr>().unwrap());
    FlowInfo {
        key: FlowKey {
            src: addr("10.0.0.1"),
            dst: addr("192.0.2.7"),
            src_port: 443,
            dst_port: port,
            vlan: 0,
            inner_vlan: 0,
        },
        sender: Side::Inside,
        edition: Edition::default(),
        rule: Some(0),
        mode: windlass_engine::Mode::Enforce,
        failed: None,
        algorithm: AlgorithmId::Bbr,
        settings: AlgorithmId::Bbr.into(),
        phase: Phase::ProbeBw,
        figures: FlowFigures {
            cwnd_bytes: 14_480,
            pacing_rate_bps: Some(10_000_000),
            delivery_rate_bps: 8_000_000,
            edge_bytes: 65_535,
            inflight_bytes: 2896,
            queued_bytes: 1448,
            min_rtt_us: 20_000,
            srtt_us: 25_500,
            rttvar_us: 1_000,
            mss_bytes: 1448,
            wscale: 7,
            held_bytes: 4344,
            held_packets: 3,
            held_packets_max: 5,
            bytes_acked: 100_000,
            bytes_seen: 104_344,
            lost_segments: 3,
            repaired_segments: 2,
            repaired_bytes: 2896,
            copied_segments: 1,
            copied_bytes: 1448,
            marked_bytes: 1448,
            policed_packets: 2,
            policed_bytes: 2896,
            priority: 1,
            ..FlowFigures::default()
        },
        peer: true,
        tenant: Some(TenantId(0)),
        arm: None,
        held_out: false,
        switching: None,
        in_senders_hands: false,
        in_recovery: false,
        limited_by: LimitedBy::Cwnd,
        watched: None,
        pass: None,
    }
}

/// What answers for these workers, without a wire.
pub(crate) fn handler(
    workers: Workers,
    policy: Policy,
    log: Arc<Mutex<Vec<String>>>,
) -> Arc<Handler> {
    let live = Live {
        workers,
        wire: Mutex::new(Box::new(FakeWire(log))),
        driver: DriverInfo {
            mode: Mode::Native,
            zero_copy: false,
            queues: 2,
            tx_checksum: true,
            multi_buffer: true,
            tx_budget: 32,
            fail_open: true,
            partial_checksums: [true, true],
            max_packet: 1522,
        },
    };
    Arc::new(Handler {
        live: RwLock::new(Some(live)),
        condition: Mutex::new(Condition::default()),
        ports: policy.governed_ports().unwrap_or_default(),
        policy: Arc::new(RwLock::new(policy)),
        catalog: RwLock::default(),
        recorded_for: Some(60_000_000_000),
        bypass: AtomicBool::new(false),
        inside: "lan".to_owned(),
        outside: "wan".to_owned(),
        started: Instant::now(),
        upgrade: Upgrade::new(
            Some("there are no packets here".to_owned()),
            mpsc::channel().0,
        ),
        events: crate::events::Events::new().0,
        sampler: crate::view::Sampler::default(),
    })
}

/// A daemon without packets: two workers, of which the second may be deaf.
struct Fake {
    folder: TempDir,
    handler: Arc<Handler>,
    _server: Server,
    log: Arc<Mutex<Vec<String>>>,
    workers: Workers,
    threads: Vec<JoinHandle<()>>,
}

impl Fake {
    fn start(deaf: bool) -> Fake {
        Fake::with(deaf, Config::default().policy())
    }

    fn with(deaf: bool, policy: Policy) -> Fake {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.sock");
        let log = Arc::new(Mutex::new(Vec::new()));
        let (workers, commands) = Workers::new(2);
        let threads = commands.into_iter().enumerate().map(|(number, commands)| {
            let log = Arc::clone(&log);
            thread::spawn(move || {
                let mut bypass = false;
                let mut edition = Edition::default();
                let known = |port, edition| FlowInfo {
                    edition,
                    ..info(port)
                };
                for command in commands {
                    match command {
                        Command::Stop => return,
                        Command::MemoryFull(_) => {}
                        Command::Record(_, _, answer) => answer.send(None).unwrap(),
                        Command::Share(_)
                        | Command::HandOver(..)
                        | Command::Introduce(..)
                        | Command::Heard(_)
                        | Command::Adopted(_)
                        | Command::LeaveToAnother(_) => panic!("nobody asks for it"),
                        _ if deaf && number == 1 => {}
                        Command::Flow(key, answer) => {
                            let found = (key == info(5000).key && number == 0)
                                .then(|| known(5000, edition));
                            answer.send(found.map(Box::new)).unwrap();
                        }
                        Command::Flows(_, _, answer) => {
                            let flows = vec![known(5000 + number as u16, edition)];
                            answer.send(Flows { flows, omitted: 2 }).unwrap();
                        }
                        Command::Status(answer) => {
                            let counters = Counters {
                                packets: 5,
                                ..Counters::default()
                            };
                            let status = Status {
                                counters,
                                driver: DriverStats::default(),
                                connections: 3,
                                held_bytes: 10,
                                bypass,
                                ..Status::default()
                            };
                            answer.send(status).unwrap();
                        }
                        Command::Tenants(answer) => {
                            let blue = TenantInfo {
                                name: "blue".to_owned(),
                                cap: Some(1_000_000),
                                bytes_sent: 7,
                                policed_packets: 1,
                                policed_bytes: 1448,
                            };
                            answer.send(vec![blue]).unwrap();
                        }
                        Command::Policy(policy, answer) => {
                            edition = policy.edition();
                            let ports = policy.governed_ports();
                            log.lock().unwrap().push(format!("policy {ports:?}"));
                            answer.send(()).unwrap();
                        }
                        Command::Bypass(on, answer) => {
                            bypass = on;
                            log.lock().unwrap().push(format!("worker {on}"));
                            answer.send(()).unwrap();
                        }
                    }
                }
            })
        });
        let threads = threads.collect();
        let handler = handler(workers.clone(), policy, Arc::clone(&log));
        let socket = Socket::bind(&path).unwrap();
        let server = Server::start(socket, Arc::clone(&handler)).unwrap();
        Fake {
            folder,
            handler,
            _server: server,
            log,
            workers,
            threads,
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("w.sock")
    }

    /// What a line of text is answered with, and whether the connection is open afterwards.
    fn raw(&self, text: &str) -> String {
        let mut stream = UnixStream::connect(self.path()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(3)))
            .unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.workers.stop();
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}

fn apply(fake: &Fake, config: &str) -> Result<Answer, AskError> {
    let files = vec![ConfigFile {
        name: "w.toml".to_owned(),
        text: config.to_owned(),
    }];
    ask(&fake.path(), Request::Apply { files })
}
