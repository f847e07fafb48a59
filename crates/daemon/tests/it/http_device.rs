//! A device that shows a code is paired over HTTP: confirmed by an operator, fetched once, renewed.

use bridle_daemon::tokens::{NewToken, TokenOwner, TokenRegistry, TokenScope, TokenSeed};
use bridle_wire::openharness::pairing::{
    PairConfirmed, PairCreated, PairError, PairGranted, PairStatus,
};
use bridle_wire::openharness::{JsonShape, MessageLimits, read};

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::http_client::{HttpClient, HttpReply, ask, intent, on, raw_post, serving};

const JSON: &str = "content-type: application/json\r\n";

async fn call(daemon: &TestDaemon, path: &str, headers: &str, body: &str) -> HttpReply {
    let headers = format!("{JSON}{headers}");
    ask(daemon, &raw_post(daemon, &headers, body).replacen("/v1/openharness", path, 1)).await
}

/// The document of a reply with this status.
fn document<T: JsonShape>(reply: &HttpReply, status: u16) -> T {
    assert_eq!(reply.status, status, "{reply:?}");
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    read(reply.body.as_bytes(), &MessageLimits::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn error(reply: &HttpReply, status: u16) -> String {
    document::<PairError>(reply, status).error.as_str().to_owned()
}

/// A credential with this scope.
fn bearer(daemon: &TestDaemon, scope: TokenScope) -> String {
    let tokens = TokenRegistry::load(&daemon.dir.path().join("state")).unwrap();
    let scopes = [scope].into_iter().collect();
    let new = NewToken { name: "".into(), owner: TokenOwner::this_user(), scopes, expires: None };
    let token = tokens.create(new, &TokenSeed::from_system().unwrap(), 1).unwrap();
    format!("authorization: Bearer {}\r\n", token.reveal())
}

async fn created(daemon: &TestDaemon) -> PairCreated {
    document(&call(daemon, "/pair/create", "", r#"{"device_name":"tv"}"#).await, 200)
}

async fn confirm(daemon: &TestDaemon, who: &str, code: &str, more: &str) -> HttpReply {
    let body = format!(r#"{{"code":"{code}","tenant_id":"somebody else"{more}}}"#);
    call(daemon, "/pair/confirm", who, &body).await
}

async fn poll(daemon: &TestDaemon, device: &PairCreated) -> HttpReply {
    let (id, secret) = (device.pairing_id.as_str(), device.device_secret.as_ref().unwrap());
    let body = format!(r#"{{"pairing_id":"{id}","device_secret":"{}"}}"#, secret.as_str());
    call(daemon, "/pair/poll", "", &body).await
}

async fn prompt(daemon: &TestDaemon, token: &str) -> u16 {
    let headers = format!("{JSON}authorization: Bearer {token}\r\n");
    ask(daemon, &raw_post(daemon, &headers, &intent("r1", "s1", "help"))).await.status
}

async fn refresh(daemon: &TestDaemon, granted: &PairGranted) -> HttpReply {
    let token = granted.refresh_token.as_ref().unwrap().as_str();
    call(daemon, "/pair/refresh", "", &format!(r#"{{"refresh_token":"{token}"}}"#)).await
}

#[tokio::test]
async fn a_device_shows_a_code_and_gets_its_token_once() {
    let daemon = serving().await;
    let operator = bearer(&daemon, TokenScope::Admin);
    let device = created(&daemon).await;
    assert_eq!((device.expires_in_sec, device.interval_sec), (300, Some(5)));
    let uri = device.verification_uri.as_ref().unwrap().as_str();
    assert_eq!(uri, format!("http://{}/pair/confirm", daemon.bound.http.unwrap()));
    let pending: PairStatus = document(&poll(&daemon, &device).await, 202);
    assert_eq!(pending.status.as_str(), "pending");
    // RFC 8628: too early, and from now on later still.
    let early = poll(&daemon, &device).await;
    assert_eq!(error(&early, 429), "slow_down");
    assert!(early.header("retry-after").unwrap().parse::<u64>().unwrap() > 5);
    let confirmed: PairConfirmed =
        document(&confirm(&daemon, &operator, device.code.as_str(), "").await, 200);
    assert_eq!(confirmed.status.as_str(), "confirmed");
    assert_eq!(confirmed.tenant_id.unwrap().as_str(), TokenOwner::this_user().as_str());
    let other = created(&daemon).await;
    let other_code = confirm(&daemon, &operator, other.code.as_str(), "").await;
    let confirmed: PairConfirmed = document(&other_code, 200);
    let granted: PairGranted = document(&poll(&daemon, &other).await, 200);
    assert_eq!(granted.device_id, confirmed.device_id);
    assert_eq!(prompt(&daemon, granted.access_token.as_str()).await, 200);
    assert_eq!(error(&poll(&daemon, &other).await, 410), "expired");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn tokens_are_renewed_and_a_used_refresh_token_ends_the_device() {
    let daemon = serving().await;
    let operator = bearer(&daemon, TokenScope::Admin);
    let device = created(&daemon).await;
    confirm(&daemon, &operator, device.code.as_str(), "").await;
    let first: PairGranted = document(&poll(&daemon, &device).await, 200);
    let second: PairGranted = document(&refresh(&daemon, &first).await, 200);
    assert_eq!(first.device_id, second.device_id);
    assert_eq!(prompt(&daemon, first.access_token.as_str()).await, 401);
    assert_eq!(prompt(&daemon, second.access_token.as_str()).await, 200);
    assert_eq!(error(&refresh(&daemon, &first).await, 403), "invalid_refresh_token");
    assert_eq!(prompt(&daemon, second.access_token.as_str()).await, 401);
    assert_eq!(error(&refresh(&daemon, &second).await, 403), "invalid_refresh_token");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn only_an_operator_confirms_and_says_no() {
    let daemon = serving().await;
    let device = created(&daemon).await;
    let code = device.code.as_str();
    // Whoever is on this machine without a token is not the owner.
    assert_eq!(error(&confirm(&daemon, "", code, "").await, 403), "forbidden");
    let approver = bearer(&daemon, TokenScope::Approve);
    assert_eq!(error(&confirm(&daemon, &approver, code, "").await, 403), "forbidden");
    let nobody = "authorization: Bearer bridle_0\r\n";
    assert_eq!(error(&confirm(&daemon, nobody, code, "").await, 401), "unauthorized");
    let operator = bearer(&daemon, TokenScope::Admin);
    let odd = confirm(&daemon, &operator, code, r#","decision":"maybe""#).await;
    assert_eq!(error(&odd, 400), "missing_fields");
    let denied = confirm(&daemon, &operator, code, r#","decision":"deny""#).await;
    assert_eq!(document::<PairConfirmed>(&denied, 200).status.as_str(), "denied");
    assert_eq!(error(&poll(&daemon, &device).await, 403), "denied");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn whoever_guesses_codes_has_to_wait() {
    let daemon = serving().await;
    let operator = bearer(&daemon, TokenScope::Admin);
    let device = created(&daemon).await;
    for _ in 0..5 {
        let wrong = confirm(&daemon, &operator, "2222-2222", "").await;
        assert_eq!(error(&wrong, 400), "invalid_or_expired_code");
    }
    let last = confirm(&daemon, &operator, device.code.as_str(), "").await;
    assert_eq!(error(&last, 429), "rate_limited");
    assert!(last.header("retry-after").is_some());
    // And whoever opens codes.
    let mut opened = 1;
    let refused = loop {
        let reply = call(&daemon, "/pair/create", "", "").await;
        if reply.status != 200 {
            break reply;
        }
        opened += 1;
    };
    assert_eq!((error(&refused, 429).as_str(), opened), ("rate_limited", 5));
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_token_is_taken_back_by_an_operator_or_by_itself() {
    let daemon = serving().await;
    let operator = bearer(&daemon, TokenScope::Admin);
    let mut granted = Vec::new();
    for _ in 0..2 {
        let device = created(&daemon).await;
        confirm(&daemon, &operator, device.code.as_str(), "").await;
        granted.push(document::<PairGranted>(&poll(&daemon, &device).await, 200));
    }
    let revoke = async |who: &str, id: &str| {
        call(&daemon, "/pair/revoke", who, &format!(r#"{{"device_id":"{id}"}}"#)).await
    };
    let own = format!("authorization: Bearer {}\r\n", granted[0].access_token.as_str());
    let (first, second) = (granted[0].device_id.as_str(), granted[1].device_id.as_str());
    assert_eq!(error(&revoke(&own, second).await, 403), "forbidden");
    assert_eq!(document::<PairStatus>(&revoke(&own, first).await, 200).status.as_str(), "revoked");
    assert_eq!(error(&revoke(&own, first).await, 401), "unauthorized");
    assert_eq!(
        document::<PairStatus>(&revoke(&operator, second).await, 200).status.as_str(),
        "revoked"
    );
    assert_eq!(error(&revoke(&operator, second).await, 404), "not_found");
    assert_eq!(error(&revoke(&operator, "../tokens").await, 404), "not_found");
    assert_eq!(prompt(&daemon, granted[1].access_token.as_str()).await, 401);
    assert_eq!(error(&refresh(&daemon, &granted[1]).await, 403), "invalid_refresh_token");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_no_call_is_refused_without_a_word_of_it() {
    let daemon = serving().await;
    let check = async |path: &str, headers: &str, body: &str, status: u16, code: &str| {
        let reply = call(&daemon, path, headers, body).await;
        assert_eq!(error(&reply, status), code, "{path} {body}");
        assert!(!reply.body.contains("CANARY"), "{reply:?}");
    };
    check("/pair/confirm", "", r#"["CANARY"]"#, 400, "invalid_json").await;
    check("/pair/confirm", "", r#"{"CANARY":"#, 400, "invalid_json").await;
    check("/pair/confirm", "", r#"{"code":7}"#, 400, "missing_fields").await;
    check("/pair/poll", "", r#"{"pairing_id":"CANARY"}"#, 400, "missing_fields").await;
    let stray = r#"{"pairing_id":"CANARY","device_secret":"CANARY"}"#;
    check("/pair/poll", "", stray, 410, "expired").await;
    check("/pair/refresh", "", r#"{"refresh_token":"CANARY"}"#, 403, "invalid_refresh_token").await;
    check(
        "/pair/create",
        "",
        &format!(r#"{{"x":"{}"}}"#, "y".repeat(5 << 10)),
        413,
        "payload_too_large",
    )
    .await;
    check("/pair/create", "origin: http://evil.example\r\n", "{}", 403, "forbidden").await;
    let reply =
        ask(&daemon, &raw_post(&daemon, "", "{}").replacen("/v1/openharness", "/pair/create", 1))
            .await;
    assert_eq!(error(&reply, 415), "unsupported_media_type");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn pairing_may_have_an_address_of_its_own() {
    let daemon = TestDaemon::with(|config, dir| {
        on(config, dir);
        config.pair_alias = Some("127.0.0.1:0".to_owned());
    })
    .await;
    let alias = daemon.bound.pair_alias.unwrap();
    let mut client = HttpClient::to(alias).await;
    client.send(&format!("POST /pair/create HTTP/1.1\r\nhost: {alias}\r\n\r\n")).await;
    assert_eq!(client.reply().await.status, 200);
    client.send(&format!("GET /pair/health HTTP/1.1\r\nhost: {alias}\r\n\r\n")).await;
    assert_eq!(client.reply().await.status, 200);
    client.send(&format!("GET /metrics HTTP/1.1\r\nhost: {alias}\r\n\r\n")).await;
    assert_eq!(client.reply().await.status, 404);
    daemon.stop().await.unwrap();
}
