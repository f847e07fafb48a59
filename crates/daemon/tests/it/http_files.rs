//! Attachments: uploaded, referred to, handed out; and nobody else's business.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bridle_daemon::fetch::{FetchNetwork, Later};
use bridle_daemon::tokens::{NewToken, TokenOwner, TokenRegistry, TokenScope, TokenSeed};
use bridle_wire::openharness::exchange::AttachmentStored;
use bridle_wire::openharness::{MessageLimits, OpenHarnessCode, read};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::hang_guard::guard;
use bridle_test_support::http_client::{
    HttpClient, HttpReply, ask, get, on, post, raw_post, serving,
};

/// Uploads a text.
async fn upload(daemon: &TestDaemon, headers: &str, content: &str) -> HttpReply {
    let request = raw_post(daemon, headers, content);
    ask(daemon, &request.replacen("/v1/openharness", "/v1/openharness/attachments", 1)).await
}

/// What an upload was answered with.
fn stored(reply: &HttpReply) -> AttachmentStored {
    assert_eq!(reply.status, 201, "{reply:?}");
    read(reply.body.as_bytes(), &MessageLimits::default()).unwrap()
}

/// A request with these attachments.
fn with(id: &str, attachments: &str) -> String {
    format!(
        r#"{{"protocol_version":"1.0.0","request_id":"{id}","request":{{"context":{{"session_id":"desk","user_intent":"help","attachments":[{attachments}]}}}}}}"#
    )
}

fn token(daemon: &TestDaemon, scope: TokenScope) -> String {
    let tokens = TokenRegistry::load(&daemon.dir.path().join("state")).unwrap();
    let scopes = [scope].into_iter().collect();
    let new =
        NewToken { name: "test".into(), owner: TokenOwner::this_user(), scopes, expires: None };
    let made = tokens.create(new, &TokenSeed::from_system().unwrap(), 1).unwrap();
    format!("authorization: Bearer {}\r\n", made.reveal())
}

#[tokio::test]
async fn a_file_is_kept_and_handed_out_safely_also_after_a_restart() {
    let daemon = serving().await;
    let page = "<script>alert(1)</script>";
    let reply = upload(&daemon, "content-type: text/html\r\n", page).await;
    let file = stored(&reply);
    let place = format!("/v1/openharness/attachments/{}", file.ref_id.as_str());
    assert_eq!(reply.header("location"), Some(&*place));
    assert_eq!((file.size_bytes, file.mime_type.as_str()), (25, "text/html"));
    assert_eq!(file.sha256.as_str().len(), 64);
    let again = stored(&upload(&daemon, "content-type: text/html\r\n", page).await);
    assert_eq!(again.ref_id, file.ref_id, "the same content is the same file");
    let (ended, dir) = daemon.begin_stop();
    ended.await.unwrap().unwrap();
    let daemon = TestDaemon::again(dir, on).await;
    let reply = get(&daemon, &place).await;
    assert_eq!((reply.status, &*reply.body), (200, page));
    for (name, value) in [
        ("content-type", "application/octet-stream"),
        ("content-disposition", "attachment"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "sandbox; default-src 'none'"),
        ("cache-control", "private, no-store"),
    ] {
        assert_eq!(reply.header(name), Some(value), "{name}");
    }
    let plain = stored(&upload(&daemon, "content-type: text/plain\r\n", "x").await);
    let place = format!("/v1/openharness/attachments/{}", plain.ref_id.as_str());
    assert_eq!(get(&daemon, &place).await.header("content-type"), Some("text/plain"));
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn facts_of_a_file_reach_the_session_and_claims_do_not() {
    let daemon = serving().await;
    let file = stored(&upload(&daemon, "content-type: text/plain\r\n", "hello").await);
    let (reference, host) = (file.ref_id.as_str(), daemon.bound.http.unwrap());
    let named = format!(
        r#"{{"ref_id":"{reference}","mime_type":"image/png","filename":"a.txt","sha256":"{}"}},"#,
        file.sha256.as_str().to_uppercase()
    );
    let all = format!(
        r#"{named}{{"uri":"/v1/openharness/attachments/{reference}"}},{{"uri":"http://{host}/v1/openharness/attachments/{reference}"}},{{"asset_id":"logo"}},{{"uri":"app:thing"}},{{}}"#
    );
    let reply = ask(&daemon, &post(&daemon, &with("r1", &all))).await;
    assert!(reply.text().starts_with("I am bridle"), "{reply:?}");
    let mut shell = daemon.unix_peer().await;
    shell
        .ask(
            "(:type :EVENT :payload (:action :handshake :version \"0.2.0\" :session \"desk\" \
             :role :observer :cursor 0))",
        )
        .await;
    let prompt = shell.frame().await.unwrap();
    let facts = format!(":sha256 \"{}\" :bytes 5)", file.sha256.as_str());
    assert_eq!(prompt.matches(&facts).count(), 3, "{prompt}");
    assert_eq!(prompt.matches(":mime-type \"text/plain\"").count(), 3, "{prompt}");
    assert!(prompt.contains(":filename \"a.txt\"") && !prompt.contains("image/png"), "{prompt}");
    assert!(prompt.contains("(:asset \"logo\")") && prompt.contains("(:uri \"app:thing\")"));
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_unknown_or_somebody_elses_is_unresolved_and_not_told_apart() {
    let daemon = serving().await;
    let owner = token(&daemon, TokenScope::Talk);
    let theirs = stored(&upload(&daemon, &owner, "theirs").await).ref_id;
    let theirs = theirs.as_str();
    let own = stored(&upload(&daemon, "", "own").await).ref_id;
    let own = own.as_str();
    let none = "att-00000000000000000000000000000000";
    let mut bodies = Vec::new();
    for (id, attachment, field) in [
        ("r1", format!(r#"{{"ref_id":"{theirs}"}}"#), "ref_id"),
        ("r2", format!(r#"{{"ref_id":"{none}"}}"#), "ref_id"),
        ("r3", r#"{"ref_id":"att_upload_01"}"#.to_owned(), "ref_id"),
        ("r4", format!(r#"{{"uri":"/v1/openharness/attachments/{theirs}"}}"#), "uri"),
        ("r5", format!(r#"{{"ref_id":"{own}","size_bytes":4}}"#), "size_bytes"),
        ("r6", format!(r#"{{"ref_id":"{own}","sha256":"00"}}"#), "sha256"),
        ("r7", r#"{"uri":"https://example.com/a.png"}"#.to_owned(), "uri"),
        ("r8", r#"{"uri":"FILE:///etc/passwd"}"#.to_owned(), "uri"),
    ] {
        let reply = ask(&daemon, &post(&daemon, &with(id, &attachment))).await;
        assert_eq!(reply.code(), OpenHarnessCode::AttachmentUnresolved, "{attachment}");
        let details = reply.message().response.error.unwrap().details.unwrap();
        let wanted = format!("context.attachments.0.{field}");
        assert_eq!(details.get("field").and_then(|it| it.as_str()), Some(&*wanted));
        bodies.push(reply.body.replace(id, ""));
    }
    assert_eq!(bodies[0], bodies[1], "somebody else's is like none");
    let many = |count: usize| vec![format!(r#"{{"ref_id":"{own}"}}"#); count].join(",");
    let reply = ask(&daemon, &post(&daemon, &with("r9", &many(33)))).await;
    assert_eq!(reply.code(), OpenHarnessCode::InvalidRequest);
    assert_eq!(ask(&daemon, &post(&daemon, &with("r9", &many(32)))).await.status, 200);
    for reference in [theirs, none, "x", "..%2f..%2fetc%2fpasswd"] {
        let reply = get(&daemon, &format!("/v1/openharness/attachments/{reference}")).await;
        assert_eq!(reply.code(), OpenHarnessCode::NotFound, "{reference}");
        bodies.push(reply.body);
    }
    let tail = &bodies[bodies.len() - 4..];
    assert!(tail.iter().all(|body| *body == tail[0]), "{tail:?}");
    // Who only watches cannot leave files here.
    let observer = token(&daemon, TokenScope::Observe);
    assert_eq!(upload(&daemon, &observer, "x").await.code(), OpenHarnessCode::Forbidden);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn an_upload_is_checked_and_bounded() {
    let daemon = TestDaemon::with(|config, dir| {
        on(config, dir);
        config.files.bytes = 10;
        config.files.owner_files = 2;
    })
    .await;
    let digest = "digest: SHA-256=LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=\r\n";
    stored(&upload(&daemon, digest, "hello").await);
    assert_eq!(upload(&daemon, digest, "jello").await.code(), OpenHarnessCode::InvalidRequest);
    let field = "content-digest: sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:\r\n";
    stored(&upload(&daemon, field, "hello").await);
    assert_eq!(upload(&daemon, field, "jello").await.code(), OpenHarnessCode::InvalidRequest);
    assert_eq!(upload(&daemon, "", &"x".repeat(11)).await.code(), OpenHarnessCode::PayloadTooLarge);
    for (headers, code) in [
        ("content-type: nonsense\r\n", OpenHarnessCode::UnsupportedMediaType),
        ("content-encoding: gzip\r\n", OpenHarnessCode::UnsupportedMediaType),
        ("content-range: bytes 0-1/2\r\n", OpenHarnessCode::InvalidRequest),
        ("authorization: Bearer x\r\n", OpenHarnessCode::Unauthenticated),
        ("origin: https://evil.example\r\n", OpenHarnessCode::Forbidden),
    ] {
        assert_eq!(upload(&daemon, headers, "x").await.code(), code, "{headers}");
    }
    stored(&upload(&daemon, "", &"x".repeat(10)).await);
    let crowded = upload(&daemon, "", "y").await;
    assert_eq!(crowded.code(), OpenHarnessCode::RateLimited, "a third file");
    assert_eq!(crowded.header("retry-after"), Some("3600"));
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_over_is_gone_and_a_repeat_is_answered_all_the_same() {
    let daemon = TestDaemon::with(on).await;
    let file = stored(&upload(&daemon, "", "hello").await);
    let body = with("r1", &format!(r#"{{"ref_id":"{}"}}"#, file.ref_id.as_str()));
    let first = ask(&daemon, &post(&daemon, &body)).await;
    assert!(first.text().starts_with("I am bridle"), "{first:?}");
    let (ended, dir) = daemon.begin_stop();
    ended.await.unwrap().unwrap();
    // The clock of the shelf is that of the machine: as if a day had passed.
    let mut shelf = bridle_record::FileShelf::open(&dir.path().join("state")).unwrap();
    assert_eq!(shelf.sweep(i64::MAX).unwrap(), 1);
    drop(shelf);
    let daemon = TestDaemon::again(dir, on).await;
    let place = format!("/v1/openharness/attachments/{}", file.ref_id.as_str());
    assert_eq!(get(&daemon, &place).await.code(), OpenHarnessCode::NotFound);
    let again = ask(&daemon, &post(&daemon, &body)).await;
    assert_eq!((again.status, again.body), (first.status, first.body));
    assert!(again.head.contains("idempotency-replayed"));
    let anew = ask(&daemon, &post(&daemon, &body.replace("r1", "r2"))).await;
    assert_eq!(anew.code(), OpenHarnessCode::AttachmentUnresolved);
    let changed = ask(&daemon, &post(&daemon, &body.replace("help", "status"))).await;
    assert_eq!(changed.code(), OpenHarnessCode::IdempotencyConflict);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn files_expire_by_themselves() {
    let daemon = TestDaemon::with(|config, dir| {
        on(config, dir);
        config.files.keep = Duration::ZERO;
    })
    .await;
    let file = stored(&upload(&daemon, "", "hello").await);
    let place = format!("/v1/openharness/attachments/{}", file.ref_id.as_str());
    assert_eq!(get(&daemon, &place).await.code(), OpenHarnessCode::NotFound);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_crowd_of_uploads_is_told_to_wait() {
    let daemon = serving().await;
    let host = daemon.bound.http.unwrap();
    let half = format!(
        "POST /v1/openharness/attachments HTTP/1.1\r\nhost: {host}\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n"
    );
    let mut crowd = Vec::new();
    for _ in 0..8 {
        let mut client = HttpClient::of(&daemon).await;
        client.send(&half).await;
        // It is being read from: its turn has come.
        assert!(client.head().await.starts_with("HTTP/1.1 100"), "expected to go on");
        crowd.push(client);
    }
    assert_eq!(upload(&daemon, "", "x").await.code(), OpenHarnessCode::EngineOverloaded);
    for client in &mut crowd {
        client.send("123456789").await;
        assert_eq!(client.reply().await.status, 201);
    }
    stored(&upload(&daemon, "", "x").await);
    daemon.stop().await.unwrap();
}

/// Every name is public but `inside.example`, and every connection goes to this machine.
#[derive(Debug)]
struct Led(SocketAddr);

impl FetchNetwork for Led {
    fn resolve<'n>(&'n self, host: &'n str) -> Later<'n, Vec<IpAddr>> {
        let address = if host == "inside.example" { "10.0.0.1" } else { "93.184.216.34" };
        Box::pin(std::future::ready(Ok(vec![address.parse().unwrap()])))
    }

    fn connect(&self, _: SocketAddr) -> Later<'_, TcpStream> {
        Box::pin(TcpStream::connect(self.0))
    }
}

#[tokio::test]
async fn what_is_fetched_is_kept_and_its_facts_must_be_as_declared() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        for _ in 0..2 {
            let (mut stream, _) = guard(listener.accept()).await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(guard(stream.read_u8()).await.unwrap());
            }
            let answer = "HTTP/1.1 200 OK\r\ncontent-type: image/png\r\n\r\nhello";
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    let daemon = TestDaemon::with(|config, dir| {
        on(config, dir);
        config.fetch.hosts = "*.example".parse().unwrap();
        config.fetch.net = Some(Arc::new(Led(to)));
    })
    .await;
    let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    let body =
        with("r1", &format!(r#"{{"uri":"http://files.example/a?key=1","sha256":"{sha256}"}}"#));
    let first = ask(&daemon, &post(&daemon, &body)).await;
    assert_eq!(first.status, 200, "{first:?}");
    let mut shell = daemon.unix_peer().await;
    shell
        .ask(
            "(:type :EVENT :payload (:action :handshake :version \"0.2.0\" :session \"desk\" \
             :role :observer :cursor 0))",
        )
        .await;
    let prompt = shell.frame().await.unwrap();
    for fact in
        [":ref \"att-", ":mime-type \"image/png\"", ":bytes 5", sha256, "http://files.example/"]
    {
        assert!(prompt.contains(fact), "{fact}: {prompt}");
    }
    // A repeat is answered from the record: nothing is fetched again.
    assert_eq!(ask(&daemon, &post(&daemon, &body)).await.body, first.body);
    let mut refused = Vec::new();
    for (id, attachment, field) in [
        ("r2", r#"{"uri":"http://files.example/a","sha256":"00"}"#, "sha256"),
        ("r3", r#"{"uri":"http://inside.example/a"}"#, "uri"),
        ("r4", r#"{"uri":"http://elsewhere.test/a"}"#, "uri"),
        ("r5", r#"{"uri":"http://127.0.0.1/a"}"#, "uri"),
        ("r6", r#"{"uri":"http://files.example:22/a"}"#, "uri"),
    ] {
        let reply = ask(&daemon, &post(&daemon, &with(id, attachment))).await;
        assert_eq!(reply.code(), OpenHarnessCode::AttachmentUnresolved, "{attachment}");
        let details = reply.message().response.error.unwrap().details.unwrap();
        let wanted = format!("context.attachments.0.{field}");
        assert_eq!(details.get("field").and_then(|it| it.as_str()), Some(&*wanted));
        refused.push(reply.body.replace(id, ""));
    }
    assert!(refused[1..].iter().all(|body| *body == refused[1]), "why is not told: {refused:?}");
    guard(server).await.unwrap();
    daemon.stop().await.unwrap();
}
