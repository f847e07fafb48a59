//! Reading: pages, filters, streams, and other connections while the daemon writes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bridle_record::{
    NewRecord, RecordAppend, RecordFilter, RecordNumber, RecordReader, StoreError,
};

use crate::support::{Bed, WHO, all, begin, turn};

#[test]
fn filters_choose_sessions_kinds_and_ranges() {
    let mut bed = Bed::with_sessions(&["a", "b"]);
    bed.commit(&[turn("a", 1, "x"), turn("b", 1, "y")]);
    let numbers = |after: u64, filter: RecordFilter, limit| {
        let records = bed.reader().records(RecordNumber(after), &filter, limit).unwrap();
        records.iter().map(|record| record.number.0).collect::<Vec<_>>()
    };
    let session =
        |name: &str| RecordFilter { session: Some(name.into()), ..RecordFilter::default() };
    assert_eq!(numbers(0, session("b"), 99), [2, 8, 9, 10, 11, 12]);
    assert_eq!(numbers(8, session("b"), 2), [9, 10]);
    assert_eq!(numbers(0, session(""), 99), []);
    assert_eq!(
        numbers(10, RecordFilter { to: Some(RecordNumber(11)), ..RecordFilter::default() }, 99),
        [11]
    );
    let kinds =
        RecordFilter { kinds: vec!["say".into(), "began".into()], ..RecordFilter::default() };
    assert_eq!(numbers(0, kinds.clone(), 99), [1, 2, 6, 11]);
    assert_eq!(numbers(0, kinds, 3), [1, 2, 6]);
    assert_eq!(numbers(u64::MAX, RecordFilter::default(), 99), []);
    let none = bed.reader().records(RecordNumber(0), &session("none"), 9);
    assert!(matches!(none, Err(StoreError::NoSession(name)) if &*name == "none"));
}

#[test]
fn a_stream_has_the_numbered_records_alone() {
    let mut bed = Bed::with_sessions(&["a", "b"]);
    bed.commit(&[turn("a", 1, "x"), turn("b", 1, "y"), turn("a", 3, "z")]);
    let seqs = |after, limit| {
        let records = bed.reader().stream("a", after, limit).unwrap();
        assert!(records.iter().all(|record| &*record.session == "a"));
        records.iter().map(|record| record.seq.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(seqs(0, 99), [1, 2, 3, 4]);
    assert_eq!(seqs(1, 2), [2, 3]);
    assert_eq!(seqs(4, 99), []);
    assert!(matches!(bed.reader().stream("none", 0, 1), Err(StoreError::NoSession(_))));
}

#[test]
fn streams_are_found_across_blocks_and_from_milestones() {
    let mut bed = Bed::with_sessions(&["quiet"]);
    bed.commit(&[turn("quiet", 1, "early")]);
    bed.commit(&[begin("busy")]);
    let turns: Vec<_> = (0..600).map(|n| turn("busy", n * 2 + 1, "x")).collect();
    bed.commit(&turns);
    bed.commit(&[turn("quiet", 3, "late")]);
    let reader = bed.reader();
    for after in [0, 1, 63, 64, 65, 640, 1150, 1199, 1200] {
        let stream = reader.stream("busy", after, usize::MAX).unwrap();
        let seqs: Vec<_> = stream.iter().map(|record| record.seq.unwrap()).collect();
        assert_eq!(seqs, (after + 1..=1200).collect::<Vec<_>>());
    }
    let quiet = reader.stream("quiet", 1, 9).unwrap();
    assert_eq!(quiet.iter().map(|record| record.number.0).collect::<Vec<_>>(), [5, 3008, 3011]);
    let filter = RecordFilter { session: Some("busy".into()), ..RecordFilter::default() };
    let busy = reader.records(RecordNumber(1023), &filter, 3).unwrap();
    assert_eq!(busy.iter().map(|record| record.number.0).collect::<Vec<_>>(), [1024, 1025, 1026]);
    assert_eq!(reader.load("busy", 0).unwrap().tail.len(), 3001);
}

#[test]
fn a_page_is_bounded_in_records_and_in_bytes() {
    let mut bed = Bed::with_sessions(&["a"]);
    let large = "x".repeat(3 << 20);
    let drafts = |count, body: &str| RecordAppend {
        drafts: vec![NewRecord::new("a", "log", 9, WHO, body); count],
        ..RecordAppend::default()
    };
    bed.commit(&[drafts(5, &large)]);
    let reader = bed.reader();
    let page = |after| {
        reader.records(RecordNumber(after), &RecordFilter::default(), usize::MAX).unwrap().len()
    };
    assert_eq!((page(1), page(4)), (3, 2));
    bed.commit(&[drafts(5000, "small")]);
    assert_eq!((page(6), page(6 + 4096)), (4096, 904));
}

#[test]
fn sessions_are_listed_with_what_is_known_of_them() {
    let mut bed = Bed::with_sessions(&["a", "b"]);
    bed.commit(&[turn("b", 1, "x")]);
    let rows = bed.reader().sessions().unwrap();
    let seen: Vec<_> =
        rows.iter().map(|row| (&*row.name, row.head_seq, row.records, row.last.0)).collect();
    assert_eq!(seen, [("a", 0, 1, 1), ("b", 2, 6, 7)]);
    let row = bed.reader().session("b").unwrap().unwrap();
    assert_eq!((&*row.owner, row.created, row.last_at, row.forgotten), (WHO, 1, 1, false));
    assert_eq!(bed.reader().session("none").unwrap(), None);
    assert_eq!(bed.reader().session("").unwrap(), None);
}

#[test]
fn readers_see_whole_commits_while_the_daemon_writes() {
    let mut bed = Bed::with_sessions(&["a"]);
    let dir = bed.dir.path().to_path_buf();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let read = scope.spawn(|| {
            let reader = RecordReader::open(&dir).unwrap();
            let mut rounds = 0;
            while !done.load(Ordering::Acquire) || rounds == 0 {
                let head = reader.head().unwrap().number.0;
                assert_eq!(head % 5, 1, "a commit is seen whole or not at all");
                assert!(all(&reader).len() as u64 >= head);
                assert!(reader.verify(None, &mut |_, _| ()).unwrap().head.number.0 >= head);
                rounds += 1;
            }
        });
        for turns in 0..200 {
            bed.commit(&[turn("a", turns * 2 + 1, "x")]);
        }
        done.store(true, Ordering::Release);
        read.join().unwrap();
    });
    assert_eq!(bed.all().len(), 1001);
}

#[test]
fn a_record_can_be_read_when_nobody_writes() {
    let dir = {
        let mut bed = Bed::with_sessions(&["a"]);
        bed.commit(&[turn("a", 1, "x")]);
        let Bed { store, dir } = bed;
        drop(store);
        dir
    };
    assert_eq!(all(&RecordReader::open(dir.path()).unwrap()).len(), 6);
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(RecordReader::open(empty.path()), Err(StoreError::Missing { .. })));
    assert!(!empty.path().join("record.db").exists(), "asking makes nothing");
}

#[test]
fn a_reader_cannot_write() {
    let mut bed = Bed::new();
    bed.commit(&[begin("a")]);
    let before = bed.reader().head().unwrap();
    // Through its own connection, whatever the triggers say.
    let file = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let reader = rusqlite::Connection::open_with_flags(bed.file(), file).unwrap();
    assert!(reader.execute("DELETE FROM session", []).is_err());
    assert_eq!(bed.reader().head().unwrap(), before);
}
