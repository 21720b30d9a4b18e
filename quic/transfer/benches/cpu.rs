//! What a gigabyte over the loopback interface costs its sender: the libraries' own CUBIC and ours.
//!
//! `cargo bench -p windlass-transfer --bench cpu`; it prints a Markdown table. Sender and receiver
//! are a thread each; the sender's processor time counts, that of the kernel on its behalf
//! included. Contestants take turns, so that whatever else the machine does meets them all, and the
//! medians are compared. `BENCH_RUNS` and `BENCH_BYTES` set other numbers; with `BENCH_CHECK=1` it
//! fails where ours costs more than 5 % more.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use nix::time::{ClockId, clock_gettime};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller;
use windlass_cc::AlgorithmId;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const RUNS: usize = 9;
const BYTES: u64 = 1_000_000_000;
const CHUNK: usize = 256 << 10;
/// Ours may cost this much more.
const LIMIT: f64 = 1.05;

/// Whose stack, and whose CUBIC.
#[derive(Clone, Copy, PartialEq)]
enum Contestant {
    S2n { ours: bool },
    Quinn { ours: bool },
}

const CONTESTANTS: [(Contestant, &str); 4] = [
    (Contestant::S2n { ours: false }, "s2n-quic, its own CUBIC"),
    (Contestant::S2n { ours: true }, "s2n-quic, ours"),
    (Contestant::Quinn { ours: false }, "quinn, its own CUBIC"),
    (Contestant::Quinn { ours: true }, "quinn, ours"),
];

/// What one run took.
struct Cost {
    cpu: Duration,
    wall: Duration,
}

struct Identity {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

fn main() -> Result<()> {
    let runs = number("BENCH_RUNS", RUNS as u64)? as usize;
    let bytes = number("BENCH_BYTES", BYTES)?;
    let mut costs: [Vec<Cost>; 4] = Default::default();
    for run in 0..=runs {
        for (costs, (contestant, _)) in costs.iter_mut().zip(CONTESTANTS) {
            let cost = measure(contestant, bytes)?;
            // The first is for caches and frequencies.
            if run > 0 {
                costs.push(cost);
            }
        }
    }
    println!(
        "| {bytes} bytes, {runs} runs | sender's CPU, s (median, min-max) | s/GB | Mbit/s | of the library's own |"
    );
    println!("| --- | ---: | ---: | ---: | ---: |");
    let mut medians = Vec::new();
    for (costs, (_, name)) in costs.iter_mut().zip(CONTESTANTS) {
        costs.sort_by_key(|c| c.cpu);
        let cpu = |n: usize| costs[n].cpu.as_secs_f64();
        let (median, last) = (cpu(costs.len() / 2), costs.len() - 1);
        let wall: f64 =
            costs.iter().map(|c| c.wall.as_secs_f64()).sum::<f64>() / costs.len() as f64;
        medians.push(median);
        let own = medians[(medians.len() - 1) & !1];
        println!(
            "| {name} | {median:.3} ({:.3}-{:.3}) | {:.3} | {:.0} | {:.3} |",
            cpu(0),
            cpu(last),
            median * 1e9 / bytes as f64,
            bytes as f64 * 8e-6 / wall,
            median / own
        );
    }
    let worst = (medians[1] / medians[0]).max(medians[3] / medians[2]);
    if std::env::var_os("BENCH_CHECK").is_some() && worst > LIMIT {
        return Err(format!("ours costs {worst:.3} times the library's own").into());
    }
    Ok(())
}

fn number(name: &str, default: u64) -> Result<u64> {
    match std::env::var(name) {
        Ok(text) => Ok(text.parse().map_err(|e| format!("{name}={text}: {e}"))?),
        Err(_) => Ok(default),
    }
}

/// Receiver and sender on a thread each; the sender's cost.
fn measure(contestant: Contestant, bytes: u64) -> Result<Cost> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let identity = Identity {
        certificate: made.cert.der().to_vec(),
        key: made.signing_key.serialize_der(),
    };
    let certificate = identity.certificate.clone();
    let (listening, address) = channel();
    let receiver = thread::spawn(move || match contestant {
        Contestant::S2n { .. } => on_one_thread(s2n::receive(&identity, |a| listening.send(a))),
        Contestant::Quinn { .. } => {
            on_one_thread(quinn_ends::receive(&identity, |a| listening.send(a)))
        }
    });
    let to = address.recv()?;
    let sender = thread::spawn(move || {
        let (began, cpu) = (Instant::now(), thread_time()?);
        match contestant {
            Contestant::S2n { ours } => on_one_thread(s2n::send(&certificate, to, ours, bytes))?,
            Contestant::Quinn { ours } => {
                on_one_thread(quinn_ends::send(&certificate, to, ours, bytes))?;
            }
        }
        Ok(Cost {
            cpu: thread_time()? - cpu,
            wall: began.elapsed(),
        })
    });
    let cost: Result<Cost> = sender.join().map_err(|_| "the sender panicked")?;
    let received = receiver.join().map_err(|_| "the receiver panicked")??;
    if received != bytes {
        return Err(format!("{received} of {bytes} bytes arrived").into());
    }
    cost
}

fn on_one_thread<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(work)
}

fn thread_time() -> Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.into())
}

fn any_port() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

mod s2n {
    use super::*;
    use s2n_quic::{Client, Server};
    use windlass_cc_s2n_quic::CongestionControl;

    pub async fn receive<E>(
        identity: &Identity,
        listening: impl FnOnce(SocketAddr) -> std::result::Result<(), E>,
    ) -> Result<u64> {
        let tls = s2n_quic::provider::tls::rustls::Server::builder()
            .with_certificate(&identity.certificate[..], &identity.key[..])?
            .build()?;
        let mut server = Server::builder()
            .with_tls(tls)?
            .with_io(any_port())?
            .start()?;
        let _ = listening(server.local_addr()?);
        let mut connection = server.accept().await.ok_or("nobody came")?;
        let mut stream = connection.accept_receive_stream().await?.ok_or("no data")?;
        let mut received = 0;
        while let Some(chunk) = stream.receive().await? {
            received += chunk.len() as u64;
        }
        while let Ok(Some(_)) = connection.accept().await {}
        Ok(received)
    }

    pub async fn send(certificate: &[u8], to: SocketAddr, ours: bool, bytes: u64) -> Result<()> {
        let tls = s2n_quic::provider::tls::rustls::Client::builder()
            .with_certificate(certificate)?
            .build()?;
        let builder = Client::builder().with_tls(tls)?.with_io(any_port())?;
        let client = if ours {
            let control = CongestionControl::new(AlgorithmId::Cubic);
            builder.with_congestion_controller(control)?.start()?
        } else {
            let control = congestion_controller::Cubic::default();
            builder.with_congestion_controller(control)?.start()?
        };
        let to = Connect::new(to).with_server_name("localhost");
        let mut connection = client.connect(to).await?;
        let mut stream = connection.open_send_stream().await?;
        let chunk = Bytes::from(vec![0x5a; CHUNK]);
        let mut left = bytes;
        while left > 0 {
            let len = left.min(CHUNK as u64);
            stream.send(chunk.slice(..len as usize)).await?;
            left -= len;
        }
        stream.close().await?;
        connection.close(0u32.into());
        Ok(())
    }
}

mod quinn_ends {
    use super::*;
    use quinn::congestion::{ControllerFactory, CubicConfig};
    use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig};
    use windlass_cc_quinn::CongestionControl;

    pub async fn receive<E>(
        identity: &Identity,
        listening: impl FnOnce(SocketAddr) -> std::result::Result<(), E>,
    ) -> Result<u64> {
        let certificate = CertificateDer::from(identity.certificate.clone());
        let key = PrivatePkcs8KeyDer::from(identity.key.clone());
        let config = ServerConfig::with_single_cert(vec![certificate], key.into())?;
        let endpoint = Endpoint::server(config, any_port())?;
        let _ = listening(endpoint.local_addr()?);
        let connection = endpoint.accept().await.ok_or("nobody came")?.await?;
        let mut stream = connection.accept_uni().await?;
        let mut received = 0;
        while let Some(chunk) = stream.read_chunk(CHUNK, true).await? {
            received += chunk.bytes.len() as u64;
        }
        connection.closed().await;
        Ok(received)
    }

    pub async fn send(certificate: &[u8], to: SocketAddr, ours: bool, bytes: u64) -> Result<()> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from(certificate.to_vec()))?;
        let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
        let factory: Arc<dyn ControllerFactory + Send + Sync> = if ours {
            Arc::new(CongestionControl::new(AlgorithmId::Cubic)?)
        } else {
            Arc::new(CubicConfig::default())
        };
        let mut transport = TransportConfig::default();
        transport.congestion_controller_factory(factory);
        config.transport_config(Arc::new(transport));
        let mut endpoint = Endpoint::client(any_port())?;
        endpoint.set_default_client_config(config);
        let connection = endpoint.connect(to, "localhost")?.await?;
        let mut stream = connection.open_uni().await?;
        let chunk = Bytes::from(vec![0x5a; CHUNK]);
        let mut left = bytes;
        while left > 0 {
            let len = left.min(CHUNK as u64);
            stream.write_chunk(chunk.slice(..len as usize)).await?;
            left -= len;
        }
        stream.finish()?;
        stream.stopped().await?;
        connection.close(0u32.into(), b"");
        endpoint.wait_idle().await;
        Ok(())
    }
}
