//! HTTP on a Unix socket: the user who started the daemon is the owner there, and nobody else gets in.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use bridle_history::RecordHistory;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::other_user::python_of_another_user;

const BODY: &str = r#"{"protocol_version":"1.0.0","request_id":"r1","request":{"context":{"session_id":"desk","user_intent":"help"}}}"#;

/// Connects as another program would, and prints what comes back.
const ASK: &str = r#"
import socket, sys
link = socket.socket(socket.AF_UNIX)
link.settimeout(60)
link.connect(sys.argv[1])
try:
    link.sendall(sys.argv[2].encode())
    print(link.recv(65536))
except ConnectionError:
    print(b"")
"#;

fn request(more: &str) -> String {
    let length = BODY.len();
    format!(
        "POST /v1/openharness HTTP/1.1\r\nHost: anything\r\nOrigin: http://evil.example\r\n\
         Content-Type: application/json\r\n{more}Content-Length: {length}\r\nConnection: close\r\n\r\n{BODY}"
    )
}

async fn with_socket() -> TestDaemon {
    TestDaemon::with(|config, dir| config.http_unix = Some(dir.join("h.http"))).await
}

async fn ask(socket: &Path, more: &str) -> String {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    stream.write_all(request(more).as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn the_user_is_the_owner_without_a_token() {
    let daemon = with_socket().await;
    let socket = daemon.bound.http_unix.clone().unwrap();
    let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let answer = ask(&socket, "").await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"success\""), "{answer}");
    let sessions =
        RecordHistory::open(&daemon.dir.path().join("state")).unwrap().sessions().unwrap();
    let me = rustix::process::geteuid().as_raw();
    let owners: Vec<&str> = sessions.iter().map(|row| &*row.owner).collect();
    assert_eq!(owners, [format!("uid:{me}")]);
    // Whoever shows a token wants to be known by it, and by nothing more.
    let refused = ask(&socket, "Authorization: Bearer bridle_nobody\r\n").await;
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    daemon.stop().await.unwrap();
    assert!(!socket.exists(), "the socket goes with its daemon");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_user_is_closed_without_a_word() {
    let daemon = with_socket().await;
    let socket = daemon.bound.http_unix.clone().unwrap();
    // As if somebody had opened it to all: the uid still counts.
    let open = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let stranger = |socket: &Path| {
        let mut python = python_of_another_user();
        let output = python.args(["-c", ASK]).arg(socket).arg(request("")).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    open(daemon.dir.path(), 0o711);
    let (is_let_in, _) = stranger(&socket);
    assert!(!is_let_in, "the mode alone keeps others out");
    open(&socket, 0o666);
    let (_, said) = stranger(&socket);
    assert_eq!(said, "b''\n");
    open(daemon.dir.path(), 0o700);
    assert!(ask(&socket, "").await.contains("\"success\""));
}
