//! What reaches the log, and what must not.
//!
//! A program of its own, one test at a time: `tracing` keeps for the whole process whether anybody
//! wants an event, and loses some when one thread asks while another installs its log.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test itself")]

#[path = "it/capture.rs"]
mod capture;

use bridle_daemon::HmacKey;
use tokio::sync::{Mutex, MutexGuard};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::{CHECK, HEALTHY};
use capture::Log;

/// Held by the test whose turn it is.
static TURN: Mutex<()> = Mutex::const_new(());

/// The log, and the turn: dropped in this order.
type Guards = (DefaultGuard, MutexGuard<'static, ()>);

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

/// Sends good and bad messages with a word in them that nobody else says.
async fn converse(daemon: &TestDaemon) {
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
    let (log, _guard) = start("debug,bridle::wire=off").await;
    let daemon = TestDaemon::start().await;
    converse(&daemon).await;
    daemon.stop().await.unwrap();
    let text = log.text();
    for line in ["stopping", "connection opened", "connection closed", "framing-lost", "stopped"] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(!text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn one_target_tells_of_every_message_and_never_its_text() {
    let (log, _guard) = start("bridle::wire=trace").await;
    let daemon = TestDaemon::start().await;
    converse(&daemon).await;
    let text = log.text();
    for line in [
        "in LOG 39 bytes ",
        "out RESPONSE ",
        "in unknown ",
        "in health-check 21 bytes ",
        "out health-response 54 bytes ",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(!text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn secrets_are_never_logged() {
    let (log, _guard) = start("trace").await;
    let daemon = TestDaemon::with(|config, _| {
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
