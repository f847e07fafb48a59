//! Sessions of an older version go on; secrets are released by their owner alone.

use bridle_loop::{Privacy, SessionId};
use bridle_record::{Record, RecordFilter, RecordNumber, RecordReader};
use bridle_sexp::Value;
use tokio::sync::oneshot;

use super::rig::{Rig, Shell, owner, respond};
use crate::engine::StreamEventKind;
use crate::engine::sessions::inbox_item::InboxItem;
use crate::engine::sessions::loaded_session::began;

fn records(rig: &Rig, kind: &str) -> Vec<Record> {
    let reader = RecordReader::open(rig.path()).expect("a record");
    let filter = RecordFilter { kinds: vec![kind.into()], ..RecordFilter::default() };
    reader.records(RecordNumber(0), &filter, 100).expect("records")
}

/// Begins a session as an older version did: without a version, and with limits that know no work beside a turn.
async fn begin_older(rig: &Rig, name: &str) {
    let id = SessionId::parse(name).expect("a name");
    let owner = owner().name();
    let held = rig.hub.find_or_make(&id, &owner, 0);
    let mut began = began(&owner, &rig.config.engine);
    began.version = 0;
    began.limits.side_turns = 0;
    began.limits.depth = 10;
    let (done, begun) = oneshot::channel();
    held.post(InboxItem::Begin { began: Box::new(began), done });
    assert!(begun.await.expect("begun"));
}

async fn answered(shell: &Shell, id: i64, text: &str) -> Value {
    shell.prompt(id, text);
    loop {
        let said = shell.body(StreamEventKind::Say).await;
        if said.get("id").and_then(Value::as_i64) == Some(id) {
            return said;
        }
    }
}

#[tokio::test]
async fn a_session_of_an_older_version_goes_on_behind_one_upgrade() {
    let rig = Rig::start().await;
    begin_older(&rig, "work").await;
    let shell = rig.join("work", |_| {}).await;
    answered(&shell, 1, "status").await;
    let upgrades = records(&rig, "upgraded");
    assert_eq!(upgrades.len(), 1, "{upgrades:?}");
    let body = upgrades[0].body.text().expect("a body").to_owned();
    assert!(body.contains(":version 1") && body.contains(":side-turns 8"), "{body}");
    assert!(!body.contains(":state "), "the events before it give its State: {body}");
    drop(shell);
    let rig = rig.restart().await;
    let shell = rig.join("work", |_| {}).await;
    answered(&shell, 2, "status").await;
    assert_eq!(records(&rig, "upgraded").len(), 1, "once");
    let fresh = rig.join("fresh", |_| {}).await;
    answered(&fresh, 3, "status").await;
    assert_eq!(records(&rig, "upgraded").len(), 1, "a new session needs none");
}

/// Labels of the exchanges that a session keeps.
async fn labels(rig: &Rig, name: &str) -> Vec<Privacy> {
    let id = SessionId::parse(name).expect("a name");
    let found = crate::engine::sessions::load::load(&rig.hub.home, &id).await.expect("read");
    found.core.state.history().map(|exchange| exchange.privacy).collect()
}

#[tokio::test]
async fn a_secret_exchange_is_released_by_a_yes_to_its_own_words() {
    let rig = Rig::scripted("(default :say \"1234\")").await;
    let shell = rig.join("work", |_| {}).await;
    let payload = "(:sensor :user-prompt :text \"my pin?\" :privacy :secret)";
    shell.send(&format!("(:type :EVENT :id 1 :payload {payload})"));
    shell.body(StreamEventKind::Say).await;
    assert_eq!(labels(&rig, "work").await, [Privacy::Secret]);
    let release = |id: i64, exchange: i64| {
        format!(
            "(:type :REQUEST :id {id} :target :system \
             :payload (:action :release :exchange {exchange} :asked \"forged\" :said \"words\"))"
        )
    };
    shell.send(&release(2, 7));
    let refused = shell.body(StreamEventKind::Say).await.to_string();
    assert!(refused.contains("invalid-value") && refused.contains(":exchange"), "{refused}");
    shell.send(&release(3, 1));
    let question = shell.body(StreamEventKind::Ask).await;
    let shown = question.get("payload").expect("what is asked for").to_string();
    assert!(shown.contains("my pin?") && shown.contains("1234"), "{shown}");
    assert!(!shown.contains("forged"), "{shown}");
    assert_eq!(labels(&rig, "work").await, [Privacy::Secret], "not before the yes");
    let effect = question.get("effect").and_then(Value::as_i64).expect("an effect");
    let yes = format!("(:type :RESPONSE :id \"work-{effect}\" :payload (:verdict :allow))");
    respond(&shell, &yes).expect("taken");
    loop {
        let said = shell.body(StreamEventKind::Say).await;
        if said.get("id").and_then(Value::as_i64) == Some(3) {
            assert!(said.to_string().contains(":outcome :done"), "{said}");
            break;
        }
    }
    assert_eq!(labels(&rig, "work").await, [Privacy::Private]);
}

#[tokio::test]
async fn what_no_longer_fits_is_summed_up_and_replay_is_exact() {
    let rig = Rig::scripted("(default :say \"answer\")").await;
    let shell = rig.join("work", |_| {}).await;
    for id in 1..=33 {
        answered(&shell, id, &format!("question {id}")).await;
    }
    let id = SessionId::parse("work").expect("a name");
    let found = crate::engine::sessions::load::load(&rig.hub.home, &id).await.expect("read");
    let text = found.core.state.text();
    assert_eq!(found.core.state.history().count(), 17);
    assert!(text.contains("- question 1 => answer"), "{text}");
}
