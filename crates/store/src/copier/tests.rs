//! Copying beside a writer changes nothing that anybody reads, and empties the log.

use super::Copier;
use crate::{Append, Draft, Error, Number, Options, Store};

fn commit(store: &mut Store, at: i64) {
    let draft = Draft::new("", "log", at, "daemon", "(:text \"x\")");
    store.commit(&[Append { drafts: vec![draft], ..Append::default() }]).unwrap();
}

#[test]
fn everything_is_copied_when_nobody_writes() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path(), &Options::default()).unwrap();
    (1..=20).for_each(|at| commit(&mut store, at));
    let mut copier = Copier::open(dir.path()).unwrap();
    let (copied, all) = copier.copy().unwrap();
    assert!(all >= 20, "{all}");
    assert_eq!(copied, all);
    // The next commit starts the log over.
    commit(&mut store, 21);
    assert!(copier.copy().unwrap().1 < all);
    assert_eq!(store.reader().unwrap().head().unwrap().number, Number(21));
}

#[test]
fn a_writer_goes_on_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path(), &Options::default()).unwrap();
    let mut copier = Copier::open(dir.path()).unwrap();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| (1..=300).for_each(|at| commit(&mut store, at)));
        while !writing.is_finished() {
            copier.copy().unwrap();
        }
    });
    let reader = store.reader().unwrap();
    assert_eq!(reader.verify(None, &mut |_, _| ()).unwrap().head.number, Number(300));
}

#[test]
fn there_must_be_a_record() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Copier::open(dir.path()), Err(Error::Missing { .. })));
}
