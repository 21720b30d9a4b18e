//! How much the wire loses when the box is killed: packets that a dead process is given reach nobody.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use nix::sys::signal::Signal;
use windlass_io::packet::Interface;
use windlass_lab::topology::HOST_INTERFACE;

use crate::bars;
use crate::bed::{Bed, CLEAN, Middle, config};
use crate::daemon::Daemon;
use crate::flood::{Flood, Plan};
use crate::frames::Kind;
use crate::load::spawn_inside;
use crate::report::{Bar, Report, Weight};

/// Probes of nobody's, one by one.
const RATE: u64 = 10_000;
const BEFORE_KILL: Duration = Duration::from_millis(300);
const AFTER_KILL: Duration = Duration::from_millis(700);
/// Until the last of them has arrived.
const LINGER: Duration = Duration::from_millis(100);
const NAP: Duration = Duration::from_micros(100);

pub fn tell(kills: usize) {
    let mut bed = Bed::make(Middle::Box, &CLEAN, 6).expect("a bed");
    let (mut calm, mut killed) = (Vec::new(), Vec::new());
    for _ in 0..kills {
        calm.push(lost_ms(&bed, || {}));
        let mut daemon = bed.daemon.take().expect("one that runs");
        killed.push(lost_ms(&bed, || daemon.end(Signal::SIGKILL)));
        bed.daemon = Some(Daemon::start(&bed.lab, &config()));
    }
    calm.sort_by(f64::total_cmp);
    killed.sort_by(f64::total_cmp);
    println!("lost in calm {calm:.1?} ms, at a kill {killed:.1?} ms");
    let mut report = Report::new("the wire at kill -9");
    let (median, most) = (killed[kills / 2], killed[kills - 1]);
    let (bar, weight) = bars::BLACKOUT_MS;
    report.tell("lost packets, median, ms", median, Bar::None, Weight::Aim);
    report.tell("lost packets, most, ms", most, bar, weight);
    report.tell(
        "without a kill, most, ms",
        calm[kills - 1],
        Bar::None,
        Weight::Aim,
    );
    report.check();
}

/// What is lost of evenly spaced packets while something is done, in the time that they span.
fn lost_ms(bed: &Bed, event: impl FnOnce()) -> f64 {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let server = &bed.lab.topology.servers[0];
    let (open, opened) = mpsc::channel();
    let count = spawn_inside(server, "count", move || {
        let mut interface = Interface::open(HOST_INTERFACE)?;
        open.send(())?;
        let mut count = 0;
        let mut frame = [0; 2048];
        while !stopped.load(Ordering::Relaxed) {
            while interface.recv(&mut frame)?.is_some() {
                count += 1;
            }
            std::thread::sleep(NAP);
        }
        Ok(count)
    });
    let count = count.expect("a thread");
    opened.recv().expect("an interface");
    let plan = Plan {
        kind: Kind::Ack,
        rate: Some(RATE),
        frames: u64::MAX,
        port: bed.load.port,
        seed: 1,
    };
    let flood = Flood::start(&bed.lab, plan).expect("packets");
    std::thread::sleep(BEFORE_KILL);
    event();
    std::thread::sleep(AFTER_KILL);
    let sent = flood.stop().expect("packets").frames;
    std::thread::sleep(LINGER);
    stop.store(true, Ordering::Relaxed);
    let arrived: u64 = count.join().expect("no panic").expect("packets");

    sent.saturating_sub(arrived) as f64 * 1e3 / RATE as f64
}
