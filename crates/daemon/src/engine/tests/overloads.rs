//! Messages that are not taken, or whose answer says "later": new when they come again.

use std::collections::BTreeSet;

use bridle_sexp::Value;

use super::rig::{Rig, Shell, body};
use crate::engine::error::EngineErrorCode;
use crate::engine::{AttachRequest, OutboundItem, StreamEventKind};

const SLOW: &str = "(rule :when \"slow\" :delay 600000 :say \"done\") (default :say \"quick\")";

fn named(want: &mut AttachRequest) {
    want.client = Some("c".into());
    want.receipts = true;
}

/// What a shell was told about its messages.
#[derive(Debug, Default)]
struct Heard {
    admitted: BTreeSet<i64>,
    refused: BTreeSet<i64>,
    done: BTreeSet<i64>,
    /// Answers with an error.
    failed: Vec<i64>,
    repeats: usize,
}

impl Heard {
    fn take(&mut self, out: &OutboundItem) {
        let number = |id: &Option<Value>| match id {
            Some(Value::Int(id)) => *id,
            other => panic!("no message has the id {other:?}"),
        };
        match out {
            OutboundItem::Receipt { id, .. } => drop(self.admitted.insert(number(id))),
            OutboundItem::Refused { id, failure } => {
                assert_eq!(failure.code, EngineErrorCode::Overloaded, "{failure}");
                self.refused.insert(number(id));
            }
            OutboundItem::Event { event, .. } if event.kind == StreamEventKind::Say => {
                let said = body(event);
                let id = said.get("id").and_then(Value::as_i64).expect("an id");
                match said.get("payload").and_then(|payload| payload.get("status")) {
                    Some(status) if status.is_keyword("success") => drop(self.done.insert(id)),
                    _ => self.failed.push(id),
                }
            }
            OutboundItem::Repeat => self.repeats += 1,
            _ => {}
        }
    }

    /// Listens until enough was heard.
    async fn until(&mut self, shell: &Shell, enough: impl Fn(&Heard) -> bool) {
        while !enough(self) {
            self.take(&shell.next().await);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_found_no_room_is_done_when_it_comes_again() {
    let rig = Rig::scripted_with(SLOW, |config| config.engine.inbox = 200).await;
    let shell = rig.join("work", named).await;
    let mut heard = Heard::default();
    shell.prompt(0, "slow");
    heard.until(&shell, |heard| !heard.admitted.is_empty()).await;
    for id in 1..=100 {
        shell.prompt(id, "next");
    }
    heard.until(&shell, |heard| heard.admitted.len() + heard.refused.len() == 101).await;
    assert_eq!((heard.admitted.len(), heard.refused.len()), (65, 36));
    assert!(heard.admitted.is_disjoint(&heard.refused), "{heard:?}");
    shell.send("(:type :EVENT :id 1000 :payload (:sensor :interrupt))");
    heard.until(&shell, |heard| heard.done.len() == 65).await;
    for id in heard.refused.clone() {
        shell.prompt(id, "next");
    }
    heard.until(&shell, |heard| heard.done.len() == 101).await;
    assert_eq!((heard.repeats, heard.failed.as_slice()), (0, &[0][..]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_later_is_tried_again_also_after_a_restart() {
    let rules = "(rule :when \"try\" :error \"not now\" :retryable t) (default :say \"ok\")";
    let rig = Rig::scripted(rules).await;
    let shell = rig.join("work", named).await;
    let mut heard = Heard::default();
    for tries in 1..=2 {
        shell.prompt(1, "try");
        heard.until(&shell, |heard| heard.failed.len() == tries).await;
    }
    drop(shell);
    let rig = rig.restart().await;
    let shell = rig.join("work", named).await;
    shell.prompt(1, "try");
    heard.until(&shell, |heard| heard.failed.len() == 3).await;
    // What was answered for good is not.
    shell.prompt(2, "hello");
    heard.until(&shell, |heard| heard.done.contains(&2)).await;
    shell.prompt(2, "hello");
    heard.until(&shell, |heard| heard.repeats == 1).await;
}
