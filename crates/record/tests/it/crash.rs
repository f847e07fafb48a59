//! Copies of the files taken while the record is open: what a crash would leave.

use std::fs;
use std::path::Path;

use bridle_record::RecordReader;

use crate::support::{Bed, all, by, open, turn};

/// Copies what a crash leaves: the shared memory is gone.
fn crash(bed: &Bed, to: &Path) {
    for name in ["record.db", "record.db-wal"] {
        let from = bed.dir.path().join(name);
        if from.exists() {
            fs::copy(from, to.join(name)).unwrap();
        }
    }
}

#[test]
fn every_commit_survives_a_crash_right_after_it() {
    let mut bed = Bed::with_sessions(&["a"]);
    for turns in 0..20_u64 {
        bed.commit(&[turn("a", turns * 2 + 1, &"x".repeat(2000))]);
        let left = tempfile::tempdir().unwrap();
        crash(&bed, left.path());
        let mut store = open(left.path());
        assert_eq!(store.head().unwrap(), bed.store.head().unwrap());
        store.commit(&[turn("a", turns * 2 + 3, "on")]).unwrap();
        store.reader().unwrap().verify(None, &mut |_, _| ()).unwrap();
    }
}

#[test]
fn a_log_cut_anywhere_leaves_a_whole_beginning() {
    let mut bed = Bed::with_sessions(&["a"]);
    let mut heads = vec![bed.store.head().unwrap()];
    for turns in 0..6 {
        bed.commit(&[turn("a", turns * 2 + 1, "hello")]);
        heads.push(bed.store.head().unwrap());
    }
    let log = fs::read(bed.dir.path().join("record.db-wal")).unwrap();
    assert!(log.len() > 50_000, "the log was not emptied in between");
    let mut seen = 0;
    for cut in (0..log.len()).step_by(2777) {
        let left = tempfile::tempdir().unwrap();
        crash(&bed, left.path());
        fs::write(left.path().join("record.db-wal"), &log[..cut]).unwrap();
        // Before the first commit there is no record yet.
        let mut store = open(left.path());
        let head = store.head().unwrap();
        assert!(head.number.0 == 0 || heads.contains(&head), "cut at {cut}: {head:?}");
        seen = seen.max(head.number.0);
        store.reader().unwrap().verify(None, &mut |_, _| ()).unwrap();
    }
    assert!(seen > 10);
}

#[test]
fn a_crash_before_wiping_is_made_good_when_opened() {
    let mut bed = Bed::with_sessions(&["a"]);
    let key: Vec<u8> =
        bed.raw().query_row("SELECT key FROM session_key", [], |row| row.get(0)).unwrap();
    // A reader in the middle of something keeps the old pages.
    let slow = bed.raw();
    slow.execute_batch("BEGIN").unwrap();
    let _: i64 = slow.query_row("SELECT count(*) FROM record", [], |row| row.get(0)).unwrap();
    assert!(!bed.store.forget_session("a", &by(9)).unwrap().scrubbed);

    let left = tempfile::tempdir().unwrap();
    crash(&bed, left.path());
    let holds = |dir: &Path| {
        ["record.db", "record.db-wal"]
            .iter()
            .any(|name| fs::read(dir.join(name)).unwrap().windows(32).any(|window| window == key))
    };
    assert!(holds(left.path()), "the reader kept it");
    let store = open(left.path());
    assert!(!holds(left.path()), "opening wiped it");
    drop(store);
    assert_eq!(all(&RecordReader::open(left.path()).unwrap()).len(), 2);

    slow.execute_batch("COMMIT").unwrap();
    bed.commit(&[crate::support::begin("b")]);
    assert!(!holds(bed.dir.path()), "so did the next commit");
}
