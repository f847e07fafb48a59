//! What an unknown peer may hold and ask for: programs of another user of this machine.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

use bridle_daemon::{EventRate, MessageRates};

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::{CHECK, HEALTHY, assert_error, frame};
use bridle_test_support::hang_guard::guard;
use bridle_test_support::http_client::on;
use bridle_test_support::other_user::python_of_another_user;

/// Opens connections, writes the same to each, prints what each reads to its end or first frame, one
/// line each, and holds them until its input ends.
const CROWD: &str = r#"
import socket, sys
port, count, said, mode = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].encode(), sys.argv[4]
def frame(s):
    head = b""
    while len(head) < 6:
        byte = s.recv(1)
        if not byte: return b""
        head += byte.strip()
    length, text = int(head, 16), b""
    while len(text) < length: text += s.recv(length - len(text))
    return text
def rest(s):
    text = b""
    try:
        while True:
            more = s.recv(65536)
            if not more: return text
            text += more
    except ConnectionError: return text
held = []
for _ in range(count):
    s = socket.create_connection(("127.0.0.1", port))
    try: s.sendall(said)
    except ConnectionError: pass
    if mode == "end": s.shutdown(socket.SHUT_WR)
    text = frame(s) if mode == "first" else rest(s)
    print(text.decode().replace("\r", " ").replace("\n", " "), flush=True)
    held.append(s)
print("held", flush=True)
sys.stdin.read()
"#;

/// Connections of another user; gone when it is dropped.
struct Crowd {
    child: Child,
    told: Vec<String>,
}

impl Crowd {
    async fn of(port: u16, count: usize, said: &str, mode: &str) -> Crowd {
        let mut command = python_of_another_user();
        command.args(["-c", CROWD, &port.to_string(), &count.to_string(), said, mode]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let run = tokio::task::spawn_blocking(move || {
            let mut child = command.spawn().unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let told = lines.map(Result::unwrap).take_while(|line| line != "held").collect();
            Crowd { child, told }
        });
        let crowd = guard(run).await.unwrap();
        assert_eq!(crowd.told.len(), count, "cannot run as another user: {:?}", crowd.told);
        crowd
    }

    /// What one connection over TCP is told, its own hello first.
    async fn one(daemon: &TestDaemon, said: &str) -> String {
        let port = daemon.bound.tcp.unwrap().port();
        Crowd::of(port, 1, said, "end").await.told.remove(0)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn daemon() -> TestDaemon {
    TestDaemon::with(on).await
}

#[tokio::test]
async fn idle_strangers_fill_neither_the_places_of_the_owner_nor_of_its_programs() {
    let daemon = TestDaemon::with(|config, dir| {
        on(config, dir);
        config.limits.connections = 16;
    })
    .await;
    let crowd = Crowd::of(daemon.bound.tcp.unwrap().port(), 20, "", "first").await;
    let seated = crowd.told.iter().filter(|line| line.contains(":handshake")).count();
    assert_eq!(seated, 8, "{:?}", crowd.told);
    assert_error(&crowd.told[19], "too-many-connections");
    let mut owner = daemon.unix_peer().await;
    assert_eq!(owner.ask(CHECK).await, HEALTHY);
    daemon.assert_alive().await;
    drop(crowd);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn one_user_has_its_number_of_places_and_an_idle_one_gives_way() {
    let daemon = TestDaemon::with(|config, dir| {
        on(config, dir);
        config.limits.strangers_each = 4;
    })
    .await;
    let port = daemon.bound.tcp.unwrap().port();
    let crowd = Crowd::of(port, 6, "", "first").await;
    let seated = crowd.told.iter().filter(|line| line.contains(":handshake")).count();
    assert_eq!(seated, 4, "{:?}", crowd.told);
    // As soon as one of them was idle for long enough, a newcomer has its place.
    loop {
        let newcomer = Crowd::of(port, 1, "", "first").await;
        if newcomer.told[0].contains(":handshake") {
            break;
        }
    }
    let gone = daemon.metric("bridle_connections_closed_total{reason=\\\"gave-way\\\"}").await;
    assert_eq!(gone, 1);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_stranger_that_says_nothing_is_closed() {
    let daemon = TestDaemon::with(|config, dir| {
        on(config, dir);
        config.limits.stranger_idle = Duration::from_millis(50);
    })
    .await;
    let port = daemon.bound.tcp.unwrap().port();
    let told = Crowd::of(port, 1, "", "all").await.told.remove(0);
    assert!(told.contains(":code :expired "), "{told}");
    // The user's own programs may be silent.
    let mut own = daemon.peer().await;
    assert!(Crowd::of(port, 1, "", "all").await.told[0].contains(":expired"));
    assert_eq!(own.ask(CHECK).await, HEALTHY);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_large_frame_of_a_stranger_is_refused_by_its_header() {
    let daemon = daemon().await;
    for said in ["100000", "ffffff", "010001"] {
        let told = Crowd::one(&daemon, said).await;
        assert!(told.contains(":max-frame 65536 "), "{told}");
        assert!(told.contains(":code :frame-too-large "), "{said}: {told}");
    }
    // Nothing of what follows is held, and the connection lives.
    let large = format!("018000{}{}", "(".repeat(0x18000), frame(CHECK));
    let told = Crowd::one(&daemon, &large).await;
    assert!(told.contains(":frame-too-large") && told.ends_with(HEALTHY), "{told}");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn parts_do_not_make_a_stranger_larger() {
    let daemon = daemon().await;
    let part = |n: usize| {
        let data = "y".repeat(40_000);
        frame(&format!("(:type :EVENT :part (:id \"p\" :n {n} :of 3) :data \"{data}\")"))
    };
    let told = Crowd::one(&daemon, &(part(1) + &part(2))).await;
    assert!(told.contains(":partial") && told.contains(":part-too-large"), "{told}");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_stranger_that_sends_too_often_is_told_when_to_come_again() {
    let daemon = TestDaemon::with(|config, dir| {
        on(config, dir);
        let stranger = Some(EventRate { per_second: 1, burst: 3 });
        config.message_rates = MessageRates { stranger, ..MessageRates::default() };
    })
    .await;
    let ask = frame(CHECK).repeat(3) + &frame("(:type :health-check :id 9)");
    let told = Crowd::one(&daemon, &ask).await;
    assert_eq!(told.matches(HEALTHY).count(), 3, "{told}");
    assert!(told.contains(":id 9 :payload (:status :error :code :rate-limited "), "{told}");
    assert!(told.contains(":retryable t :retry-after-ms "), "{told}");
    // Nobody else waits for it.
    daemon.assert_alive().await;
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_principal_that_is_known_has_a_rate_and_the_unix_socket_has_none() {
    let daemon = TestDaemon::with(|config, dir| {
        on(config, dir);
        let local = Some(EventRate { per_second: 1, burst: 3 });
        config.message_rates = MessageRates { local, ..MessageRates::default() };
    })
    .await;
    let mut peer = daemon.peer().await;
    let mut limited = String::new();
    for id in 0..500 {
        let answer = peer.ask(&crate::shell::prompt(id, "help")).await;
        if answer.contains(":rate-limited") {
            limited = answer;
            break;
        }
    }
    assert_error(&limited, "rate-limited");
    assert_eq!(peer.ask(CHECK).await, HEALTHY);
    let mut owner = daemon.unix_peer().await;
    for id in 0..20 {
        let answer = owner.ask(&crate::shell::prompt(id, "help")).await;
        assert!(!answer.contains(":error"), "{answer}");
    }
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn detail_is_for_known_principals_and_the_fault_of_a_policy_for_its_owner() {
    let daemon = TestDaemon::with(|config, dir| {
        on(config, dir);
        config.policy = bridle_daemon::PolicyChoice::IfThere(dir.join("policy.org"));
    })
    .await;
    let detail = "(:type :health-check :detail t)";
    let told = Crowd::one(&daemon, &frame(detail)).await;
    assert!(told.ends_with(HEALTHY), "{told}");
    std::fs::write(daemon.dir.path().join("policy.org"), "#+begin_src cedar\nCANARY(\n").unwrap();
    let mut owner = daemon.unix_peer().await;
    owner.ask("(:type :REQUEST :id 1 :target :system :payload (:action :install-policy))").await;
    let own = owner.ask(detail).await;
    let known = daemon.peer().await.ask(detail).await;
    assert!(own.contains("bridle_frames_received") && known.contains("bridle_frames_received"));
    assert!(own.contains(":policy-fault \""), "{own}");
    assert!(!own.contains("the policies have a fault, which is"), "{own}");
    assert!(known.contains("the policies have a fault, which is shown to their owner"), "{known}");
    let stranger = Crowd::one(&daemon, &frame(detail)).await;
    assert!(!stranger.contains("policy") && !stranger.contains("bridle_"), "{stranger}");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_body_without_a_credential_is_not_read() {
    let daemon = TestDaemon::with(|config, dir| {
        on(config, dir);
        // Whoever waited for the rest of a body would be answered by no test.
        config.limits.frame_deadline = Duration::from_secs(3_600);
    })
    .await;
    let port = daemon.bound.http.unwrap().port();
    for (method, path) in [
        ("POST", "/v1/openharness"),
        ("POST", "/openharness/"),
        ("POST", "/v1/openharness/cancel"),
        ("POST", "/v1/openharness/attachments"),
        ("GET", "/v1/openharness/ws"),
    ] {
        // A megabyte is announced and a little of it comes: nobody waits for the rest.
        let said = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: 1048576\r\n\r\n{{"
        );
        let told = Crowd::of(port, 1, &said, "all").await.told.remove(0);
        assert!(told.starts_with("HTTP/1.1 401 "), "{path}: {told}");
    }
    // What is small is read, so that the refusal repeats its id.
    let body = r#"{"protocol_version":"1.0.0","request_id":"r1","request":{}}"#;
    let said = format!(
        "POST /v1/openharness HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let told = Crowd::of(port, 1, &said, "all").await.told.remove(0);
    assert!(told.starts_with("HTTP/1.1 401 ") && told.contains("\"r1\""), "{told}");
    daemon.stop().await.unwrap();
}
