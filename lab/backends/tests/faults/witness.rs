//! Looks at transfers that stand still, while they do: what the kernels of both ends say of them.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use windlass_lab::command::run;
use windlass_lab::netns::Namespace;

use crate::lab::Lab;
use crate::load::Load;
use crate::program::program;

/// From when on a stall is looked at, and how often.
const STALL: Duration = Duration::from_millis(500);
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// Whether somebody wants to know.
fn is_wanted() -> bool {
    std::env::var_os("WINDLASS_FAULTS_WITNESS").is_some()
}

/// Does the work, and watches meanwhile if somebody wants to know.
pub fn beside<T>(lab: &Lab, load: &Load, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        if is_wanted() {
            scope.spawn(|| watch(lab, load, &over));
        }
        let done = work();
        over.store(true, Ordering::Release);
        done
    })
}

/// Until it is told to stop.
fn watch(lab: &Lab, load: &Load, stop: &AtomicBool) {
    let start = Instant::now();
    while !stop.load(Ordering::Acquire) {
        std::thread::sleep(LOOK_INTERVAL);
        for transfer in load.begun() {
            let connected = transfer.connected_after().is_some();
            if transfer.end().is_some() || !connected || transfer.silent_for() < STALL {
                continue;
            }
            println!(
                "{:.2?} {:?} {} port {} silent for {:.2?}, {} bytes",
                start.elapsed(),
                transfer.way,
                transfer.number,
                transfer.port(),
                transfer.silent_for(),
                transfer.received(),
            );
            let (server, client) = (&lab.topology.servers[0], &lab.topology.clients[0]);
            println!("  inside:  {}", sockets(server, "dport", transfer.port()));
            println!("  outside: {}", sockets(client, "sport", transfer.port()));
            println!("  box:     {}", of_box(lab, transfer.port()));
        }
    }
}

/// What the box knows of the flow with this port of its client.
fn of_box(lab: &Lab, port: u16) -> String {
    let mut show = Command::new(program());
    show.args(["flow", "show", "--control"]);
    show.arg(lab.folder.path().join("control.sock"));
    let shown = run(&mut show).unwrap_or_else(|e| format!("{e:#}"));
    let end = format!(":{port} ");
    let of_port = shown.lines().find(|line| line.contains(&end));
    of_port.unwrap_or("nothing").to_owned()
}

fn sockets(namespace: &Namespace, end: &str, port: u16) -> String {
    let mut ss = namespace.command("ss");
    ss.args(["-tinoH", end, "=", &format!(":{port}")]);
    run(&mut ss).map_or_else(|e| format!("{e:#}"), |said| said.replace('\n', " "))
}
