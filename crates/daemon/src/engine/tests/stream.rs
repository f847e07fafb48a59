//! Shells that read the stream of a session.

use crate::engine::queries::facts;
use crate::engine::shells::join::read_page;
use bridle_sexp::Value;

use super::rig::{Rig, Shell, body, observer, owner, stranger};
use crate::engine::error::EngineErrorCode;
use crate::engine::{
    AttachRequest, EngineActivity, EventView, OutboundItem, PieceChannel, StreamEventKind,
};

/// Numbers of the next `count` events.
async fn numbers(shell: &Shell, count: usize) -> Vec<u64> {
    let mut seen = Vec::new();
    for _ in 0..count {
        seen.push(shell.event().await.seq);
    }
    seen
}

fn after(cursor: u64) -> impl FnOnce(&mut AttachRequest) {
    move |want| want.cursor = Some(cursor)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_shells_see_the_same_events_each_in_its_own_light() {
    let rig = Rig::start().await;
    let (one, two) = (rig.join("work", |_| {}).await, rig.join("work", |_| {}).await);
    one.prompt(7, "help");
    for (shell, expected) in [(&one, EventView::Own), (&two, EventView::Other)] {
        for (number, kind) in [(1, StreamEventKind::Signal), (2, StreamEventKind::Say)] {
            let OutboundItem::Event { event, view, live } = shell.next().await else {
                panic!("no event")
            };
            assert_eq!((event.seq, event.kind, view, live), (number, kind, expected, true));
        }
        assert!(shell.ready().await.is_empty());
    }
    let snapshot = two.0.snapshot();
    assert_eq!((snapshot.seq, snapshot.status.doing), (2, EngineActivity::Idle));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_observer_sees_and_may_not_speak() {
    let rig = Rig::start().await;
    let missing = rig.try_join(owner(), "work", observer).await;
    assert_eq!(missing.err().map(|failure| failure.code), Some(EngineErrorCode::UnknownSession));
    let controller = rig.join("work", |_| {}).await;
    let watcher = rig.join("work", observer).await;
    controller.prompt(1, "help");
    assert_eq!(numbers(&watcher, 2).await, [1, 2]);
    let refused = watcher.try_send("(:type :LOG :payload (:text \"hi\"))");
    assert_eq!(refused.err().map(|failure| failure.code), Some(EngineErrorCode::NotPermitted));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_of_others_are_not_there() {
    let rig = Rig::start().await;
    let shell = rig.join("mine", |_| {}).await;
    shell.prompt(1, "help");
    numbers(&shell, 2).await;
    let refused = rig.try_join(stranger(), "mine", |_| {}).await;
    assert_eq!(refused.err().map(|failure| failure.code), Some(EngineErrorCode::UnknownSession));
    let theirs = rig.try_join(stranger(), "theirs", |_| {}).await.expect("a session of its own");
    theirs.prompt(1, "help");
    numbers(&theirs, 2).await;
    let names = |who| {
        let list = facts::list(&rig.hub, &who);
        let row = |row: &Value| row.get("session").and_then(Value::as_str).map(str::to_owned);
        let mut names: Vec<String> =
            list.elements().unwrap_or_default().iter().filter_map(row).collect();
        names.sort();
        names
    };
    assert_eq!(names(stranger()), ["theirs"]);
    assert_eq!(names(owner()), ["mine", "theirs"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_missed_events_come_in_order_and_once() {
    let rig = Rig::start().await;
    let writer = rig.join("long", |_| {}).await;
    // Every signal is answered: two numbers each.
    let mut answered = 0;
    for _ in 0..100 {
        for _ in 0..50 {
            writer.send("(:type :LOG :payload (:text \"a line\"))");
        }
        answered += numbers(&writer, 100).await.len();
    }
    assert_eq!(answered, 10_000);
    let late = rig.join("long", after(0)).await;
    let missed: Vec<u64> = (1..=10_000).collect();
    assert_eq!(numbers(&late, 10_000).await, missed);
    writer.send("(:type :LOG :payload (:text \"one more\"))");
    assert_eq!(numbers(&late, 2).await, [10_001, 10_002]);
    assert!(late.ready().await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_large_events_is_short() {
    let rig = Rig::start().await;
    let writer = rig.join("work", |_| {}).await;
    let text = "x".repeat(100_000);
    for _ in 0..6 {
        writer.send(&format!("(:type :LOG :payload (:text \"{text}\"))"));
    }
    numbers(&writer, 12).await;
    let page = read_page(&rig.hub, writer.0.session(), 0).await.expect("read").expect("a page");
    assert_eq!(page.len(), 5, "three large ones are over the limit, with two answers between");
    let late = rig.join("work", after(0)).await;
    assert_eq!(numbers(&late, 12).await, (1..=12).collect::<Vec<u64>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_beyond_the_head_is_the_head() {
    let rig = Rig::start().await;
    let writer = rig.join("work", |_| {}).await;
    writer.prompt(1, "help");
    numbers(&writer, 2).await;
    let late = rig.join("work", after(99)).await;
    writer.prompt(2, "help");
    assert_eq!(numbers(&late, 2).await, [3, 4]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pieces_of_an_answer_come_before_it_and_are_not_numbered() {
    let script = "(rule :when \"go\" :pace 30 :stream (\"one \" \"two \" \"three\"))";
    let rig = Rig::scripted(script).await;
    let shell = rig.join("work", |want| want.render_rate = Some(60)).await;
    shell.prompt(1, "go");
    let (mut text, mut thought) = (String::new(), false);
    loop {
        match shell.next().await {
            OutboundItem::Delta(piece) => {
                assert_eq!((piece.offset, piece.channel), (text.len(), PieceChannel::Text));
                text.push_str(&piece.text);
            }
            OutboundItem::Status(status) => thought |= status.doing == EngineActivity::Thinking,
            OutboundItem::Event { event, .. } if event.kind == StreamEventKind::Say => {
                let said = body(&event);
                let whole = said.get("payload").and_then(|payload| payload.get("text"));
                assert_eq!(whole.and_then(Value::as_str), Some("one two three"));
                break;
            }
            OutboundItem::Event { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(thought, "the shell was not told that a thinker is at work");
    assert!(text.starts_with("one ") && "one two three".starts_with(&text), "{text}");
}

/// Reads until the next answer: the text that was shown before it, and whether that was taken back.
async fn shown(shell: &Shell) -> (String, bool) {
    let (mut text, mut voided) = (String::new(), false);
    loop {
        match shell.next().await {
            OutboundItem::Delta(piece) if piece.channel == PieceChannel::Text => {
                assert_eq!(piece.offset, text.len());
                text.push_str(&piece.text);
            }
            OutboundItem::Voided { .. } => voided = true,
            OutboundItem::Event { event, .. } if event.kind == StreamEventKind::Say => {
                return (text, voided);
            }
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_joins_in_the_middle_is_shown_what_was_streamed_before() {
    let script =
        "(rule :when \"go\" :pace 100 :stream (\"one \" \"two \" \"three \" \"four \" \"five\"))";
    let rig = Rig::scripted(script).await;
    let first = rig.join("work", |want| want.render_rate = Some(60)).await;
    first.prompt(1, "go");
    while !matches!(first.next().await, OutboundItem::Delta(piece) if piece.text.contains("two")) {}
    let late = rig.join("work", |want| want.render_rate = Some(60)).await;
    let (text, voided) = shown(&late).await;
    assert!(text.starts_with("one two ") && !voided, "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_shown_and_is_not_said_is_taken_back() {
    let script = r#"
(rule :when "fail" :pace 100 :stream ("half of " "an answer") :error "broken")
(rule :when "say" :pace 100 :stream ("a whole " "answer"))"#;
    let rig = Rig::scripted(script).await;
    let shell = rig.join("work", |want| want.render_rate = Some(60)).await;
    shell.prompt(1, "fail");
    let (text, voided) = shown(&shell).await;
    let after = shell.ready().await;
    let is_void = |out: &OutboundItem| matches!(out, OutboundItem::Voided { .. });
    assert!(text.starts_with("half") && (voided || after.iter().any(is_void)), "{text} {after:?}");
    shell.prompt(2, "say");
    let (text, voided) = shown(&shell).await;
    assert!(text.starts_with("a whole") && !voided, "{text}");
    assert!(!shell.ready().await.iter().any(is_void));
}
