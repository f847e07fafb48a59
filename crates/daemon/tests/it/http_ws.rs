//! Requests on a WebSocket: events in order, several at once, and an end.

use std::time::Duration;

use bridle_daemon::tokens::{NewToken, TokenOwner, TokenRegistry, TokenScope, TokenSeed};
use bridle_wire::openharness::ids::RequestId;
use bridle_wire::openharness::{OpenHarnessCode, OpenHarnessEvent};

use crate::http_repeats::scripted;
use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::hang_guard::guard;
use bridle_test_support::http_client::{intent, on, serving};
use bridle_test_support::websocket_client::{
    BINARY, CLOSE, PING, PONG, PROTOCOL, TEXT, UPGRADE, VERSION, WebSocketClient, WebSocketClosed,
    code, frame, last,
};

const RULES: &str = "(rule :when \"talk\" :stream (\"one \" \"two\") :pace 150 :say \"one two\")\n\
                     (rule :when \"slow\" :delay 1500 :say \"at last\")\n\
                     (rule :when \"fast\" :say \"at once\")";

#[tokio::test]
async fn a_request_is_answered_with_the_events_of_a_stream() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let mut shell = WebSocketClient::open(&daemon).await;
    shell.ask("r1", "desk", "talk").await;
    let events = shell.answer().await;
    assert!(events.iter().enumerate().all(|(idx, event)| event.seq() == idx as u64), "{events:?}");
    assert_eq!(events[0].name(), "open");
    let message = last(&events).clone();
    assert_eq!(message.response.action_directives[0].text(), Some("one two"));
    assert_eq!(message.request_id.as_ref().unwrap().as_str(), "r1");
    // The same request again, here and over HTTP, is the same answer.
    shell.ask("r1", "desk", "talk").await;
    assert_eq!(shell.message().await, message);
    let posted = bridle_test_support::http_client::post(&daemon, &intent("r1", "desk", "talk"));
    assert_eq!(bridle_test_support::http_client::ask(&daemon, &posted).await.message(), message);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn requests_run_beside_each_other_and_say_whose_answer_it_is() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let mut shell = WebSocketClient::open(&daemon).await;
    shell.ask("r1", "a", "slow").await;
    shell.ask("r2", "b", "fast").await;
    let mut ended = Vec::new();
    while ended.len() < 2 {
        if let OpenHarnessEvent::StreamFinal(last) = shell.event().await.unwrap() {
            ended.push(last.request_id.unwrap().as_str().to_owned());
        }
    }
    assert_eq!(ended, ["r2", "r1"]);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn one_connection_has_so_much_at_once_and_no_more() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let mut shell = WebSocketClient::open(&daemon).await;
    for n in 0..100 {
        shell.ask(&format!("r{n}"), &format!("s{n}"), "slow").await;
    }
    let mut refused = 0;
    for _ in 0..100 {
        let message = shell.next_final().await;
        match code(&message) {
            Some(OpenHarnessCode::EngineOverloaded) => refused += 1,
            other => assert_eq!(other, None),
        }
    }
    assert!((1..=68).contains(&refused), "{refused}");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn the_gate_is_the_same() {
    let daemon = serving().await;
    let check = async |headers: &str, status: u16| {
        let reply = WebSocketClient::of(&daemon, headers).await.err().unwrap();
        assert_eq!(
            (reply.status, reply.code()),
            (status, OpenHarnessCode::InvalidRequest),
            "{headers}"
        );
        assert_eq!(reply.header("sec-websocket-version"), Some("13"), "{reply:?}");
    };
    let whole = format!("{UPGRADE}{VERSION}{PROTOCOL}");
    check("", 400).await;
    check(&format!("{UPGRADE}{VERSION}"), 400).await;
    check(&format!("{UPGRADE}{VERSION}sec-websocket-protocol: chat\r\n"), 400).await;
    check(&format!("{UPGRADE}{PROTOCOL}sec-websocket-version: 8\r\n"), 400).await;
    check(&whole.replace("BsZSBub25jZQ", ""), 400).await;
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn strangers_stay_outside() {
    let daemon = serving().await;
    let check = async |headers: &str, status: u16| {
        let whole = format!("{UPGRADE}{VERSION}{PROTOCOL}{headers}");
        let reply = WebSocketClient::of(&daemon, &whole).await.err().unwrap();
        assert_eq!((reply.status, reply.code().http_status()), (status, status), "{headers}");
    };
    check("origin: http://evil.example\r\n", 403).await;
    check("host: evil.example\r\n", 403).await;
    check("authorization: Bearer bridle_CANARY\r\n", 401).await;
    let several = format!("{UPGRADE}{VERSION}sec-websocket-protocol: chat, openharness.v1\r\n");
    assert!(WebSocketClient::of(&daemon, &several).await.is_ok());
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_broken_is_answered_and_the_connection_lives() {
    let daemon = serving().await;
    let mut shell = WebSocketClient::open(&daemon).await;
    for (text, wanted, id) in [
        ("what?", OpenHarnessCode::InvalidRequest, None),
        (
            r#"{"type":"song","request_id":"CANARY"}"#,
            OpenHarnessCode::InvalidRequest,
            Some("CANARY"),
        ),
        (r#"{"type":"request"}"#, OpenHarnessCode::InvalidRequest, None),
        (
            r#"{"type":"request","message":{"protocol_version":"2.0.0","request_id":"r1"}}"#,
            OpenHarnessCode::ProtocolVersionUnsupported,
            Some("r1"),
        ),
    ] {
        shell.say(text).await;
        let message = shell.message().await;
        assert_eq!(code(&message), Some(wanted), "{text}");
        assert_eq!(message.request_id.as_ref().map(RequestId::as_str), id, "{text}");
    }
    shell.ask("r2", "desk", "help").await;
    assert_eq!(code(&shell.message().await), None);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_no_text_of_a_size_closes() {
    let daemon = serving().await;
    for (kind, payload, code) in [
        (BINARY, b"\0\x01".to_vec(), 1003),
        (TEXT, b"\xff".to_vec(), 1007),
        (0xc1, b"compressed".to_vec(), 1002),
        (0x80, b"a continuation of nothing".to_vec(), 1002),
        (TEXT, vec![b'x'; 2 << 20], 1009),
    ] {
        let mut shell = WebSocketClient::open(&daemon).await;
        shell.send(kind, &payload).await;
        let closed = shell.end().await;
        assert_eq!(closed, WebSocketClosed(Some(code)), "{kind:x}");
    }
    let mut shell = WebSocketClient::open(&daemon).await;
    shell.send(PING, b"well?").await;
    assert_eq!(shell.frame().await, Some((PONG, b"well?".to_vec())));
    // A message in frames, with something between them.
    let text = format!(r#"{{"type":"request","message":{}}}"#, intent("r1", "desk", "help"));
    let (one, two) = text.split_at(30);
    shell.send(0x01, one.as_bytes()).await;
    shell.send(PING, b"").await;
    shell.send(0x80, two.as_bytes()).await;
    assert_eq!(code(&shell.message().await), None);
    shell.send(CLOSE, &1000_u16.to_be_bytes()).await;
    assert_eq!(shell.end().await, WebSocketClosed(Some(1000)));
    daemon.assert_alive().await;
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_daemon_that_stops_says_so_after_the_last_answer() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let mut shell = WebSocketClient::open(&daemon).await;
    shell.ask("r1", "desk", "slow").await;
    assert_eq!(shell.event().await.unwrap().name(), "open");
    let (task, _dir) = daemon.begin_stop();
    let message = shell.message().await;
    assert!(
        matches!(code(&message), None | Some(OpenHarnessCode::EngineOverloaded)),
        "{message:?}"
    );
    assert_eq!(shell.end().await, WebSocketClosed(Some(1001)));
    guard(task).await.unwrap().unwrap();
}

/// A daemon that soon asks for a sign of life.
async fn impatient() -> TestDaemon {
    TestDaemon::with(|config, dir| {
        on(config, dir);
        config.limits.frame_deadline = Duration::from_millis(500);
    })
    .await
}

#[tokio::test]
async fn who_says_nothing_is_asked_and_then_left() {
    let daemon = impatient().await;
    let mut shell = WebSocketClient::open(&daemon).await;
    let mut kinds = Vec::new();
    let last = loop {
        let (kind, payload) = shell.frame().await.unwrap();
        kinds.push(kind);
        if kind == CLOSE {
            break payload;
        }
    };
    assert_eq!(last, [&1001_u16.to_be_bytes()[..], b"nothing was heard"].concat());
    assert!(kinds.len() >= 2 && kinds[0] == PING, "{kinds:x?}");
    // Who answers is let be: its signs of life are enough, for longer than that.
    let mut shell = WebSocketClient::open(&daemon).await;
    for _ in 0..4 {
        let (kind, bytes) = shell.frame().await.unwrap();
        assert_eq!(kind, PING);
        shell.send(PONG, &bytes).await;
    }
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_token_that_is_revoked_ends_its_connections() {
    let daemon = impatient().await;
    let tokens = TokenRegistry::load(&daemon.dir.path().join("state")).unwrap();
    let scopes = [TokenScope::Talk].into_iter().collect();
    let new = NewToken { name: "".into(), owner: TokenOwner::this_user(), scopes, expires: None };
    let seed = TokenSeed::from_system().unwrap();
    let token = tokens.create(new, &seed, 1).unwrap();
    let bearer = format!("authorization: Bearer {}\r\n", token.reveal());
    let headers = format!("{UPGRADE}{VERSION}{PROTOCOL}{bearer}");
    let mut shell = WebSocketClient::of(&daemon, &headers).await.unwrap();
    shell.ask("r1", "desk", "help").await;
    assert_eq!(code(&shell.message().await), None);
    tokens.revoke(&seed.id()).unwrap();
    shell.ask("r2", "desk", "help").await;
    let closed = shell.end().await;
    assert_eq!(closed, WebSocketClosed(Some(1008)));
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn who_takes_no_answers_is_closed() {
    let daemon = TestDaemon::with(|config, dir| {
        on(config, dir);
        config.limits.write_deadline = Duration::from_millis(200);
    })
    .await;
    let mut shell = WebSocketClient::open(&daemon).await;
    let frames = frame(TEXT, br#"{"type":"request","message":1}"#).repeat(1_000);
    // As much as all buffers between us hold, many times.
    let flood = async {
        for _ in 0..10_000 {
            if !shell.0.send_raw(&frames).await {
                return true;
            }
        }
        false
    };
    assert!(guard(flood).await, "it was never closed");
    daemon.assert_alive().await;
    daemon.stop().await.unwrap();
}
