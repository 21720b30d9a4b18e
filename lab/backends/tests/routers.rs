//! Three routers of the kernel in a row, each with a queue of its own: `experiments/compound-routers.toml` without an emulator.
//! Needs root, iproute2 with `tbf` in the kernel, and iperf3.
//!
//! ```text
//! server ── box ── r1 ──tbf── r2 ──tbf── r3 ──tbf── client
//!                  │          │          │
//!                  h0         d0, h1     d1, h2
//! ```
//!
//! `h0` sends to `d0`, `h1` to `d1` and `h2` to the client, by the kernel's Reno. The wires have no delay: a round trip is what the queues
//! make of it. `WINDLASS_ROUTERS_S=15` runs all algorithms for 15 s each, and prints the table of docs/compound.md.

#[path = "program/mod.rs"]
mod program;

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use windlass_lab::command::{IP, check_host};
use windlass_lab::netns::Namespace;
use windlass_lab::windlass::Windlass;

/// Of each router toward the client.
const RATE_MBIT: u32 = 100;
/// What it may send at once after it was late, bytes: 2.4 ms of its rate.
const BURST_BYTES: u32 = 30_280;
/// 500 packets of 1,514 bytes.
const QUEUE_BYTES: u32 = 757_000;
const SHORT_S: u64 = 6;
/// What it is called, the server's own algorithm, and the rule of the box.
const CONTESTANTS: [(&str, &str, &str); 8] = [
    ("Reno in the server", "reno", r#"mode = "observe""#),
    ("CUBIC in the server", "cubic", r#"mode = "observe""#),
    ("Reno", "cubic", r#"algorithm = "reno""#),
    (
        "Compound, as the ports have it",
        "cubic",
        r#"algorithm = "compound""#,
    ),
    (
        "Compound, the paper (`infocom`)",
        "cubic",
        r#"algorithm = { name = "compound", preset = "infocom" }"#,
    ),
    (
        "Compound, the reproduction (`cs244`)",
        "cubic",
        r#"algorithm = { name = "compound", preset = "cs244" }"#,
    ),
    ("CUBIC", "cubic", r#"algorithm = "cubic""#),
    ("BBR", "cubic", r#"algorithm = "bbr""#),
];

/// Hosts and routers.
const NAMES: [&str; 11] = [
    "server", "box", "r1", "r2", "r3", "client", "h0", "h1", "h2", "d0", "d1",
];
/// Two ends of a wire: namespace, interface, address (none in the box).
const WIRES: [[(&str, &str, &str); 2]; 10] = [
    [("server", "eth0", "10.9.0.1"), ("box", "in0", "")],
    [("box", "out0", ""), ("r1", "west", "10.9.0.2")],
    [("r1", "east", "10.9.1.1"), ("r2", "west", "10.9.1.2")],
    [("r2", "east", "10.9.2.1"), ("r3", "west", "10.9.2.2")],
    [("r3", "east", "10.9.3.1"), ("client", "eth0", "10.9.3.2")],
    [("h0", "eth0", "10.9.10.1"), ("r1", "host", "10.9.10.2")],
    [("h1", "eth0", "10.9.11.1"), ("r2", "host", "10.9.11.2")],
    [("h2", "eth0", "10.9.12.1"), ("r3", "host", "10.9.12.2")],
    [("d0", "eth0", "10.9.20.1"), ("r2", "sink", "10.9.20.2")],
    [("d1", "eth0", "10.9.21.1"), ("r3", "sink", "10.9.21.2")],
];
/// Namespace, destination, next hop.
const ROUTES: [(&str, &str, &str); 12] = [
    ("server", "default", "10.9.0.2"),
    ("client", "default", "10.9.3.1"),
    ("h0", "default", "10.9.10.2"),
    ("h1", "default", "10.9.11.2"),
    ("h2", "default", "10.9.12.2"),
    ("d0", "default", "10.9.20.2"),
    ("d1", "default", "10.9.21.2"),
    ("r1", "default", "10.9.1.2"),
    ("r2", "default", "10.9.2.2"),
    ("r2", "10.9.0.0/24", "10.9.1.1"),
    ("r2", "10.9.10.0/24", "10.9.1.1"),
    ("r3", "10.9.0.0/16", "10.9.2.1"),
];
/// Who sends by Reno beside the flow that crosses all: from, to.
const BESIDE: [(&str, &str, &str); 3] = [
    ("h0", "d0", "10.9.20.1"),
    ("h1", "d1", "10.9.21.1"),
    ("h2", "client", "10.9.3.2"),
];

struct Network(Vec<(&'static str, Namespace)>);

impl Network {
    fn create() -> Result<Network> {
        let lab = format!("wl-routers-{}", std::process::id());
        let all = NAMES.map(|name| Ok((name, Namespace::create(&format!("{lab}-{name}"))?)));
        let network = Network(all.into_iter().collect::<Result<_>>()?);
        for [near, far] in WIRES {
            network.wire(near, far)?;
        }
        let boxed = network.get("box");
        boxed.ip_batch(
            "link add wlbr type bridge\nlink set in0 master wlbr\nlink set out0 master wlbr\nlink set wlbr up\n",
        )?;
        for router in ["r1", "r2", "r3"] {
            network.get(router).set_sysctl("net.ipv4.ip_forward", "1")?;
        }
        for (name, to, by) in ROUTES {
            network.get(name).ip(&format!("route add {to} via {by}"))?;
        }
        Ok(network)
    }

    /// Gives each router its rate and its queue. `Err` says why the kernel cannot.
    fn limit(&self) -> Result<()> {
        for router in ["r1", "r2", "r3"] {
            let limit = format!(
                "qdisc add dev east root tbf rate {RATE_MBIT}mbit burst {BURST_BYTES} limit {QUEUE_BYTES}"
            );
            let words: Vec<_> = limit.split(' ').collect();
            let made = self.get(router).command("tc").args(words).output()?;
            let said = String::from_utf8_lossy(&made.stderr);
            ensure!(made.status.success(), "tc {limit}: {said}");
        }
        Ok(())
    }

    fn get(&self, name: &str) -> &Namespace {
        let found = self.0.iter().find(|(known, _)| *known == name);
        &found.expect("it was made").1
    }

    fn wire(&self, near: (&str, &str, &str), far: (&str, &str, &str)) -> Result<()> {
        let other = self.get(far.0).name();
        self.get(near.0).ip(&format!(
            "link add {} type veth peer name {} netns {other}",
            near.1, far.1
        ))?;
        for (name, interface, address) in [near, far] {
            let namespace = self.get(name);
            if !address.is_empty() {
                namespace.ip(&format!("address add {address}/24 dev {interface}"))?;
            }
            namespace.ip(&format!("link set {interface} up"))?;
            namespace.disable_segment_offloads(&[interface])?;
        }
        Ok(())
    }

    /// Somebody who waits for one flow.
    fn listen(&self, at: &str, port: u16) -> Result<Child> {
        let mut command = self.get(at).command("iperf3");
        command.args(["-s", "-1", "-p", &port.to_string()]);
        Ok(command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?)
    }

    fn send(&self, from: &str, to: &str, port: u16, by: &str, seconds: u64) -> Result<Child> {
        let mut command = self.get(from).command("iperf3");
        let (port, time) = (port.to_string(), seconds.to_string());
        // The first part does not count.
        let omitted = (seconds / 3).to_string();
        command.args([
            "-J", "-c", to, "-p", &port, "-C", by, "-t", &time, "-O", &omitted,
        ]);
        Ok(command.stdout(Stdio::piped()).spawn()?)
    }

    /// Mbit/s of payload of the flow that crosses all, and of those of Reno together.
    fn measure(&self, by: &str, beside: bool, seconds: u64) -> Result<(f64, f64)> {
        let others = if beside { &BESIDE[..] } else { &[] };
        let mut listeners = vec![self.listen("client", 5300)?];
        for (port, (_, to, _)) in (5301..).zip(others) {
            listeners.push(self.listen(to, port)?);
        }
        std::thread::sleep(Duration::from_millis(500));
        let mut senders = vec![self.send("server", "10.9.3.2", 5300, by, seconds)?];
        for (port, (from, _, address)) in (5301..).zip(others) {
            senders.push(self.send(from, address, port, "reno", seconds)?);
        }
        let rates = senders.into_iter().map(rate).collect::<Result<Vec<_>>>();
        for mut listener in listeners {
            let _ = listener.kill();
            listener.wait()?;
        }
        let rates = rates?;
        Ok((rates[0], rates[1..].iter().sum()))
    }
}

fn rate(sender: Child) -> Result<f64> {
    let output = sender.wait_with_output()?;
    let said: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let rate = said["end"]["sum_received"]["bits_per_second"].as_f64();
    match rate {
        Some(rate) if output.status.success() => Ok(rate / 1e6),
        _ => bail!("iperf3: {}", said["error"]),
    }
}

/// With one algorithm in the box: alone; beside Reno; the flows of Reno.
fn run(network: &Network, folder: &Path, by: &str, rule: &str, seconds: u64) -> Result<[f64; 3]> {
    let config = folder.join("rules.toml");
    std::fs::write(
        &config,
        format!("version = 1\n[[rule]]\nname = \"all\"\n{rule}\n"),
    )?;
    let arguments = ["--config".into(), config.display().to_string()];
    let windlass = Windlass::start(
        network.get("box"),
        &program::program(),
        &arguments,
        None,
        folder,
    )?;
    let (alone, _) = network.measure(by, false, seconds)?;
    let (across, beside) = network.measure(by, true, seconds)?;
    windlass.stop()?;
    Ok([alone, across, beside])
}

/// The path is full with each algorithm, and nobody is starved by a flow that the box governs, but for BBR.
#[test]
fn a_flow_crosses_three_routers_of_the_kernel() {
    if let Err(reason) = check_host(&[IP, ("tc", "iproute2"), ("iperf3", "iperf3")]) {
        println!("skipped: {reason}");
        return;
    }
    let whole = std::env::var("WINDLASS_ROUTERS_S").ok();
    let seconds = whole.as_ref().map_or(SHORT_S, |s| s.parse().expect("s"));
    let network = Network::create().expect("a network");
    if let Err(reason) = network.limit() {
        println!("skipped: {reason:#}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let all = if whole.is_some() {
        &CONTESTANTS[..]
    } else {
        &CONTESTANTS[3..4]
    };
    let mut wrong = Vec::new();
    println!("| | alone, Mbit/s | across all three | the three flows of Reno together |");
    for (name, by, rule) in all {
        let said = run(&network, folder.path(), by, rule, seconds);
        let [alone, across, beside] = said.context(*name).expect("all flows end");
        println!("| {name} | {alone:.1} | {across:.1} | {beside:.1} |");
        let full = across + beside / 3.0;
        // The ends of the flows measure at different times, so that what they say together may be more than a link carries.
        // A busy machine's routers are late, and lose a part of their rate: only a path that is not used is wrong.
        if alone < 40.0 || full < 60.0 || across < 0.1 {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
