//! Policies: what holds at the start, what a change does, and what it does not.

use std::path::Path;
use std::sync::Arc;

use bridle_loop::{DEFAULT_POLICY, GuardPolicies, PolicyHash};
use bridle_record::{Record, RecordFilter, RecordNumber, RecordReader};
use bridle_sexp::Value;

use super::rig::{self, Rig, Shell, body, emacs, owner, stranger};
use crate::config::PolicyChoice;
use crate::engine::error::EngineErrorCode;
use crate::engine::{EventView, OutboundItem, StreamEventKind};

const EVAL: &str =
    "(:type :REQUEST :id 1 :target :emacs :payload (:action :eval :code \"(quit)\"))";

/// Forbids what the default set asks for.
fn strict() -> String {
    let asks = "(ask (:principal \"owner\" :by :thinker :target :emacs :action :eval";
    let refuses = asks.replace("(ask", "(refuse");
    let forbid = "* No code at all\n\n#+begin_src cedar\n\
        forbid (principal, action == Action::\"eval\", resource);\n#+end_src\n\n\
        #+begin_src examples\n\
        (refuse (:principal \"owner\" :target :emacs :action :eval :code \"1\"))\n#+end_src\n";
    DEFAULT_POLICY.replace(asks, &refuses) + forbid
}

fn records(directory: &Path, session: &str, kind: &str) -> Vec<Record> {
    let reader = RecordReader::open(directory).expect("the record");
    let session = Some(session.into());
    let filter = RecordFilter { session, kinds: vec![kind.into()], ..RecordFilter::default() };
    reader.records(RecordNumber(0), &filter, 1000).expect("read")
}

async fn install(
    rig: &Rig,
    who: crate::access::principal::Principal,
) -> Result<Value, EngineErrorCode> {
    let text = "(:type :REQUEST :id 9 :target :system :payload (:action :install-policy))";
    let query = rig::query(text).expect("well formed");
    crate::engine::ask_daemon(Arc::clone(&rig.hub), who, query, None)
        .await
        .map_err(|failure| failure.code)
}

async fn question(shell: &Shell) -> i64 {
    loop {
        if let OutboundItem::Event { event, view: EventView::Asked, .. } = shell.next().await
            && event.kind == StreamEventKind::Ask
        {
            return body(&event).get("effect").and_then(Value::as_i64).expect("an effect");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_file_at_the_start_leaves_the_built_in_policies_and_is_told() {
    let rig = Rig::with(|config| {
        let file = config.state.join("policy.org");
        let bad = "* Broken\n\n#+begin_src cedar\npermit (\n#+end_src\n";
        std::fs::write(&file, bad).expect("the directory is ours");
        config.policy = PolicyChoice::File(file);
    })
    .await;
    let present = rig.hub.home.guard.present();
    assert_eq!(present.installed.hash(), GuardPolicies::built_in().hash());
    assert!(present.fault.as_deref().is_some_and(|why| why.contains("line ")), "{present:?}");
    let refused = records(rig.path(), "", "policy-refused");
    assert!(refused[0].body.text().is_some_and(|text| text.contains("line ")), "{refused:?}");
    assert_eq!(records(rig.path(), "", "policy").len(), 1);
    // It holds until the file is mended and installed.
    assert_eq!(install(&rig, owner()).await, Err(EngineErrorCode::InvalidValue));
    std::fs::write(rig.path().join("policy.org"), strict()).expect("ours");
    assert_eq!(install(&rig, stranger()).await, Err(EngineErrorCode::NotPermitted));
    let told = install(&rig, owner()).await.expect("installed");
    let hash = rig.hub.home.guard.present().installed.hash().to_string();
    assert_eq!(told.get("hash").and_then(Value::as_str), Some(&*hash));
    assert!(rig.hub.home.guard.present().fault.is_none());
    assert_eq!(records(rig.path(), "", "policy").len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_ended_its_loader_is_not_loaded_again() {
    let rig = Rig::with(|config| {
        std::fs::write(config.state.join("policy.org"), strict()).expect("ours");
        let left = format!("{}\n", PolicyHash::of(&strict()));
        std::fs::write(config.state.join("policy.loading"), left).expect("ours");
        config.policy = PolicyChoice::File(config.state.join("policy.org"));
    })
    .await;
    let present = rig.hub.home.guard.present();
    assert_eq!(present.installed.hash(), GuardPolicies::built_in().hash());
    let told = present.fault.as_deref().unwrap_or_default();
    assert!(told.contains("`bridle policy check`"), "{told}");
    let refused = records(rig.path(), "", "policy-refused");
    assert!(
        refused[0].body.text().is_some_and(|text| text.contains("policy check")),
        "{refused:?}"
    );
    // An owner who asks for it does not load it either.
    assert_eq!(install(&rig, owner()).await, Err(EngineErrorCode::InvalidValue));
    // Another text is no danger.
    std::fs::write(rig.path().join("policy.org"), strict() + "\n").expect("ours");
    install(&rig, owner()).await.expect("installed");
    assert!(!rig.path().join("policy.loading").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_was_installed_before_is_loaded_whatever_ended_the_process() {
    let rig = Rig::with(|config| {
        std::fs::write(config.state.join("policy.org"), strict()).expect("ours");
        config.policy = PolicyChoice::File(config.state.join("policy.org"));
    })
    .await;
    let hash = PolicyHash::of(&strict());
    assert_eq!(rig.hub.home.guard.present().installed.hash(), hash);
    std::fs::write(rig.path().join("policy.loading"), format!("{hash}\n")).expect("ours");
    let rig = rig.restart().await;
    assert_eq!(rig.hub.home.guard.present().installed.hash(), hash);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_nobody_named_need_not_exist_and_one_that_was_named_must() {
    let there = Rig::with(|config| {
        config.policy = PolicyChoice::IfThere(config.state.join("policy.org"));
    })
    .await;
    assert!(there.hub.home.guard.present().fault.is_none());
    let named =
        Rig::with(|config| config.policy = PolicyChoice::File(config.state.join("none.org"))).await;
    assert!(named.hub.home.guard.present().fault.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_judged_by_the_policies_of_its_own_time() {
    let rig = Rig::with(|config| {
        config.policy = PolicyChoice::IfThere(config.state.join("policy.org"));
    })
    .await;
    let editor = rig.join("work", emacs).await;
    editor.send(EVAL);
    let effect = question(&editor).await;
    std::fs::write(rig.path().join("policy.org"), strict()).expect("ours");
    install(&rig, owner()).await.expect("installed");
    let text = format!("(:type :RESPONSE :id \"work-{effect}\" :payload (:verdict :allow))");
    rig::respond(&editor, &text).expect("taken");
    let outcome = editor.body(StreamEventKind::Settled).await;
    assert!(outcome.get("outcome").is_some_and(|word| word.is_keyword("denied")), "{outcome}");
    assert!(records(rig.path(), "work", "act").is_empty());
    assert_eq!(records(rig.path(), "work", "policy-installed").len(), 2);
    // The session is read again with policies that are not those of the file any more.
    std::fs::remove_file(rig.path().join("policy.org")).expect("ours");
    drop(editor);
    let rig = rig.restart().await;
    let editor = rig.join("work", emacs).await;
    editor.send(EVAL);
    question(&editor).await;
    assert_eq!(records(rig.path(), "work", "policy-installed").len(), 3);
    assert_eq!(records(rig.path(), "", "policy").len(), 2, "each text once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_may_no_longer_be_there_is_told_and_hears_nothing_more() {
    let rig = Rig::with(|config| {
        config.policy = PolicyChoice::IfThere(config.state.join("policy.org"));
    })
    .await;
    let guest = rig.try_join(stranger(), "theirs", |_| {}).await.expect("its own session");
    let own = "(allow (:principal \"local-tcp\" :action :control :session-owner \"local-tcp\"))";
    let recall = own.replace(":control", ":recall");
    let closed = DEFAULT_POLICY.replace(own, "").replace(&recall, "")
        + "* Local programs stay outside\n\n#+begin_src cedar\n\
        forbid (principal in Group::\"local-tcp\", action in Action::\"access\", resource);\n\
        #+end_src\n\n#+begin_src examples\n\
        (refuse (:principal \"local-tcp\" :action :attach :session-owner \"local-tcp\"))\n\
        #+end_src\n";
    std::fs::write(rig.path().join("policy.org"), closed).expect("ours");
    install(&rig, owner()).await.expect("installed");
    let OutboundItem::Gone(failure) = guest.next().await else { panic!("it stays") };
    assert_eq!(failure.code, EngineErrorCode::UnknownSession);
    let again = rig.try_join(stranger(), "theirs", |_| {}).await;
    assert_eq!(again.err().map(|failure| failure.code), Some(EngineErrorCode::UnknownSession));
}
