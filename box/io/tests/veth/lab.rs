//! Three network namespaces in a row, and a box in the middle one.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sched::{CloneFlags, setns};
use windlass_engine::{Pool, Side, Tx, TxChecksum, Why};
use windlass_io::{
    AnyDriver, Driver, DriverConfig, DriverInfo, DriverStats, Prefer, Session, XdpCounters, bridge,
};

pub const A: Ipv4Addr = Ipv4Addr::new(10, 79, 0, 1);
pub const B: Ipv4Addr = Ipv4Addr::new(10, 79, 0, 2);
const PATIENCE: Duration = Duration::from_secs(10);

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
static NEXT: AtomicU32 = AtomicU32::new(0);

/// `a0 - a1 [box] b1 - b0`, in namespaces of their own.
pub struct Lab {
    prefix: String,
    _turn: MutexGuard<'static, ()>,
}

impl Lab {
    /// `None`, with the reason printed, where namespaces cannot be made.
    pub fn new(mtu: u32) -> Option<Lab> {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return None;
        }
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("wlio-{}-{n}", std::process::id());
        let lab = Lab {
            prefix,
            _turn: turn,
        };
        for end in ["a", "m", "b"] {
            if !run(&["ip", "netns", "add", &lab.ns(end)]) {
                eprintln!("skipped: network namespaces cannot be made here");
                return None;
            }
        }
        for (end, address) in [("a", A), ("b", B)] {
            let (outer, inner) = (format!("{end}0"), format!("{end}1"));
            let (host, middle) = (lab.ns(end), lab.ns("m"));
            let pair = [
                "netns", &host, "type", "veth", "peer", "name", &inner, "netns", &middle,
            ];
            let made = run(&[&["ip", "link", "add", &outer][..], &pair].concat());
            assert!(made, "veth pair");
            lab.ip(
                end,
                &["addr", "add", &format!("{address}/24"), "dev", &outer],
            );
            lab.ip(end, &["link", "set", &outer, "mtu", &mtu.to_string(), "up"]);
            lab.ip("m", &["link", "set", &inner, "mtu", &mtu.to_string(), "up"]);
        }
        Some(lab)
    }

    pub fn ns(&self, end: &str) -> String {
        format!("{}{end}", self.prefix)
    }

    pub fn ip(&self, end: &str, arguments: &[&str]) {
        let ns = self.ns(end);
        assert!(
            run(&[&["ip", "-n", &ns], arguments].concat()),
            "ip {arguments:?}"
        );
    }

    /// Runs a command in a namespace; true if it succeeded.
    pub fn exec(&self, end: &str, command: &[&str]) -> bool {
        let ns = self.ns(end);
        run(&[&["ip", "netns", "exec", &ns], command].concat())
    }

    /// Runs a closure in a namespace, in a thread of its own.
    pub fn spawn<T: Send + 'static>(
        &self,
        end: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let path = format!("/run/netns/{}", self.ns(end));
        std::thread::spawn(move || {
            enter(&path).expect("setns");
            work()
        })
    }

    pub fn within<T: Send + 'static>(
        &self,
        end: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        self.spawn(end, work).join().expect("no panic")
    }

    /// True if ICMP echo from a to b is answered.
    pub fn ping(&self) -> bool {
        let target = B.to_string();
        self.exec(
            "a",
            &["ping", "-q", "-c", "2", "-i", "0.05", "-W", "2", &target],
        )
    }

    /// One TCP connection from a to b.
    pub fn connect(&self, port: u16) -> (TcpStream, TcpStream) {
        let listener = self.within("b", move || TcpListener::bind((B, port)));
        let listener = listener.expect("listen");
        let client = self.within("a", move || {
            TcpStream::connect_timeout(&SocketAddr::from((B, port)), PATIENCE)
        });
        let client = client.expect("connect");
        let (server, _) = listener.accept().expect("accept");
        for stream in [&client, &server] {
            stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
            stream.set_write_timeout(Some(PATIENCE)).expect("timeout");
        }
        (client, server)
    }

    /// Sends `len` bytes both ways over a new connection and compares them.
    pub fn transfer(&self, port: u16, len: usize) {
        let (client, server) = self.connect(port);
        exchange(&client, &server, len);
        client.shutdown(Shutdown::Both).expect("shutdown");
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for end in ["a", "m", "b"] {
            run(&["ip", "netns", "del", &self.ns(end)]);
        }
    }
}

pub fn enter(path: &str) -> io::Result<()> {
    setns(std::fs::File::open(path)?, CloneFlags::CLONE_NEWNET)?;
    Ok(())
}

fn run(command: &[&str]) -> bool {
    let output = Command::new(command[0]).args(&command[1..]).output();
    output.is_ok_and(|o| o.status.success())
}

/// Bytes that do not repeat within any packet.
pub fn pattern(len: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

/// `len` bytes each way at once over a connection that is there.
pub fn exchange(client: &TcpStream, server: &TcpStream, len: usize) {
    std::thread::scope(|scope| {
        for (mut from, mut to, seed) in [(client, server, 1), (server, client, 2)] {
            let bytes = pattern(len, seed);
            let expected = bytes.clone();
            scope.spawn(move || from.write_all(&bytes).expect("write"));
            scope.spawn(move || {
                let mut got = vec![0; len];
                to.read_exact(&mut got).expect("read");
                assert!(got == expected, "the bytes arrived changed");
            });
        }
    });
}

pub fn config(prefer: Prefer) -> DriverConfig {
    DriverConfig {
        inside: "b1".to_owned(),
        outside: "a1".to_owned(),
        queue: 0,
        frames: 8192,
        frame_size: 2048,
        ports: Vec::new(),
        patience_ms: 50,
        follows: None,
        seed: 7,
        prefer,
    }
}

type Order = Box<dyn FnOnce(&mut Session, &mut [AnyDriver]) + Send>;

/// What was seen when the forwarder ended.
pub struct Outcome {
    pub counters: XdpCounters,
    pub stats: Vec<DriverStats>,
    /// Longest packet received, bytes.
    pub longest: u32,
}

/// A box that moves every packet to the other side, in a thread.
pub struct Forwarder {
    pub info: DriverInfo,
    stop: Arc<AtomicBool>,
    orders: mpsc::Sender<Order>,
    thread: JoinHandle<Outcome>,
}

impl Forwarder {
    /// With `copies` 2 each packet is sent twice, from one frame. `None`, with the reason printed,
    /// where the kernel lacks what is needed.
    pub fn start(lab: &Lab, config: DriverConfig, copies: usize) -> Option<Forwarder> {
        if config.prefer != Prefer::Packet && !kernel_has_af_xdp() {
            return None;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let (started, starting) = mpsc::channel();
        let (orders, received) = mpsc::channel();
        let thread = lab.spawn("m", move || {
            let mut session = open(&config).expect("session");
            started.send(session.info().clone()).expect("waited for");
            let mut drivers = session.drivers();
            let mut longest = 0;
            while !stopped.load(Ordering::Relaxed) {
                while let Ok(order) = received.try_recv() {
                    let order: Order = order;
                    order(&mut session, &mut drivers);
                }
                for driver in &mut drivers {
                    longest = longest.max(forward_once(driver, copies));
                }
            }
            let drained = std::time::Instant::now() + PATIENCE;
            while drivers.iter().any(|d| d.stats().frames.tx_queued > 0) {
                assert!(
                    std::time::Instant::now() < drained,
                    "completions are missing"
                );
                drivers.iter_mut().for_each(|d| {
                    d.wait(Some(1_000_000)).expect("wait");
                    d.transmit(&mut Vec::new()).expect("transmit");
                });
            }
            Outcome {
                counters: session.counters().expect("counters"),
                stats: drivers.iter().map(Driver::stats).collect(),
                longest,
            }
        });
        let info = starting.recv_timeout(PATIENCE).expect("the session opens");
        Some(Forwarder {
            info,
            stop,
            orders,
            thread,
        })
    }

    /// Has the forwarder's thread do something.
    pub fn order<T: Send + 'static>(
        &self,
        what: impl FnOnce(&mut Session, &mut [AnyDriver]) -> T + Send + 'static,
    ) -> T {
        let (done, result) = mpsc::channel();
        let order: Order = Box::new(move |session, drivers| {
            done.send(what(session, drivers)).expect("waited for");
        });
        self.orders.send(order).expect("running");
        result.recv_timeout(PATIENCE).expect("done")
    }

    pub fn counters(&self) -> XdpCounters {
        self.order(|session, _| session.counters().expect("counters"))
    }

    pub fn stop(self) -> Outcome {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("no panic")
    }
}

pub fn kernel_has_af_xdp() -> bool {
    let protocols = std::fs::read_to_string("/proc/net/protocols").unwrap_or_default();
    let found = protocols.lines().any(|l| l.starts_with("XDP "));
    if !found {
        eprintln!("skipped: this kernel has no AF_XDP");
    }
    found
}

/// Opens a session, over a bridge unless it is AF_PACKET.
pub fn open(config: &DriverConfig) -> Result<Session, String> {
    if config.prefer != Prefer::Packet {
        bridge::ensure_bridge(&config.inside, &config.outside).map_err(|e| e.to_string())?;
    }
    Session::open(config).map_err(|e| e.to_string())
}

/// One turn of a driver; the length of the longest packet.
pub fn forward_once(driver: &mut AnyDriver, copies: usize) -> u32 {
    let (mut packets, mut out, mut longest) = (Vec::new(), Vec::new(), 0);
    for side in [Side::Inside, Side::Outside] {
        driver.receive(side, 64, &mut packets).expect("receive");
        for pkt in packets.drain(..) {
            let (head, len) = (driver.head(pkt), driver.len(pkt));
            longest = longest.max(len);
            let partial = windlass_wire::partial_checksum(head, len);
            let checksum = partial.map_or(TxChecksum::Done, |(start, offset)| {
                TxChecksum::Partial { start, offset }
            });
            let to = side.other();
            for _ in 1..copies {
                let pkt = driver.share(pkt);
                out.push(Tx {
                    pkt,
                    to,
                    checksum,
                    why: Why::Forwarded,
                });
            }
            out.push(Tx {
                pkt,
                to,
                checksum,
                why: Why::Forwarded,
            });
        }
    }
    driver.beat();
    if out.is_empty() {
        driver.wait(Some(1_000_000)).expect("wait");
    } else {
        driver.transmit(&mut out).expect("transmit");
    }
    longest
}
