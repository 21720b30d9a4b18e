//! Two workers on two real queues. One panics, and the flows of the other stay governed.
//!
//! The box is the daemon as a library, in a process of its own, with an algorithm that panics when it is told to.

#[allow(dead_code)]
mod netns;
#[allow(dead_code)]
mod program;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use windlass_cc::plugin::{
    Call, Code, Description, Event, Fault, FlowState, Health, PARAMETERS_MAX,
};
use windlass_cc::{About, Catalog, Signals};
use windlass_daemon::Settings;
use windlass_policy::Config;

use netns::{Chats, Lab, MEGABYTE, Transfer, lab};

const PATIENCE: Duration = Duration::from_secs(20);
/// Each side of a connection goes over a queue by lot: half have both sides on one queue, and are governed by its worker.
const CHATS: usize = 140;
/// What a connection has said that is silent then, bytes, and a little more.
const SILENT: u64 = 1000;
/// Ports of flows that can panic: as many are tried until one is governed.
const PORTS: std::ops::Range<u16> = 8200..8230;
const SAYS: &str = "the test has asked for it";

/// From now on the next ACK is too much.
static ARMED: AtomicBool = AtomicBool::new(false);

struct Panics;

impl Code for Panics {
    fn call(&self, call: &Call<'_>, flow: &mut FlowState) -> Result<(), Fault> {
        if matches!(call.event, Event::Ack(_)) {
            assert!(!ARMED.load(Ordering::Acquire), "{SAYS}");
        }
        flow.control.cwnd = flow.control.cwnd.max(100_000);
        Ok(())
    }

    fn on_fault(&self, _: Fault) {}

    fn health(&self) -> Health {
        Health::default()
    }
}

fn catalog() -> Catalog {
    let mut catalog = Catalog::new();
    let about = About {
        summary: "Panics when it is told to",
        source: "",
        advice: "",
        signals: Signals::LOSS,
    };
    let panics = Description {
        name: "panics",
        about,
        parameters: &[],
        defaults: [0.0; PARAMETERS_MAX],
        state_bytes: 0,
        prr: true,
        code: Arc::new(Panics),
    };
    catalog.register(panics).unwrap();
    catalog
}

#[test]
#[ignore = "another test starts it in a process of its own"]
fn runs_a_box() {
    let text = std::env::var("WINDLASS_CONFIG").expect("what it is to do");
    let catalog = catalog();
    let config = Config::parse(&text, "w.toml", &catalog).unwrap_or_else(|e| panic!("{e}"));
    let settings = Settings::new(&config, None).unwrap();
    thread::spawn(|| {
        let mut line = String::new();
        if std::io::stdin().read_line(&mut line).is_ok_and(|n| n > 0) {
            ARMED.store(true, Ordering::Release);
        }
    });
    windlass_daemon::run(settings, catalog, None, |_| println!("it is ready")).unwrap();
}

/// A box in the middle.
struct Middle {
    child: Child,
    control: PathBuf,
}

impl Middle {
    fn start(lab: &Lab) -> Middle {
        let control = lab.folder.path().join("w.sock");
        let text = format!(
            "version = 1\n[box]\ninside = \"m0\"\noutside = \"m1\"\ncontrol_socket = \"{}\"\n\
             [[rule]]\nname = \"panics\"\nports = [{}]\nalgorithm = {{ name = \"panics\", fallback = \"reno\" }}\nmode = \"enforce\"\n\
             [[rule]]\nname = \"rest\"\nalgorithm = \"bbr\"\nmode = \"enforce\"\n",
            control.display(),
            PORTS
                .map(|port| port.to_string())
                .collect::<Vec<_>>()
                .join(", "),
        );
        let own = std::env::current_exe().unwrap();
        let mut command = lab.command("m", own.to_str().unwrap());
        command.args(["--ignored", "--exact", "--nocapture", "runs_a_box"]);
        command.env("WINDLASS_CONFIG", text);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(
            lines.any(|line| line.is_ok_and(|line| line.contains("it is ready"))),
            "the box has ended"
        );
        // Whatever it writes from now on is read.
        thread::spawn(move || lines.for_each(drop));
        Middle { child, control }
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let control = ["--control", self.control.to_str().unwrap()];
        let output = program::windlass(&[arguments, &["-j"], &control].concat());
        assert!(output.status.success(), "{}", program::stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The flows that it governs with this algorithm by name, and what of them is acknowledged.
    fn governed(&self, algorithm: &str) -> BTreeMap<String, u64> {
        let flows = self.json(&["flow", "show"]);
        let flows = flows.as_array().unwrap().iter();
        let ours = flows.filter(|f| f["passed"].is_null() && f["algorithm"] == algorithm);
        let named = |flow: &Value| {
            let name = flow["flow"].as_str()?.to_owned();
            Some((name, flow["bytes_acked"].as_u64()?))
        };
        ours.filter_map(named).collect()
    }

    /// Those that say something again and again, and not only once.
    fn talking(&self) -> BTreeMap<String, u64> {
        let mut all = self.governed("bbr");
        all.retain(|name, acked| name.starts_with("10.77.0.1:8100>") && *acked > SILENT);
        all
    }

    fn troubles(&self) -> String {
        self.json(&["status"])["troubles"].to_string()
    }
}

impl Drop for Middle {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM);
        let _ = self.child.wait();
    }
}

/// Two queues in the middle, and two that fill them at the ends.
fn two_queues(lab: &Lab) -> bool {
    let set = |place: &str, port: &str| {
        let mut ethtool = lab.command(place, "ethtool");
        let queues = ["-L", port, "rx", "2", "tx", "2"];
        let done = ethtool.args(queues).stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success())
    };
    let places = [("m", "m0"), ("m", "m1"), ("a", "a0"), ("b", "b0")];
    places.iter().all(|(place, port)| set(place, port))
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} does not come");
        thread::sleep(Duration::from_millis(50));
    }
}

/// A flow that one of the workers governs with the algorithm that panics.
fn that_can_panic(lab: &Lab, box_: &Middle) -> Transfer {
    for port in PORTS {
        let transfer = Transfer::start(lab, port);
        transfer.wait_for(MEGABYTE);
        if box_.governed("panics").values().any(|acked| *acked > 0) {
            return transfer;
        }
        transfer.finish();
    }
    panic!("none is governed: {}", box_.json(&["flow", "show"]));
}

#[test]
fn the_flows_of_one_worker_stay_governed_when_the_other_panics() {
    let Some(lab) = lab() else { return };
    if Command::new("ethtool").arg("--version").output().is_err() {
        return eprintln!("skipped: ethtool is not installed");
    }
    if !two_queues(&lab) {
        return eprintln!("skipped: one CPU, so veth has one queue");
    }
    let mut box_ = Middle::start(&lab);
    assert_eq!(box_.json(&["status"])["workers"], 2);
    let chats = Chats::start(&lab, CHATS);
    wait_for("governed flows", || box_.talking().len() > 11);
    let transfer = that_can_panic(&lab, &box_);
    let before = box_.talking();

    writeln!(box_.child.stdin.as_mut().unwrap(), "now").unwrap();
    wait_for("the panic", || box_.troubles().contains(SAYS));
    assert_eq!(box_.json(&["status"])["workers"], 1);
    let after = box_.talking();
    let left = |name: &&String| after.contains_key(*name);
    let (kept, lost): (Vec<&String>, Vec<&String>) = before.keys().partition(left);
    eprintln!(
        "{} flows stay governed, and {} are the bridge's",
        kept.len(),
        lost.len()
    );
    assert!(
        kept.len() > 1,
        "no flow was at the other worker: {before:?}"
    );
    assert!(lost.len() > 1, "no flow was at this worker: {before:?}");
    wait_for("data of each flow that is governed", || {
        let now = box_.talking();
        kept.iter().all(|name| now.get(*name) > after.get(*name))
    });
    // New ones are governed, too, if their queue is that of the worker that is left.
    let more = PORTS.end..PORTS.end + 30;
    assert!(
        more.into_iter().any(|port| {
            let transfer = Transfer::start(&lab, port);
            transfer.wait_for(MEGABYTE);
            let name = format!("10.77.0.1:{port}>");
            let found = box_
                .governed("bbr")
                .keys()
                .any(|flow| flow.starts_with(&name));
            transfer.finish();
            found
        }),
        "no new flow is governed"
    );
    transfer.wait_for(MEGABYTE);
    transfer.finish();
    // Every byte of all of them has come, by whichever way.
    chats.finish();
}
