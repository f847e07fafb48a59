//! Budgets of a principal: shared by its sessions, nobody else's, and not reset by a restart.

use crate::engine::install_policies;
use bridle_loop::DEFAULT_POLICY;
use bridle_record::{RecordFilter, RecordNumber, RecordReader};
use bridle_sexp::Value;

use super::rig::{Rig, Shell, owner, stranger};
use crate::access::principal::Principal;
use crate::config::{DaemonConfig, PolicyChoice};
use crate::engine::StreamEventKind;

/// The built-in set, and two notes an hour for everybody.
fn two_notes(config: &mut DaemonConfig) {
    let budget = "* Two notes an hour\n:PROPERTIES:\n:CUSTOM_ID: two-notes\n:END:\n\n\
        #+begin_src cedar\nforbid (principal, action == Action::\"log\", resource)\n\
        when { context.asker_hour >= 2 };\n#+end_src\n\n#+begin_src examples\n\
        (allow (:principal \"owner\" :target :log :action :log :text \"x\" :asker-hour 1))\n\
        (refuse (:principal \"owner\" :target :log :action :log :text \"x\" :asker-hour 2))\n\
        #+end_src\n";
    let file = config.state.join("policy.org");
    std::fs::write(&file, format!("{DEFAULT_POLICY}\n{budget}")).expect("the directory is ours");
    config.policy = PolicyChoice::File(file);
}

/// Asks for one note; whether it was taken.
async fn note(shell: &Shell) -> bool {
    shell.send("(:type :REQUEST :target :log :payload (:action :log :text \"x\"))");
    let said = shell.body(StreamEventKind::Say).await;
    let payload = said.get("payload").expect("a payload");
    let is = |key: &str, word: &str| payload.get(key).is_some_and(|it| it.is_keyword(word));
    assert!(is("status", "success") || is("code", "refused"), "{payload}");
    is("status", "success")
}

async fn join(rig: &Rig, who: Principal, session: &str) -> Shell {
    rig.try_join(who, session, |_| {}).await.expect("attached")
}

fn bodies(rig: &Rig, session: &str, kind: &str) -> Vec<Value> {
    let reader = RecordReader::open(rig.path()).expect("the record");
    let session = Some(session.into());
    let filter = RecordFilter { session, kinds: vec![kind.into()], ..RecordFilter::default() };
    let records = reader.records(RecordNumber(0), &filter, 1000).expect("read");
    let texts = records.iter().map(|record| record.body.text().expect("not erased"));
    texts.map(|text| bridle_sexp::read_one(text).expect("text").root().to_value()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_sessions_of_one_principal_share_its_budget_and_others_have_their_own() {
    let rig = Rig::with(two_notes).await;
    let (one, two) = (join(&rig, owner(), "one").await, join(&rig, owner(), "two").await);
    assert!(note(&one).await);
    assert!(note(&two).await);
    assert!(!note(&two).await, "one here and one elsewhere are two");
    assert!(!note(&one).await);
    assert!(!note(&join(&rig, owner(), "three").await).await, "a new session is no way around");
    let other = join(&rig, stranger(), "theirs").await;
    assert!(note(&other).await, "another principal has a budget of its own");
    assert!(bodies(&rig, "theirs", "counted").is_empty(), "it did nothing elsewhere");
    // What was decided by is in the record.
    let told = bodies(&rig, "three", "counted");
    let asker = told[0].get("asker").and_then(Value::as_str);
    assert_eq!((told.len(), asker), (1, Some("uid:1000")));
    let decided = bodies(&rig, "three", "decided");
    let facts = decided[0].get("facts").expect("facts");
    assert_eq!(facts.get("asker-hour").and_then(Value::as_i64), Some(2), "{facts}");
    assert_eq!(facts.get("session-hour").and_then(Value::as_i64), Some(0), "{facts}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_does_not_reset_a_budget() {
    let rig = Rig::with(two_notes).await;
    assert!(note(&join(&rig, owner(), "one").await).await);
    assert!(note(&join(&rig, owner(), "two").await).await);
    let rig = rig.restart().await;
    assert!(!note(&join(&rig, owner(), "three").await).await, "not in a new session");
    assert!(!note(&join(&rig, owner(), "one").await).await, "not in an old one");
    assert!(note(&join(&rig, stranger(), "theirs").await).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acts_from_before_a_budget_count_once_there_is_one() {
    let rig = Rig::with(|config| {
        config.policy = PolicyChoice::IfThere(config.state.join("policy.org"));
    })
    .await;
    let one = join(&rig, owner(), "one").await;
    assert!(note(&one).await && note(&one).await && note(&one).await);
    assert!(bodies(&rig, "one", "counted").is_empty(), "no policy looks at it");
    two_notes(&mut rig.config.clone());
    install_policies(&rig.hub, "uid:1000").await.expect("installed");
    assert!(!note(&join(&rig, owner(), "two").await).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sessions_at_the_same_time_do_not_exceed_a_budget_together() {
    let rig = Rig::with(two_notes).await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..16 {
        let shell = join(&rig, owner(), &format!("s{number}")).await;
        tasks.spawn(async move { note(&shell).await });
    }
    let taken = tasks.join_all().await.into_iter().filter(|taken| *taken).count();
    assert_eq!(taken, 2);
}
