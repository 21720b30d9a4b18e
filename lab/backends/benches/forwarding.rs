//! How much of a bare forwarder's rate the box reaches, and both beside the kernel's bridge, which may forward segments of 64 kB.
//!
//! `cargo bench -p windlass-lab --bench forwarding`, as root; it prints a Markdown table. Server,
//! box and client are three namespaces on veth pairs without segment offloads, but for one contestant; iperf3 sends from
//! inside to outside. Contestants take turns, so that whatever else the host does meets them all, and ratios are those
//! within a turn.
//! Both hosts run on the same CPUs as the box: where those are few they are what limits, and the
//! time of the forwarding process per data packet tells more than the rate.
//! Needs iperf3 and the release builds of `windlass` and of the example `forward`:
//! `cargo build --release -p windlass-cli && cargo build --release -p windlass-io --examples`.
//!
//! Environment: `WINDLASS_BIN` and `FORWARD_BIN` name other programs; `BENCH_RUNS`,
//! `BENCH_SECONDS` and `BENCH_FLOWS` (`1,8`) other repetitions; `BENCH_ONLY` a part of the names of those that take
//! part (`windlass, bbr`).

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use windlass_experiment::statistics::Spread;
use windlass_guest::processor_time_s;
use windlass_lab::cleanup::{catch_signals, check_interrupted, lab_folder};
use windlass_lab::command::{IP, check_host, run, run_line};
use windlass_lab::load::Load;
use windlass_lab::netns::Namespace;

const RUNS: usize = 5;
const SECONDS: u64 = 4;
const FLOWS: &str = "1,8";
const CLIENT_ADDRESS: &str = "198.18.0.2";
const INSIDE: &str = "in0";
const OUTSIDE: &str = "out0";
const READY_TIMEOUT: Duration = Duration::from_secs(20);
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// iperf3's `-D` returns before it listens.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(2);
/// Payload of a full segment: MTU 1500, IPv4, timestamps.
const MSS_BYTES: f64 = 1448.0;

/// Who forwards.
struct Contestant {
    name: &'static str,
    program: Program,
    arguments: &'static [&'static str],
    /// TSO, GSO and GRO are on, as a guest has them before `windlass setup`.
    offloads: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Program {
    Kernel,
    Forward,
    Windlass,
}

const CONTESTANTS: [Contestant; 7] = [
    Contestant {
        name: "Linux bridge, segment offloads",
        program: Program::Kernel,
        arguments: &[],
        offloads: true,
    },
    Contestant {
        name: "Linux bridge",
        program: Program::Kernel,
        arguments: &[],
        offloads: false,
    },
    Contestant {
        name: "bare AF_XDP forwarder",
        program: Program::Forward,
        arguments: &[INSIDE, OUTSIDE],
        offloads: false,
    },
    Contestant {
        name: "windlass, observe",
        program: Program::Windlass,
        arguments: &["--mode", "observe", "--algorithm", "bbr"],
        offloads: false,
    },
    Contestant {
        name: "windlass, cubic",
        program: Program::Windlass,
        arguments: &["--mode", "enforce", "--algorithm", "cubic"],
        offloads: false,
    },
    Contestant {
        name: "windlass, bbr",
        program: Program::Windlass,
        arguments: &["--mode", "enforce", "--algorithm", "bbr"],
        offloads: false,
    },
    Contestant {
        name: "windlass, bbr, flight recorder",
        program: Program::Windlass,
        arguments: &[
            "--mode",
            "enforce",
            "--algorithm",
            "bbr",
            "--config",
            RECORDER,
        ],
        offloads: false,
    },
];
const RECORDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/recorder.toml");
/// Who is the yardstick, if it takes part; else the first that does.
const YARDSTICK: &str = "bare AF_XDP forwarder";

/// One run.
#[derive(Clone, Copy)]
struct Measured {
    gigabits_per_s: f64,
    /// CPUs' worth of time in the forwarding process itself, system calls included.
    cpus: f64,
    /// The same time over the data packets that arrived, ns.
    ns_per_packet: f64,
    /// Processor time of the whole machine, with both hosts, over what arrived, s.
    machine_per_gigabit: f64,
    retransmissions: u64,
}

fn main() -> Result<()> {
    check_host(&[IP])?;
    run_line("iperf3 --version").context("on Debian: apt-get install iperf3")?;
    let runs = setting("BENCH_RUNS", RUNS)?;
    let seconds = setting("BENCH_SECONDS", SECONDS)?;
    let flows = std::env::var("BENCH_FLOWS").unwrap_or_else(|_| FLOWS.to_owned());
    let only = std::env::var("BENCH_ONLY").unwrap_or_default();
    let takes_part = |contestant: &&Contestant| contestant.name.contains(&only);
    let contestants: Vec<&Contestant> = CONTESTANTS.iter().filter(takes_part).collect();
    ensure!(!contestants.is_empty(), "BENCH_ONLY: nobody is called so");
    catch_signals()?;
    let lab = Lab::create()?;
    for flows in flows.split(',') {
        let flows: u32 = flows.trim().parse().context("BENCH_FLOWS")?;
        let mut all: Vec<Vec<Measured>> = contestants.iter().map(|_| Vec::new()).collect();
        for number in 1..=runs {
            let mut turn: Vec<_> = contestants.iter().zip(&mut all).collect();
            // Whoever was first is last in the next turn: what warms up or tires meets all alike.
            if number % 2 == 0 {
                turn.reverse();
            }
            for (contestant, measured) in turn {
                check_interrupted()?;
                let one = lab.measure(contestant, flows, seconds)?;
                let rate = one.gigabits_per_s;
                eprintln!("{flows} flows, {number}: {}: {rate:.2}", contestant.name);
                measured.push(one);
            }
        }
        println!("\n{}", table(flows, seconds, &contestants, &all)?);
    }
    Ok(())
}

fn setting<T: std::str::FromStr>(name: &str, default: T) -> Result<T> {
    match std::env::var(name) {
        Ok(text) => text.parse().ok().with_context(|| format!("{name}={text}")),
        Err(_) => Ok(default),
    }
}

fn table(
    flows: u32,
    seconds: u64,
    contestants: &[&Contestant],
    all: &[Vec<Measured>],
) -> Result<String> {
    let yardstick = contestants.iter().position(|c| c.name == YARDSTICK);
    let yardstick = yardstick.unwrap_or(0);
    let name = contestants[yardstick].name;
    let runs = all[yardstick].len();
    let mut text = format!(
        "{flows} flow(s), MTU 1500, {runs} runs of {seconds} s each, taking turns\n\n\
         | | Gbit/s, median | min–max | of {name} | its CPUs | its ns a data packet | of {name} | the machine's s a Gbit | retransmissions a run |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    );
    for (contestant, measured) in contestants.iter().zip(all) {
        let of = |value: fn(&Measured) -> f64| Spread::of(measured.iter().map(value));
        let rate = of(|m| m.gigabits_per_s).context("no runs")?;
        let ratio = of_yardstick(measured, &all[yardstick], |m| m.gigabits_per_s)?;
        let cost = of_yardstick(measured, &all[yardstick], |m| m.ns_per_packet)?;
        let cpus = of(|m| m.cpus).context("no runs")?;
        let per_packet = of(|m| m.ns_per_packet).context("no runs")?;
        let machine = of(|m| m.machine_per_gigabit).context("no runs")?;
        let again = of(|m| m.retransmissions as f64).context("no runs")?;
        text += &format!(
            "| {} | {:.2} | {:.2}–{:.2} | {ratio} | {:.2} | {:.0} | {cost} | {:.3} | {:.0} |\n",
            contestant.name,
            rate.median,
            rate.min,
            rate.max,
            cpus.median,
            per_packet.median,
            machine.median,
            again.median
        );
    }
    Ok(text)
}

/// The median of the ratios within a turn, and between what the middle half of them lies.
fn of_yardstick(
    measured: &[Measured],
    yardstick: &[Measured],
    value: fn(&Measured) -> f64,
) -> Result<String> {
    let pairs = measured.iter().zip(yardstick);
    let mut ratios: Vec<f64> = pairs.map(|(m, other)| value(m) / value(other)).collect();
    ratios.sort_by(f64::total_cmp);
    let median = Spread::of(ratios.iter().copied())
        .context("no runs")?
        .median;
    let (low, high) = (ratios.len() / 4, ratios.len() - 1 - ratios.len() / 4);
    // The kernel's bridge has no process.
    match median.is_nan() || yardstick.iter().any(|other| value(other) == 0.0) {
        true => Ok("-".to_owned()),
        false => Ok(format!(
            "{median:.3} ({:.2}–{:.2})",
            ratios[low], ratios[high]
        )),
    }
}

/// Three namespaces in a row, the middle one with a bridge.
struct Lab {
    server: Namespace,
    middle: Namespace,
    client: Namespace,
    folder: TempDir,
}

impl Lab {
    fn create() -> Result<Lab> {
        let name = format!("wl-rate-{}", std::process::id());
        let lab = Lab {
            folder: lab_folder(&name)?,
            server: Namespace::create(&format!("{name}-server"))?,
            middle: Namespace::create(&format!("{name}-box"))?,
            client: Namespace::create(&format!("{name}-client"))?,
        };
        lab.middle
            .ip("link add br0 type bridge forward_delay 0 mcast_snooping 0")?;
        for (end, port, address) in [
            (&lab.server, INSIDE, "198.18.0.1"),
            (&lab.client, OUTSIDE, CLIENT_ADDRESS),
        ] {
            lab.middle.ip(&format!(
                "link add {port} numtxqueues 1 numrxqueues 1 type veth peer name eth0 \
                 numtxqueues 1 numrxqueues 1 netns {}",
                end.name()
            ))?;
            for (place, interface) in [(&lab.middle, port), (end, "eth0")] {
                place.disable_segment_offloads(&[interface])?;
                place.ip(&format!("link set {interface} up"))?;
            }
            lab.middle.ip(&format!("link set {port} master br0"))?;
            end.ip(&format!("address add {address}/24 dev eth0"))?;
            end.set_sysctl("net.ipv4.tcp_no_metrics_save", "1")?;
            end.set_sysctl("net.ipv4.tcp_rmem", "4096 131072 16777216")?;
            end.set_sysctl("net.ipv4.tcp_wmem", "4096 16384 16777216")?;
        }
        lab.middle.ip("link set br0 up")?;
        Ok(lab)
    }

    fn measure(&self, contestant: &Contestant, flows: u32, seconds: u64) -> Result<Measured> {
        self.set_offloads(contestant.offloads)?;
        let forwarder = match contestant.program {
            Program::Kernel => None,
            _ => Some(Forwarder::start(self, contestant)?),
        };
        let mut serve = self.client.command("iperf3");
        let served = run(serve.args(["-s", "-1", "-D", "-B", CLIENT_ADDRESS]));
        served.context("iperf3 as a server")?;
        self.wait_for_listener()?;
        let busy = forwarder.as_ref().map(Forwarder::cpu_seconds).transpose()?;
        let mut send = self.server.command("iperf3");
        send.args(["-c", CLIENT_ADDRESS, "-C", "cubic", "-J", "-t"]);
        send.args([seconds.to_string(), "-P".to_owned(), flows.to_string()]);
        let load = Load::start()?;
        let report = run(&mut send).context("iperf3 as a sender")?;
        let machine = load.busy_s()?;
        let busy_after = forwarder.as_ref().map(Forwarder::cpu_seconds).transpose()?;
        if let Some(forwarder) = forwarder {
            forwarder.stop()?;
        }
        let report: serde_json::Value = serde_json::from_str(&report)?;
        let end = &report["end"];
        let rate = end["sum_received"]["bits_per_second"].as_f64();
        let bits_per_s = rate.context("no rate in iperf3's report")?;
        let cpus = (busy_after.unwrap_or(0.0) - busy.unwrap_or(0.0)) / seconds as f64;
        Ok(Measured {
            gigabits_per_s: bits_per_s / 1e9,
            cpus,
            ns_per_packet: cpus * 1e9 / (bits_per_s / 8.0 / MSS_BYTES),
            machine_per_gigabit: machine / (bits_per_s * seconds as f64 / 1e9),
            retransmissions: end["sum_sent"]["retransmits"].as_u64().unwrap_or(0),
        })
    }

    fn set_offloads(&self, on: bool) -> Result<()> {
        let ends = [(&self.server, "eth0"), (&self.client, "eth0")];
        let ports = [INSIDE, OUTSIDE].map(|port| (&self.middle, port));
        for (place, interface) in ends.into_iter().chain(ports) {
            if !on {
                place.disable_segment_offloads(&[interface])?;
                continue;
            }
            let mut ethtool = place.command("ethtool");
            let features = ["tso", "on", "gso", "on", "gro", "on"];
            run(ethtool.args(["-K", interface]).args(features)).context("ethtool")?;
        }
        Ok(())
    }

    fn wait_for_listener(&self) -> Result<()> {
        let deadline = Instant::now() + LISTEN_TIMEOUT;
        while run(self.client.command("ss").args(["-Hltn"]))?.is_empty() {
            ensure!(Instant::now() < deadline, "iperf3 does not listen");
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }
}

/// A process that forwards between the ports of the bridge. Dropping it kills it.
struct Forwarder {
    child: Child,
    output: PathBuf,
}

impl Forwarder {
    fn start(lab: &Lab, contestant: &Contestant) -> Result<Forwarder> {
        let output = lab.folder.path().join("log");
        let log = File::create(&output)?;
        let (program, ready) = match contestant.program {
            Program::Windlass => (program("WINDLASS_BIN", "windlass")?, "windlass: ready"),
            _ => (program("FORWARD_BIN", "examples/forward")?, "forwarding "),
        };
        let mut command = lab.middle.command(program);
        if contestant.program == Program::Windlass {
            command.args(["run", "--inside", INSIDE, "--outside", OUTSIDE, "--control"]);
            command.arg(lab.folder.path().join("control.sock"));
        }
        command.args(contestant.arguments);
        // The forwarder ends with its standard input.
        command
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log);
        let child = command.spawn().context("cannot run ip")?;
        let mut forwarder = Forwarder { child, output };
        let deadline = Instant::now() + READY_TIMEOUT;
        while !forwarder.said().lines().any(|l| l.starts_with(ready)) {
            let ended = forwarder.child.try_wait()?;
            if ended.is_some() || Instant::now() > deadline {
                bail!("{}: {}", contestant.name, forwarder.said());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(forwarder)
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.output).unwrap_or_default()
    }

    /// User and system time of all its threads.
    fn cpu_seconds(&self) -> Result<f64> {
        processor_time_s(self.child.id())
    }

    fn stop(mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            bail!("it ended during the run ({status}): {}", self.said());
        }
        drop(self.child.stdin.take());
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM)?;
        let deadline = Instant::now() + STOP_TIMEOUT;
        while self.child.try_wait()?.is_none() {
            ensure!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The one that the environment names, or the one of the same build.
fn program(variable: &str, built: &str) -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(variable) {
        return Ok(named.into());
    }
    let bench = std::env::current_exe()?;
    let folder: &Path = bench.ancestors().nth(2).context("no folder above")?;
    let file = folder.join(built);
    let shown = file.display();
    ensure!(file.is_file(), "no {shown}: build it, or set {variable}");
    Ok(file)
}
