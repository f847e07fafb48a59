//! A record that was repaired: what may have been done in records that are gone is not done again.

use crate::engine::start_hub;
use crate::engine::stop_hub;
use std::fs;
use std::path::Path;
use std::time::Duration;

use bridle_record::repair::inspect;
use bridle_record::{
    ForgetRequest, RecordFilter, RecordNumber, RecordReader, RecordStore, StoreOptions, repair,
};
use bridle_sexp::Value;

use super::rig::{self, Rig, Shell, emacs};
use crate::engine::error::EngineErrorCode;
use crate::engine::{EventView, OutboundItem, StreamEventKind};

const NOTE: &str = "(:type :REQUEST :id 1 :target :log :payload (:action :log :text \"x\"))";

const ASK: &str = "(rule :when \"ask\" :propose ((:target :emacs :action :notify :text \"hi\")))
                   (default :say \"nothing\")";

/// Numbers of all records of a kind.
fn numbers(state: &Path, kind: &str) -> Vec<u64> {
    let reader = RecordReader::open(state).expect("the record");
    let filter = RecordFilter { kinds: vec![kind.into()], ..RecordFilter::default() };
    let records = reader.records(RecordNumber(0), &filter, 1000).expect("read");
    records.iter().map(|record| record.number.0).collect()
}

/// Damages the record of this number and kind in the file.
fn damage(state: &Path, number: u64, kind: &str) {
    let file = state.join("record.db");
    // Whoever closes it last empties the log beside it.
    drop(RecordStore::open(state, &StoreOptions::default()).expect("the record"));
    let hash =
        RecordReader::open(state).expect("the record").record(RecordNumber(number)).expect("read");
    let hash = *hash.expect("there").hash.as_bytes();
    let good = fs::read(&file).expect("there");
    let is_there =
        |at: &usize| good[*at..].starts_with(&hash) || good[*at..].starts_with(kind.as_bytes());
    for at in (0..good.len()).filter(is_there) {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        fs::write(&file, &bytes).expect("ours");
        if inspect(state).is_ok_and(|report| report.kept.number.0 == number - 1) {
            return;
        }
    }
    panic!("no byte of record {number} was found");
}

/// Stops the hub, damages the first record of this kind, repairs, and starts again.
async fn repaired_before(rig: Rig, kind: &str) -> Rig {
    let Rig { directory, config, hub } = rig;
    stop_hub(&hub, Duration::from_secs(20)).await;
    drop(hub);
    let first = numbers(&config.state, kind)[0];
    damage(&config.state, first, kind);
    let by = ForgetRequest { principal: "uid:1000".into(), at: 1 };
    let report = repair(&config.state, &by).expect("repaired");
    assert_eq!(report.kept.number.0, first - 1);
    let hub = start_hub(&config).await.expect("the hub starts again");
    Rig { directory, config, hub }
}

/// The outcome of the only act of the session `work`.
async fn outcome(shell: &Shell) -> Value {
    loop {
        match shell.next().await {
            OutboundItem::Event { view: EventView::Asked, event, .. }
            | OutboundItem::Offer(event) => {
                panic!("asked again: {event:?}")
            }
            OutboundItem::Event { event, .. } if event.kind == StreamEventKind::Acted => {
                return rig::body(&event).get("outcome").expect("an outcome").clone();
            }
            OutboundItem::Event { .. } | OutboundItem::Status(_) | OutboundItem::Delta { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_act_of_the_host_is_not_repeated() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    shell.send(NOTE);
    shell.body(StreamEventKind::Say).await;
    drop(shell);
    // Its intent is all that is left: nothing says that it was begun.
    let rig = repaired_before(rig, "started").await;
    let shell = rig.join("work", |want| want.cursor = Some(0)).await;
    let outcome = outcome(&shell).await;
    assert!(outcome.is_keyword("unknown-outcome"), "{outcome}");
    shell.body(StreamEventKind::Say).await;
    assert!(numbers(rig.path(), "started").is_empty(), "begun again");
    assert_eq!(numbers(rig.path(), "act").len(), 1);
    // Nor by the start after that.
    drop(shell);
    let rig = rig.restart().await;
    let shell = rig.join("work", |_| {}).await;
    shell.prompt(2, "help");
    shell.body(StreamEventKind::Say).await;
    assert!(numbers(rig.path(), "started").is_empty());
    assert_eq!(numbers(rig.path(), "acted").len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shell_is_not_asked_again() {
    let rig = Rig::scripted(ASK).await;
    let shell = rig.join("work", emacs).await;
    shell.prompt(1, "ask");
    let effect = shell.body(StreamEventKind::Act).await.get("effect").and_then(Value::as_i64);
    let effect = effect.expect("an effect");
    let done = format!("(:type :RESPONSE :id \"work-{effect}\" :payload (:status :success))");
    rig::respond(&shell, &done).expect("taken");
    shell.body(StreamEventKind::Acted).await;
    drop(shell);
    let rig = repaired_before(rig, "acted").await;
    let back = |want: &mut crate::engine::AttachRequest| {
        emacs(want);
        want.cursor = Some(0);
    };
    let shell = rig.join("work", back).await;
    let outcome = outcome(&shell).await;
    assert!(outcome.is_keyword("unknown-outcome"), "{outcome}");
    let late = rig::respond(&shell, &done).map_err(|failure| failure.code);
    assert_eq!(late, Err(EngineErrorCode::UnknownId));
}
