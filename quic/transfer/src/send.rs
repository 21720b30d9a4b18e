//! The sender.

mod session;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use s2n_quic::client::Connect;
use s2n_quic::provider::tls::rustls as tls;
use s2n_quic::{Client, Connection};
use tokio::time::{MissedTickBehavior, interval, timeout};
use windlass_cc::Settings;
use windlass_cc_s2n_quic::CongestionControl;

use crate::limits::{DEFAULT_PORT, FAREWELL};
use crate::monitor::Monitor;
use crate::runtime::{block_on, code, interrupted, why};
use crate::trace::Trace;
use crate::{Error, Fingerprint, Progress, Result, Sent, limits, pin};
use session::{Counted, Session};

/// Between two looks at how far it is.
const TICK: Duration = Duration::from_millis(200);

/// What to send.
#[derive(Clone, PartialEq, Debug)]
pub enum What {
    /// A file, which the receiver keeps.
    File(PathBuf),
    /// So many bytes, which the receiver counts.
    Bytes(u64),
    /// As many bytes as arrive in this time.
    For(Duration),
}

/// What to send, whereto and how.
#[derive(Clone, Debug)]
pub struct SendOptions {
    /// `HOST`, `HOST:PORT`, `[IPv6]:PORT`.
    pub to: String,
    /// What.
    pub what: What,
    /// The algorithm in charge.
    pub algorithm: Settings,
    /// Of the receiver; `None` takes any.
    pub fingerprint: Option<Fingerprint>,
    /// Where the series goes as CSV.
    pub csv: Option<PathBuf>,
    /// Where it goes as qlog.
    pub qlog: Option<PathBuf>,
}

/// Sends, and waits for the receiver's word that it has all. `on_progress` hears five times a
/// second how far it is.
///
/// # Errors
/// Whatever keeps it from arriving; nothing of a file has its final name then.
pub fn send(options: &SendOptions, on_progress: &mut dyn FnMut(&Progress)) -> Result<Sent> {
    let to = resolve(&options.to)?;
    let title = format!("{} to {to}", options.algorithm.id());
    let csv = options.csv.as_deref();
    let mut trace = Trace::create(csv, options.qlog.as_deref(), &title)?;
    let sent = block_on(run(options, to, &mut trace, on_progress));
    let written = trace.finish();
    sent.and_then(|sent| written.map(|()| sent))
}

fn resolve(text: &str) -> Result<SocketAddr> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(address);
    }
    if let Ok(ip) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Ok((ip, DEFAULT_PORT).into());
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok()),
        None => (text, Some(DEFAULT_PORT)),
    };
    let failed = |source| Error::Resolve {
        host: text.to_owned(),
        source,
    };
    let port = port.ok_or_else(|| {
        failed(std::io::Error::other(
            "what follows the colon is no port: write HOST or HOST:PORT",
        ))
    })?;
    let found = (host, port).to_socket_addrs().map_err(failed)?.next();
    found.ok_or_else(|| failed(std::io::Error::other("it has no address")))
}

async fn run(
    options: &SendOptions,
    to: SocketAddr,
    trace: &mut Trace,
    on_progress: &mut dyn FnMut(&Progress),
) -> Result<Sent> {
    let monitor = Arc::new(Monitor::default());
    let (mut client, connection) = connect(options, to, monitor.clone()).await?;
    let (mut handle, _acceptor) = connection.split();
    let _ = handle.keep_alive(true);
    let counted = Counted::default();
    let session = Session::new(handle.clone(), to, &counted);
    let outcome = {
        let transfer = session.transfer(&options.what);
        let end = interrupted();
        tokio::pin!(transfer, end);
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut pace = Pace::default();
        loop {
            tokio::select! {
                biased;
                outcome = &mut transfer => break outcome,
                ended = &mut end => {
                    handle.close(code::INTERRUPTED.into());
                    break ended.and(Err(Error::Interrupted));
                }
                _ = ticks.tick() => {
                    trace.write(&monitor.take_series())?;
                    on_progress(&pace.progress(&counted, &monitor));
                }
            }
        }
    };
    trace.write(&monitor.take_series())?;
    let last = if outcome.is_ok() {
        code::DONE
    } else {
        code::FAILED
    };
    handle.close(last.into());
    drop(handle);
    // All is confirmed; only the word that closes the connection must still leave.
    let _ = timeout(FAREWELL, client.wait_idle()).await;
    let delivery = outcome?;
    Ok(Sent {
        to,
        algorithm: options.algorithm.id().name().to_owned(),
        file: delivery.file,
        sha256: delivery.sha256,
        resumed_from: delivery.offset,
        bytes: delivery.bytes,
        seconds: delivery.took.as_secs_f64(),
        goodput_mbit_s: crate::outcome::mbit_s(delivery.bytes, delivery.took),
        path: monitor.figures(),
    })
}

/// How fast it is at the moment.
#[derive(Default)]
struct Pace {
    last: Option<(Instant, u64)>,
    rate_bit_s: f64,
}

impl Pace {
    fn progress(&mut self, counted: &Counted, monitor: &Monitor) -> Progress {
        let path = monitor.newest();
        let delivered = path.map_or(0, |p| p.delivered);
        let now = Instant::now();
        if let Some((then, before)) = self.last {
            let passed = now.duration_since(then).as_secs_f64();
            if passed > 0.0 {
                let newest = delivered.saturating_sub(before) as f64 * 8.0 / passed;
                self.rate_bit_s += (newest - self.rate_bit_s) * 0.3;
            }
        }
        self.last = Some((now, delivered));
        let (offset, handed_over, total, began) = counted.get();
        Progress {
            elapsed: began.map_or(Duration::ZERO, |b| b.elapsed()),
            arrived: offset + delivered.min(handed_over),
            total,
            rate_bit_s: self.rate_bit_s,
            path,
        }
    }
}

async fn connect(
    options: &SendOptions,
    to: SocketAddr,
    monitor: Arc<Monitor>,
) -> Result<(Client, Connection)> {
    let (config, pin) = pin::client(options.fingerprint)?;
    let any: IpAddr = match to {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let from = SocketAddr::from((any, 0));
    let control = CongestionControl::new(options.algorithm).with_observer(monitor);
    let started = |e: &dyn std::fmt::Display| Error::Start(e.to_string());
    let client = Client::builder()
        .with_tls(tls::Client::from(config))
        .map_err(|e| started(&e))?
        .with_limits(limits::of_connection()?)
        .map_err(|e| started(&e))?
        .with_congestion_controller(control)
        .map_err(|e| started(&e))?
        .with_io(limits::socket(from)?)
        .map_err(|e| started(&e))?
        .start()
        .map_err(|e| started(&e))?;
    let attempt = client.connect(Connect::new(to).with_server_name(pin::NAME));
    match attempt.await {
        Ok(connection) => Ok((client, connection)),
        Err(error) => Err(match pin.mismatch() {
            Some((expected, found)) => Error::WrongFingerprint {
                to,
                expected,
                found,
            },
            None => refused(to, &error),
        }),
    }
}

fn refused(to: SocketAddr, error: &s2n_quic::connection::Error) -> Error {
    use s2n_quic::connection::Error as Quic;
    match error {
        Quic::MaxHandshakeDurationExceeded { .. } | Quic::IdleTimerExpired { .. } => {
            Error::NoAnswer { to }
        }
        other => Error::Broken {
            peer: to,
            why: why(other),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_with_and_without_ports() {
        let address = |text: &str| resolve(text).map(|a| a.to_string());
        for (text, expected) in [
            ("192.0.2.1", "192.0.2.1:4433"),
            ("192.0.2.1:99", "192.0.2.1:99"),
            ("2001:db8::1", "[2001:db8::1]:4433"),
            ("[2001:db8::1]", "[2001:db8::1]:4433"),
            ("[2001:db8::1]:99", "[2001:db8::1]:99"),
        ] {
            assert_eq!(address(text).expect("an address"), expected);
        }
        let error = resolve("192.0.2.1:port").unwrap_err().to_string();
        assert!(error.contains("write HOST or HOST:PORT"), "{error}");
        assert!(resolve("").is_err());
    }
}
