//! Interrupts, limits, schedules, forgetting, forking, heartbeats.

use crate::engine::queries::facts;
use crate::engine::stop_hub;
use std::time::Duration;

use bridle_loop::KeywordName;
use bridle_record::{RecordFilter, RecordNumber, RecordReader};
use bridle_sexp::Value;

use super::rig::{Rig, Shell, owner};
use crate::engine::error::EngineErrorCode;
use crate::engine::{AttachRequest, OutboundItem, ShellOffer, StreamEventKind};

const SLOW: &str = "(rule :when \"slow\" :delay 600000 :say \"done\") (default :say \"quick\")";

fn is_error(said: &Value, code: &str) -> bool {
    let payload = said.get("payload");
    payload.and_then(|payload| payload.get("code")).is_some_and(|said| said.is_keyword(code))
}

fn result(said: &Value, key: &str) -> Option<Value> {
    let payload = said.get("payload")?;
    payload.get(key).or_else(|| payload.get("result")?.get(key)).cloned()
}

/// The answers of the next `count` messages.
async fn answers(shell: &Shell, count: usize) -> Vec<Value> {
    let mut all = Vec::new();
    while all.len() < count {
        all.push(shell.body(StreamEventKind::Say).await);
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_ends_the_turn_of_its_own_session_at_once() {
    let rig = Rig::scripted(SLOW).await;
    let (one, other) = (rig.join("one", |_| {}).await, rig.join("other", |_| {}).await);
    one.prompt(1, "slow");
    other.prompt(1, "slow");
    one.send("(:type :EVENT :id 2 :payload (:sensor :interrupt))");
    one.prompt(3, "next");
    let said = answers(&one, 3).await;
    assert!(said.iter().any(|said| is_error(said, "cancelled")), "{said:?}");
    assert!(other.ready().await.iter().all(|out| match out {
        OutboundItem::Event { event, .. } => event.kind == StreamEventKind::Signal,
        _ => true,
    }));
    let left = rig
        .hub
        .directory
        .present()
        .iter()
        .map(|session| session.lock().open.workers.len())
        .sum::<usize>();
    assert_eq!(left, 1, "the thinker of the interrupted turn still runs");
    stop_hub(&rig.hub, Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thought_broken_off_by_the_end_is_thought_again() {
    let script = "(rule :when \"slow\" :delay 300 :say \"done\")";
    let rig = Rig::scripted(script).await;
    let shell = rig.join("work", |_| {}).await;
    shell.prompt(1, "slow");
    shell.event().await;
    drop(shell);
    let rig = rig.restart().await;
    let shell = rig.join("work", |want| want.cursor = Some(1)).await;
    let said = shell.body(StreamEventKind::Say).await;
    assert!(!is_error(&said, "engine-failed"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_inbox_refuses_and_nothing_else_suffers() {
    let rig = Rig::with(|config| config.engine.inbox = 4).await;
    let shell = rig.plain();
    let mut taken = 0;
    let refused = loop {
        // The inbox is emptied meanwhile, but not as fast as it is filled.
        match shell.try_send("(:type :LOG :payload (:text \"x\"))") {
            Ok(()) => taken += 1,
            Err(failure) => break failure,
        }
    };
    assert_eq!(refused.code, EngineErrorCode::Overloaded);
    for _ in 0..taken {
        assert!(matches!(shell.next().await, OutboundItem::Event { .. }));
    }
    shell.prompt(1, "help");
    assert!(matches!(shell.next().await, OutboundItem::Event { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thoughts_that_wait_hold_nobody_up() {
    // One thread for what blocks, and a hundred thoughts that only wait.
    let rig = Rig::scripted_with(SLOW, |config| config.engine.workers = 1).await;
    let mut slow = Vec::new();
    for n in 0..100 {
        let shell = rig.join(&format!("slow{n}"), |_| {}).await;
        shell.prompt(1, "slow");
        shell.event().await;
        slow.push(shell);
    }
    let quick = rig.join("quick", |_| {}).await;
    quick.prompt(1, "quick");
    quick.body(StreamEventKind::Say).await;
    for shell in &slow {
        shell.send("(:type :EVENT :id 2 :payload (:sensor :interrupt))");
    }
    for shell in &slow {
        assert!(is_error(&shell.body(StreamEventKind::Say).await, "cancelled"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shell_cannot_make_a_session_know_any_number_of_names() {
    let rig = Rig::start().await;
    let bare = |name: &str| ShellOffer::bare(KeywordName::new(name));
    let named = |from: usize| {
        move |want: &mut AttachRequest| {
            want.actuators = (from..from + 40).map(|n| bare(&format!("a{n}"))).collect();
        }
    };
    let (_one, two) = (rig.join("work", named(0)).await, rig.join("work", named(40)).await);
    let ask = |name| format!("(:type :REQUEST :id 1 :target {name} :payload (:action :x))");
    // The host's own come first, then 64 of the 80, in the order of their names.
    for (name, is_known) in [(":a0", true), (":a9", false)] {
        two.send(&ask(name));
        let said = two.body(StreamEventKind::Say).await;
        assert_eq!(!is_error(&said, "unknown-target"), is_known, "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_stops_takes_nothing() {
    let rig = Rig::start().await;
    let shell = rig.plain();
    stop_hub(&rig.hub, Duration::from_secs(5)).await;
    let refused = shell.try_send("(:type :LOG :payload (:text \"x\"))");
    assert_eq!(refused.err().map(|failure| failure.code), Some(EngineErrorCode::ShuttingDown));
    let kinds: Vec<String> = {
        let reader = RecordReader::open(rig.path()).expect("the record");
        let all = reader.records(RecordNumber(0), &Default::default(), 10).expect("read");
        all.iter().map(|record| record.kind.to_string()).collect()
    };
    assert_eq!(kinds, ["daemon-up", "policy", "daemon-down"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schedule_fires_also_after_a_restart() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    shell.send(
        "(:type :REQUEST :id 1 :target :system :payload (:action :schedule :name \"tea\" :in 1000 \
         :payload (:sensor :user-prompt :text \"help\")))",
    );
    let planned = shell.body(StreamEventKind::Say).await;
    assert!(!planned.to_string().contains(":error"), "{planned}");
    drop(shell);
    let rig = rig.restart().await;
    let shell = rig.join("work", |want| want.cursor = Some(2)).await;
    let said = shell.body(StreamEventKind::Say).await;
    assert!(said.get("answers").is_none(), "nobody asked: {said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forgotten_session_lets_go_of_its_shells_and_cannot_be_read() {
    let rig = Rig::scripted(SLOW).await;
    let (secret, admin) = (rig.join("secret", |_| {}).await, rig.join("admin", |_| {}).await);
    secret.prompt(1, "hush");
    answers(&secret, 1).await;
    secret.prompt(2, "slow");
    secret.event().await;
    admin.send(
        "(:type :REQUEST :id 1 :target :system :payload (:action :forget :session \"admin\"))",
    );
    assert!(is_error(&admin.body(StreamEventKind::Say).await, "engine-failed"), "it forgot itself");
    admin.send(
        "(:type :REQUEST :id 2 :target :system :payload (:action :forget :session \"secret\"))",
    );
    let said = admin.body(StreamEventKind::Say).await;
    assert!(!said.to_string().contains(":error"), "{said}");
    loop {
        if let OutboundItem::Gone(why) = secret.next().await {
            assert_eq!(why.code, EngineErrorCode::UnknownSession);
            break;
        }
    }
    assert!(secret.try_send("(:type :LOG :payload (:text \"x\"))").is_err());
    drop(secret);
    let reader = RecordReader::open(rig.path()).expect("the record");
    let erased = reader.stream("secret", 0, 100).expect("read");
    assert!(!erased.is_empty() && erased.iter().all(|record| record.body.text().is_none()));
    reader.verify(None, &mut |_, _| {}).expect("the chain holds");
    // The name is free again, for a session that remembers nothing.
    let again = rig.join("secret", |_| {}).await;
    assert_eq!(again.0.snapshot().seq, 0);
    again.prompt(1, "hello");
    assert_eq!(again.event().await.seq, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forgotten_record_is_quoted_by_no_state() {
    let rig = Rig::start().await;
    let (shell, admin) = (rig.join("work", |_| {}).await, rig.join("admin", |_| {}).await);
    shell.prompt(1, "the horse battery");
    let record = shell.event().await.record;
    shell.body(StreamEventKind::Say).await;
    admin.send(&format!(
        "(:type :REQUEST :id 2 :target :system :payload (:action :forget :record {record}))"
    ));
    let said = admin.body(StreamEventKind::Say).await;
    assert!(!said.to_string().contains(":error"), "{said}");
    let reader = RecordReader::open(rig.path()).expect("the record");
    let kept = reader.load("work", 0).expect("loaded");
    let (_, state) = kept.checkpoint.expect("a state without it");
    assert!(!state.contains("horse") && kept.tail.is_empty(), "{state}");
    // The session goes on, and a shell that was away is told that something is gone.
    shell.prompt(2, "help");
    shell.body(StreamEventKind::Say).await;
    let late = rig.join("work", |want| want.cursor = Some(0)).await;
    assert!(late.event().await.body.is_none());
    assert!(late.event().await.body.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_begins_where_the_other_was_and_does_nothing_again() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    shell.prompt(1, "help");
    shell.body(StreamEventKind::Say).await;
    let reader = RecordReader::open(rig.path()).expect("the record");
    let last = reader.session("work").expect("read").expect("there").last;
    shell.send(&format!(
        "(:type :REQUEST :id 2 :target :system :payload (:action :fork :record {last} :name \"copy\"))"
    ));
    let said = shell.body(StreamEventKind::Say).await;
    let name = result(&said, "session");
    assert_eq!(name.as_ref().and_then(Value::as_str), Some("copy"), "{said}");
    let copy = rig.join("copy", |want| want.cursor = Some(0)).await;
    copy.prompt(1, "why");
    copy.body(StreamEventKind::Say).await;
    shell.send(&format!(
        "(:type :REQUEST :id 3 :target :system :payload (:action :fork :record {last} :name \"copy\"))"
    ));
    assert!(
        is_error(&shell.body(StreamEventKind::Say).await, "engine-failed"),
        "two sessions of one name"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heartbeats_go_to_a_session_of_their_own() {
    let rig = Rig::with(|config| config.heartbeat = Some(Duration::from_millis(50))).await;
    let beats = || {
        let list = facts::list(&rig.hub, &owner());
        let rows = list.elements().unwrap_or_default().to_vec();
        rows.iter().any(|row| row.get("session").and_then(Value::as_str) == Some("heartbeat"))
    };
    let seen = async {
        while !beats() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), seen).await.expect("a heartbeat");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_has_the_limits_of_a_session_that_begins() {
    let rig = Rig::with(|config| config.engine.approval = Duration::from_secs(77)).await;
    let shell = rig.join("work", |_| {}).await;
    shell.prompt(1, "status");
    answers(&shell, 1).await;
    let reader = RecordReader::open(rig.path()).expect("a record");
    let last = reader.head().expect("a head").number;
    shell.send(&format!(
        "(:type :REQUEST :id 2 :target :system :payload (:action :fork :record {last} :name \"copy\"))"
    ));
    answers(&shell, 1).await;
    let began = |session: &str| {
        let session = Some(session.into());
        let filter =
            RecordFilter { session, kinds: vec!["began".into()], ..RecordFilter::default() };
        let records = reader.records(RecordNumber(0), &filter, 1).expect("read");
        let body = records[0].body.text().expect("not erased").to_owned();
        bridle_sexp::read_one(&body).expect("a form").root().get("limits").map(|it| it.to_value())
    };
    let limits = began("copy").expect("limits");
    assert_eq!(limits.get("approval-ms").and_then(Value::as_i64), Some(77_000));
    assert_eq!(Some(limits), began("work"));
}
