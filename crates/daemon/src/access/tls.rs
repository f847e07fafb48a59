//! TLS for the HTTP listener and for fetching: rustls with ring, from PEM files, and who a client
//! certificate is.
//!
//! The HTTP room makes an acceptor at start and wraps each connection with it. Where an authority
//! for clients is configured, a peer without a certificate of it does not get past the handshake,
//! and [`peer`] is who it is. Not here: deadlines of a handshake, and what a principal may do.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bridle_sexp::byte_text::hex;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ServerConfig, ServerConnection, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore};

pub use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Largest PEM file that is read, in bytes: the authorities of a whole operating system are less.
pub const MAX_PEM: u64 = 1 << 20;

/// Protocol inside, as ALPN names it.
const HTTP_1_1: &[u8] = b"http/1.1";

/// Paths of certificates and keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsConfig {
    /// The certificate of this daemon and those that lead to its authority, PEM.
    pub cert: PathBuf,
    /// Its private key, PEM; not for other users to read.
    pub key: PathBuf,
    /// Authorities whose certificates clients must show, PEM. `None`: no client needs one.
    pub client_ca: Option<PathBuf>,
}

/// Fault of the TLS settings. No text here has a key in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Everybody on this machine can use the key.
    #[error("key file `{}` has mode {mode:03o}, expected nothing for other users", path.display())]
    OpenKey {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A file has not what it is for.
    #[error("`{}` has no {expected} in PEM", path.display())]
    NotPem {
        /// The file.
        path: PathBuf,
        /// Expected content.
        expected: &'static str,
    },
    /// The certificate and the key do not go together, or are of an unknown kind.
    #[error("certificate `{}` cannot be used with key `{}`", cert.display(), key.display())]
    Pair {
        /// The certificate.
        cert: PathBuf,
        /// The key.
        key: PathBuf,
        /// Error of the library, which names kinds, never contents.
        source: rustls::Error,
    },
    /// The authorities cannot be used.
    #[error("`{}` has no authority that certificates can be checked with", path.display())]
    Authority {
        /// The file.
        path: PathBuf,
    },
    /// The library cannot do what is asked of it.
    #[error("TLS cannot be set up")]
    Setup(#[source] rustls::Error),
}

/// Holder of the key of a client certificate: the SHA-256 of the certificate, as `openssl x509
/// -fingerprint -sha256` shows it. A renewed certificate is another principal.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CertificatePrincipal([u8; 32]);

impl CertificatePrincipal {
    fn of(certificate: &CertificateDer<'_>) -> CertificatePrincipal {
        let digest = ring::digest::digest(&ring::digest::SHA256, certificate);
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest.as_ref());
        CertificatePrincipal(bytes)
    }
}

impl fmt::Display for CertificatePrincipal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cert:")?;
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for CertificatePrincipal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CertPrincipal({self})")
    }
}

/// Reads certificates and key, and makes what accepts TLS connections with them.
///
/// # Errors
/// Names the file that cannot be used, and why.
pub fn acceptor(config: &TlsConfig) -> Result<TlsAcceptor, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain = certificates(&config.cert)?;
    let key = private_key(&config.key)?;
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Setup)?;
    let builder = match &config.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => builder.with_client_cert_verifier(verifier(path, provider)?),
    };
    let mut server = builder.with_single_cert(chain, key).map_err(|source| TlsError::Pair {
        cert: config.cert.clone(),
        key: config.key.clone(),
        source,
    })?;
    server.alpn_protocols = vec![HTTP_1_1.to_vec()];
    Ok(TlsAcceptor::from(Arc::new(server)))
}

/// Reads authorities, and makes what connects to hosts that have a certificate of one of them. Of the
/// thousands in the world some are always odd; those are left out.
///
/// # Errors
/// Names the file that cannot be used, and why.
pub fn connector(authorities: &Path) -> Result<TlsConnector, TlsError> {
    let mut roots = RootCertStore::empty();
    let (good, _) = roots.add_parsable_certificates(certificates(authorities)?);
    if good == 0 {
        return Err(TlsError::Authority { path: authorities.to_owned() });
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Setup)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.alpn_protocols = vec![HTTP_1_1.to_vec()];
    Ok(TlsConnector::from(Arc::new(client)))
}

/// Returns the principal of a client certificate; `None` where none was asked for.
pub fn peer(connection: &ServerConnection) -> Option<CertificatePrincipal> {
    connection.peer_certificates()?.first().map(CertificatePrincipal::of)
}

fn verifier(
    path: &Path,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn rustls::server::danger::ClientCertVerifier>, TlsError> {
    let bad = || TlsError::Authority { path: path.to_owned() };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|_| bad())?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    builder.build().map_err(|_| bad())
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let bad = || TlsError::NotPem { path: path.to_owned(), expected: "certificate" };
    let (pem, _) = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    found.ok().filter(|found| !found.is_empty()).ok_or_else(bad)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let (pem, mode) = read(path)?;
    // A group may read it: that is how systems share one key among their servers.
    if mode & 0o007 != 0 {
        return Err(TlsError::OpenKey { path: path.to_owned(), mode });
    }
    let bad = |_| TlsError::NotPem { path: path.to_owned(), expected: "private key" };
    PrivateKeyDer::from_pem_slice(&pem).map_err(bad)
}

/// The bytes of a file, and its mode.
fn read(path: &Path) -> Result<(Vec<u8>, u32), TlsError> {
    let failed = |source| TlsError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.mode() & 0o777;
    let mut bytes = Vec::new();
    file.take(MAX_PEM + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_PEM {
        return Err(failed(io::Error::other(format!("expected at most {MAX_PEM} bytes"))));
    }
    Ok((bytes, mode))
}

#[cfg(test)]
mod tests;
