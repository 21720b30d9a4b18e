//! A transfer over the loopback interface with each algorithm: what arrives is what was sent.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use s2n_quic::client::Connect;
use s2n_quic::{Client, Server};
use sha2::{Digest, Sha256};
use windlass_cc_s2n_quic::{AlgorithmId, CongestionControl};

const BYTES: usize = 4_000_000;

fn content() -> Bytes {
    (0..BYTES as u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect()
}

async fn receive(mut server: Server) -> Result<[u8; 32], Box<dyn Error + Send + Sync>> {
    let mut connection = server.accept().await.ok_or("no connection")?;
    let mut stream = connection
        .accept_receive_stream()
        .await?
        .ok_or("no stream")?;
    let mut hash = Sha256::new();
    while let Some(chunk) = stream.receive().await? {
        hash.update(&chunk);
    }
    // The sender closes, once it knows that all has arrived.
    while let Ok(Some(_)) = connection.accept().await {}
    Ok(hash.finalize().into())
}

async fn transfer(id: AlgorithmId) -> Result<[u8; 32], Box<dyn Error + Send + Sync>> {
    let names = ["localhost".to_owned()];
    let certificate = rcgen::generate_simple_self_signed(names)?;
    let (cert, key) = (
        certificate.cert.pem(),
        certificate.signing_key.serialize_pem(),
    );
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Server::builder()
        .with_tls((cert.as_str(), key.as_str()))?
        .with_io(any)?
        .start()?;
    let to = server.local_addr()?;
    let received = tokio::spawn(receive(server));
    let client = Client::builder()
        .with_tls(cert.as_str())?
        .with_io(any)?
        .with_congestion_controller(CongestionControl::new(id).with_seed(1))?
        .start()?;
    let mut connection = client
        .connect(Connect::new(to).with_server_name("localhost"))
        .await?;
    let mut stream = connection.open_send_stream().await?;
    stream.send(content()).await?;
    stream.close().await?;
    connection.close(0u32.into());
    received.await?
}

#[tokio::test]
async fn what_arrives_is_what_was_sent_with_every_algorithm() {
    let expected: [u8; 32] = Sha256::digest(content()).into();
    for id in AlgorithmId::ALL {
        let began = std::time::Instant::now();
        let received = transfer(*id).await.unwrap_or_else(|e| panic!("{id}: {e}"));
        assert_eq!(received, expected, "{id}");
        println!("{id}: {:?}", began.elapsed());
    }
}
