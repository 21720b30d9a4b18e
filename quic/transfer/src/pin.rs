//! TLS with a certificate made for the run, known by its fingerprint and nothing else.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, ServerConfig, SignatureScheme, version,
};

use crate::message::PROTOCOL;
use crate::{Error, Fingerprint, Result};

/// The name that certificates are made for and asked by. Nobody looks at it.
pub(crate) const NAME: &str = "windlass";

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

fn start(what: &str, error: impl std::fmt::Display) -> Error {
    Error::Start(format!("{what}: {error}"))
}

/// A receiver's side, with a new certificate.
pub(crate) fn server() -> Result<(ServerConfig, Fingerprint)> {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()])
        .map_err(|e| start("no certificate", e))?;
    let certificate = CertificateDer::from(made.cert);
    let fingerprint = Fingerprint::of(&certificate);
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&version::TLS13])
        .map_err(|e| start("no TLS 1.3", e))?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())
        .map_err(|e| start("no certificate", e))?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok((config, fingerprint))
}

/// A sender's side, and where the fingerprint that was met will stand.
pub(crate) fn client(expected: Option<Fingerprint>) -> Result<(ClientConfig, Arc<Pin>)> {
    let provider = provider();
    let pin = Arc::new(Pin {
        expected,
        found: Mutex::new(None),
        provider: provider.clone(),
    });
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])
        .map_err(|e| start("no TLS 1.3", e))?
        .dangerous()
        .with_custom_certificate_verifier(pin.clone())
        .with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok((config, pin))
}

/// Takes one certificate and no other; that the server has its key, the handshake's signature
/// shows as ever.
#[derive(Debug)]
pub(crate) struct Pin {
    /// `None`: any.
    expected: Option<Fingerprint>,
    found: Mutex<Option<Fingerprint>>,
    provider: Arc<CryptoProvider>,
}

impl Pin {
    /// The fingerprint that was met, where it was not the expected one: (expected, found).
    pub(crate) fn mismatch(&self) -> Option<(Fingerprint, Fingerprint)> {
        let found = *self.found.lock().unwrap_or_else(PoisonError::into_inner);
        Some((self.expected?, found?)).filter(|(expected, found)| expected != found)
    }
}

impl ServerCertVerifier for Pin {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let found = Fingerprint::of(end_entity);
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        if self.expected.is_some_and(|expected| expected != found) {
            let wrong = CertificateError::ApplicationVerificationFailure;
            return Err(rustls::Error::InvalidCertificate(wrong));
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
