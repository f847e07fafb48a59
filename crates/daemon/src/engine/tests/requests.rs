//! Requests to shells, and acts of the host around a crash.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bridle_host::{Host, ThinkerChoice};
use bridle_loop::{EffectId, KeywordName, Outcome, SessionId, SessionLimits};
use bridle_record::{RecordStore, StoreOptions};
use bridle_sexp::Value;

use super::rig::{self, Rig, Shell, body, emacs, owner};
use crate::config::DaemonConfig;
use crate::engine::commit::batch::{AppendBatch, BatchContext, PostCommit};
use crate::engine::error::EngineErrorCode;
use crate::engine::home::action_catalog::ActionCatalog;
use crate::engine::home::guard::PolicyGuard;
use crate::engine::home::principal_usage::PrincipalUsageSums;
use crate::engine::queries::facts::HubFacts;
use crate::engine::sessions::inbound_message::{InboundMessage, MessageNewness};
use crate::engine::sessions::inbox_item::InboxItem;
use crate::engine::sessions::loaded_session::{LoadedSession, began};
use crate::engine::stream::{AttachmentId, ShellOffer, StreamMode};
use crate::engine::{AttachRequest, EventView, OutboundItem, StreamEventKind};

const ASK: &str = "(rule :when \"ask\" :propose ((:target :emacs :action :notify :text \"hi\")))
                   (default :say \"nothing\")";

/// Waits until this shell is asked; returns the effect.
async fn asked(shell: &Shell) -> i64 {
    loop {
        match shell.next().await {
            OutboundItem::Event { event, view: EventView::Asked, .. }
            | OutboundItem::Offer(event) => {
                return body(&event).get("effect").and_then(Value::as_i64).expect("an effect");
            }
            OutboundItem::Event { .. } | OutboundItem::Status(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

fn respond(shell: &Shell, session: &str, effect: i64) -> Result<(), EngineErrorCode> {
    let text = format!("(:type :RESPONSE :id \"{session}-{effect}\" :payload (:status :success))");
    rig::respond(shell, &text).map(drop).map_err(|failure| failure.code)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shell_is_asked_and_its_answer_is_the_outcome_once() {
    let rig = Rig::scripted(ASK).await;
    let shell = rig.join("work", emacs).await;
    shell.prompt(1, "ask");
    let effect = asked(&shell).await;
    assert_eq!(respond(&shell, "other", effect), Err(EngineErrorCode::UnknownId));
    assert_eq!(respond(&shell, "work", effect), Ok(()));
    assert_eq!(respond(&shell, "work", effect), Err(EngineErrorCode::UnknownId));
    let outcome = shell.body(StreamEventKind::Acted).await;
    assert!(outcome.get("outcome").is_some_and(|word| word.is_keyword("done")), "{outcome}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_follows_hears_of_its_own_and_of_what_nobody_said() {
    let rig = Rig::scripted(ASK).await;
    let follow = |want: &mut AttachRequest| want.mode = StreamMode::Follow;
    let (one, other) = (rig.join("work", follow).await, rig.join("work", follow).await);
    one.prompt(1, "hello");
    for number in 1..=2 {
        assert_eq!(one.event().await.seq, number);
    }
    other.prompt(2, "hello");
    for number in 3..=4 {
        assert_eq!(other.event().await.seq, number);
    }
    assert!(
        one.ready().await.iter().all(|out| matches!(out, OutboundItem::Status(_))),
        "of the other"
    );
    // What an editor is asked to do is nobody's message.
    let editor = rig.join("work", emacs).await;
    editor.prompt(3, "ask");
    asked(&editor).await;
    let (mine, act) = (editor.0.snapshot().seq, one.event().await);
    assert!(act.kind == StreamEventKind::Act && (5..=mine).contains(&act.seq), "{act:?}");
    one.prompt(4, "hello");
    assert_eq!(one.body(StreamEventKind::Signal).await.get("id").and_then(Value::as_i64), Some(4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_to_a_shell_that_is_away_waits_for_it_also_over_a_restart() {
    let rig = Rig::scripted(ASK).await;
    let editor = rig.join("work", emacs).await;
    let terminal = rig.join("work", |_| {}).await;
    terminal.prompt(1, "hello");
    terminal.body(StreamEventKind::Say).await;
    drop(editor);
    terminal.prompt(2, "ask");
    let intent = terminal.body(StreamEventKind::Act).await;
    drop(terminal);
    let rig = rig.restart().await;
    let editor = rig.join("work", emacs).await;
    let effect = asked(&editor).await;
    assert_eq!(intent.get("effect").and_then(Value::as_i64), Some(effect));
    // It leaves without an answer, and another takes over.
    drop(editor);
    let editor = rig
        .join("work", |want| want.actuators = vec![ShellOffer::bare(KeywordName::new("emacs"))])
        .await;
    assert_eq!(asked(&editor).await, effect);
    assert_eq!(respond(&editor, "work", effect), Ok(()));
    editor.body(StreamEventKind::Acted).await;
    editor.body(StreamEventKind::Say).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_most_recently_active_shell_is_asked_and_the_others_see_it() {
    let rig = Rig::scripted(ASK).await;
    let (one, two) = (rig.join("work", emacs).await, rig.join("work", emacs).await);
    two.prompt(1, "hello");
    two.body(StreamEventKind::Say).await;
    one.body(StreamEventKind::Say).await;
    one.prompt(2, "ask");
    asked(&one).await;
    loop {
        let OutboundItem::Event { event, view, .. } = two.next().await else { continue };
        if event.kind == StreamEventKind::Act {
            assert_eq!(view, EventView::Other);
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_comes_back_before_its_old_connection_is_dead_is_asked_again() {
    let rig = Rig::scripted(ASK).await;
    let named = |want: &mut AttachRequest| {
        emacs(want);
        want.client = Some("c1".into());
    };
    let old = rig.join("work", named).await;
    old.prompt(1, "ask");
    let effect = asked(&old).await;
    let new = rig.join("work", named).await;
    assert_eq!(asked(&new).await, effect);
    assert_eq!(respond(&new, "work", effect), Ok(()));
    assert_eq!(respond(&old, "work", effect), Err(EngineErrorCode::UnknownId));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_nobody_answers_expires() {
    let rig = Rig::scripted(ASK).await;
    let limits = SessionLimits { request_deadline_ms: 200, ..SessionLimits::default() };
    let name = SessionId::parse("work").expect("a name");
    let held = rig.hub.find_or_make(&name, &owner().name(), 0);
    let (done, begun) = tokio::sync::oneshot::channel();
    let began = bridle_loop::SessionStart {
        limits,
        ..began("uid:1000", &crate::config::EngineLimits::default())
    };
    held.post(InboxItem::Begin { began: Box::new(began), done });
    assert!(begun.await.expect("begun"));
    drop(held);
    let shell = rig.join("work", emacs).await;
    shell.prompt(1, "ask");
    let effect = asked(&shell).await;
    let settled = shell.body(StreamEventKind::Settled).await;
    assert!(settled.get("outcome").is_some_and(|word| word.is_keyword("expired")), "{settled}");
    shell.body(StreamEventKind::Say).await;
    assert_eq!(respond(&shell, "work", effect), Err(EngineErrorCode::UnknownId));
}

/// Which record a crash leaves.
#[derive(Clone, Copy, PartialEq)]
enum Crash {
    BeforeStart,
    AfterStart,
}

/// A note, which is harmless.
const NOTE: &str = "(:type :REQUEST :id 1 :target :log :payload (:action :log :text \"x\"))";

/// A fork of the session, which is more than harmless.
const FORK: &str = "(:type :REQUEST :id 1 :target :system :payload (:action :fork :record 1))";

/// Writes a session whose act of the host is recorded, and perhaps its start, and nothing more.
fn crashed(directory: &std::path::Path, crash: Crash, text: &str) -> u64 {
    let host = Host::new(&ThinkerChoice::Builtin, Arc::new(HubFacts::default())).expect("a host");
    let (catalog, actions) = (host.catalog(), ActionCatalog::default());
    let mut store = RecordStore::open(directory, &StoreOptions::default()).expect("a record");
    let mut core = LoadedSession::unborn(SessionId::parse("work").expect("a name"));
    let signal = rig::signal(text);
    let inbound = InboundMessage {
        signal,
        attachment: AttachmentId(1),
        ticket: None,
        wants_receipt: false,
        answers: Vec::new(),
        load: rig::no_load(),
        body: None,
        ast: None,
        files: Vec::new(),
        newness: MessageNewness::Any,
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
    let now = i64::try_from(now).expect("before the end of time");
    let guard = PolicyGuard::start(&DaemonConfig::default(), |_| false);
    let sums = PrincipalUsageSums::default();
    let plans = crate::engine::home::schedules::ScheduleList::default();
    let means = BatchContext {
        host: &host,
        catalog,
        actions: &actions,
        guard: &guard,
        usage: &sums,
        schedules: &plans,
        secrets: &DaemonConfig::default().secret_store(),
        at: now,
    };
    let mut batch = AppendBatch::new(&mut core, means);
    batch.begin(|| began("uid:1000", &crate::config::EngineLimits::default()));
    batch.add(InboxItem::Signal(Box::new(inbound)), &[]);
    let act = batch.after.iter().find_map(|after| match after {
        PostCommit::Carry { effect, .. } => match &**effect {
            bridle_loop::Effect::Act { id: EffectId(id), .. } => Some(*id),
            _ => None,
        },
        _ => None,
    });
    let effect = act.expect("an act");
    if crash == Crash::AfterStart {
        batch.add(InboxItem::Start { effect }, &[]);
    }
    let mut append = std::mem::take(&mut batch.append);
    core.complete(&mut append);
    store.commit(&[append]).expect("kept");
    effect
}

async fn after_crash(crash: Crash) -> Value {
    let directory = tempfile::TempDir::new().expect("a directory");
    let effect = crashed(directory.path(), crash, NOTE);
    let rig = Rig::on(directory).await;
    let shell = rig.join("work", |want| want.cursor = Some(0)).await;
    let outcome = shell.body(StreamEventKind::Acted).await;
    assert_eq!(outcome.get("effect").and_then(Value::as_i64), i64::try_from(effect).ok());
    // The one who asked has its answer, once.
    shell.body(StreamEventKind::Say).await;
    assert!(shell.ready().await.iter().all(|out| matches!(out, OutboundItem::Status(_))));
    outcome
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_act_that_may_have_begun_is_not_done_again() {
    let outcome = after_crash(Crash::AfterStart).await;
    let word = Outcome::UnknownOutcome.word();
    assert!(outcome.get("outcome").is_some_and(|said| said.is_keyword(word)), "{outcome}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_act_that_was_not_begun_is_done_after_the_start() {
    let outcome = after_crash(Crash::BeforeStart).await;
    assert!(outcome.get("outcome").is_some_and(|said| said.is_keyword("done")), "{outcome}");
}

/// A session that may have forked before a crash, and the question whether to do it again.
async fn may_have_forked() -> (Rig, Shell, i64) {
    let directory = tempfile::TempDir::new().expect("a directory");
    crashed(directory.path(), Crash::AfterStart, FORK);
    let rig = Rig::on(directory).await;
    let shell = rig.join("work", |want| want.cursor = Some(0)).await;
    let outcome = shell.body(StreamEventKind::Acted).await;
    let word = Outcome::UnknownOutcome.word();
    assert!(outcome.get("outcome").is_some_and(|said| said.is_keyword(word)), "{outcome}");
    let question = shell.body(StreamEventKind::Ask).await;
    let text = question.get("question").and_then(Value::as_str);
    assert!(text.is_some_and(|text| text.ends_with("do it again?")), "{question}");
    let effect = question.get("effect").and_then(Value::as_i64).expect("an effect");
    (rig, shell, effect)
}

async fn answer(rig: &Rig, effect: i64, verdict: &str) -> Value {
    let text = format!(
        "(:type :REQUEST :id 9 :target :system :payload (:action :approve :approval \
         \"work-{effect}\" :verdict {verdict}))"
    );
    let query = rig::query(&text).expect("well formed");
    crate::engine::ask_daemon(Arc::clone(&rig.hub), owner(), query, None).await.expect("told")
}

/// The sessions that the record has.
fn sessions(rig: &Rig) -> usize {
    bridle_record::RecordReader::open(rig.path())
        .expect("the record")
        .sessions()
        .expect("read")
        .len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_have_been_done_is_done_again_once_after_a_yes() {
    let (rig, shell, question) = may_have_forked().await;
    assert_eq!(sessions(&rig), 1, "nothing is done again by itself");
    let told = answer(&rig, question, ":allow").await;
    assert!(told.get("status").is_some_and(|word| word.is_keyword("success")), "{told}");
    let act = shell.body(StreamEventKind::Act).await;
    let again = act.get("effect").and_then(Value::as_i64);
    let outcome = shell.body(StreamEventKind::Acted).await;
    assert_eq!(outcome.get("effect").and_then(Value::as_i64), again, "an act of its own");
    assert!(outcome.get("outcome").is_some_and(|word| word.is_keyword("done")), "{outcome}");
    let said = shell.body(StreamEventKind::Say).await;
    let approval = said.get("payload").and_then(|payload| payload.get("approval"));
    assert_eq!(approval.and_then(Value::as_str), Some(&*format!("work-{question}")), "{said}");
    assert_eq!(sessions(&rig), 2);
    let late = answer(&rig, question, ":allow").await;
    assert!(late.get("how").is_some_and(|word| word.is_keyword("allowed")), "{late}");
    assert_eq!(sessions(&rig), 2, "and not a second time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_have_been_done_is_left_alone_after_a_no_and_over_a_restart() {
    let (rig, shell, question) = may_have_forked().await;
    drop(shell);
    let rig = rig.restart().await;
    assert_eq!(sessions(&rig), 1, "still only a question");
    answer(&rig, question, ":deny").await;
    let shell = rig.join("work", |want| want.cursor = Some(0)).await;
    let settled = shell.body(StreamEventKind::Settled).await;
    assert!(settled.get("outcome").is_some_and(|word| word.is_keyword("denied")), "{settled}");
    assert_eq!(sessions(&rig), 1);
}
