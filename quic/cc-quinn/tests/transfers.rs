//! Transfers over the loopback interface with each algorithm, straight and through a relay that
//! loses packets: what arrives is what was sent.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use quinn::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use sha2::{Digest, Sha256};
use tokio::net::UdpSocket;
use windlass_cc_quinn::{AlgorithmId, CongestionControl, Settings};

const BYTES: usize = 4_000_000;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn content() -> Vec<u8> {
    (0..BYTES as u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect()
}

/// A server, and the configuration of a client that trusts it.
fn endpoints(settings: Settings) -> Result<(Endpoint, ClientConfig)> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let cert = CertificateDer::from(made.cert);
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let server = ServerConfig::with_single_cert(vec![cert.clone()], key.into())?;
    let server = Endpoint::server(server, (Ipv4Addr::LOCALHOST, 0).into())?;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(cert)?;
    let mut client = ClientConfig::with_root_certificates(Arc::new(roots))?;
    let mut transport = TransportConfig::default();
    let control = CongestionControl::new(settings)?.with_seed(1);
    transport.congestion_controller_factory(Arc::new(control));
    client.transport_config(Arc::new(transport));
    Ok((server, client))
}

async fn receive(server: Endpoint) -> Result<[u8; 32]> {
    let connection = server.accept().await.ok_or("no connection")?.await?;
    let mut stream = connection.accept_uni().await?;
    let received = stream.read_to_end(2 * BYTES).await?;
    connection.closed().await;
    Ok(Sha256::digest(received).into())
}

/// Sends, and waits until all is acknowledged.
async fn send(config: ClientConfig, to: SocketAddr) -> Result<Connection> {
    let mut client = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into())?;
    client.set_default_client_config(config);
    let connection = client.connect(to, "localhost")?.await?;
    let mut stream = connection.open_uni().await?;
    stream.write_all(&content()).await?;
    stream.finish()?;
    stream.stopped().await?;
    Ok(connection)
}

async fn transfer(settings: Settings, lost_one_in: u64) -> Result<([u8; 32], Connection)> {
    let (server, config) = endpoints(settings)?;
    let at = server.local_addr()?;
    let received = tokio::spawn(receive(server));
    let to = if lost_one_in > 0 {
        relay(at, lost_one_in).await?
    } else {
        at
    };
    let connection = send(config, to).await?;
    connection.close(0u32.into(), b"");
    Ok((received.await??, connection))
}

/// Carries datagrams between one client and `server`, and loses every so manyth of the client's.
async fn relay(server: SocketAddr, lost_one_in: u64) -> Result<SocketAddr> {
    let near = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let far = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let at = near.local_addr()?;
    tokio::spawn(async move {
        let (mut there, mut back) = ([0; 65_536], [0; 65_536]);
        let (mut count, mut client) = (0u64, None);
        loop {
            tokio::select! {
                Ok((len, from)) = near.recv_from(&mut there) => {
                    client = Some(from);
                    count += 1;
                    if !count.is_multiple_of(lost_one_in) {
                        let _ = far.send_to(&there[..len], server).await;
                    }
                }
                Ok((len, _)) = far.recv_from(&mut back) => {
                    if let Some(client) = client {
                        let _ = near.send_to(&back[..len], client).await;
                    }
                }
            }
        }
    });
    Ok(at)
}

#[tokio::test]
async fn what_arrives_is_what_was_sent_with_every_algorithm() {
    let expected: [u8; 32] = Sha256::digest(content()).into();
    for id in CongestionControl::algorithms() {
        let done = transfer(id.into(), 0).await;
        let (received, connection) = done.unwrap_or_else(|e| panic!("{id}: {e}"));
        assert_eq!(received, expected, "{id}");
        let cwnd = connection.stats().path.cwnd;
        assert!(cwnd >= 2 * 1200, "{id}: {cwnd}");
    }
}

/// Reno's window at one loss in a hundred packets is about a dozen segments (RFC 5681: 1.22/√p);
/// without a working reduction it would be thousands.
#[tokio::test]
async fn losses_reduce_the_window() {
    let expected: [u8; 32] = Sha256::digest(content()).into();
    for id in [AlgorithmId::Reno, AlgorithmId::Cubic, AlgorithmId::Vegas] {
        let done = transfer(id.into(), 100).await;
        let (received, connection) = done.unwrap_or_else(|e| panic!("{id}: {e}"));
        assert_eq!(received, expected, "{id}");
        let path = connection.stats().path;
        assert!(path.lost_packets >= 15, "{id}: {path:?}");
        let segments = path.cwnd / u64::from(path.current_mtu);
        assert!((2..60).contains(&segments), "{id}: {path:?}");
    }
}
