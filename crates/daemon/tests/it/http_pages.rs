//! Web pages of other origins: let in by a setting, and by nothing else.

use bridle_wire::openharness::OpenHarnessCode;

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::http_client::{HttpReply, ask, intent, on, raw_post};

const APP: &str = "https://app.example.org";

/// A daemon that lets one page in.
async fn serving_a_page() -> TestDaemon {
    TestDaemon::with(|config, dir| {
        on(config, dir);
        config.http_origins = [APP, "http://localhost:3000"].map(|it| it.parse().unwrap()).into();
    })
    .await
}

/// What a browser asks before it sends a POST of a page.
async fn preflight(daemon: &TestDaemon, path: &str, origin: &str, more: &str) -> HttpReply {
    let host = daemon.bound.http.unwrap();
    let request = format!(
        "OPTIONS {path} HTTP/1.1\r\nhost: {host}\r\norigin: {origin}\r\n\
         access-control-request-method: POST\r\n\
         access-control-request-headers: authorization,content-type,last-event-id\r\n{more}\r\n"
    );
    ask(daemon, request).await
}

async fn post(daemon: &TestDaemon, origin: &str) -> HttpReply {
    let headers = format!("content-type: application/json\r\norigin: {origin}\r\n");
    ask(daemon, raw_post(daemon, &headers, &intent("r1", "desk", "help"))).await
}

/// Fails unless a browser shows the answer to a page of `origin`.
fn assert_readable(reply: &HttpReply, origin: &str) {
    assert_eq!(reply.header("access-control-allow-origin"), Some(origin), "{reply:?}");
    assert_eq!(reply.header("vary"), Some("origin"), "{reply:?}");
    assert_eq!(reply.header("access-control-allow-credentials"), None, "{reply:?}");
}

#[tokio::test]
async fn a_page_that_the_settings_name_may_ask_and_read() {
    let daemon = serving_a_page().await;
    let before = preflight(&daemon, "/v1/openharness", APP, "").await;
    assert_eq!((before.status, before.body.as_str()), (204, ""));
    assert_readable(&before, APP);
    assert_eq!(before.header("access-control-allow-methods"), Some("GET, POST"));
    let asked = before.header("access-control-allow-headers").unwrap();
    for name in ["authorization", "content-type", "last-event-id", "idempotency-key"] {
        assert!(asked.split(", ").any(|one| one == name), "{name} in {asked}");
    }
    assert_eq!(before.header("access-control-allow-private-network"), None);
    let reply = post(&daemon, APP).await;
    assert!(reply.text().starts_with("I am bridle"));
    assert_readable(&reply, APP);
    let told = reply.header("access-control-expose-headers").unwrap();
    for name in ["x-request-id", "x-correlation-id", "idempotency-replayed", "retry-after"] {
        assert!(told.split(", ").any(|one| one == name), "{name} in {told}");
    }
    assert_readable(&post(&daemon, "http://localhost:3000").await, "http://localhost:3000");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_browser_that_asks_for_this_machine_is_told_that_it_may() {
    let daemon = serving_a_page().await;
    let private = "access-control-request-private-network: true\r\n";
    let reply = preflight(&daemon, "/v1/openharness", APP, private).await;
    assert_eq!(reply.header("access-control-allow-private-network"), Some("true"));
    let other = preflight(&daemon, "/v1/openharness", "https://evil.example", private).await;
    assert_eq!(other.code(), OpenHarnessCode::Forbidden);
    assert_eq!(other.header("access-control-allow-private-network"), None);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn refusals_can_be_read_by_the_page_too() {
    let daemon = serving_a_page().await;
    assert_eq!(preflight(&daemon, "/nowhere", APP, "").await.status, 204);
    let host = daemon.bound.http.unwrap();
    let request = format!("GET /nowhere HTTP/1.1\r\nhost: {host}\r\norigin: {APP}\r\n\r\n");
    let reply = ask(&daemon, request).await;
    assert_eq!(reply.code(), OpenHarnessCode::NotFound);
    assert_readable(&reply, APP);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_page_that_nobody_named_gets_nothing() {
    let daemon = serving_a_page().await;
    for origin in [
        "https://evil.example",
        "http://app.example.org",
        "https://app.example.org:8443",
        "https://app.example.org.evil.example",
        "https://APP.example.org",
        "http://localhost:3001",
        "null",
        "https://app.example.org, https://evil.example",
    ] {
        for reply in
            [preflight(&daemon, "/v1/openharness", origin, "").await, post(&daemon, origin).await]
        {
            assert_eq!(reply.code(), OpenHarnessCode::Forbidden, "{origin}");
            assert_eq!(reply.header("access-control-allow-origin"), None, "{origin}");
            assert_eq!(reply.header("vary"), Some("origin"), "{origin}");
        }
    }
    // Not even beside one that is named.
    let two = format!("{APP}\r\norigin: https://evil.example");
    assert_eq!(post(&daemon, &two).await.code(), OpenHarnessCode::Forbidden);
    // A name that was made to point here helps nobody.
    let headers = format!("content-type: application/json\r\norigin: {APP}\r\n");
    let request = raw_post(&daemon, &headers, &intent("r2", "desk", "help"));
    let reply = ask(&daemon, request.replacen("host: 127.0.0.1", "host: app.example.org", 1)).await;
    assert_eq!(reply.code(), OpenHarnessCode::Forbidden);
    assert_eq!(reply.header("access-control-allow-origin"), None);
    assert_eq!(daemon.metric("bridle_messages_admitted_total").await, 0);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn without_the_setting_there_are_no_pages_of_others() {
    let daemon = bridle_test_support::http_client::serving().await;
    let reply = preflight(&daemon, "/v1/openharness", APP, "").await;
    assert_eq!(reply.code(), OpenHarnessCode::Forbidden);
    // Its own page needs no leave, and gets it if it asks.
    let own = format!("http://{}", daemon.bound.http.unwrap());
    assert_readable(&post(&daemon, &own).await, &own);
    daemon.stop().await.unwrap();
}
