use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use windlass_cc::Phase;
use windlass_engine::{
    AlgorithmId, Counters, FlowInfo, HeldBack, LimitedBy, Side, TenantId, TenantInfo, Watched,
};
use windlass_io::{DriverInfo, DriverStats, Mode, XdpCounters};
use windlass_policy::{Config, ConfigFile, Policy};
use windlass_wire::{Addr, FlowKey};

use super::live::Wire;
use super::*;
use crate::RunError;
use crate::advice::{advice_on, advice_until};
use crate::command::{Command, Flows, Status, Workers};

struct FakeWire(Arc<Mutex<Vec<String>>>);

impl Wire for FakeWire {
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
}

fn info(port: u16) -> FlowInfo {
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
        rule: Some(0),
        mode: windlass_engine::Mode::Enforce,
        failed: None,
        algorithm: AlgorithmId::Bbr,
        settings: AlgorithmId::Bbr.into(),
        phase: Phase::ProbeBw,
        cwnd: 14_480,
        ssthresh: u64::MAX,
        pacing_rate: Some(1_250_000),
        delivery_rate: 1_000_000,
        edge: 65_535,
        inflight: 2896,
        queued: 1448,
        min_rtt: 20_000_000,
        srtt: 25_500_000,
        rttvar: 1_000_000,
        mss: 1448,
        held: 4344,
        held_packets: 3,
        held_packets_max: 5,
        bytes_acked: 100_000,
        bytes_seen: 104_344,
        lost: 3,
        repaired: 2,
        repaired_bytes: 2896,
        spurious_bytes: 0,
        copies: 1,
        copied_bytes: 1448,
        timeouts: 0,
        handed_back: 0,
        sender_retransmissions: 0,
        peer: true,
        marked_bytes: 1448,
        policed: 2,
        policed_bytes: 2896,
        tenant: Some(TenantId(0)),
        priority: 1,
        arm: None,
        switch_list: None,
        switch_condition: None,
        switches: 0,
        in_senders_hands: false,
        in_recovery: false,
        limited_by: LimitedBy::Cwnd,
        watched: None,
        pass: None,
    }
}

/// A daemon without packets: two workers, of which the second may be deaf.
struct Fake {
    folder: TempDir,
    desk: Arc<Desk>,
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
                for command in commands {
                    match command {
                        Command::Stop => return,
                        Command::MemoryFull(_) => {}
                        _ if deaf && number == 1 => {}
                        Command::Flows(answer) => {
                            let flows = vec![info(5000 + number as u16)];
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
        let live = Live {
            workers: workers.clone(),
            wire: Mutex::new(Box::new(FakeWire(Arc::clone(&log)))),
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
        let desk = Arc::new(Desk {
            live: RwLock::new(Some(live)),
            condition: Mutex::new(Condition::default()),
            ports: policy.governed_ports().unwrap_or_default(),
            policy: Arc::new(RwLock::new(policy)),
            bypass: AtomicBool::new(false),
            inside: "lan".to_owned(),
            outside: "wan".to_owned(),
            started: Instant::now(),
        });
        let socket = Socket::bind(&path).unwrap();
        let server = Server::start(socket, Arc::clone(&desk)).unwrap();
        Fake {
            folder,
            desk,
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

#[test]
fn flows_of_all_workers_come_with_units_and_rule() {
    let fake = Fake::start(false);
    let Ok(Answer::Flows { mut flows, omitted }) = ask(&fake.path(), Request::Flows) else {
        panic!("no flows");
    };
    flows.sort_by(|a, b| a.flow.cmp(&b.flow));
    assert_eq!((flows.len(), omitted), (2, 4));
    let flow = &flows[0];
    assert_eq!(flow.flow, "10.0.0.1:443>192.0.2.7:5000");
    assert_eq!(flow.rule.as_deref(), Some("default"));
    assert_eq!((flow.srtt_us, flow.min_rtt_us), (25_500, 20_000));
    assert_eq!(flow.pacing_rate_bps, Some(10_000_000));
    assert_eq!(flow.ssthresh_bytes, None);
    assert_eq!(
        (flow.phase.as_str(), flow.limited_by.as_str()),
        ("probe_bw", "cwnd")
    );
}

/// A window of 20 packets on a path of 50 Mbit/s and 100 ms that loses one in a hundred.
fn advised(port: u16) -> FlowInfo {
    let watched = Watched {
        held_back_by: Some(HeldBack::Window),
        bytes: 3_000_000,
        duration: 10_000_000_000,
        first: true,
        bottleneck: Some(6_250_000),
        loss_ratio: 0.01,
        queue_delay: 0,
        overflowed: false,
    };
    FlowInfo {
        mode: windlass_engine::Mode::Advise,
        delivery_rate: 300_000,
        min_rtt: 100_000_000,
        watched: Some(watched),
        ..info(port)
    }
}

#[test]
fn advised_flows_come_with_what_enforcing_would_bring() {
    let idle = FlowInfo {
        watched: None,
        ..advised(2)
    };
    let advice = advice_on(&[advised(1), info(3), idle]);
    let [Some(first), None, None] = &advice[..] else {
        panic!("{advice:?}");
    };
    assert_eq!((first.goodput_bps, first.transfer_ms), (2_400_000, 10_000));
    assert_eq!(first.path_loss_ppm, 10_000);
    let speedup = first.predicted_speedup_percent.unwrap();
    let predicted = first.predicted_goodput_bps.unwrap();
    assert!((600..1200).contains(&speedup), "{first:?}");
    assert!(
        predicted.abs_diff(24_000 * speedup) < predicted / 50,
        "{first:?}"
    );
    assert!(!first.predicted_at_least && first.unpredicted.is_none());

    let waiting = |port| {
        let watched = advised(port).watched.map(|watched| Watched {
            held_back_by: Some(HeldBack::Application),
            ..watched
        });
        FlowInfo {
            watched,
            ..advised(port)
        }
    };
    let advice = advice_on(&[waiting(1)]);
    let first = advice[0].as_ref().unwrap();
    assert_eq!(
        first.unpredicted.as_deref(),
        Some("limited by the application")
    );
    assert_eq!(first.predicted_ms, None);

    let late = advice_until(&[advised(1)], std::time::Instant::now());
    let late = late[0].as_ref().unwrap();
    assert_eq!(
        late.unpredicted.as_deref(),
        Some("too many flows are advised on")
    );
    assert_eq!((late.goodput_bps, late.predicted_ms), (2_400_000, None));
}

#[test]
fn counters_are_summed_and_named() {
    let fake = Fake::start(false);
    let Ok(Answer::Counters {
        engine,
        driver,
        xdp,
    }) = ask(&fake.path(), Request::Counters)
    else {
        panic!("no counters");
    };
    assert_eq!(engine["packets"], 10);
    assert_eq!(engine["passed_no_syn"], 0);
    assert_eq!(driver["inside_rx_packets"], 0);
    assert_eq!(xdp["taken"], 7);
}

#[test]
fn tenants_are_summed_over_the_workers() {
    let fake = Fake::start(false);
    let Ok(Answer::Tenants { tenants }) = ask(&fake.path(), Request::Tenants) else {
        panic!("no tenants");
    };
    let blue = crate::TenantReport {
        name: "blue".to_owned(),
        cap_bps: Some(16_000_000),
        bytes_sent: 14,
        policed_packets: 2,
        policed_bytes: 2896,
    };
    assert_eq!(tenants, [blue]);
}

#[test]
fn bypass_reaches_all_workers_before_the_kernel_takes_over() {
    let fake = Fake::start(false);
    for on in [true, false] {
        let answer = ask(&fake.path(), Request::Bypass { on }).unwrap();
        assert_eq!(answer, Answer::Bypass { on });
        let Ok(Answer::Status(status)) = ask(&fake.path(), Request::Status) else {
            panic!("no status");
        };
        assert_eq!(
            (status.bypass, status.workers, status.connections),
            (on, 2, 6)
        );
        assert_eq!(status.pid, std::process::id());
    }
    let log = fake.log.lock().unwrap().join(", ");
    assert_eq!(
        log,
        "worker true, worker true, kernel true, worker false, worker false, kernel false"
    );
}

fn apply(fake: &Fake, config: &str) -> Result<Answer, AskError> {
    let files = vec![ConfigFile {
        name: "w.toml".to_owned(),
        text: config.to_owned(),
    }];
    ask(&fake.path(), Request::Apply { files })
}

#[test]
fn another_policy_reaches_all_workers_and_names_the_flows() {
    let fake = Fake::start(false);
    let config = "version = 1\n[[rule]]\nname = \"web\"\nports = [443]\nalgorithm = \"reno\"\n";
    assert_eq!(apply(&fake, config).unwrap(), Answer::Applied { rules: 1 });
    let log = fake.log.lock().unwrap().join(", ");
    assert_eq!(log, "policy Some([443]), policy Some([443])");
    let Ok(Answer::Flows { flows, .. }) = ask(&fake.path(), Request::Flows) else {
        panic!("no flows");
    };
    assert_eq!(flows[0].rule.as_deref(), Some("web"));
}

/// What is refused changes nothing: a mistake in the file, and ports that the XDP program leaves
/// to the kernel.
#[test]
fn a_policy_that_cannot_be_followed_is_refused() {
    let web = "version = 1\n[[rule]]\nports = [443]\n";
    let policy = Config::parse(web, "w.toml").unwrap().policy();
    let fake = Fake::with(false, policy);
    for (config, expected) in [
        (
            "version = 1\n[[rule]]\nalgorithm = \"cubik\"\n",
            "w.toml:3:13: unknown algorithm",
        ),
        ("version = 1\n", "w.toml governs every port"),
        (
            "version = 1\n[[rule]]\nports = [443, 80]\n",
            "governs port 80",
        ),
    ] {
        let error = apply(&fake, config).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert!(fake.log.lock().unwrap().is_empty());
    assert!(apply(&fake, web).is_ok());
}

#[test]
fn a_deaf_worker_makes_an_error_in_time_and_the_kernel_takes_over_all_the_same() {
    let fake = Fake::start(true);
    let start = Instant::now();
    let error = ask(&fake.path(), Request::Bypass { on: true }).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(3));
    assert!(
        matches!(&error, AskError::Refused(why) if why.contains("not answered")),
        "{error}"
    );
    assert!(fake.log.lock().unwrap().contains(&"kernel true".to_owned()));
    let Ok(Answer::Status(status)) = ask(&fake.path(), Request::Status) else {
        panic!("no status");
    };
    assert_eq!((status.workers, status.troubles.len()), (2, 1));
    assert!(
        status.troubles[0].what.contains("not answered"),
        "{status:?}"
    );
}

#[test]
fn what_is_no_request_is_told_so() {
    let fake = Fake::start(false);
    for text in [
        "{\"request\":\"reboot\"}\n",
        "nonsense\n",
        "\u{0}\n",
        "{}\n",
    ] {
        let answer = fake.raw(text);
        assert!(
            answer.contains("\"answer\":\"error\""),
            "{text:?}: {answer}"
        );
        assert!(answer.contains("not a request"), "{text:?}: {answer}");
    }
    let endless = fake.raw(&"x".repeat(1 << 20));
    assert!(endless.contains("at most 1048576 bytes"), "{endless}");
}

#[test]
fn several_requests_share_a_connection() {
    let fake = Fake::start(false);
    let mut stream = UnixStream::connect(fake.path()).unwrap();
    stream
        .write_all(b"{\"request\":\"bypass\",\"on\":true}\n{\"request\":\"bypass\",\"on\":false}\n")
        .unwrap();
    let mut lines = BufReader::new(stream).lines();
    assert_eq!(
        lines.next().unwrap().unwrap(),
        "{\"answer\":\"bypass\",\"on\":true}"
    );
    assert_eq!(
        lines.next().unwrap().unwrap(),
        "{\"answer\":\"bypass\",\"on\":false}"
    );
}

/// All places are taken by clients that send a byte now and then, or nothing, or take no answer.
#[test]
fn slow_clients_cannot_hold_the_socket() {
    let fake = Fake::start(false);
    let slow: Vec<UnixStream> = (0..48)
        .map(|n| {
            let mut stream = UnixStream::connect(fake.path()).unwrap();
            if n % 2 == 0 {
                stream.write_all(b"{\"req").unwrap();
            }
            stream
        })
        .collect();
    let (stop, dripping) = (Arc::new(AtomicBool::new(false)), slow);
    let stopped = Arc::clone(&stop);
    let drip = thread::spawn(move || {
        while !stopped.load(Ordering::Acquire) {
            for mut stream in &dripping {
                let _ = stream.write_all(b" ");
            }
            thread::sleep(Duration::from_millis(2));
        }
    });
    for _ in 0..50 {
        let start = Instant::now();
        ask(&fake.path(), Request::Status).unwrap();
        assert!(start.elapsed() < Duration::from_secs(1));
    }
    stop.store(true, Ordering::Release);
    drip.join().unwrap();
}

/// However often it sends a byte.
#[test]
fn a_deadline_is_one_for_the_whole_request() {
    let (near, far) = UnixStream::pair().unwrap();
    let drip = thread::spawn(move || {
        let mut far = far;
        while far.write_all(b" ").is_ok() {
            thread::sleep(Duration::from_millis(5));
        }
    });
    let start = Instant::now();
    let limit = Duration::from_millis(100);
    let mut line = String::new();
    let error = BufReader::new(deadline::Deadline::new(&near, limit))
        .read_line(&mut line)
        .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!((limit..limit * 10).contains(&start.elapsed()));
    drop(near);
    drip.join().unwrap();
}

#[test]
fn a_socket_that_was_removed_is_made_again() {
    let fake = Fake::start(false);
    fs::remove_file(fake.path()).unwrap();
    let end = Instant::now() + Duration::from_secs(5);
    while ask(&fake.path(), Request::Status).is_err() {
        assert!(Instant::now() < end, "nobody can ask any more");
        thread::sleep(Duration::from_millis(20));
    }
    let mode = fs::metadata(fake.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // What has taken its place is not ours to remove.
    fs::remove_file(fake.path()).unwrap();
    fs::write(fake.path(), "precious").unwrap();
    thread::sleep(Duration::from_millis(1200));
    assert_eq!(fs::read(fake.path()).unwrap(), b"precious");
}

#[test]
fn a_folder_that_is_not_there_is_a_mistake_and_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("typo/w.sock");
    let error = Socket::bind(&path).unwrap_err().to_string();
    assert!(
        error.contains("there is no folder") && error.contains("mkdir -p"),
        "{error}"
    );
    assert!(!path.parent().unwrap().exists());
}

/// The interface is gone: what needs workers says so, the rest goes on, and is found by those to come.
#[test]
fn without_workers_every_request_has_an_answer() {
    let fake = Fake::start(false);
    let live = fake.desk.live.write().unwrap().take();
    fake.desk.condition().waiting = Some("interface wan is gone".to_owned());
    for request in [Request::Flows, Request::Counters, Request::Tenants] {
        let error = ask(&fake.path(), request).unwrap_err().to_string();
        assert!(error.contains("interface wan is gone"), "{error}");
    }
    assert!(ask(&fake.path(), Request::Bypass { on: true }).is_ok());
    assert!(apply(&fake, "version = 1\n[[rule]]\nname = \"web\"\n").is_ok());
    let Ok(Answer::Status(status)) = ask(&fake.path(), Request::Status) else {
        panic!("no status");
    };
    assert_eq!((status.state.as_str(), status.bypass), ("waiting", true));
    assert_eq!((status.workers, status.inside.as_str()), (0, "lan"));
    assert!(fake.log.lock().unwrap().is_empty());

    *fake.desk.live.write().unwrap() = live;
    fake.desk.condition().waiting = None;
    let Ok(Answer::Flows { flows, .. }) = ask(&fake.path(), Request::Flows) else {
        panic!("no flows");
    };
    assert_eq!(flows[0].rule.as_deref(), Some("web"));
}

#[test]
fn only_the_owner_may_ask() {
    let fake = Fake::start(false);
    let mode = fs::metadata(fake.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_live_socket_is_respected_and_a_stale_one_replaced() {
    let fake = Fake::start(false);
    match Socket::bind(&fake.path()) {
        Err(RunError::AnotherRuns { pid, .. }) => assert_eq!(pid as u32, std::process::id()),
        other => panic!("{other:?}"),
    }
    let stale = fake.folder.path().join("stale.sock");
    drop(UnixListener::bind(&stale).unwrap());
    assert!(stale.exists());
    assert!(UnixStream::connect(&stale).is_err());
    let bound = Socket::bind(&stale).unwrap();
    UnixStream::connect(&stale).unwrap();
    drop(bound);
    assert!(!stale.exists(), "the name goes with the socket");
    let file = fake.folder.path().join("file");
    fs::write(&file, "precious").unwrap();
    let refused = Socket::bind(&file);
    assert!(matches!(refused, Err(RunError::ControlSocket { .. })));
    assert_eq!(fs::read(&file).unwrap(), b"precious");
}

/// What has been left to the kernel at the start decides, not the policy before.
#[test]
fn a_policy_may_be_narrowed_and_widened_again() {
    let both = "version = 1\n[[rule]]\nports = [80, 443]\n";
    let policy = Config::parse(both, "w.toml").unwrap().policy();
    let fake = Fake::with(false, policy);
    for config in [
        "version = 1\n[[rule]]\nports = [443]\n",
        "version = 1\n[default]\nmode = \"off\"\n[[rule]]\nports = [80]\n",
        both,
    ] {
        apply(&fake, config).unwrap();
    }
}

#[test]
fn nobody_there_is_said_with_the_path() {
    let error = ask("/nonexistent/w.sock".as_ref(), Request::Flows).unwrap_err();
    assert!(matches!(error, AskError::NotRunning { .. }));
    assert!(error.to_string().contains("/nonexistent/w.sock"));
}

#[test]
fn a_trial_is_begun_shown_and_ended() {
    let fake = Fake::start(false);
    let start = |rule: Option<&str>, arms: &[&str], share_permille| {
        let request = Request::StartTrial {
            rule: rule.map(str::to_owned),
            arms: arms.iter().map(|a| (*a).to_owned()).collect(),
            share_permille,
        };
        ask(&fake.path(), request)
    };
    for (rule, arms, share, expected) in [
        (None, &["bbr"][..], 100, "2 to 8 algorithms, not 1"),
        (None, &["bbr", "cubik"][..], 100, "cubik"),
        (
            Some("web"),
            &["bbr", "cubic"][..],
            100,
            "no rule is called \"web\"",
        ),
        (None, &["bbr", "cubic"][..], 0, "0.1 % to 100 %"),
    ] {
        let error = start(rule, arms, share).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let none = ask(&fake.path(), Request::Trial).unwrap_err().to_string();
    assert!(none.contains("no trial runs"), "{none}");
    assert!(fake.log.lock().unwrap().is_empty());
    let begun = start(Some("default"), &["bbr", "cubic:beta=0.8"], 100).unwrap();
    let Answer::Trial(trial) = begun else {
        panic!("{begun:?}");
    };
    assert_eq!(trial.arms, ["bbr", "cubic:beta=0.8"]);
    assert_eq!((trial.share, &trial.report.flows[..]), (0.1, &[0, 0][..]));
    assert!(
        trial.verdict[0].contains("not enough data yet"),
        "{trial:?}"
    );
    assert_eq!(
        ask(&fake.path(), Request::Trial).unwrap(),
        Answer::Trial(trial.clone())
    );
    // Other rules do not end it.
    assert!(apply(&fake, "version = 1\n").is_ok());
    assert_eq!(
        ask(&fake.path(), Request::StopTrial).unwrap(),
        Answer::Trial(trial)
    );
    assert!(ask(&fake.path(), Request::StopTrial).is_err());
    assert_eq!(
        fake.log.lock().unwrap().len(),
        2 * 3,
        "both workers, three times"
    );
}

#[test]
fn what_auto_believes_is_told() {
    let fake = Fake::start(false);
    let Ok(Answer::Auto(report)) = ask(&fake.path(), Request::Auto) else {
        panic!("no answer");
    };
    assert_eq!(report.arms, ["bbr", "cubic", "bbr3"]);
    let [anywhere] = &report.prefixes[..] else {
        panic!("{report:?}");
    };
    assert_eq!(
        (anywhere.prefix.as_deref(), anywhere.best.as_str()),
        (None, "bbr")
    );
    assert!(anywhere.sure < 0.9 && anywhere.arms.iter().all(|a| a.transfers == 0.0));
}
