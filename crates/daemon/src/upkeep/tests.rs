//! Forgetting without a daemon: once, and nothing that is not there.

use bridle_history::{Error, History, StoreError};
use bridle_store::{Append, Draft, NewSession, Options, Store};

use super::UpkeepError;
use super::forget::{Target, forget};

#[test]
fn a_session_is_forgotten_once_and_a_record_that_is_missing_never() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path(), &Options::default()).unwrap();
    let session = NewSession { name: "a".into(), owner: "uid:7".into(), at: 1_000 };
    let drafts = vec![Draft::new("a", "signal", 1_000, "uid:7", "(:text \"one\")")];
    store.commit(&[Append { session: Some(session), drafts, ..Append::default() }]).unwrap();
    drop(store);
    forget(dir.path(), &Target::Session("a".into()), 5_000).unwrap();
    assert_eq!(History::open(dir.path()).unwrap().verify(None, &mut |_, _| {}).unwrap().erased, 1);
    let again = forget(dir.path(), &Target::Session("a".into()), 5_000).unwrap_err();
    let UpkeepError::History(Error::Store(StoreError::AlreadyForgotten(_))) = again else {
        panic!("{again}")
    };
    let none = forget(dir.path(), &Target::Record(99), 5_000).unwrap_err();
    let UpkeepError::History(Error::Store(StoreError::NoRecord(_))) = none else {
        panic!("{none}")
    };
}
