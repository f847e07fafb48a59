//! Which certificates are believed: those of the authorities of the system, or of one file.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use super::TransportError;

/// Files in which systems keep the CA certificates that they trust.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Largest PEM file that is read, in bytes: the authorities of a whole operating system are less.
const MAX_PEM: u64 = 1 << 20;

/// Protocol to speak inside, as ALPN names it.
const HTTP_1_1: &[u8] = b"http/1.1";

pub(super) fn config(authorities: Option<&Path>) -> Result<Arc<ClientConfig>, TransportError> {
    let path = match authorities {
        Some(path) => path,
        None => {
            let there = SYSTEM.iter().map(Path::new).find(|path| path.exists());
            there.ok_or(TransportError::NoAuthorities)?
        }
    };
    let none = || TransportError::Authorities { path: path.to_owned() };
    let mut pem = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_PEM + 1).read_to_end(&mut pem));
    if read.is_err() || u64::try_from(pem.len()).is_ok_and(|length| length > MAX_PEM) {
        return Err(none());
    }
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&pem).flatten().collect();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates);
    if added == 0 {
        return Err(none());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|_| none())?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![HTTP_1_1.to_vec()];
    Ok(Arc::new(config))
}
