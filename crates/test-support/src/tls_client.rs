//! A client of HTTP over TLS: one request a connection.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::hang_guard::guard;
use crate::valid_response;

/// Sends one request to `localhost`, whose certificate must be of `ca`, and reads to the end; `None`
/// if the handshake fails or nothing comes. `certificate` is the chain and the key of the client.
pub async fn ask_over_tls(
    address: SocketAddr,
    ca: &Path,
    certificate: Option<(&Path, &Path)>,
    request: &str,
) -> Option<String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match certificate {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            let chain = vec![CertificateDer::from_pem_file(chain).unwrap()];
            builder
                .with_client_auth_cert(chain, PrivateKeyDer::from_pem_file(key).unwrap())
                .unwrap()
        }
    };
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream =
        guard(TlsConnector::from(Arc::new(config)).connect(name, stream)).await.ok()?;
    guard(stream.write_all(request.as_bytes())).await.ok()?;
    let mut answer = Vec::new();
    // A daemon that does not say goodbye is no fault of the answer.
    let _ = guard(stream.read_to_end(&mut answer)).await;
    valid_response::check(&answer);
    String::from_utf8(answer).ok().filter(|answer| !answer.is_empty())
}
