//! A request that comes again: the same answer, and one execution.

use std::path::Path;

use bridle_daemon::DaemonConfig;
use bridle_daemon::config::ThinkerChoice;
use bridle_wire::openharness::OpenHarnessCode;

use crate::shell::{Shell, at, prompt};
use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::http_client::{ask, intent, on, post, serving};

/// Turns on HTTP and a script that counts by what it notes.
pub(crate) fn scripted(text: &'static str) -> impl Fn(&mut DaemonConfig, &Path) {
    move |config, dir| {
        on(config, dir);
        let file = dir.join("rules.script");
        std::fs::write(&file, text).unwrap();
        config.thinker = ThinkerChoice::Script(file);
    }
}

#[tokio::test]
async fn the_same_request_gets_the_same_answer_also_after_a_restart() {
    let daemon = serving().await;
    for body in [
        intent("r1", "desk", "status"),
        r#"{"protocol_version":"1.0.0","request_id":"once","request":{"context":{"user_intent":"status"}}}"#.to_owned(),
    ] {
        let first = ask(&daemon, &post(&daemon, &body)).await;
        assert_eq!(first.header("idempotency-replayed"), None);
        let again = ask(&daemon, &post(&daemon, &body)).await;
        assert_eq!(again.body, first.body);
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
    }
    let before = ask(&daemon, &post(&daemon, &intent("r1", "desk", "status"))).await;
    let (task, dir) = daemon.begin_stop();
    task.await.unwrap().unwrap();
    let daemon = TestDaemon::again(dir, on).await;
    let after = ask(&daemon, &post(&daemon, &intent("r1", "desk", "status"))).await;
    assert_eq!(after.body, before.body);
    assert_eq!(after.header("idempotency-replayed"), Some("true"));
    let other = ask(&daemon, &post(&daemon, &intent("r1", "desk", "help"))).await;
    assert_eq!(other.code(), OpenHarnessCode::IdempotencyConflict);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn an_id_is_not_used_again_for_another_session() {
    let daemon = serving().await;
    ask(&daemon, &post(&daemon, &intent("r1", "one", "status"))).await.text();
    let other = ask(&daemon, &post(&daemon, &intent("r1", "two", "status"))).await;
    assert_eq!(other.code(), OpenHarnessCode::IdempotencyConflict);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn eight_copies_at_once_run_once() {
    let rules = "(rule :when \"slow\" :delay 100 :once t :say \"done\")\n(default :say \"twice\")";
    let daemon = TestDaemon::with(scripted(rules)).await;
    let request = post(&daemon, &intent("r1", "desk", "slow"));
    let ask = || ask(&daemon, &request);
    let replies = tokio::join!(ask(), ask(), ask(), ask(), ask(), ask(), ask(), ask());
    let replies: [_; 8] = replies.into();
    for reply in &replies {
        assert_eq!(reply.body, replies[0].body);
        assert_eq!(reply.text(), "done");
    }
    assert_eq!(daemon.metric("bridle_messages_admitted_total").await, 1);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn an_answer_that_says_later_is_not_kept() {
    let rules =
        "(rule :when \"try\" :once t :error \"not now\" :retryable t)\n(default :say \"ok\")";
    let daemon = TestDaemon::with(scripted(rules)).await;
    let request = post(&daemon, &intent("r1", "desk", "try"));
    let first = ask(&daemon, &request).await;
    assert_eq!(first.code(), OpenHarnessCode::UpstreamError);
    assert!(!first.body.contains("not now"), "{first:?}");
    assert_eq!(ask(&daemon, &request).await.text(), "ok");
    let third = ask(&daemon, &request).await;
    assert_eq!((third.text().as_str(), third.header("idempotency-replayed")), ("ok", Some("true")));
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn what_found_no_room_was_not_taken() {
    let rules = "(rule :when \"slow\" :delay 600000 :say \"done\")\n(default :say \"ok\")";
    let daemon = TestDaemon::with(|config, dir| {
        scripted(rules)(config, dir);
        config.unix = Some(dir.join("socket"));
    })
    .await;
    let request = |id: &str| post(&daemon, &intent(id, "desk", "hi"));
    assert_eq!(ask(&daemon, &request("r0")).await.text(), "ok");
    let mut owner = Shell::attach(&daemon, ":session \"desk\" :client \"o\" :receipts t").await;
    for id in 0..=64 {
        owner.say(&prompt(id, if id == 0 { "slow" } else { "next" })).await;
        while !at(&owner.next().await, "payload status").is_keyword("admitted") {}
    }
    assert_eq!(ask(&daemon, &request("r1")).await.code(), OpenHarnessCode::EngineOverloaded);
    let admitted = daemon.metric("bridle_messages_admitted_total").await;
    assert_eq!(admitted, 66, "a refused request is not recorded");
    owner.ask(100, ":payload (:sensor :interrupt)").await;
    owner.response(64).await;
    let again = ask(&daemon, &request("r1")).await;
    assert_eq!((again.text().as_str(), again.header("idempotency-replayed")), ("ok", None));
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn who_waits_less_than_it_takes_is_told() {
    let rules = "(rule :when \"slow\" :delay 300 :say \"done\")";
    let daemon = TestDaemon::with(scripted(rules)).await;
    let body = |wait: u64| {
        let hint =
            format!(r#""extensions":{{"dev.bridle":{{"timeout_ms":{wait}}}}},"user_intent""#);
        intent("r1", "desk", "slow").replacen("\"user_intent\"", &hint, 1)
    };
    let first = ask(&daemon, &post(&daemon, &body(1))).await;
    assert_eq!(first.code(), OpenHarnessCode::EngineTimeout);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_continuation_that_says_nothing_is_none() {
    let daemon = serving().await;
    for (id, empty) in [("r1", "{}"), ("r2", r#"{"continuation_token":null,"run_id":null}"#)] {
        let with = format!("\"continuation\":{empty},\"user_intent\"");
        let body = intent(id, "desk", "help").replacen("\"user_intent\"", &with, 1);
        let reply = ask(&daemon, &post(&daemon, &body)).await;
        assert!(reply.text().starts_with("I am bridle"), "{reply:?}");
    }
    let body = intent("r3", "desk", "help").replacen(
        "\"user_intent\"",
        "\"continuation\":{\"run_id\":\"desk-1\"},\"user_intent\"",
        1,
    );
    assert_eq!(
        ask(&daemon, &post(&daemon, &body)).await.code(),
        OpenHarnessCode::ContinuationInvalid
    );
    daemon.stop().await.unwrap();
}
