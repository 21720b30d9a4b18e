//! A bare forwarder: every packet taken on one side leaves on the other, nothing else. The
//! yardstick for what the engine costs.
//!
//! `forward [--generic|--native|--packet] [--bridge] [--frame-size N] INSIDE OUTSIDE [PORT…]`

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass_engine::{Pool, Side, Tx, TxChecksum, Why};
use windlass_io::{AnyDriver, Driver, DriverConfig, Prefer, Session, bridge};

const BATCH_PACKETS: usize = 64;
const FRAMES: u32 = 16_384;
/// How often to look whether to stop, nanoseconds.
const STOP_CHECK_NS: u64 = 100_000_000;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let (config, make_bridge) = arguments()?;
    if make_bridge {
        let state = bridge::ensure_bridge(&config.inside, &config.outside)?;
        eprintln!("bridge {} (created: {})", state.name, state.created);
    }
    let mut session = Session::open(&config).map_err(|e| e.to_string())?;
    for problem in session.warnings() {
        eprintln!("{} (try: {})", problem.what, problem.fix);
    }
    eprintln!("{:?}", session.info());
    let stop = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = session
        .drivers()
        .into_iter()
        .map(|driver| {
            let stop = stop.clone();
            std::thread::spawn(move || forward(driver, &stop))
        })
        .collect();
    eprintln!("forwarding until standard input ends");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    stop.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.join().map_err(|_| "a worker panicked")??;
    }
    eprintln!("{:?}", session.counters()?);
    Ok(())
}

fn arguments() -> Result<(DriverConfig, bool), Failure> {
    let mut config = DriverConfig {
        inside: String::new(),
        outside: String::new(),
        queue: 0,
        frames: FRAMES,
        frame_size: 4096,
        ports: Vec::new(),
        patience_ms: 0,
        follows: None,
        seed: 7,
        prefer: Prefer::Auto,
    };
    let mut make_bridge = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--generic" => config.prefer = Prefer::Generic,
            "--native" => config.prefer = Prefer::Native,
            "--packet" => config.prefer = Prefer::Packet,
            "--bridge" => make_bridge = true,
            "--frame-size" => {
                config.frame_size = arguments.next().ok_or("--frame-size N")?.parse()?;
            }
            name if config.inside.is_empty() => config.inside = name.to_owned(),
            name if config.outside.is_empty() => config.outside = name.to_owned(),
            port => config.ports.push(port.parse()?),
        }
    }
    Ok((config, make_bridge))
}

fn forward(mut driver: AnyDriver, stop: &AtomicBool) -> std::io::Result<()> {
    let mut received = Vec::with_capacity(BATCH_PACKETS);
    let mut out = Vec::with_capacity(2 * BATCH_PACKETS);
    while !stop.load(Ordering::Relaxed) {
        for side in [Side::Inside, Side::Outside] {
            driver.receive(side, BATCH_PACKETS, &mut received)?;
            for pkt in received.drain(..) {
                let (head, len) = (driver.head(pkt), driver.len(pkt));
                let checksum = match windlass_wire::partial_checksum(head, len) {
                    Some((start, offset)) => TxChecksum::Partial { start, offset },
                    None => TxChecksum::Done,
                };
                out.push(Tx {
                    pkt,
                    to: side.other(),
                    checksum,
                    why: Why::Forwarded,
                });
            }
        }
        if out.is_empty() {
            driver.wait(Some(STOP_CHECK_NS))?;
        } else {
            driver.transmit(&mut out)?;
        }
    }
    eprintln!("{:?}", driver.stats());
    Ok(())
}
