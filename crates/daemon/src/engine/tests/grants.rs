//! Grants by request: offered, made once with the yes, listed, revoked; only for owners, and never wider than told.

use std::sync::Arc;

use bridle_sexp::Value;

use super::rig::{self, Rig, Shell, body, emacs, owner, stranger};
use crate::access::principal::Principal;
use crate::config::PolicyChoice;
use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::{EventView, OutboundItem, StreamEventKind};

async fn with_file() -> Rig {
    Rig::with(|config| config.policy = PolicyChoice::IfThere(config.state.join("policy.org"))).await
}

/// Has an editor's evaluation wanted; gives the next request or question that the editor gets, as its kind and effect.
async fn wants(shell: &Shell, id: i64, code: &str) -> (StreamEventKind, i64) {
    let payload = format!("(:action :eval :code \"{code}\")");
    shell.send(&format!("(:type :REQUEST :id {id} :target :emacs :payload {payload})"));
    loop {
        match shell.next().await {
            OutboundItem::Event { event, view: EventView::Asked, .. }
            | OutboundItem::Offer(event) => {
                let effect = body(&event).get("effect").and_then(Value::as_i64);
                return (event.kind, effect.expect("an effect"));
            }
            OutboundItem::Event { .. } | OutboundItem::Status(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

async fn query(rig: &Rig, who: Principal, payload: &str) -> Result<Value, EngineError> {
    let query = rig::query(&format!("(:type :REQUEST :id 9 :target :system :payload {payload})"))?;
    crate::engine::ask_daemon(Arc::clone(&rig.hub), who, query, None).await
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn grants(told: &Value) -> &[Value] {
    told.get("grants").and_then(Value::elements).unwrap_or_default()
}

/// Answers what the editor is to do, so that the turn ends.
fn done(shell: &Shell, effect: i64) {
    let text = format!("(:type :RESPONSE :id \"work-{effect}\" :payload (:status :success))");
    rig::respond(shell, &text).expect("an answer");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_is_one_yes_and_one_permit_and_ends_when_it_is_revoked() {
    let rig = with_file().await;
    let editor = rig.join("work", emacs).await;
    let (kind, effect) = wants(&editor, 1, "(save-buffer)").await;
    assert_eq!(kind, StreamEventKind::Ask);

    let preview = format!("(:action :grant :approval \"work-{effect}\" :preview t)");
    let told = query(&rig, owner(), &preview).await.expect("told");
    let scopes = told.get("scopes").and_then(Value::elements).expect("scopes");
    assert_eq!(scopes.len(), 1, "code has no heading and no file: {told}");
    assert!(text(&scopes[0], "sentence").contains("exactly the \"eval\""), "{told}");
    assert_eq!(scopes[0].get("matched").and_then(Value::as_i64), Some(1), "{told}");
    assert!(!rig.path().join("policy.org").exists(), "a preview writes nothing");

    let make = format!("(:action :grant :approval \"work-{effect}\" :scope :action :for \"1h\")");
    let told = query(&rig, owner(), &make).await.expect("granted");
    assert!(told.get("written").is_some_and(|it| !it.is_nil()), "{told}");
    let id = text(&told, "grant").to_owned();
    let file = std::fs::read_to_string(rig.path().join("policy.org")).expect("written");
    assert!(file.contains(&id), "{file}");
    let again = query(&rig, owner(), &make).await.expect_err("a yes counts once");
    assert!(!again.reason.is_empty());
    assert_eq!(file, std::fs::read_to_string(rig.path().join("policy.org")).expect("there"));

    // The yes itself, then the same without a question, then something else with one.
    let (kind, effect) = loop {
        match editor.next().await {
            OutboundItem::Event { event, view: EventView::Asked, .. }
            | OutboundItem::Offer(event) => {
                break (event.kind, body(&event).get("effect").and_then(Value::as_i64));
            }
            _ => {}
        }
    };
    assert_eq!(kind, StreamEventKind::Act);
    done(&editor, effect.expect("an effect"));
    let (kind, effect) = wants(&editor, 2, "(save-buffer)").await;
    assert_eq!(kind, StreamEventKind::Act, "granted");
    done(&editor, effect);
    for wider in ["(save-buffer) ", "(save-buffers)", "(progn (save-buffer))"] {
        let (kind, _) = wants(&editor, 3, wider).await;
        assert_eq!(kind, StreamEventKind::Ask, "{wider}");
        editor.send("(:type :EVENT :payload (:sensor :interrupt))");
    }

    let listed = query(&rig, owner(), "(:action :grants)").await.expect("listed");
    assert_eq!(grants(&listed).len(), 1, "{listed}");
    assert_eq!(text(&grants(&listed)[0], "grant"), id);
    let revoke = format!("(:action :revoke-grant :grant \"{id}\")");
    let gone = query(&rig, owner(), &revoke).await.expect("revoked");
    assert_eq!(grants(&gone).len(), 1, "{gone}");
    let listed = query(&rig, owner(), "(:action :grants)").await.expect("listed");
    assert_eq!(grants(&listed).len(), 0, "{listed}");
    let (kind, _) = wants(&editor, 4, "(save-buffer)").await;
    assert_eq!(kind, StreamEventKind::Ask, "asked again at once");
    let gone = query(&rig, owner(), &revoke).await.expect_err("there is none");
    assert_eq!(gone.code, EngineErrorCode::UnknownId);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_owners_make_see_and_revoke_grants() {
    let rig = with_file().await;
    let editor = rig.join("work", emacs).await;
    let (_, effect) = wants(&editor, 1, "1").await;
    for payload in [
        format!("(:action :grant :approval \"work-{effect}\" :scope :action)"),
        format!("(:action :grant :approval \"work-{effect}\" :preview t)"),
        "(:action :grants)".to_owned(),
        "(:action :revoke-grant :grant \"x\")".to_owned(),
    ] {
        for who in [stranger(), Principal::Anonymous] {
            let refused = query(&rig, who, &payload).await.expect_err("not for them");
            assert_eq!(refused.code, EngineErrorCode::NotPermitted, "{payload}");
        }
    }
    assert!(!rig.path().join("policy.org").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_granted_is_refused_and_stays_a_question() {
    let rig = with_file().await;
    let editor = rig.join("work", emacs).await;
    let (_, effect) = wants(&editor, 1, "1").await;
    let wish = |rest: &str| format!("(:action :grant :approval \"work-{effect}\" {rest})");
    for (payload, code, why) in [
        (wish(":scope :file"), EngineErrorCode::InvalidValue, "no scope `file`"),
        (wish(":scope :everything"), EngineErrorCode::InvalidValue, "expected a scope"),
        (wish(""), EngineErrorCode::InvalidValue, "expected a scope"),
        (wish(":scope :action :for \"2y\""), EngineErrorCode::InvalidValue, "at most 365d"),
        (wish(":scope :action :for 7"), EngineErrorCode::InvalidValue, "at most 365d"),
        (wish(":scope :action :hash \"aa\""), EngineErrorCode::InvalidValue, "64 hex digits"),
        (
            "(:action :grant :approval \"work-99\" :scope :action)".to_owned(),
            EngineErrorCode::UnknownId,
            "no approval",
        ),
        (
            "(:action :grant :approval \"nobody-1\" :scope :action)".to_owned(),
            EngineErrorCode::UnknownId,
            "no approval",
        ),
    ] {
        let refused = query(&rig, owner(), &payload).await.expect_err(&payload);
        assert_eq!(refused.code, code, "{payload}: {}", refused.reason);
        assert!(refused.reason.contains(why), "{payload}: {}", refused.reason);
    }
    // A yes to something else than what was seen is none.
    let other = format!(":scope :action :hash \"{}\"", "0".repeat(64));
    let told = query(&rig, owner(), &wish(&other)).await;
    assert!(told.is_err_and(|it| !it.reason.is_empty()) || !rig.path().join("policy.org").exists());
    let open = query(&rig, owner(), "(:action :approvals)").await.expect("listed");
    let open = open.get("approvals").and_then(Value::elements).expect("a list");
    assert_eq!(open.len(), 1);
    let scopes = open[0].get("scopes").and_then(Value::elements).expect("scopes");
    assert!(scopes[0].get("scope").is_some_and(|scope| scope.is_keyword("action")));
    assert!(!rig.path().join("policy.org").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_without_a_policy_file_says_so() {
    let rig = Rig::start().await;
    let editor = rig.join("work", emacs).await;
    let (_, effect) = wants(&editor, 1, "1").await;
    let wish = format!("(:action :grant :approval \"work-{effect}\" :scope :action)");
    let refused = query(&rig, owner(), &wish).await.expect_err("no place");
    assert!(refused.reason.contains("no file of policies"), "{}", refused.reason);
}
