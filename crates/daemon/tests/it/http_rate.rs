//! How often somebody may ask over HTTP, and that one who asks too often is alone with it.

use bridle_daemon::tokens::{NewToken, TokenOwner, TokenRegistry, TokenScope, TokenSeed};
use bridle_daemon::{EventRate, HttpRates};
use bridle_wire::openharness::discovery::DiscoveryDocument;
use bridle_wire::openharness::{MessageLimits, OpenHarnessCode, read};

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::http_client::{HttpReply, ask, get, intent, on, post, raw_post, serving};

/// Requests after which a bucket of five that fills once a second must have been empty, whatever
/// this machine does meanwhile.
const MANY: usize = 500;

async fn limited() -> TestDaemon {
    TestDaemon::with(|config, dir| {
        on(config, dir);
        let rate = EventRate { per_second: 1, burst: 5 };
        config.http_rates = HttpRates { remote: None, local: Some(rate) };
    })
    .await
}

fn token(daemon: &TestDaemon) -> String {
    let tokens = TokenRegistry::load(&daemon.dir.path().join("state")).unwrap();
    let scopes = [TokenScope::Talk].into_iter().collect();
    let new = NewToken { name: "".into(), owner: TokenOwner::this_user(), scopes, expires: None };
    tokens.create(new, &TokenSeed::from_system().unwrap(), 1).unwrap().reveal().to_owned()
}

async fn with_token(daemon: &TestDaemon, token: &str, id: &str) -> HttpReply {
    let headers = format!("content-type: application/json\r\nauthorization: Bearer {token}\r\n");
    ask(daemon, &raw_post(daemon, &headers, &intent(id, id, "help"))).await
}

/// Asks until it is too often; the reply that says so.
async fn until_limited(daemon: &TestDaemon, token: &str) -> HttpReply {
    for n in 0..MANY {
        let reply = with_token(daemon, token, &format!("r{n}")).await;
        if reply.status == 429 {
            return reply;
        }
    }
    panic!("never limited");
}

/// Whether the metrics say that something was refused.
async fn is_counted(daemon: &TestDaemon, whose: &str) -> bool {
    let metrics = get(daemon, "/metrics").await;
    assert_eq!(metrics.status, 200, "{metrics:?}");
    metrics.body.contains(&format!("bridle_http_limited_total{{whose=\"{whose}\"}} "))
}

#[tokio::test]
async fn a_flood_is_refused_and_slows_nobody_else() {
    let daemon = limited().await;
    let (mad, calm) = (token(&daemon), token(&daemon));
    let reply = until_limited(&daemon, &mad).await;
    assert_eq!(reply.code(), OpenHarnessCode::RateLimited);
    assert_eq!(reply.header("retry-after"), Some("1"));
    let message = reply.message();
    assert_eq!(message.response.error.unwrap().retryable, Some(true));
    assert!(message.request_id.is_some(), "the ids come back");
    assert_eq!(with_token(&daemon, &calm, "c1").await.status, 200);
    let local = ask(&daemon, &post(&daemon, &intent("l1", "desk", "help"))).await;
    assert_eq!(local.status, 200);
    assert!(is_counted(&daemon, "principal").await);
    // What is for everybody costs nobody anything.
    for path in ["/health", "/v1/openharness"] {
        assert_eq!(get(&daemon, path).await.status, 200, "{path}");
    }
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn who_shows_bad_tokens_is_told_to_wait_and_a_good_one_still_counts() {
    let daemon = serving().await;
    let good = token(&daemon);
    let first = with_token(&daemon, "bridle_CANARY", "r1").await;
    assert_eq!(first.code(), OpenHarnessCode::Unauthenticated);
    let last = until_limited(&daemon, "bridle_CANARY").await;
    assert_eq!(
        (last.code(), last.header("retry-after")),
        (OpenHarnessCode::RateLimited, Some("1"))
    );
    assert!(!last.body.contains("CANARY"));
    assert_eq!(with_token(&daemon, &good, "r2").await.status, 200);
    let local = ask(&daemon, &post(&daemon, &intent("l1", "desk", "help"))).await;
    assert_eq!(local.status, 200);
    assert!(is_counted(&daemon, "address").await);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn what_holds_is_said() {
    let daemon = limited().await;
    let found = get(&daemon, "/v1/openharness").await;
    let document: DiscoveryDocument =
        read(found.body.as_bytes(), &MessageLimits::default()).unwrap();
    assert_eq!(document.limits.requests_per_second, Some(1));
    assert_eq!(document.limits.request_burst, Some(5));
    daemon.stop().await.unwrap();
    let daemon = TestDaemon::with(|config, dir| {
        on(config, dir);
        config.http_rates.local = None;
    })
    .await;
    let found = get(&daemon, "/v1/openharness").await;
    assert!(!found.body.contains("requests_per_second"), "{found:?}");
    daemon.stop().await.unwrap();
}
