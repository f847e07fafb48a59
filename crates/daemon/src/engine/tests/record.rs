//! What is recorded survives, and what cannot be recorded is not done.

use bridle_record::{
    ForgetRequest, RecordBody, RecordFilter, RecordNumber, RecordReader, RecordStore,
};
use bridle_sexp::Value;
use std::sync::Arc;

use super::rig::{self, Rig, Shell, id, owner, stranger};
use crate::access::principal::Principal;
use crate::engine::error::EngineErrorCode;
use crate::engine::{AttachRequest, OutboundItem, StreamEventKind};

fn as_client(name: &'static str, cursor: Option<u64>) -> impl FnOnce(&mut AttachRequest) {
    move |want| {
        want.client = Some(name.into());
        want.receipts = true;
        want.cursor = cursor;
    }
}

/// The next receipt, events passed over.
async fn receipt(shell: &Shell) -> (Option<Value>, u64) {
    loop {
        match shell.next().await {
            OutboundItem::Receipt { id, seq } => return (id, seq),
            OutboundItem::Event { .. } | OutboundItem::Status(_) => {}
            other => panic!("expected a receipt, got {other:?}"),
        }
    }
}

async fn limit_bytes(rig: &Rig, most: Option<u64>) {
    let limited = move |store: &mut RecordStore| store.limit_bytes(most);
    rig.hub.home.record.writer.with_store(limited).await.expect("kept").expect("limited");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shell_goes_on_where_it_was_after_a_restart() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    for number in 1..=5 {
        shell.prompt(number, "help");
    }
    for _ in 0..4 {
        shell.event().await;
    }
    drop(shell);
    let rig = rig.restart().await;
    let shell = rig.join("work", |want| want.cursor = Some(4)).await;
    assert_eq!(shell.0.snapshot().seq, 10);
    shell.prompt(6, "status");
    for number in 5..=12 {
        assert_eq!(shell.event().await.seq, number);
    }
    assert!(shell.ready().await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_sent_again_is_the_same_message_also_after_a_restart() {
    let rig = Rig::start().await;
    let shell = rig.join("work", as_client("c1", None)).await;
    shell.prompt(1, "help");
    assert_eq!(receipt(&shell).await, (id(1), 1));
    shell.prompt(1, "help");
    assert_eq!(receipt(&shell).await, (id(1), 1));
    drop(shell);
    let rig = rig.restart().await;
    let shell = rig.join("work", as_client("c1", Some(0))).await;
    shell.prompt(1, "help");
    assert_eq!(receipt(&shell).await, (id(1), 1));
    shell.prompt(1, "status");
    let refused = loop {
        match shell.next().await {
            OutboundItem::Refused { id: of, failure } => break (of, failure.code),
            OutboundItem::Event { event, .. } => assert!(event.seq <= 2, "it was recorded twice"),
            OutboundItem::Repeat => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused, (id(1), EngineErrorCode::IdConflict));
    // Another client counts for itself.
    let other = rig.join("work", as_client("c2", None)).await;
    other.prompt(1, "status");
    assert_eq!(receipt(&other).await, (id(1), 3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_and_recovers() {
    let rig = Rig::start().await;
    let shell = rig.plain();
    shell.prompt(1, "help");
    assert!(matches!(shell.next().await, OutboundItem::Event { .. }));
    limit_bytes(&rig, Some(1)).await;
    let mut refusals = 0;
    for number in 2..200 {
        // Free pages of the file are used up first.
        let text = "x".repeat(3000);
        shell.prompt(number, &text);
        match shell.next().await {
            OutboundItem::Refused { id: of, failure } => {
                assert_eq!((of, failure.code), (id(number), EngineErrorCode::StoreUnavailable));
                refusals += 1;
            }
            OutboundItem::Event { .. } => assert_eq!(refusals, 0, "space came from nowhere"),
            other => panic!("{other:?}"),
        }
        if refusals == 3 {
            break;
        }
    }
    assert_eq!(refusals, 3);
    assert!(!rig.hub.home.is_healthy());
    limit_bytes(&rig, None).await;
    shell.prompt(900, "help");
    let OutboundItem::Event { event, .. } = shell.next().await else { panic!("still refused") };
    assert_eq!(event.kind, StreamEventKind::Say);
    assert!(rig.hub.home.is_healthy());
    let reader = RecordReader::open(rig.path()).expect("the record");
    reader.verify(None, &mut |_, _| {}).expect("the chain holds");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_recovers_without_traffic() {
    let rig = Rig::start().await;
    let shell = rig.plain();
    limit_bytes(&rig, Some(1)).await;
    while rig.hub.home.is_healthy() {
        shell.prompt(1, &"x".repeat(3000));
        shell.next().await;
    }
    limit_bytes(&rig, None).await;
    let recovered = async {
        while !rig.hub.home.is_healthy() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), recovered).await.expect("recovers");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn evicted_sessions_remember() {
    let rig = Rig::with(|config| config.engine.loaded = 1).await;
    let shells = [rig.join("a", |_| {}).await, rig.join("b", |_| {}).await];
    for round in 0..7 {
        for shell in &shells {
            shell.prompt(round, "why");
            shell.body(StreamEventKind::Say).await;
        }
    }
    for shell in &shells {
        assert_eq!(shell.0.snapshot().seq, 14);
    }
    let reader = RecordReader::open(rig.path()).expect("the record");
    // Whoever is asked makes another one give its memory back, unless that is still at work.
    let saved = async {
        let mut round = 7;
        while reader.load("a", 0).expect("loaded").checkpoint.is_none() {
            shells[1].prompt(round, "why");
            shells[1].body(StreamEventKind::Say).await;
            round += 1;
        }
    };
    let patience = std::time::Duration::from_secs(20);
    let saved = tokio::time::timeout(patience, saved).await;
    saved.expect("what is given back is saved");
}

/// The text of an answer stands in what was proposed and in what was said, and is kept with the latter.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_as_it_was_proposed_is_kept_once() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    shell.prompt(1, "help");
    shell.body(StreamEventKind::Say).await;
    let reader = RecordReader::open(rig.path()).expect("the record");
    let of_kind = |kind: &str| {
        let filter = RecordFilter { kinds: vec![kind.into()], ..RecordFilter::default() };
        reader.records(RecordNumber(0), &filter, 1).expect("read").pop().expect("there is one")
    };
    let text = "I am bridle, a daemon between your shells and an agent.";
    for kind in ["consulted", "say"] {
        assert!(of_kind(kind).body.text().expect("a text").contains(text), "{kind}");
    }
    let said = of_kind("say").number;
    let forget = move |store: &mut RecordStore| {
        store.forget_record(said, None, &ForgetRequest { principal: "uid:7".into(), at: 0 })
    };
    rig.hub.home.record.writer.with_store(forget).await.expect("kept").expect("forgotten");
    assert_eq!(
        [of_kind("say").body, of_kind("consulted").body],
        [RecordBody::Erased, RecordBody::Erased]
    );
    assert!(of_kind("decided").body.text().is_some());
    reader.verify(None, &mut |_, _| {}).expect("the chain holds");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_record_is_handed_out_to_those_who_may_see_it() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    shell.prompt(1, "help");
    shell.body(StreamEventKind::Say).await;
    let theirs = rig.try_join(stranger(), "theirs", |_| {}).await.expect("attached");
    theirs.prompt(1, "help");
    theirs.body(StreamEventKind::Say).await;
    let ask = |who, payload: &str| {
        let text = format!("(:type :REQUEST :id 9 :target :record :payload {payload})");
        let query = rig::query(&text).expect("understood");
        crate::engine::ask_daemon(Arc::clone(&rig.hub), who, query, None)
    };
    let count =
        |answer: &Value| answer.get("records").and_then(Value::elements).map_or(0, <[_]>::len);
    let all = ask(owner(), "(:action :page)").await.expect("handed out");
    let file = RecordReader::open(rig.path()).expect("a record");
    let head = file.head().expect("a head").number.0;
    assert_eq!(count(&all) as u64, head);
    let two = ask(owner(), "(:action :page :after 1 :limit 2)").await.expect("handed out");
    assert_eq!(count(&two), 2);
    let says = ask(owner(), "(:action :page :session \"work\" :kinds (:say))").await;
    assert_eq!(count(&says.expect("handed out")), 1);
    // Somebody else sees a session of theirs, and nothing of anybody else's or of the daemon.
    let own = ask(stranger(), "(:action :page :session \"theirs\")").await.expect("handed out");
    assert!(count(&own) > 0);
    for payload in [
        "(:action :page)",
        "(:action :page :session \"work\")",
        "(:action :page :session \"\")",
        "(:action :head)",
        "(:action :verify)",
        "(:action :waiting)",
        "(:action :latest :kind :say)",
    ] {
        assert!(ask(stranger(), payload).await.is_err(), "{payload}");
    }
    let hidden = ask(stranger(), "(:action :record :record 1)").await.expect("an answer");
    assert_eq!(count(&hidden), 0);
    let sessions = ask(stranger(), "(:action :sessions)").await.expect("an answer");
    assert!(!sessions.to_string().contains("work"), "{sessions}");
    assert!(ask(Principal::Anonymous, "(:action :sessions)").await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_say_why_what_and_for_how_much() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    shell.prompt(1, "help");
    shell.body(StreamEventKind::Say).await;
    let theirs = rig.try_join(stranger(), "theirs", |_| {}).await.expect("attached");
    theirs.prompt(1, "help");
    theirs.body(StreamEventKind::Say).await;
    let ask = |who, payload: &str| {
        let text = format!("(:type :REQUEST :id 9 :target :record :payload {payload})");
        let query = rig::query(&text).expect("understood");
        crate::engine::ask_daemon(Arc::clone(&rig.hub), who, query, None)
    };
    let list =
        |answer: &Value, key: &str| answer.get(key).and_then(Value::elements).map_or(0, <[_]>::len);
    let why = ask(owner(), "(:action :why :session \"work\" :seq 2)").await.expect("reasons");
    assert_eq!(why.get("kind").and_then(Value::as_keyword), Some("say"));
    assert_eq!(list(&why, "decisions"), 1);
    let decision = &why.get("decisions").and_then(Value::elements).expect("a list")[0];
    assert_eq!(decision.get("verdict").and_then(Value::as_keyword), Some("allow"));
    assert!(decision.get("facts").is_some(), "{decision}");
    let number = why.get("record").and_then(Value::as_i64).expect("a number");
    let same = ask(owner(), &format!("(:action :why :record {number})")).await.expect("reasons");
    assert_eq!(why, same);
    for payload in [
        "(:action :why :session \"work\" :seq 99)",
        "(:action :why :session \"nobody\" :seq 1)",
        "(:action :why :record 100000)",
        "(:action :effects :session \"nobody\")",
        "(:action :costs :session \"nobody\")",
    ] {
        let refused = ask(owner(), payload).await.expect_err(payload);
        assert_eq!(refused.code, EngineErrorCode::UnknownId, "{payload}");
    }
    for payload in ["(:action :why)", "(:action :why :seq 2)", "(:action :effects)"] {
        let text = format!("(:type :REQUEST :id 9 :target :record :payload {payload})");
        let refused = rig::query(&text).expect_err(payload);
        assert_eq!(refused.code, EngineErrorCode::InvalidValue, "{payload}");
    }
    let costs = ask(owner(), "(:action :costs :session \"work\")").await.expect("sums");
    assert_eq!(costs.get("thoughts").and_then(Value::as_i64), Some(0));
    assert_eq!(costs.get("model"), None);
    let effects = ask(stranger(), "(:action :effects :session \"theirs\")").await.expect("acts");
    assert_eq!(list(&effects, "effects"), 0);
    assert!(ask(stranger(), "(:action :costs :session \"theirs\")").await.is_ok());
    // Reasons name policies and facts; of other sessions not even the name is told.
    for payload in [
        "(:action :why :session \"theirs\" :seq 2)",
        "(:action :why :record 1)",
        "(:action :effects :session \"work\")",
        "(:action :costs :session \"work\")",
        "(:action :costs :session \"nobody\")",
    ] {
        let refused = ask(stranger(), payload).await.expect_err(payload);
        assert_eq!(refused.code, EngineErrorCode::NotPermitted, "{payload}");
    }
    assert!(ask(Principal::Anonymous, "(:action :costs :session \"work\")").await.is_err());
}
