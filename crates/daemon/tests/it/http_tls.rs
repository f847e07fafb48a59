//! HTTP with TLS: who is served, who is not, and who a certificate is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bridle_daemon::tls::TlsConfig;
use bridle_daemon::{DaemonConfig, DaemonError};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::http_client::{intent, on, raw_post};
use crate::http_valid;
use crate::support::{Daemon, guard};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tls").join(name)
}

/// Turns HTTP with TLS on; the key is copied, for a checkout opens it to others.
fn secured(config: &mut DaemonConfig, dir: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    on(config, dir);
    let key = dir.join("server.key");
    std::fs::copy(data("server.key"), &key).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    config.tls = Some(TlsConfig { cert: data("server.pem"), key, client_ca: None });
}

fn mutual(config: &mut DaemonConfig, dir: &Path) {
    secured(config, dir);
    let tls = config.tls.take();
    config.tls = tls.map(|tls| TlsConfig { client_ca: Some(data("ca.pem")), ..tls });
}

/// Sends one request and reads to the end; `None` if there was no talk.
async fn ask(daemon: &Daemon, certificate: Option<&str>, request: &str) -> Option<String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(data("ca.pem")).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match certificate {
        None => builder.with_no_client_auth(),
        Some(name) => {
            let chain = vec![CertificateDer::from_pem_file(data(&format!("{name}.pem"))).unwrap()];
            let key = PrivateKeyDer::from_pem_file(data(&format!("{name}.key"))).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    };
    let stream = TcpStream::connect(daemon.bound.http.unwrap()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream =
        guard(TlsConnector::from(Arc::new(config)).connect(name, stream)).await.ok()?;
    guard(stream.write_all(request.as_bytes())).await.ok()?;
    let mut answer = Vec::new();
    // A daemon that does not say goodbye is no fault of the answer.
    let _ = guard(stream.read_to_end(&mut answer)).await;
    http_valid::check(&answer);
    String::from_utf8(answer).ok().filter(|answer| !answer.is_empty())
}

fn request(daemon: &Daemon) -> String {
    let headers = "content-type: application/json\r\nconnection: close\r\n";
    raw_post(daemon, headers, &intent("r1", "s1", "help"))
}

#[tokio::test]
async fn requests_are_answered_inside_tls_and_not_beside_it() {
    let daemon = Daemon::with(secured).await;
    let answer = ask(&daemon, None, &request(&daemon)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains("I am bridle"), "{answer}");
    let mut plain = TcpStream::connect(daemon.bound.http.unwrap()).await.unwrap();
    plain.write_all(request(&daemon).as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = guard(plain.read_to_end(&mut answer)).await;
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn where_clients_need_certificates_those_without_are_not_served() {
    let daemon = Daemon::with(mutual).await;
    let answer = ask(&daemon, Some("client"), &request(&daemon)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert_eq!(ask(&daemon, None, &request(&daemon)).await, None);
    assert_eq!(ask(&daemon, Some("stranger"), &request(&daemon)).await, None);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn other_machines_need_tls_or_somebody_who_says_so() {
    let everywhere = |config: &mut DaemonConfig| config.http = Some("0.0.0.0:0".to_owned());
    let dir = tempfile::tempdir().unwrap();
    let mut config =
        DaemonConfig { tcp: None, state: dir.path().join("state"), ..DaemonConfig::default() };
    everywhere(&mut config);
    let refused = bridle_daemon::run(config, |_| {}, async {}).await;
    assert!(matches!(refused, Err(DaemonError::HttpOpenToTheNetwork { .. })), "{refused:?}");
    let change = |config: &mut DaemonConfig, dir: &Path| {
        secured(config, dir);
        everywhere(config);
    };
    Daemon::with(change).await.stop().await.unwrap();
    let change = |config: &mut DaemonConfig, _: &Path| {
        everywhere(config);
        config.http_plain = true;
    };
    Daemon::with(change).await.stop().await.unwrap();
}

#[tokio::test]
async fn a_daemon_with_bad_files_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let mut config =
        DaemonConfig { tcp: None, state: dir.path().join("state"), ..DaemonConfig::default() };
    secured(&mut config, dir.path());
    std::fs::write(dir.path().join("server.key"), "no key").unwrap();
    let refused = bridle_daemon::run(config, |_| {}, async {}).await;
    assert!(matches!(refused, Err(DaemonError::Tls(_))), "{refused:?}");
}
