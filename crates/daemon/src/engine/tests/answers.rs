//! Messages are answered, in order, once.

use bridle_sexp::Value;

use super::rig::{Rig, body};
use crate::engine::{Kind, Out, View};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_without_hello_gets_one_answer_for_each_message_in_order() {
    let rig = Rig::start().await;
    let shell = rig.plain();
    for id in 0..20 {
        shell.prompt(id, "help");
    }
    for id in 0..20 {
        let Out::Event { event, view, live } = shell.next().await else { panic!("no event") };
        assert_eq!((event.kind, view, live), (Kind::Say, View::Own, true));
        let said = body(&event);
        assert_eq!(said.get("id").and_then(Value::as_i64), Some(id));
    }
    assert!(shell.ready().await.is_empty());
}
