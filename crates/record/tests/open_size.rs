//! How much opening reads does not depend on how much there is. Alone in its process: it counts every
//! byte that the process reads.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test itself")]

use std::fs;
use std::path::Path;

use bridle_record::{
    NewRecord, NewSessionRow, RecordAppend, RecordStore, StateCheckpoint, StoreOptions,
};

/// A few pages more or less are the depth of a tree.
const SLACK: u64 = 64 * 1024;

fn bytes_read() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap();
    text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

/// A record of this many records, closed.
fn fill(dir: &Path, records: usize) {
    let mut store = RecordStore::open(dir, &StoreOptions::default()).unwrap();
    store
        .commit(&[RecordAppend {
            session: Some(NewSessionRow { name: "a".into(), owner: "me".into(), at: 1 }),
            ..RecordAppend::default()
        }])
        .unwrap();
    let body = "(:sensor :user-prompt :text \"a line that somebody may have typed\")";
    let append = RecordAppend {
        drafts: vec![NewRecord::new("a", "tick", 1, "me", body); 5000],
        checkpoint: Some(StateCheckpoint { session: "a".into(), state: "(:state)".into() }),
        ..RecordAppend::default()
    };
    for _ in 0..records / 5000 {
        store.commit(std::slice::from_ref(&append)).unwrap();
    }
}

/// Bytes read to open a record, learn what waits and load a session.
fn cost(dir: &Path) -> u64 {
    let before = bytes_read();
    let store = RecordStore::open(dir, &StoreOptions::default()).unwrap();
    let reader = store.reader().unwrap();
    assert_eq!(reader.open_sessions().unwrap(), []);
    assert_eq!(reader.load("a", 1).unwrap().tail, []);
    bytes_read() - before
}

#[test]
fn opening_reads_no_more_when_there_is_more() {
    let (small, large) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fill(small.path(), 5_000);
    fill(large.path(), 100_000);
    let size = fs::metadata(large.path().join("record.db")).unwrap().len();
    assert!(size > 15_000_000, "{size}");
    let (small, large) = (cost(small.path()), cost(large.path()));
    assert!(large < small + SLACK, "{small} bytes for 5,000 records, {large} for 100,000");
    assert!(large < 1_000_000, "{large}");
}
