//! Forgetting without a daemon: once, and nothing that is not there.

use bridle_history::{HistoryError, RecordHistory, StoreError};
use bridle_record::{NewRecord, NewSessionRow, RecordAppend, RecordStore, StoreOptions};

use super::UpkeepError;
use super::forget::{ForgetTarget, forget};

#[test]
fn a_session_is_forgotten_once_and_a_record_that_is_missing_never() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = RecordStore::open(dir.path(), &StoreOptions::default()).unwrap();
    let session = NewSessionRow { name: "a".into(), owner: "uid:7".into(), at: 1_000 };
    let drafts = vec![NewRecord::new("a", "signal", 1_000, "uid:7", "(:text \"one\")")];
    store
        .commit(&[RecordAppend { session: Some(session), drafts, ..RecordAppend::default() }])
        .unwrap();
    drop(store);
    forget(dir.path(), &ForgetTarget::Session("a".into()), 5_000).unwrap();
    assert_eq!(
        RecordHistory::open(dir.path()).unwrap().verify(None, &mut |_, _| {}).unwrap().erased,
        1
    );
    let again = forget(dir.path(), &ForgetTarget::Session("a".into()), 5_000).unwrap_err();
    let UpkeepError::History(HistoryError::Store(StoreError::AlreadyForgotten(_))) = again else {
        panic!("{again}")
    };
    let none = forget(dir.path(), &ForgetTarget::Record(99), 5_000).unwrap_err();
    let UpkeepError::History(HistoryError::Store(StoreError::NoRecord(_))) = none else {
        panic!("{none}")
    };
}
