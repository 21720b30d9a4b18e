//! Transfers over QUIC: `windlass-transfer recv` in the client's namespace, `windlass-transfer send` in the server's.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;
use windlass_experiment::observed::{FlowObserved, Sample, Series, Source};
use windlass_experiment::setup::client_address;
use windlass_io::monotonic_ns;

use super::plan::{Plan, QuicFlow};
use crate::cleanup::{check_interrupted, interrupted};
use crate::programs::Programs;
use crate::topology::Topology;

/// UDP port of the first receiver; each has one of its own.
const FIRST_PORT: usize = 4433;
/// A sender that has said nothing so long after the end of the run is ended, ns.
const GRACE_NS: u64 = 20_000_000_000;
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Payload of a QUIC packet of 1,500 bytes of IP, for windows in packets.
const PACKET_BYTES: f64 = 1448.0;

/// A process that does not outlive what wants it.
#[derive(Debug)]
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Receivers that listen, and what it takes to send to them.
#[derive(Debug, Default)]
pub(super) struct Receivers(Vec<Receiver>);

#[derive(Debug)]
struct Receiver {
    process: Process,
    flow: QuicFlow,
    send: Command,
    csv: PathBuf,
}

/// Transfers under way.
pub(super) struct Senders {
    threads: Vec<JoinHandle<Result<Arrived>>>,
    _receivers: Vec<Process>,
}

/// What came of them.
#[derive(Debug, Default)]
pub(super) struct Arrived {
    pub flows: Vec<FlowObserved>,
    pub series: Vec<Series>,
}

impl Receivers {
    /// Starts one for each transfer over QUIC and waits until it listens.
    pub(super) fn start(
        topology: &Topology,
        plan: &Plan,
        programs: &Programs,
        folder: &Path,
    ) -> Result<Receivers> {
        if plan.quic.is_empty() {
            return Ok(Receivers::default());
        }
        let program = programs.transfer()?;
        let flows = plan.quic.iter().enumerate();
        let all = flows.map(|(number, flow)| {
            let port = FIRST_PORT + number;
            let address = format!("{}:{port}", client_address(flow.client));
            let mut recv = topology.clients[flow.client].command(&program);
            recv.args(["recv", "-j", "--once", "--listen", &address, "--dir"]);
            recv.arg(folder).stdin(Stdio::null()).stderr(Stdio::null());
            let mut process = Process(recv.stdout(Stdio::piped()).spawn()?);
            let fingerprint = fingerprint(&mut process.0)?;
            let csv = folder.join(format!("quic-{number}.csv"));
            let mut send = topology.servers[flow.server].command(&program);
            send.args(["send", "-j", &address, "--fingerprint", &fingerprint]);
            send.args(["--algorithm", &flow.algorithm]);
            Ok(Receiver {
                process,
                flow: flow.clone(),
                send,
                csv,
            })
        });
        all.collect::<Result<_>>().map(Receivers)
    }

    /// Sends to them, each when it is due. The run began at `start_ns`.
    pub(super) fn send(self, plan: &Plan, start_ns: u64) -> Senders {
        let mut senders = Senders {
            threads: Vec::new(),
            _receivers: Vec::new(),
        };
        let deadline_ns = start_ns + plan.limit_ns;
        let (timed, series) = (plan.fixed_length, plan.series_interval_ns);
        for receiver in self.0 {
            let Receiver {
                process,
                flow,
                mut send,
                csv,
            } = receiver;
            senders._receivers.push(process);
            senders.threads.push(thread::spawn(move || {
                sleep_until(start_ns + flow.start_ns)?;
                let began_ns = monotonic_ns();
                match timed {
                    true => {
                        let left = deadline_ns.saturating_sub(began_ns) as f64 / 1e9;
                        send.args(["--seconds", &format!("{:.3}", left.max(0.001))]);
                    }
                    false => {
                        send.args(["--bytes", &flow.bytes.to_string()]);
                    }
                }
                if series > 0 {
                    send.arg("--csv").arg(&csv);
                }
                let said = output(send, deadline_ns + GRACE_NS);
                let start_s = (began_ns - start_ns) as f64 / 1e9;
                let rows = match series {
                    0 => Vec::new(),
                    _ => rows(&csv, start_s, series).unwrap_or_default(),
                };
                Ok(arrived(&flow, start_s, said, rows))
            }));
        }
        senders
    }
}

impl Senders {
    /// Waits for all of them.
    pub(super) fn finish(self) -> Result<Arrived> {
        let mut all = Arrived::default();
        for thread in self.threads {
            let one = thread.join().map_err(|_| anyhow!("a thread panicked"))??;
            all.flows.extend(one.flows);
            all.series.extend(one.series);
        }
        Ok(all)
    }
}

fn fingerprint(recv: &mut Child) -> Result<String> {
    let stdout = recv.stdout.take().context("no output")?;
    let mut line = String::new();
    // The rest is little, and the pipe takes it; closing it would end the receiver.
    let mut reader = BufReader::new(stdout);
    reader.read_line(&mut line)?;
    recv.stdout = Some(reader.into_inner());
    let said: Value =
        serde_json::from_str(&line).context("windlass-transfer recv did not start")?;
    let found = said["fingerprint"].as_str().map(str::to_owned);
    found.with_context(|| format!("windlass-transfer recv said {line}"))
}

fn sleep_until(at_ns: u64) -> Result<()> {
    while let Some(left) = at_ns.checked_sub(monotonic_ns()).filter(|left| *left > 0) {
        check_interrupted()?;
        thread::sleep(Duration::from_nanos(left).min(POLL_INTERVAL));
    }
    Ok(())
}

/// What a sender said, or why it failed.
fn output(mut send: Command, until_ns: u64) -> Result<Value> {
    send.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut process = Process(send.stderr(Stdio::null()).spawn()?);
    while process.0.try_wait()?.is_none() {
        if interrupted() || monotonic_ns() > until_ns {
            bail!("windlass-transfer send did not end in time");
        }
        thread::sleep(POLL_INTERVAL);
    }
    let mut text = String::new();
    if let Some(stdout) = &mut process.0.stdout {
        stdout.read_to_string(&mut text)?;
    }
    let said: Value = serde_json::from_str(&text).context("windlass-transfer send said nothing")?;
    match said["error"].as_str() {
        Some(error) => bail!("{error}"),
        None => Ok(said),
    }
}

fn arrived(flow: &QuicFlow, start_s: f64, said: Result<Value>, samples: Vec<Sample>) -> Arrived {
    let mut observed = FlowObserved {
        group: flow.group,
        index: flow.index,
        start_s,
        ..FlowObserved::default()
    };
    match said {
        Ok(said) => {
            observed.received_bytes = said["bytes"].as_u64().unwrap_or(0);
            observed.seconds = said["seconds"].as_f64().unwrap_or(0.0);
            observed.intact = true;
        }
        Err(error) => observed.error = Some(format!("{error:#}")),
    }
    observed.arrivals = payload(&samples, observed.received_bytes);
    let series = (!samples.is_empty()).then_some(Series {
        group: flow.group,
        index: flow.index,
        source: Source::Server,
        samples,
        algorithms: Vec::new(),
    });
    Arrived {
        flows: vec![observed],
        series: series.into_iter().collect(),
    }
}

/// The time (s) of each sample, and how much of the payload (bytes) had arrived by then. The
/// samples count packet headers too, so each is scaled to `received_bytes`, which the last one has.
/// The arithmetic is whole: a product with a rounded share can lack one byte.
fn payload(samples: &[Sample], received_bytes: u64) -> Vec<(f64, u64)> {
    let last = samples.last().and_then(|s| s.acked_bytes).unwrap_or(0);
    let share = |acked: u64| {
        let bytes = u128::from(acked) * u128::from(received_bytes) / u128::from(last.max(1));
        u64::try_from(bytes).unwrap_or(received_bytes)
    };
    samples
        .iter()
        .filter_map(|s| Some((s.time_s, share(s.acked_bytes?))))
        .collect()
}

/// The sender's own record, a row for each interval; its clock began at `start_s`.
fn rows(csv: &Path, start_s: f64, interval_ns: u64) -> Result<Vec<Sample>> {
    let mut lines = BufReader::new(File::open(csv)?).lines();
    let head = lines.next().context("an empty file")??;
    let names: Vec<&str> = head.split(',').collect();
    let interval_s = interval_ns as f64 / 1e9;
    let (mut samples, mut next_s) = (Vec::new(), start_s);
    for line in lines {
        let line = line?;
        let fields: Vec<&str> = line.split(',').collect();
        let number = |name: &str| -> Option<f64> {
            let at = names.iter().position(|n| *n == name)?;
            fields.get(at)?.parse().ok()
        };
        let time_s = start_s + number("time_s").context("no time_s")?;
        if time_s < next_s {
            continue;
        }
        next_s = time_s + interval_s;
        let packets = |name: &str| number(name).map(|bytes| bytes / PACKET_BYTES);
        samples.push(Sample {
            in_recovery: None,
            time_s,
            cwnd_packets: packets("window_bytes"),
            ssthresh_packets: packets("ssthresh_bytes"),
            inflight_packets: packets("inflight_bytes"),
            srtt_ms: number("srtt_ms"),
            min_rtt_ms: number("min_rtt_ms"),
            pacing_mbit_s: number("pacing_mbit_s"),
            delivery_mbit_s: number("delivery_mbit_s"),
            acked_bytes: number("delivered_bytes").map(|bytes| bytes as u64),
            retransmitted_packets: packets("lost_bytes").map(|packets| packets as u64),
            held_packets: None,
            queued_packets: None,
        });
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_senders_record_becomes_a_series() {
        let folder = tempfile::tempdir().expect("a folder");
        let csv = folder.path().join("csv");
        let text = "time_s,window_bytes,srtt_ms,delivered_bytes,phase\n\
                    0.1,14480,40.5,1000,slow_start\n0.15,1,1,1,x\n0.21,28960,41,3000,avoidance\n";
        std::fs::write(&csv, text).expect("written");
        let rows = rows(&csv, 2.0, 100_000_000).expect("read");
        let told: Vec<_> = rows
            .iter()
            .map(|r| (r.time_s, r.cwnd_packets, r.acked_bytes))
            .collect();
        assert_eq!(
            told,
            [
                (2.1, Some(10.0), Some(1000)),
                (2.21, Some(20.0), Some(3000))
            ]
        );
        let flow = QuicFlow::default();
        let said = serde_json::json!({ "bytes": 2700, "seconds": 0.25 });
        let arrived = arrived(&flow, 2.0, Ok(said), rows);
        assert_eq!(arrived.flows[0].arrivals, [(2.1, 900), (2.21, 2700)]);
        assert!(arrived.flows[0].intact && arrived.series.len() == 1);
    }

    #[test]
    fn at_the_end_all_of_the_payload_has_arrived() {
        let received = 3_799_173;
        for acked in 3_600_000..4_400_000 {
            let sample = Sample {
                acked_bytes: Some(acked),
                ..Sample::default()
            };
            assert_eq!(payload(&[sample], received), [(0.0, received)], "{acked}");
        }
    }
}
