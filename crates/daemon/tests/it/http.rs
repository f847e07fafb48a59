//! OpenHarness over HTTP: documents, exchanges, refusals.

use bridle_wire::openharness::discovery::DiscoveryDocument;
use bridle_wire::openharness::ids::Name;
use bridle_wire::openharness::{MessageLimits, OpenHarnessCode, read};

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::http_client::{HttpClient, ask, get, intent, on, post, raw_post, serving};

const HELLO: &str = r#"{"protocol_version":"1.0.0","request_id":"r1","correlation_id":"c1","request":{"context":{"user_intent":"help"}}}"#;

#[tokio::test]
async fn a_word_is_answered_and_the_ids_come_back() {
    let daemon = serving().await;
    let reply = ask(&daemon, &post(&daemon, HELLO)).await;
    assert!(reply.text().starts_with("I am bridle"), "{reply:?}");
    let message = reply.message();
    assert_eq!(message.request_id.unwrap().as_str(), "r1");
    assert_eq!(message.correlation_id.unwrap().as_str(), "c1");
    assert_eq!(reply.header("x-request-id"), Some("r1"));
    assert_eq!(reply.header("x-correlation-id"), Some("c1"));
    assert_eq!(reply.header("content-type"), Some("application/json; charset=utf-8"));
    assert!(message.response.engine_latency_ms.is_some());
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_connection_is_used_again_and_aliases_answer() {
    let daemon = serving().await;
    let mut client = HttpClient::of(&daemon).await;
    for path in ["/v1/openharness", "/v1/openharness/", "/openharness?x=1"] {
        let request = post(&daemon, HELLO).replacen("/v1/openharness", path, 1);
        client.send(&request).await;
        assert!(client.reply().await.text().starts_with("I am bridle"), "{path}");
    }
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn documents_say_what_is_built() {
    let daemon = serving().await;
    let found = get(&daemon, "/v1/openharness").await;
    assert_eq!(found.status, 200);
    assert_eq!(get(&daemon, "/.well-known/openharness").await.body, found.body);
    let document: DiscoveryDocument =
        read(found.body.as_bytes(), &MessageLimits::default()).unwrap();
    assert_eq!(document.engine.name.as_str(), "bridle");
    assert_eq!(document.limits.max_body_bytes, 1 << 20);
    // Lines are not served, so they are not offered; what is, is offered in both places.
    let profiles: Vec<_> = document.profiles.iter().map(Name::as_str).collect();
    assert_eq!(profiles, ["dev.bridle.sse.1", "dev.bridle.ws.1"]);
    let streaming = document.capabilities.0.get("openharness.streaming").unwrap().to_text();
    assert_eq!(streaming, r#"{"profiles":["dev.bridle.sse.1","dev.bridle.ws.1"]}"#);
    assert!(document.capabilities.asks("openharness.attachments.upload"));
    let openapi = get(&daemon, "/v1/openharness/openapi.json").await;
    assert_eq!(openapi.status, 200);
    assert!(openapi.body.starts_with("{\"openapi\":\"3.1.0\""), "{openapi:?}");
    let health = get(&daemon, "/health").await;
    assert_eq!(
        (health.status, &*health.body),
        (200, "{\"status\":\"ok\",\"service\":\"bridle\"}\n")
    );
    let metrics = get(&daemon, "/metrics").await;
    assert!(
        metrics.body.contains("bridle_http_responses_total{status=\"200\"} 4\n"),
        "{metrics:?}"
    );
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn every_refusal_is_an_envelope_with_its_status() {
    let daemon = serving().await;
    let json = "content-type: application/json\r\n";
    let cases = [
        (
            raw_post(&daemon, "content-type: text/plain\r\n", HELLO),
            OpenHarnessCode::UnsupportedMediaType,
        ),
        (raw_post(&daemon, "", HELLO), OpenHarnessCode::UnsupportedMediaType),
        (
            raw_post(&daemon, &format!("{json}accept: text/html\r\n"), HELLO),
            OpenHarnessCode::NotAcceptable,
        ),
        (
            raw_post(&daemon, &format!("{json}authorization: Bearer x\r\n"), HELLO),
            OpenHarnessCode::Unauthenticated,
        ),
        (
            raw_post(&daemon, &format!("{json}origin: https://evil.example\r\n"), HELLO),
            OpenHarnessCode::Forbidden,
        ),
        (
            raw_post(&daemon, &format!("{json}idempotency-key: r2\r\n"), HELLO),
            OpenHarnessCode::HeaderMismatch,
        ),
        (
            post(&daemon, HELLO).replacen("host: 127.0.0.1", "host: evil.example", 1),
            OpenHarnessCode::Forbidden,
        ),
        (
            post(&daemon, &HELLO.replace("1.0.0", "2.0.0")),
            OpenHarnessCode::ProtocolVersionUnsupported,
        ),
        (post(&daemon, &HELLO.replace("\"help\"", "[7]")), OpenHarnessCode::InvalidRequest),
        (post(&daemon, &HELLO.replace("}}}", "}}")), OpenHarnessCode::InvalidRequest),
        (
            post(
                &daemon,
                &HELLO
                    .replace("\"user_intent\"", "\"task_hint\":{\"sop_id\":\"s\"},\"user_intent\""),
            ),
            OpenHarnessCode::InvalidRequest,
        ),
        (
            post(
                &daemon,
                &HELLO.replace(
                    "\"user_intent\"",
                    "\"continuation\":{\"continuation_token\":\"s\"},\"user_intent\"",
                ),
            ),
            OpenHarnessCode::ContinuationInvalid,
        ),
    ];
    for (request, code) in cases {
        let reply = ask(&daemon, &request).await;
        assert_eq!(reply.code(), code, "{request}");
        let message = reply.message();
        assert_eq!(message.request_id.unwrap().as_str(), "r1", "{request}");
        assert_eq!(message.correlation_id.unwrap().as_str(), "c1", "{request}");
        assert!(message.response.action_directives.is_empty());
        assert_eq!(
            reply.header("www-authenticate").is_some(),
            code == OpenHarnessCode::Unauthenticated
        );
    }
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn other_paths_and_methods_are_envelopes_too() {
    let daemon = serving().await;
    assert_eq!(get(&daemon, "/nowhere").await.code(), OpenHarnessCode::NotFound);
    let host = daemon.bound.http.unwrap();
    let put = format!("PUT /v1/openharness HTTP/1.1\r\nhost: {host}\r\ncontent-length: 0\r\n\r\n");
    let reply = ask(&daemon, &put).await;
    assert_eq!(reply.code(), OpenHarnessCode::MethodNotAllowed);
    let allowed = reply.header("allow").unwrap();
    assert!(allowed.contains("POST") && allowed.contains("GET"), "{allowed}");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_body_is_as_large_as_it_may_be_and_no_larger() {
    let daemon = serving().await;
    let body = |bytes: usize| {
        let rest = bytes - HELLO.len() - "\"x\":\"\",".len();
        HELLO.replacen('{', &format!("{{\"x\":\"{}\",", "a".repeat(rest)), 1)
    };
    assert_eq!(body(1 << 20).len(), 1 << 20);
    let reply = ask(&daemon, &post(&daemon, &body(1 << 20))).await;
    assert!(reply.text().starts_with("I am bridle"));
    // The ids are behind what was read, so there is none to repeat.
    let reply = ask(&daemon, &post(&daemon, &body((1 << 20) + 1))).await;
    assert_eq!(reply.code(), OpenHarnessCode::PayloadTooLarge);
    // A body in chunks is measured as it comes.
    let host = daemon.bound.http.unwrap();
    let head = format!(
        "POST /v1/openharness HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\n\r\n"
    );
    let chunk = format!("10000\r\n{}\r\n", "a".repeat(0x10000));
    let mut client = HttpClient::of(&daemon).await;
    client.send(&format!("{head}{}", chunk.repeat(17))).await;
    assert_eq!(client.reply().await.code(), OpenHarnessCode::PayloadTooLarge);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn who_does_not_finish_is_answered_or_closed() {
    let daemon = TestDaemon::with(|config, dir| {
        on(config, dir);
        config.limits.frame_deadline = std::time::Duration::from_millis(50);
    })
    .await;
    // Half a body.
    let mut client = HttpClient::of(&daemon).await;
    let whole = post(&daemon, HELLO);
    client.send(&whole[..whole.len() - 5]).await;
    let reply = client.reply().await;
    assert_eq!(reply.code(), OpenHarnessCode::InvalidRequest);
    assert_eq!(reply.message().request_id.unwrap().as_str(), "r1");
    // Half a head.
    let mut client = HttpClient::of(&daemon).await;
    client.send("POST /v1/openharness HT").await;
    client.rest().await;
    daemon.assert_alive().await;
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn capabilities_that_are_not_built_are_denied_and_unknown_ones_ignored() {
    let daemon = serving().await;
    let asked = r#""capabilities":{"openharness.ui.rich_cards":true,"com.example.teleport":true,"openharness.actions.parallel":false},"request":"#;
    let reply = ask(&daemon, &post(&daemon, &HELLO.replacen("\"request\":", asked, 1))).await;
    let message = reply.message();
    let denied: Vec<_> =
        message.capability_denials.iter().map(|denial| denial.capability.as_str()).collect();
    assert_eq!(denied, ["openharness.ui.rich_cards"]);
    assert!(message.supported_capabilities.unwrap().0.get("com.example.teleport").is_none());
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_prompt_over_http_shows_in_a_framed_shell() {
    let daemon = serving().await;
    let reply = ask(&daemon, &post(&daemon, &intent("r1", "desk", "status"))).await;
    assert!(reply.text().contains("bridle"), "{reply:?}");
    let mut shell = daemon.unix_peer().await;
    let hello = "(:type :EVENT :payload (:action :handshake :version \"0.2.0\" :session \"desk\" \
                 :role :observer :cursor 0))";
    let answer = shell.ask(hello).await;
    assert!(answer.contains("desk"), "{answer}");
    let prompt = shell.frame().await.unwrap();
    assert!(prompt.contains(":text \"status\""), "{prompt}");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_session_of_the_owner_is_not_there_for_a_shell_without_a_token() {
    let daemon = serving().await;
    let mut owner = daemon.unix_peer().await;
    let hello = "(:type :EVENT :id 1 :payload (:action :handshake :version \"0.2.0\" :session \
                 \"private\" :client-id \"c\"))";
    owner.ask(hello).await;
    owner.ask("(:type :EVENT :id 2 :payload (:sensor :user-prompt :text \"help\"))").await;
    // The same name is a session of its own, and works.
    let reply = ask(&daemon, &post(&daemon, &intent("r1", "private", "help"))).await;
    let text = reply.text();
    assert!(text.contains("This session is `oh-"), "{text}");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn garbage_does_not_hurt() {
    let daemon = serving().await;
    for garbage in ["\0\0\0\0", "GET / HTTP/9.9\r\n\r\n", "000015(:type :health-check)"] {
        let mut client = HttpClient::of(&daemon).await;
        client.send(garbage).await;
        let all = client.rest().await;
        assert!(all.starts_with("HTTP/1.1 400 "), "{garbage:?}: {all}");
    }
    let many: String = (0..200).map(|n| format!("x-{n}: y\r\n")).collect();
    let reply = ask(&daemon, &raw_post(&daemon, &many, HELLO)).await;
    assert_eq!(reply.status, 431);
    assert_eq!(get(&daemon, "/health").await.status, 200);
    daemon.stop().await.unwrap();
}
