//! A record that ends before what the versions know of it: it is not opened, and a repair cuts the links.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test itself")]

use std::fs;
use std::path::Path;

use bridle_memex::{
    ChangeCause, FileChange, FilePath, MemoryOptions, MemoryStore, VersionOrigin, hash_bytes,
};
use bridle_record::repair::repair;
use bridle_record::{
    ForgetRequest, NewRecord, NewSessionRow, RecordAppend, RecordNumber, RecordStore, StoreError,
    StoreOptions,
};

fn open(dir: &Path) -> RecordStore {
    RecordStore::open(dir, &StoreOptions::default()).unwrap()
}

/// The bytes of a record with this many sessions, each of one record.
fn record_with_sessions(count: usize) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    for at in 0..count {
        let name = format!("s{at}");
        let append = RecordAppend {
            session: Some(NewSessionRow { name: (&*name).into(), owner: "me".into(), at: 1 }),
            drafts: vec![NewRecord::new(&name, "began", 1, "me", "(:owner \"me\")")],
            ..RecordAppend::default()
        };
        store.commit(&[append]).unwrap();
    }
    drop(store);
    fs::read(dir.path().join("record.db")).unwrap()
}

/// A past of files that follows from record 7.
fn past(dir: &Path) {
    let root = dir.join("files");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a.org"), "old\n").unwrap();
    let memory = MemoryStore::open(dir, &MemoryOptions { root, protected: Vec::new() }).unwrap();
    let change = FileChange {
        path: FilePath::parse("a.org").unwrap(),
        before: Some(hash_bytes(b"old\n")),
        after: Some(b"new\n".to_vec()),
    };
    let why = ChangeCause {
        origin: VersionOrigin::Edit,
        record: Some(7),
        session: "a".into(),
        turn: 1,
        principal: "me".into(),
        action: "edit".into(),
        at: 1,
    };
    memory.apply(&[change], &why).unwrap();
}

#[test]
fn a_record_that_is_less_than_the_memory_knows_is_not_opened() {
    let cases: [fn(&Path); 3] = [
        |_| {},
        |dir| fs::write(dir.join("record.db"), "").unwrap(),
        |dir| {
            fs::write(dir.join("record.db"), record_with_sessions(2)).unwrap();
        },
    ];
    for (at, (make, found)) in cases.into_iter().zip([0, 0, 2]).enumerate() {
        let dir = tempfile::tempdir().unwrap();
        past(dir.path());
        make(dir.path());
        let was = fs::read(dir.path().join("record.db")).ok();
        match RecordStore::open(dir.path(), &StoreOptions::default()) {
            Err(StoreError::Behind { found: it, known: 7 }) => assert_eq!(it, found, "{at}"),
            other => panic!("{at}: {other:?}"),
        }
        assert_eq!(fs::read(dir.path().join("record.db")).ok(), was, "{at}: nothing is begun");
        // The way out.
        let report = repair(dir.path(), &ForgetRequest { principal: "me".into(), at: 5 }).unwrap();
        assert_eq!(
            (report.kept.number, report.lost(), report.detached),
            (RecordNumber(found), 7 - found, 1),
            "{at}"
        );
        let mut store = open(dir.path());
        assert_eq!(store.head().unwrap().number.0, found + 1, "{at}");
    }
    // Where the record knows as much, nothing is said.
    let dir = tempfile::tempdir().unwrap();
    past(dir.path());
    fs::write(dir.path().join("record.db"), record_with_sessions(7)).unwrap();
    open(dir.path());
}
