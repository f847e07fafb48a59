//! Questions of the guard: asked once, answered from anywhere, carried out at most once.

use crate::engine::stop_hub;
use std::sync::Arc;
use std::time::Duration;

use bridle_loop::SessionId;
use bridle_record::{RecordFilter, RecordNumber, RecordReader};
use bridle_sexp::{Dialect, Value};

use super::rig::{self, Rig, Shell, body, emacs, owner, stranger};
use crate::access::principal::Principal;
use crate::config::PolicyChoice;
use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::{AttachRequest, EventView, OutboundItem, ResponseEffect, StreamEventKind};
use crate::oacp::to_frames;
use bridle_history::RecordHistory;
use bridle_history::replay::ReplayRange;

const EVAL: &str = "(:action :eval :code \"(save-buffer)\")";

fn request(id: i64) -> String {
    format!("(:type :REQUEST :id {id} :target :emacs :payload {EVAL})")
}

fn terminal(want: &mut AttachRequest) {
    want.client = Some("terminal".into());
}

/// Waits until this shell is asked something of this kind; returns the effect.
async fn asked(shell: &Shell, kind: StreamEventKind) -> i64 {
    loop {
        match shell.next().await {
            OutboundItem::Event { event, view: EventView::Asked, .. }
            | OutboundItem::Offer(event)
                if event.kind == kind =>
            {
                return body(&event).get("effect").and_then(Value::as_i64).expect("an effect");
            }
            OutboundItem::Event { .. } | OutboundItem::Status(_) | OutboundItem::Offer(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// Asks the daemon itself; the payload of its answer.
async fn query(rig: &Rig, who: Principal, payload: &str) -> Result<Value, EngineError> {
    let text = format!("(:type :REQUEST :id 9 :target :system :payload {payload})");
    let query = rig::query(&text)?;
    crate::engine::ask_daemon(Arc::clone(&rig.hub), who, query, None).await
}

async fn answer(rig: &Rig, effect: i64, verdict: &str) -> Result<Value, EngineError> {
    let payload = format!("(:action :approve :approval \"work-{effect}\" :verdict {verdict})");
    query(rig, owner(), &payload).await
}

fn respond(shell: &Shell, effect: i64, payload: &str) -> Result<ResponseEffect, EngineErrorCode> {
    let text = format!("(:type :RESPONSE :id \"work-{effect}\" :payload {payload})");
    rig::respond(shell, &text).map_err(|failure| failure.code)
}

fn says(value: &Value, key: &str, word: &str) -> bool {
    value.get(key).is_some_and(|value| value.is_keyword(word))
}

/// The first answers to questions of a session as its shells see them.
async fn answered(rig: &Rig, most: usize) -> Vec<String> {
    let shell = rig.join("work", |want| want.cursor = Some(0)).await;
    let session = SessionId::parse("work").expect("a name");
    let reader = to_frames::FrameReader { session: &session, dialect: Dialect::Lisp };
    let mut answers = Vec::new();
    while answers.len() < most {
        let event = shell.event().await;
        if event.kind == StreamEventKind::Answered {
            answers.push(reader.event(&event, EventView::Other));
        }
    }
    answers
}

/// How many records of a kind a session has.
fn count(rig: &Rig, session: &str, kind: &str) -> usize {
    let reader = RecordReader::open(rig.path()).expect("the record");
    let filter = RecordFilter {
        session: Some(session.into()),
        kinds: vec![kind.into()],
        ..RecordFilter::default()
    };
    reader.records(RecordNumber(0), &filter, 1000).expect("read").len()
}

/// Ends the hub; what it leaves must replay.
async fn replays(rig: Rig) {
    stop_hub(&rig.hub, Duration::from_secs(20)).await;
    let history = RecordHistory::open(rig.path()).expect("the record");
    let all = ReplayRange { from: 1, to: None, session: None };
    let replayed = history.replay(&all, &mut |_, _| {}).expect("read");
    assert_eq!(replayed.difference, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_survives_a_restart_and_a_yes_from_elsewhere_is_carried_out_once() {
    let rig = Rig::start().await;
    let editor = rig.join("work", emacs).await;
    let asker = rig.join("work", terminal).await;
    asker.send(&request(1));
    let question = asked(&editor, StreamEventKind::Ask).await;
    drop((editor, asker));
    let rig = rig.restart().await;
    let open = query(&rig, owner(), "(:action :approvals)").await.expect("a list");
    let Some(Value::List(open)) = open.get("approvals") else { panic!("{open}") };
    assert_eq!(open.len(), 1, "listed at once, before anybody joins");
    let editor = rig.join("work", emacs).await;
    assert_eq!(
        asked(&editor, StreamEventKind::Ask).await,
        question,
        "offered again to whoever may answer"
    );
    let told = answer(&rig, question, ":allow").await.expect("told");
    assert!(says(&told, "status", "success") && says(&told, "answer", "allow"), "{told}");
    let act = asked(&editor, StreamEventKind::Act).await;
    assert_eq!(respond(&editor, act, "(:status :success)"), Ok(ResponseEffect::Silently));
    let again = answer(&rig, question, ":allow").await.expect("told");
    assert!(says(&again, "code", "refused") && says(&again, "how", "allowed"), "{again}");
    let answers = answered(&rig, 2).await;
    assert!(!answers[0].contains(":counted"), "{answers:?}");
    assert!(answers[1].ends_with(":by \"uid:1000\" :counted nil))"), "{answers:?}");
    let back = |want: &mut AttachRequest| {
        terminal(want);
        want.cursor = Some(0);
    };
    let asker = rig.join("work", back).await;
    let said = loop {
        let said = asker.body(StreamEventKind::Say).await;
        if said.get("answers").and_then(Value::as_i64) == Some(1) {
            break said;
        }
    };
    assert!(says(said.get("payload").expect("one"), "outcome", "done"), "{said}");
    let stands = format!("(:action :approval :approval \"work-{question}\")");
    let stands = query(&rig, owner(), &stands).await.expect("known");
    assert!(says(&stands, "how", "allowed"), "{stands}");
    assert_eq!(count(&rig, "work", "act"), 1);
    replays(rig).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_answers_one_counts_and_both_are_told() {
    let rig = Rig::start().await;
    let (one, two) = (rig.join("work", emacs).await, rig.join("work", emacs).await);
    one.send(&request(1));
    let question = asked(&one, StreamEventKind::Ask).await;
    assert_eq!(asked(&two, StreamEventKind::Ask).await, question);
    assert_eq!(respond(&one, question, "(:verdict :maybe)"), Err(EngineErrorCode::InvalidValue));
    assert_eq!(respond(&one, question, "(:verdict :deny)"), Ok(ResponseEffect::Answered));
    // Until the first one is recorded, the second one is taken as well, and told that it is late.
    let second = respond(&two, question, "(:verdict :allow)");
    let mut told = Vec::new();
    while told.len() < 2 {
        let said = two.body(StreamEventKind::Say).await;
        told.push(said.get("payload").cloned().expect("a payload"));
    }
    assert!(says(&told[0], "answer", "deny") || says(&told[0], "code", "refused"), "{told:?}");
    assert!(
        matches!(second, Ok(ResponseEffect::Answered) | Err(EngineErrorCode::UnknownId)),
        "{second:?}"
    );
    assert!(!told.iter().any(|payload| says(payload, "answer", "allow")), "{told:?}");
    assert_eq!(count(&rig, "work", "act"), 0);
    replays(rig).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_expires_by_itself_and_a_later_yes_does_nothing() {
    let rig = Rig::with(|config| config.engine.approval = Duration::from_millis(20)).await;
    let editor = rig.join("work", emacs).await;
    editor.send(&request(1));
    let question = editor.body(StreamEventKind::Ask).await;
    let question = question.get("effect").and_then(Value::as_i64).expect("an effect");
    let outcome = editor.body(StreamEventKind::Settled).await;
    assert!(says(&outcome, "outcome", "expired"), "{outcome}");
    let told = answer(&rig, question, ":allow").await.expect("told");
    assert!(says(&told, "code", "expired"), "{told}");
    assert_eq!(count(&rig, "work", "act"), 0);
    replays(rig).await;
}

/// Policies that let local programs see and steer every session, and answer nothing.
pub(super) fn open_policy(rig_state: &std::path::Path) -> PolicyChoice {
    let closed = "(refuse (:principal \"local-tcp\" :action :observe :session-owner \"owner\"))";
    assert!(bridle_loop::DEFAULT_POLICY.contains(closed));
    let more = "* Local programs look on\n\n#+begin_src cedar\n\
        permit (principal in Group::\"local-tcp\", action in [Action::\"attach\", \
        Action::\"observe\", Action::\"control\"], resource);\n#+end_src\n\n\
        #+begin_src examples\n\
        (allow (:principal \"local-tcp\" :action :observe :session-owner \"owner\"))\n\
        #+end_src\n";
    let text = bridle_loop::DEFAULT_POLICY.replace(closed, "") + more;
    let file = rig_state.join("policy.org");
    std::fs::write(&file, text).expect("the directory is ours");
    PolicyChoice::File(file)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_of_somebody_who_may_not_changes_nothing_and_is_recorded() {
    let rig = Rig::with(|config| config.policy = open_policy(&config.state.clone())).await;
    let editor = rig.join("work", emacs).await;
    let guest = rig.try_join(stranger(), "work", |_| {}).await.expect("attached");
    editor.send(&request(1));
    let question = asked(&editor, StreamEventKind::Ask).await;
    let view = loop {
        if let OutboundItem::Event { event, view, .. } = guest.next().await
            && event.kind == StreamEventKind::Ask
        {
            break view;
        }
    };
    assert_eq!(view, EventView::Other, "whoever may not answer is not asked");
    assert_eq!(respond(&guest, question, "(:verdict :allow)"), Ok(ResponseEffect::Answered));
    let said = guest.body(StreamEventKind::Say).await;
    assert!(says(said.get("payload").expect("one"), "code", "refused"), "{said}");
    let name = format!("(:action :approve :approval \"work-{question}\" :verdict :allow)");
    let told = query(&rig, stranger(), &name).await.expect("told");
    assert!(says(&told, "code", "refused"), "{told}");
    assert_eq!(count(&rig, "work", "act"), 0);
    let open = query(&rig, stranger(), "(:action :approvals)").await.expect("a list");
    let Some(Value::List(open)) = open.get("approvals") else { panic!("{open}") };
    assert_eq!(open.len(), 1, "still open, and seen");
    replays(rig).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_may_not_see_a_session_finds_no_question_in_it() {
    let rig = Rig::start().await;
    let editor = rig.join("work", emacs).await;
    editor.send(&request(1));
    let question = asked(&editor, StreamEventKind::Ask).await;
    for action in ["approve", "approval"] {
        let payload = format!("(:action :{action} :approval \"work-{question}\" :verdict :allow)");
        let refused = query(&rig, stranger(), &payload).await;
        assert_eq!(refused.err().map(|failure| failure.code), Some(EngineErrorCode::UnknownId));
    }
    let open = query(&rig, stranger(), "(:action :approvals)").await.expect("a list");
    assert!(open.get("approvals").is_none_or(Value::is_nil), "{open}");
    assert_eq!(count(&rig, "work", "answered"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_question_is_asked_once_and_done_once() {
    let rig = Rig::start().await;
    let plain = rig.plain();
    plain.send("(:type :LOG :payload (:text \"x\"))");
    plain.event().await;
    let session = plain.0.session().as_str().to_owned();
    let editor = rig.join(&session, emacs).await;
    plain.send(&request(1));
    plain.send(&request(2));
    let mut names = Vec::new();
    for _ in 0..2 {
        let said = plain.body(StreamEventKind::Say).await;
        let payload = said.get("payload").expect("one");
        assert!(says(payload, "status", "pending-approval"), "{said}");
        names.push(payload.get("approval").and_then(Value::as_str).map(str::to_owned));
    }
    assert_eq!(names[0], names[1]);
    let name = names.pop().flatten().expect("a name");
    let payload = format!("(:action :approve :approval \"{name}\" :verdict :allow)");
    query(&rig, owner(), &payload).await.expect("told");
    asked(&editor, StreamEventKind::Act).await;
    assert_eq!((count(&rig, &session, "ask"), count(&rig, &session, "act")), (1, 1));
    replays(rig).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forgotten_session_takes_its_questions_along() {
    let rig = Rig::start().await;
    let editor = rig.join("work", emacs).await;
    editor.send(&request(1));
    let record = editor.event().await.record;
    let question = asked(&editor, StreamEventKind::Ask).await;
    let admin = rig.join("admin", |_| {}).await;
    let forget = async |id: i64, what: &str| {
        admin.send(&format!(
            "(:type :REQUEST :id {id} :target :system :payload (:action :forget {what}))"
        ));
        admin.body(StreamEventKind::Say).await.get("payload").cloned().expect("a payload")
    };
    // What was judged is what is carried out: it is left alone as long as that may happen.
    let refused = forget(1, &format!(":record {record}")).await;
    assert!(says(&refused, "code", "engine-failed"), "{refused}");
    let forgot = forget(2, ":session \"work\"").await;
    assert!(says(&forgot, "outcome", "done"), "{forgot}");
    drop((editor, admin));
    let rig = rig.restart().await;
    let open = query(&rig, owner(), "(:action :approvals)").await.expect("a list");
    assert!(open.get("approvals").is_none_or(Value::is_nil), "{open}");
    let late = answer(&rig, question, ":allow").await;
    assert_eq!(late.err().map(|failure| failure.code), Some(EngineErrorCode::UnknownId));
    let reader = RecordReader::open(rig.path()).expect("the record");
    let erased = reader.stream("work", 0, 100).expect("read");
    assert!(!erased.is_empty() && erased.iter().all(|record| record.body.text().is_none()));
}
