//! Answers as events: in order, complete, and taken up again.

use std::time::Duration;

use bridle_daemon::upkeep::compact;
use bridle_daemon::upkeep::forget::{ForgetTarget, forget};
use bridle_record::{RecordFilter, RecordNumber, RecordReader};
use bridle_wire::openharness::{Json, OpenHarnessCode, OpenHarnessEvent, ResponseMessage};

use crate::http_repeats::scripted;
use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::http_client::{HttpClient, ask, intent, post, raw_post, serving};
use bridle_test_support::valid_response;

const RULES: &str = "(rule :when \"talk\" :stream (\"one \" \"two\") :pace 150 :say \"one two\")\n\
                     (rule :when \"fail\" :stream (\"one\") :pace 150 :error \"no\")\n\
                     (rule :when \"slow\" :delay 600 :say \"at last\")";

const ACCEPT: &str =
    "content-type: application/json\r\naccept: text/event-stream\r\nconnection: close\r\n";

fn streamed(id: &str, text: &str) -> String {
    let asks =
        r#""capabilities":{"openharness.streaming":{"profiles":["dev.bridle.sse.1"]}},"request":{"#;
    intent(id, "desk", text).replacen("\"request\":{", asks, 1)
}

/// Reads a stream to its end: every event, checked by its shape.
async fn events(daemon: &TestDaemon, headers: &str, body: &str) -> Vec<OpenHarnessEvent> {
    let mut client = HttpClient::of(daemon).await;
    client.send(&raw_post(daemon, headers, body)).await;
    let head = client.head().await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(head.contains("content-type: text/event-stream\r\n"), "{head}");
    let body = valid_response::unchunked(client.rest().await.as_bytes()).0;
    valid_response::events(str::from_utf8(&body).unwrap())
}

fn names(events: &[OpenHarnessEvent]) -> Vec<&str> {
    events.iter().map(OpenHarnessEvent::name).collect()
}

fn last(events: &[OpenHarnessEvent]) -> &ResponseMessage {
    match events.last() {
        Some(OpenHarnessEvent::StreamFinal(last)) => &last.message,
        other => panic!("{other:?}"),
    }
}

/// What the deltas of the first directive add up to: what was appended, and what was set.
fn folded(events: &[OpenHarnessEvent]) -> (String, Option<Json>) {
    let (mut text, mut payload) = (String::new(), None);
    for event in events {
        if let OpenHarnessEvent::DirectiveDelta(delta) = event {
            text.push_str(delta.append.as_deref().unwrap_or_default());
            payload = delta.value.clone();
        }
    }
    (text, payload)
}

#[tokio::test]
async fn a_stream_begins_with_open_and_ends_with_the_answer() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let body = streamed("r1", "talk");
    let events = events(&daemon, ACCEPT, &body).await;
    assert!(events.iter().enumerate().all(|(idx, event)| event.seq() == idx as u64));
    let names = names(&events);
    assert_eq!((names[0], names[1], names[2]), ("open", "directive.start", "directive.delta"));
    assert_eq!(names[names.len() - 2..], ["directive.done", "final"]);
    let message = last(&events);
    let directive = &message.response.action_directives[0];
    assert_eq!(directive.text(), Some("one two"));
    let (text, payload) = folded(&events);
    assert!("one two".starts_with(&text) && !text.is_empty(), "{text}");
    assert_eq!(payload.unwrap().as_object(), directive.payload.as_ref());
    // Without the header the same request is one message, and the same one.
    assert_eq!(ask(&daemon, &post(&daemon, &body)).await.message(), *message);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn an_error_ends_a_stream_with_nothing_to_carry_out() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let events = events(&daemon, ACCEPT, &streamed("r1", "fail")).await;
    assert!(!names(&events).contains(&"directive.done"), "{events:?}");
    let message = last(&events);
    assert!(message.response.action_directives.is_empty());
    assert_eq!(
        message.response.error.as_ref().unwrap().known(),
        Some(OpenHarnessCode::UpstreamError)
    );
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_stream_is_taken_up_again_also_after_a_restart() {
    let daemon = TestDaemon::with(|config, dir| {
        scripted(RULES)(config, dir);
        config.limits.shutdown_grace = Duration::from_millis(20);
    })
    .await;
    let body = streamed("r1", "slow");
    let mut client = HttpClient::of(&daemon).await;
    client.send(&raw_post(&daemon, ACCEPT, &body)).await;
    client.head().await;
    let (task, dir) = daemon.begin_stop();
    task.await.unwrap().unwrap();
    client.rest().await;
    let daemon = TestDaemon::again(dir, scripted(RULES)).await;
    let again = format!("{ACCEPT}last-event-id: 0\r\n");
    let events = events(&daemon, &again, &body).await;
    assert_eq!(events[0].seq(), 1);
    assert_eq!(names(&events)[0], "directive.start");
    assert_eq!(last(&events).response.action_directives[0].text(), Some("at last"));
    // Nothing was admitted here: the first copy was, before.
    assert_eq!(daemon.metric("bridle_messages_admitted_total").await, 0);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_stream_goes_on_with_the_same_numbers_and_data() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    for (id, said) in [("r1", "talk"), ("r2", "fail"), ("r3", "slow")] {
        let body = streamed(id, said);
        let whole = events(&daemon, ACCEPT, &body).await;
        let text = |events: &[OpenHarnessEvent]| {
            events.iter().map(OpenHarnessEvent::to_sse).collect::<Vec<_>>()
        };
        for last in 0..whole.len() - 1 {
            let again = format!("{ACCEPT}last-event-id: {last}\r\n");
            let rest = events(&daemon, &again, &body).await;
            assert_eq!(text(&rest), text(&whole[last + 1..]), "{said} behind {last}");
        }
        assert_eq!(text(&events(&daemon, ACCEPT, &body).await), text(&whole));
    }
    // What was streamed in one piece is the same after a restart.
    let body = streamed("r3", "slow");
    let whole = events(&daemon, ACCEPT, &body).await;
    let talk = events(&daemon, ACCEPT, &streamed("r1", "talk")).await;
    let (task, dir) = daemon.begin_stop();
    task.await.unwrap().unwrap();
    let daemon = TestDaemon::again(dir, scripted(RULES)).await;
    let text = |events: &[OpenHarnessEvent]| {
        events.iter().map(OpenHarnessEvent::to_sse).collect::<Vec<_>>()
    };
    for last in 0..whole.len() - 1 {
        let again = format!("{ACCEPT}last-event-id: {last}\r\n");
        let rest = events(&daemon, &again, &body).await;
        assert_eq!(text(&rest), text(&whole[last + 1..]), "behind {last}, after a restart");
    }
    // Of pieces only the end is known: it has a number that was not seen, and is the same.
    let seen = talk.len() - 2;
    let again = format!("{ACCEPT}last-event-id: {seen}\r\n");
    let rest = events(&daemon, &again, &streamed("r1", "talk")).await;
    assert_eq!(rest[0].seq(), seen as u64 + 1);
    assert_eq!(last(&rest), last(&talk));
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_stream_whose_answer_was_compacted_ends_and_says_so() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let body = streamed("r1", "slow");
    events(&daemon, ACCEPT, &body).await;
    let (task, dir) = daemon.begin_stop();
    task.await.unwrap().unwrap();
    let state = dir.path().join("state");
    let filter = RecordFilter { kinds: vec!["say".into()], ..RecordFilter::default() };
    let said = RecordReader::open(&state).unwrap().records(RecordNumber(0), &filter, 9).unwrap();
    forget(&state, &ForgetTarget::Record(said[0].number.0), 1).unwrap();
    assert!(compact(&state, 1).unwrap().records > 0);
    let daemon = TestDaemon::again(dir, scripted(RULES)).await;
    for seen in [0, 1] {
        let again = format!("{ACCEPT}last-event-id: {seen}\r\n");
        let rest = events(&daemon, &again, &body).await;
        let error = last(&rest).response.error.as_ref().unwrap();
        assert_eq!(error.known(), Some(OpenHarnessCode::StreamExpired), "behind {seen}");
    }
    assert_eq!(ask(&daemon, &post(&daemon, &body)).await.code(), OpenHarnessCode::StreamExpired);
    assert_eq!(daemon.metric("bridle_messages_admitted_total").await, 0);
    // The session goes on.
    let next = events(&daemon, ACCEPT, &streamed("r2", "slow")).await;
    assert_eq!(last(&next).response.action_directives[0].text(), Some("at last"));
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn what_was_never_begun_is_not_taken_up() {
    let daemon = serving().await;
    let headers = format!("{ACCEPT}last-event-id: 3\r\n");
    let reply = ask(&daemon, &raw_post(&daemon, &headers, &streamed("r9", "help"))).await;
    assert_eq!(reply.code(), OpenHarnessCode::StreamExpired);
    assert_eq!(daemon.metric("bridle_messages_admitted_total").await, 0);
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_stream_is_for_who_asks_in_both_places() {
    let daemon = serving().await;
    let reply = ask(&daemon, &raw_post(&daemon, ACCEPT, &intent("r1", "desk", "help"))).await;
    assert_eq!(reply.code(), OpenHarnessCode::NotAcceptable);
    let reply = ask(&daemon, &post(&daemon, &streamed("r2", "help"))).await;
    assert!(reply.text().starts_with("I am bridle"));
    assert!(reply.message().capability_denials.is_empty());
    daemon.stop().await.unwrap();
}

#[tokio::test]
async fn who_leaves_a_stream_does_not_end_the_run() {
    let daemon = TestDaemon::with(scripted(RULES)).await;
    let body = streamed("r1", "talk");
    let mut client = HttpClient::of(&daemon).await;
    client.send(&raw_post(&daemon, ACCEPT, &body)).await;
    client.head().await;
    drop(client);
    let reply = ask(&daemon, &post(&daemon, &body)).await;
    assert_eq!(reply.text(), "one two");
    assert_eq!(daemon.metric("bridle_messages_admitted_total").await, 1);
    daemon.stop().await.unwrap();
}
