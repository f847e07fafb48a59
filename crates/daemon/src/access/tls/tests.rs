//! Handshakes with real clients over real sockets, and files that cannot be used.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

use super::{MAX_PEM, TlsConfig, TlsError, acceptor, peer};

/// What `openssl x509 -fingerprint -sha256` says of the client's certificate.
const CLIENT: &str = "cert:a5f452f88ce5dd3ca2ac0c485f5dfc3cf2f01cf43ef2d556b4e9d5ca1cc10525";

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tls").join(name)
}

/// Copies of the files, with the modes that they should have.
struct Files(TempDir);

impl Files {
    fn new() -> Files {
        let dir = tempfile::tempdir().unwrap();
        for name in ["ca.pem", "server.pem", "server.key", "client.key"] {
            fs::write(dir.path().join(name), fs::read(data(name)).unwrap()).unwrap();
        }
        let files = Files(dir);
        files.set_mode("server.key", 0o600);
        files.set_mode("client.key", 0o600);
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn config(&self) -> TlsConfig {
        let (cert, key) = (self.path("server.pem"), self.path("server.key"));
        TlsConfig { cert, key, client_ca: None }
    }

    fn mutual(&self) -> TlsConfig {
        TlsConfig { client_ca: Some(self.path("ca.pem")), ..self.config() }
    }
}

/// A client that trusts the tests' authority, and shows a certificate if it has one.
fn connector(name: Option<&str>) -> TlsConnector {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(data("ca.pem")).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match name {
        None => builder.with_no_client_auth(),
        Some(name) => {
            let chain = vec![CertificateDer::from_pem_file(data(&format!("{name}.pem"))).unwrap()];
            let key = PrivateKeyDer::from_pem_file(data(&format!("{name}.key"))).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    };
    TlsConnector::from(Arc::new(config))
}

/// Talks once: who the server took the client for, or that there was no talk.
async fn talk(config: &TlsConfig, client: TlsConnector, host: &'static str) -> Result<String, ()> {
    let acceptor = acceptor(config).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let serve = async {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = acceptor.accept(stream).await.map_err(drop)?;
        let who = peer(stream.get_ref().1).map_or("nobody".to_owned(), |who| who.to_string());
        let mut word = [0; 4];
        stream.read_exact(&mut word).await.map_err(drop)?;
        stream.write_all(&word).await.map_err(drop)?;
        stream.shutdown().await.map_err(drop)?;
        Ok(who)
    };
    let ask = async {
        let stream = TcpStream::connect(addr).await.unwrap();
        let name = ServerName::try_from(host).unwrap();
        let mut stream = client.connect(name, stream).await.map_err(drop)?;
        stream.write_all(b"ping").await.map_err(drop)?;
        let mut word = Vec::new();
        stream.read_to_end(&mut word).await.map_err(drop)?;
        if word == b"ping" { Ok(()) } else { Err(()) }
    };
    let (who, answered) = tokio::join!(serve, ask);
    answered.and(who)
}

#[tokio::test]
async fn a_client_that_trusts_the_authority_is_served() {
    let files = Files::new();
    let who = talk(&files.config(), connector(None), "localhost").await;
    assert_eq!(who.as_deref(), Ok("nobody"));
    // A certificate that nobody asked for makes nobody of anyone.
    let who = talk(&files.config(), connector(Some("client")), "127.0.0.1").await;
    assert_eq!(who.as_deref(), Ok("nobody"));
    assert!(talk(&files.config(), connector(None), "example.org").await.is_err());
}

#[tokio::test]
async fn with_an_authority_for_clients_a_certificate_is_who_you_are() {
    let files = Files::new();
    let who = talk(&files.mutual(), connector(Some("client")), "localhost").await;
    assert_eq!(who.as_deref(), Ok(CLIENT));
    assert!(talk(&files.mutual(), connector(None), "localhost").await.is_err());
    assert!(talk(&files.mutual(), connector(Some("stranger")), "localhost").await.is_err());
}

#[tokio::test]
async fn plain_text_is_no_handshake() {
    let files = Files::new();
    let acceptor = acceptor(&files.config()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    assert!(acceptor.accept(stream).await.is_err());
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let files = Files::new();
    let refused = |config: TlsConfig| acceptor(&config).err().unwrap();
    let missing = TlsConfig { cert: files.path("none.pem"), ..files.config() };
    assert!(matches!(refused(missing), TlsError::Read { .. }));
    let swapped = TlsConfig { cert: files.path("server.key"), ..files.config() };
    assert!(matches!(refused(swapped), TlsError::NotPem { expected: "certificate", .. }));
    let unkeyed = TlsConfig { key: files.path("server.pem"), ..files.config() };
    files.set_mode("server.pem", 0o600);
    assert!(matches!(refused(unkeyed), TlsError::NotPem { expected: "private key", .. }));
    let other = TlsConfig { key: files.path("client.key"), ..files.config() };
    assert!(matches!(refused(other), TlsError::Pair { .. }));
    fs::write(files.path("ca.pem"), "no authority").unwrap();
    assert!(matches!(refused(files.mutual()), TlsError::NotPem { .. }));
    fs::write(files.path("server.pem"), vec![b'-'; 1 + usize::try_from(MAX_PEM).unwrap()]).unwrap();
    assert!(matches!(refused(files.config()), TlsError::Read { .. }));
}

#[test]
fn a_key_that_everybody_can_read_is_refused() {
    let files = Files::new();
    files.set_mode("server.key", 0o644);
    let error = acceptor(&files.config()).err().unwrap();
    assert!(matches!(error, TlsError::OpenKey { mode: 0o644, .. }), "{error}");
    files.set_mode("server.key", 0o640);
    assert!(acceptor(&files.config()).is_ok());
}
