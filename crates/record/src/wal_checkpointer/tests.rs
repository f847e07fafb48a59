//! Copying beside a writer changes nothing that anybody reads, and empties the log.

use super::WalCheckpointer;
use crate::{NewRecord, RecordAppend, RecordNumber, RecordStore, StoreError, StoreOptions};

fn commit(store: &mut RecordStore, at: i64) {
    let draft = NewRecord::new("", "log", at, "daemon", "(:text \"x\")");
    store.commit(&[RecordAppend { drafts: vec![draft], ..RecordAppend::default() }]).unwrap();
}

#[test]
fn everything_is_copied_when_nobody_writes() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = RecordStore::open(dir.path(), &StoreOptions::default()).unwrap();
    (1..=20).for_each(|at| commit(&mut store, at));
    let mut copier = WalCheckpointer::open(dir.path()).unwrap();
    let (copied, all) = copier.copy().unwrap();
    assert!(all >= 20, "{all}");
    assert_eq!(copied, all);
    // The next commit starts the log over.
    commit(&mut store, 21);
    assert!(copier.copy().unwrap().1 < all);
    assert_eq!(store.reader().unwrap().head().unwrap().number, RecordNumber(21));
}

#[test]
fn a_writer_goes_on_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = RecordStore::open(dir.path(), &StoreOptions::default()).unwrap();
    let mut copier = WalCheckpointer::open(dir.path()).unwrap();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| (1..=300).for_each(|at| commit(&mut store, at)));
        while !writing.is_finished() {
            copier.copy().unwrap();
        }
    });
    let reader = store.reader().unwrap();
    assert_eq!(reader.verify(None, &mut |_, _| ()).unwrap().head.number, RecordNumber(300));
}

#[test]
fn there_must_be_a_record() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(WalCheckpointer::open(dir.path()), Err(StoreError::Missing { .. })));
}
