//! Requests that are no longer wanted: called off, out of time, left alone.

use std::time::Duration;

use bridle_wire::openharness::OpenHarnessCode;
use bridle_wire::openharness::exchange::CancelAccepted;
use bridle_wire::openharness::{MessageLimits, read};

use bridle_daemon::tokens::TokenScope;

use crate::http_approvals::{Device, asked as asked_of, decision, eval, goes_on, says, tui};
use crate::http_repeats::scripted;
use crate::shell::{Shell, at, text};
use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::http_client::{HttpClient, HttpReply, ask, intent, post, raw_post};

/// Long enough that nothing of it ends by itself.
const RULES: &str = "(rule :when \"wait\" :delay 600000 :say \"at last\")\n\
                     (rule :when \"quick\" :say \"quick\")";

const STREAM: &str =
    "content-type: application/json\r\naccept: text/event-stream\r\nconnection: close\r\n";

async fn cancel(daemon: &TestDaemon, body: &str) -> HttpReply {
    let request = post(daemon, body).replacen("/v1/openharness", "/v1/openharness/cancel", 1);
    ask(daemon, &request).await
}

async fn cancel_id(daemon: &TestDaemon, id: &str) {
    let reply = cancel(daemon, &format!(r#"{{"request_id":"{id}"}}"#)).await;
    assert_eq!(reply.status, 202, "{reply:?}");
    let canceled: CancelAccepted = read(reply.body.as_bytes(), &MessageLimits::default()).unwrap();
    assert_eq!((canceled.request_id.as_str(), canceled.status.as_str()), (id, "accepted"));
}

/// A program of this user in its own session, who sees what happens there.
async fn watcher(daemon: &TestDaemon) -> Shell {
    let first = ask(daemon, &post(daemon, &intent("first", "desk", "quick"))).await;
    assert_eq!(first.text(), "quick");
    Shell::attach(daemon, ":session \"desk\" :client \"w\"").await
}

/// Waits until a prompt of this text is recorded.
async fn seen(shell: &mut Shell, text_of_it: &str) {
    loop {
        let frame = shell.next().await;
        if at(&frame, "payload sensor").is_keyword("user-prompt") {
            assert_eq!(text(&frame, "payload text"), text_of_it);
            return;
        }
    }
}

#[tokio::test]
async fn a_request_that_is_called_off_is_answered_so_for_good() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let mut shell = watcher(&daemon).await;
    let body = intent("r1", "desk", "wait");
    let mut client = HttpClient::of(&daemon).await;
    client.send(&post(&daemon, &body)).await;
    seen(&mut shell, "wait").await;
    // One that waits its turn is called off as well, and the other is not touched.
    let mut behind = HttpClient::of(&daemon).await;
    behind.send(&post(&daemon, &intent("r2", "desk", "quick"))).await;
    seen(&mut shell, "quick").await;
    cancel_id(&daemon, "r2").await;
    assert_eq!(behind.reply().await.code(), OpenHarnessCode::Canceled);
    cancel_id(&daemon, "r1").await;
    assert_eq!(client.reply().await.code(), OpenHarnessCode::Canceled);
    cancel_id(&daemon, "r1").await;
    cancel_id(&daemon, "never was").await;
    let again = ask(&daemon, &post(&daemon, &body)).await;
    assert_eq!(again.code(), OpenHarnessCode::Canceled);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_cancellation_that_is_none_is_refused() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    for body in ["", "{}", "[]", r#"{"request_id":7}"#, r#"{"request_id":""}"#] {
        assert_eq!(cancel(&daemon, body).await.code(), OpenHarnessCode::InvalidRequest, "{body}");
    }
    let large = format!(r#"{{"request_id":"{}"}}"#, "x".repeat(512 << 10));
    assert_eq!(cancel(&daemon, &large).await.code(), OpenHarnessCode::PayloadTooLarge);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn the_time_that_a_shell_gives_ends_the_run() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let body = intent("r1", "desk", "wait").replacen(
        "\"user_intent\"",
        r#""extensions":{"dev.bridle":{"timeout_ms":50}},"user_intent""#,
        1,
    );
    let reply = ask(&daemon, &post(&daemon, &body)).await;
    assert_eq!(reply.code(), OpenHarnessCode::EngineTimeout);
    // The session is free, and the answer is final.
    let next = ask(&daemon, &post(&daemon, &intent("r2", "desk", "quick"))).await;
    assert_eq!(next.text(), "quick");
    let again = ask(&daemon, &post(&daemon, &body)).await;
    assert_eq!(again.body, reply.body);
    daemon.stop().await.unwrap();
}

fn streamed(id: &str) -> String {
    let asks =
        r#""capabilities":{"openharness.streaming":{"profiles":["dev.bridle.sse.1"]}},"request":{"#;
    intent(id, "desk", "wait").replacen("\"request\":{", asks, 1)
}

#[tokio::test]
async fn a_stream_that_nobody_takes_up_again_is_called_off() {
    let daemon = TestDaemon::with(|config, dir| {
        scripted(RULES)(config, dir);
        config.limits.stream_grace = Some(Duration::from_millis(50));
    })
    .await;
    let mut shell = watcher(&daemon).await;
    let mut client = HttpClient::of(&daemon).await;
    client.send(&raw_post(&daemon, STREAM, &streamed("r1"))).await;
    client.head().await;
    seen(&mut shell, "wait").await;
    drop(client);
    loop {
        let frame = shell.next().await;
        if at(&frame, "payload code").is_keyword("cancelled") {
            break;
        }
    }
    let reply = ask(&daemon, &post(&daemon, &streamed("r1"))).await;
    assert_eq!(reply.code(), OpenHarnessCode::Canceled);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_stream_that_is_taken_up_again_goes_on() {
    let rules = "(rule :when \"wait\" :delay 700 :say \"at last\")\n\
                 (rule :when \"quick\" :say \"quick\")";
    let daemon = TestDaemon::with(|config, dir| {
        scripted(rules)(config, dir);
        config.limits.stream_grace = Some(Duration::from_millis(300));
    })
    .await;
    let mut shell = watcher(&daemon).await;
    let mut client = HttpClient::of(&daemon).await;
    client.send(&raw_post(&daemon, STREAM, &streamed("r1"))).await;
    client.head().await;
    seen(&mut shell, "wait").await;
    drop(client);
    // Somebody who wants the message whole follows it as well as a stream does.
    let reply = ask(&daemon, &post(&daemon, &streamed("r1"))).await;
    assert_eq!(reply.text(), "at last");
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_run_belongs_to_its_session_and_goes_on_when_its_stream_is_left() {
    let rules =
        "(rule :when \"wait\" :delay 500 :say \"at last\") (rule :when \"quick\" :say \"quick\")";
    let daemon = TestDaemon::with(scripted(rules)).await;
    let mut shell = watcher(&daemon).await;
    let mut client = HttpClient::of(&daemon).await;
    client.send(&raw_post(&daemon, STREAM, &streamed("r1"))).await;
    client.head().await;
    seen(&mut shell, "wait").await;
    drop(client);
    loop {
        let frame = shell.next().await;
        assert!(!at(&frame, "payload code").is_keyword("cancelled"), "{frame}");
        if at(&frame, "payload text").as_str().is_some_and(|text| text == "at last") {
            break;
        }
    }
    let reply = ask(&daemon, &post(&daemon, &streamed("r1"))).await;
    assert_eq!(reply.text(), "at last");
    daemon.stop().await.unwrap();
}

/// The same daemon, started again.
async fn again(daemon: TestDaemon, rules: &'static str) -> TestDaemon {
    let (end, dir) = daemon.begin_stop();
    end.await.unwrap().unwrap();
    TestDaemon::again(dir, scripted(rules)).await
}

#[tokio::test]
async fn a_request_of_before_a_restart_is_called_off() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let mut shell = watcher(&daemon).await;
    // One in a session, one behind it, and one without a session.
    let bodies =
        [intent("r1", "desk", "wait"), intent("r2", "desk", "quick"), intent("r3", "", "wait")];
    let mut clients = Vec::new();
    for body in &bodies {
        let mut client = HttpClient::of(&daemon).await;
        client.send(&post(&daemon, body)).await;
        clients.push(client);
        if body.contains("desk") {
            seen(&mut shell, if body.contains("wait") { "wait" } else { "quick" }).await;
        }
    }
    while daemon.metric("bridle_messages_admitted_total").await < 4 {}
    drop((shell, clients));
    let daemon = again(daemon, RULES).await;
    // Somebody else's cancellation is accepted, and changes nothing.
    let stranger = Device::new(&daemon, &[TokenScope::Talk]);
    for id in ["r1", "r2", "r3"] {
        let body = format!(r#"{{"request_id":"{id}"}}"#);
        assert_eq!(stranger.post_to(&daemon, "/cancel", &body).await.status, 202);
    }
    for id in ["r2", "r3", "never was", "r1", "r1"] {
        cancel_id(&daemon, id).await;
    }
    for body in &bodies {
        let reply = ask(&daemon, &post(&daemon, body)).await;
        assert_eq!(reply.code(), OpenHarnessCode::Canceled, "{body}");
    }
    let next = ask(&daemon, &post(&daemon, &intent("r4", "desk", "quick"))).await;
    assert_eq!(next.text(), "quick");
    daemon.stop().await.unwrap();
}

/// Rules under which something is asked for, and thought about for long when it is done.
const ASKING: &str = "(rule :when \"brood\" :say \"I will.\" \
                        :propose ((:target :tui :action :eval :code \"(brood)\" :then-think t)))\n\
                      (rule :when \"brood\" :result (:action :eval :outcome :done) \
                        :delay 600000 :say \"At last.\")";

#[tokio::test]
async fn what_waits_for_a_yes_since_before_a_restart_is_called_off() {
    let daemon = TestDaemon::with(scripted(ASKING)).await;
    let (device, shell) = (Device::usual(&daemon), tui(&daemon).await);
    let asked = device.post(&daemon, &says("r1", "brood")).await;
    drop(shell);
    let daemon = again(daemon, ASKING).await;
    let mut tui = tui(&daemon).await;
    let cancel = |id: &str| format!(r#"{{"request_id":"{id}"}}"#);
    assert_eq!(device.post_to(&daemon, "/cancel", &cancel("r1")).await.status, 202);
    loop {
        let frame = tui.next().await;
        if at(&frame, "payload outcome").is_keyword("superseded") {
            break;
        }
    }
    // The yes comes too late: nothing is done.
    let (questions, continuation) = asked_of(&asked);
    let yes = goes_on("r2", &continuation, &decision(&questions[0].0, "allow_once"));
    let reply = device.post(&daemon, &yes).await;
    assert!(reply.message().response.continuation.is_none(), "{reply:?}");
    // One that goes on after its yes is found by its own id.
    let (questions, continuation) = asked_of(&device.post(&daemon, &says("r3", "brood")).await);
    let yes = goes_on("r4", &continuation, &decision(&questions[0].0, "allow_once"));
    let mut client = HttpClient::of(&daemon).await;
    client.send(&device.request(&daemon, &yes)).await;
    assert_eq!(eval(&mut tui).await, "(brood)");
    loop {
        let frame = tui.next().await;
        if at(&frame, "payload action").is_keyword("settled")
            || at(&frame, "payload outcome").is_keyword("done")
        {
            break;
        }
    }
    drop((tui, client));
    let daemon = again(daemon, ASKING).await;
    assert_eq!(device.post_to(&daemon, "/cancel", &cancel("r4")).await.status, 202);
    assert_eq!(device.post(&daemon, &yes).await.code(), OpenHarnessCode::Canceled);
    daemon.stop().await.unwrap();
}
