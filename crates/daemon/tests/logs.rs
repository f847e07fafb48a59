//! What reaches the log, and what must not.
//!
//! A program of its own, one test at a time: `tracing` keeps for the whole process whether anybody
//! wants an event, and loses some when one thread asks while another installs its log.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test itself")]

#[path = "it/support.rs"]
#[allow(dead_code, reason = "the other test program uses the rest")]
#[expect(clippy::disallowed_methods, reason = "a test's tasks end with its runtime")]
mod support;

#[path = "it/http_client.rs"]
#[allow(dead_code, reason = "the other test program uses the rest")]
mod http_client;

#[path = "it/http_valid.rs"]
#[allow(dead_code, reason = "the other test program uses the rest")]
mod http_valid;

use std::io;
use std::sync::Arc;

use bridle_daemon::HmacKey;
use tokio::sync::{Mutex, MutexGuard};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;

use support::{CHECK, Daemon, HEALTHY};

/// Held by the test whose turn it is.
static TURN: Mutex<()> = Mutex::const_new(());

/// The log, and the turn: dropped in this order.
type Guards = (DefaultGuard, MutexGuard<'static, ()>);

/// A log kept in memory.
#[derive(Clone, Default)]
struct Log(Arc<std::sync::Mutex<Vec<u8>>>);

impl Log {
    /// Keeps what `filter` lets through, until the guards are dropped. For this thread, so the
    /// test must run its daemon on the same one.
    async fn start(filter: &str) -> (Log, Guards) {
        let turn = TURN.lock().await;
        let log = Log::default();
        let filter: Targets = filter.parse().unwrap();
        let layer = tracing_subscriber::fmt::layer().with_writer(log.clone()).with_ansi(false);
        let subscriber = tracing_subscriber::registry().with(layer.with_filter(filter));
        let guard = tracing::subscriber::set_default(subscriber);
        (log, (guard, turn))
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Log;

    fn make_writer(&'a self) -> Log {
        self.clone()
    }
}

/// Sends good and bad messages with a word in them that nobody else says.
async fn converse(daemon: &Daemon) {
    let mut peer = daemon.peer().await;
    peer.ask("(:type :LOG :payload (:text \"hunter2\"))").await;
    peer.ask("(:type :LOG :payload (:text \"hunter2\" #<hunter2>").await;
    peer.ask("(:type :hunter2 :id \"hunter2\")").await;
    assert_eq!(peer.ask(CHECK).await, HEALTHY);
    peer.send("hunter2 is no header").await;
    peer.rest().await;
}

#[tokio::test]
async fn connections_are_logged_and_payloads_are_not() {
    let (log, _guard) = Log::start("debug,bridle::wire=off").await;
    let daemon = Daemon::start().await;
    converse(&daemon).await;
    daemon.stop().await.unwrap();
    let text = log.text();
    for line in ["ready", "connection opened", "connection closed", "framing-lost", "stopped"] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(!text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn one_target_shows_every_message() {
    let (log, _guard) = Log::start("bridle::wire=trace").await;
    let daemon = Daemon::start().await;
    converse(&daemon).await;
    let text = log.text();
    for line in [
        "in (:type :LOG :payload (:text \"hunter2\"))",
        "out (:type :RESPONSE :id nil :meta (:session ",
        "in (:type :health-check)",
        "out (:type :health-response :status :healthy :checked-p t)",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[tokio::test]
async fn secrets_are_never_logged() {
    let (log, _guard) = Log::start("trace").await;
    let daemon = Daemon::with(|config, _| {
        config.hmac.enforce = true;
        config.hmac.keys =
            vec![HmacKey { id: "main".to_owned(), secret: b"open sesame, please".to_vec() }];
    })
    .await;
    let mut peer = daemon.stranger().await;
    peer.send("000015".to_owned() + &"0".repeat(64) + CHECK).await;
    peer.rest().await;
    daemon.stop().await.unwrap();
    let text = log.text();
    assert!(text.contains("bad-signature"), "{text}");
    assert!(!text.contains("sesame"), "{text}");
}

/// Requests that fail in every way there is before a session hears of them, and some that do not.
/// All hold the word wherever it can be put.
fn canaries(daemon: &Daemon) -> Vec<String> {
    let whole = r#"{"protocol_version":"1.0.0","request_id":"r","capabilities":{"hunter2":"hunter2"},"request":{"auth":{"token":"hunter2","api_key":"hunter2","tenant_id":"hunter2","credential_ref":"hunter2","session_id":"hunter2"},"context":{"user_intent":"mail hunter2@example.com","shell":{"shell_kind":"hunter2"},"environment_state":{"privacy_tier":"secret","os":"hunter2","x":"hunter2"},"attachments":[{"uri":"https://hunter2/"}],"extensions":{"hunter2":{"hunter2":1}}},"extensions":{"hunter2":1}},"hunter2":"hunter2"}"#;
    let spoiled = [
        ("\"1.0.0\"", "\"hunter2\""),
        ("\"1.0.0\"", "\"2.0.0-hunter2\""),
        ("\"auth\":{", "\"auth\":\"hunter2\",\"x\":{"),
        ("\"tenant_id\":\"hunter2\"", "\"tenant_id\":[\"hunter2\"]"),
        ("\"user_intent\":\"mail", "\"user_intent\":{\"hunter2\":1},\"x\":\"mail"),
        ("\"os\":\"hunter2\"", "\"os\":7"),
        ("[{\"uri\"", "[\"hunter2\",{\"uri\""),
        ("\"shell\":{", "\"task_hint\":{\"sop_id\":\"hunter2\"},\"shell\":{"),
        ("\"shell\":{", "\"continuation\":{\"continuation_token\":\"hunter2\"},\"shell\":{"),
        ("\"shell\":{", "\"hunter2\":1,\"hunter2\":2,\"shell\":{"),
        ("\"hunter2\":\"hunter2\"}", "\"hunter2\":\"hunter2"),
    ];
    let bodies = spoiled.iter().map(|(from, to)| whole.replacen(from, to, 1));
    let bodies = bodies.chain([whole.to_owned()]);
    let mut all: Vec<String> = bodies.map(|body| http_client::post(daemon, &body)).collect();
    let json = "content-type: application/json\r\n";
    for headers in [
        format!("{json}authorization: Bearer hunter2\r\n"),
        format!("{json}idempotency-key: hunter2\r\n"),
        format!("{json}origin: http://hunter2\r\n"),
        format!("{json}accept: hunter2/hunter2\r\n"),
        "content-type: hunter2/hunter2\r\n".to_owned(),
    ] {
        all.push(http_client::raw_post(daemon, &headers, whole));
    }
    all
}

#[tokio::test]
async fn what_a_request_over_http_holds_is_in_no_answer_no_log_and_no_file() {
    let (log, _guard) = Log::start("trace").await;
    let daemon = Daemon::with(http_client::on).await;
    for request in canaries(&daemon) {
        let reply = http_client::ask(&daemon, &request).await;
        assert!(!reply.body.contains("hunter2") && !reply.head.contains("hunter2"), "{reply:?}");
        assert_eq!(reply.message().request_id.unwrap().as_str(), "r", "{reply:?}");
    }
    let files = std::fs::read_dir(daemon.dir.path().join("state")).unwrap();
    for file in files.map(|file| file.unwrap().path()).filter(|path| path.is_file()) {
        let bytes = std::fs::read(&file).unwrap();
        let found = bytes.windows(7).any(|bytes| bytes == b"hunter2");
        assert!(!found, "{}", file.display());
    }
    daemon.stop().await.unwrap();
    assert!(!log.text().contains("hunter2"), "{}", log.text());
}
