//! Messages are answered, in order, once.

use bridle_sexp::Value;

use super::rig::{Rig, Shell, body};
use crate::engine::{EventView, OutboundItem, StreamEventKind};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_without_hello_gets_one_answer_for_each_message_in_order() {
    let rig = Rig::start().await;
    let shell = rig.plain();
    for id in 0..20 {
        shell.prompt(id, "help");
    }
    for id in 0..20 {
        let OutboundItem::Event { event, view, live } = shell.next().await else {
            panic!("no event")
        };
        assert_eq!((event.kind, view, live), (StreamEventKind::Say, EventView::Own, true));
        let said = body(&event);
        assert_eq!(said.get("id").and_then(Value::as_i64), Some(id));
    }
    assert!(shell.ready().await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_sessions_and_messages_than_one_commit_takes_are_all_answered() {
    let rig = Rig::with(|config| config.engine.inbox = 200).await;
    let busy = rig.plain();
    for id in 0..200 {
        busy.send(&format!("(:type :LOG :id {id} :payload (:text \"x\"))"));
    }
    let shells: Vec<Shell> = (0..600).map(|_| rig.plain()).collect();
    for shell in &shells {
        shell.prompt(1, "help");
    }
    for shell in &shells {
        assert!(matches!(shell.next().await, OutboundItem::Event { .. }));
    }
    for id in 0..200 {
        let OutboundItem::Event { event, .. } = busy.next().await else { panic!("no event") };
        assert_eq!(body(&event).get("id").and_then(Value::as_i64), Some(id));
    }
}
