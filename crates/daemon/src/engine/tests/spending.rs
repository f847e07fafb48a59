//! Budgets of the record: answers and what time brings cost somebody, too.

use std::sync::Arc;

use bridle_record::RecordReader;
use bridle_sexp::Value;

use super::approvals::open_policy;
use super::rig::{self, Rig, Shell, emacs, owner, stranger};
use crate::config::RecordBudgets;
use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::{ResponseEffect, StreamEventKind};

const EVAL: &str =
    "(:type :REQUEST :id 1 :target :emacs :payload (:action :eval :code \"(save-buffer)\"))";

const SMALL: RecordBudgets = RecordBudgets { known: 1, anonymous: 1, refill_per_minute: 1 };

/// A hub in which one message uses up the budget of a program without a key.
async fn small() -> Rig {
    Rig::with(|config| config.engine.record_budgets = SMALL).await
}

/// What a program without a key has used up.
fn used(rig: &Rig) -> u64 {
    let all = RecordReader::open(rig.path()).expect("the record").spendings().expect("read");
    let of = all.iter().find(|it| &*it.principal == "local-tcp:1000");
    assert!(all.len() <= 1, "nobody else is counted: {all:?}");
    of.map_or(0, |it| it.bytes)
}

fn is_used_up<T: std::fmt::Debug>(answer: Result<T, EngineError>) {
    let failure = answer.expect_err("refused");
    assert_eq!(failure.code, EngineErrorCode::Overloaded);
    assert!(failure.reason.contains("`record-budget`"), "{}", failure.reason);
}

/// Answers a question or a request.
fn respond(shell: &Shell, effect: i64, payload: &str) -> Result<ResponseEffect, EngineError> {
    let text = format!("(:type :RESPONSE :id \"work-{effect}\" :payload {payload})");
    rig::respond(shell, &text)
}

async fn effect(shell: &Shell, kind: StreamEventKind) -> i64 {
    shell.body(kind).await.get("effect").and_then(Value::as_i64).expect("an effect")
}

async fn approve(
    rig: &Rig,
    who: crate::access::principal::Principal,
    effect: i64,
) -> Result<Value, EngineError> {
    let text = format!(
        "(:type :REQUEST :id 9 :target :system :payload (:action :approve \
         :approval \"work-{effect}\" :verdict :allow))"
    );
    let query = rig::query(&text)?;
    crate::engine::ask_daemon(Arc::clone(&rig.hub), who, query, None).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_to_questions_are_refused_when_the_budget_is_used_up() {
    let rig = Rig::with(|config| {
        config.engine.record_budgets = SMALL;
        config.policy = open_policy(&config.state.clone());
    })
    .await;
    let mine = rig.join("work", |_| {}).await;
    let guest = rig.try_join(stranger(), "work", emacs).await.expect("attached");
    guest.prompt(1, "help");
    mine.body(StreamEventKind::Say).await;
    mine.send(EVAL);
    let question = effect(&mine, StreamEventKind::Ask).await;
    assert!(used(&rig) > 0);
    is_used_up(respond(&guest, question, "(:verdict :allow)"));
    is_used_up(approve(&rig, stranger(), question).await);
    // The owner answers, and pays nothing.
    let before = used(&rig);
    let told = approve(&rig, owner(), question).await.expect("told");
    assert!(told.get("status").is_some_and(|it| it.is_keyword("success")), "{told}");
    let act = effect(&mine, StreamEventKind::Act).await;
    assert_eq!(used(&rig), before);
    // What became of a request is the truth: it is taken, and charged to whoever says it.
    let text = "x".repeat(5000);
    let done = format!("(:status :success :text \"{text}\")");
    assert_eq!(respond(&guest, act, &done).expect("taken"), ResponseEffect::Silently);
    mine.body(StreamEventKind::Acted).await;
    assert!(used(&rig) >= before + 5000, "{} after {before}", used(&rig));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_schedule_brings_is_charged_to_the_owner_of_its_session() {
    let rig = small().await;
    let guest = rig.try_join(stranger(), "theirs", |_| {}).await.expect("attached");
    guest.send(
        "(:type :REQUEST :id 1 :target :system :payload (:action :schedule :name \"tea\" :in 1500 \
         :payload (:sensor :user-prompt :text \"help\")))",
    );
    guest.body(StreamEventKind::Say).await;
    // The owner of the daemon speaks last.
    let mine = rig.join("theirs", |_| {}).await;
    mine.prompt(2, "status");
    mine.body(StreamEventKind::Say).await;
    let before = used(&rig);
    let said = mine.body(StreamEventKind::Say).await;
    assert!(said.get("answers").is_none(), "nobody asked: {said}");
    assert!(used(&rig) > before, "{} after {before}", used(&rig));
}
