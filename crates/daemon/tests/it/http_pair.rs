//! A device is paired over HTTP: its code is good once, and its token for what was offered.

use bridle_daemon::pairing::{PairingCode, PairingOffer, PairingRegistry, WRONG_A_MINUTE};
use bridle_daemon::tokens::{TokenOwner, TokenRegistry, TokenScope};
use bridle_wire::openharness::pairing::PairGranted;
use bridle_wire::openharness::{MessageLimits, OpenHarnessCode, read};

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::http_client::{HttpReply, ask, intent, raw_post, serving};

const JSON: &str = "content-type: application/json\r\n";

fn issue(daemon: &TestDaemon, scope: TokenScope) -> PairingCode {
    let state = daemon.dir.path().join("state");
    let code = PairingCode::from_system().unwrap();
    let scopes = [scope].into_iter().collect();
    let offer = PairingOffer {
        name: "phone".into(),
        owner: TokenOwner::this_user(),
        scopes,
        lifetime: Some(60_000),
    };
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let now = i64::try_from(since.as_millis()).unwrap();
    PairingRegistry::new(&state).issue(&code, offer, now).unwrap();
    code
}

async fn pair(daemon: &TestDaemon, headers: &str, body: &str) -> HttpReply {
    ask(daemon, &raw_post(daemon, headers, body).replacen("/v1/openharness", "/v1/pair", 1)).await
}

fn asking(code: &str) -> String {
    format!(r#"{{"code":"{code}","device_name":"phone"}}"#)
}

#[tokio::test]
async fn a_code_becomes_a_token_once() {
    let daemon = serving().await;
    let code = issue(&daemon, TokenScope::Talk);
    let reply = pair(&daemon, JSON, &asking(&code.reveal().to_lowercase())).await;
    assert_eq!((reply.status, reply.header("cache-control")), (200, Some("no-store")), "{reply:?}");
    let granted: PairGranted = read(reply.body.as_bytes(), &MessageLimits::default()).unwrap();
    assert!(granted.expires_in_sec.is_some_and(|left| left <= 60));
    let bearer = format!("{JSON}authorization: Bearer {}\r\n", granted.access_token.as_str());
    let reply = ask(&daemon, &raw_post(&daemon, &bearer, &intent("r1", "s1", "help"))).await;
    assert!(reply.text().starts_with("I am bridle"), "{reply:?}");
    let again = pair(&daemon, JSON, &asking(code.reveal())).await;
    assert_eq!(again.code(), OpenHarnessCode::Forbidden);
    let tokens = TokenRegistry::load(&daemon.dir.path().join("state")).unwrap().list().unwrap();
    assert_eq!(tokens.len(), 1);
    assert_eq!(tokens[0].id.as_str(), granted.device_id.as_str());
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn whoever_guesses_is_told_to_wait_and_nothing_else() {
    let daemon = serving().await;
    let code = issue(&daemon, TokenScope::Talk);
    for _ in 0..WRONG_A_MINUTE {
        assert_eq!(
            pair(&daemon, JSON, &asking("2222-2222")).await.code(),
            OpenHarnessCode::Forbidden
        );
    }
    let last = pair(&daemon, JSON, &asking(code.reveal())).await;
    assert_eq!(last.code(), OpenHarnessCode::RateLimited);
    let seconds: u64 = last.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=61).contains(&seconds), "{seconds}");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_no_request_for_a_token_is_refused() {
    let daemon = serving().await;
    let check = async |headers: &str, body: &str, code: OpenHarnessCode| {
        let reply = pair(&daemon, headers, body).await;
        assert_eq!(reply.code(), code, "{body}");
        assert!(!reply.body.contains("CANARY"), "{reply:?}");
    };
    check(JSON, r#"{"code":["CANARY"]}"#, OpenHarnessCode::InvalidRequest).await;
    check(JSON, r#"["CANARY"]"#, OpenHarnessCode::InvalidRequest).await;
    check(JSON, r#"{"CANARY":1"#, OpenHarnessCode::InvalidRequest).await;
    check(JSON, &asking(&"x".repeat(5 << 10)), OpenHarnessCode::PayloadTooLarge).await;
    check("content-type: text/plain\r\n", &asking("CANARY"), OpenHarnessCode::UnsupportedMediaType)
        .await;
    let foreign = format!("{JSON}origin: http://evil.example\r\n");
    check(&foreign, &asking("CANARY"), OpenHarnessCode::Forbidden).await;
    daemon.stop().await.unwrap();
}
