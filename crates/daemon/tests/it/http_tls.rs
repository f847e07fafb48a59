//! HTTP with TLS: who is served, who is not, and who a certificate is.

use std::path::{Path, PathBuf};

use bridle_daemon::tls::TlsConfig;
use bridle_daemon::{DaemonConfig, DaemonError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::hang_guard::guard;
use bridle_test_support::http_client::{intent, on, raw_post};
use bridle_test_support::tls_client::ask_over_tls;

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
async fn ask(daemon: &TestDaemon, certificate: Option<&str>, request: &str) -> Option<String> {
    let file = |name: &str, end: &str| data(&format!("{name}.{end}"));
    let certificate = certificate.map(|name| (file(name, "pem"), file(name, "key")));
    let certificate = certificate.as_ref().map(|(chain, key)| (chain.as_path(), key.as_path()));
    ask_over_tls(daemon.bound.http.unwrap(), &data("ca.pem"), certificate, request).await
}

fn request(daemon: &TestDaemon) -> String {
    let headers = "content-type: application/json\r\nconnection: close\r\n";
    raw_post(daemon, headers, &intent("r1", "s1", "help"))
}

#[tokio::test]
async fn requests_are_answered_inside_tls_and_not_beside_it() {
    let daemon = TestDaemon::with(secured).await;
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
    let daemon = TestDaemon::with(mutual).await;
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
    TestDaemon::with(change).await.stop().await.unwrap();
    let change = |config: &mut DaemonConfig, _: &Path| {
        everywhere(config);
        config.http_plain = true;
    };
    TestDaemon::with(change).await.stop().await.unwrap();
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
