//! Compacting: what is forgotten gives its room back, what is not stays as it was, and nobody can do the same
//! unnoticed.

use std::fs;

use bridle_record::{
    BrokenRecord, ChainHead, MessageReceipt, Record, RecordBody, RecordFilter, RecordFlaw,
    RecordNumber, StateCheckpoint, StoreError, VerifyReport, hash_text,
};
use proptest::prelude::*;
use rusqlite::Connection;

use bridle_record::compact::MAX_RECORDS_PER_STEP;

use crate::support::{Bed, all, begin, by, open, raw, turn};

fn verify(bed: &Bed) -> Result<VerifyReport, StoreError> {
    bed.reader().verify(None, &mut |_, _| ())
}

fn broken(bed: &Bed, kept: Option<ChainHead>) -> BrokenRecord {
    match bed.reader().verify(kept, &mut |_, _| ()) {
        Err(StoreError::Broken(broken)) => broken,
        other => panic!("expected a broken record, got {other:?}"),
    }
}

fn of<'r>(records: &'r [Record], session: &str) -> Vec<&'r Record> {
    records.iter().filter(|record| &*record.session == session).collect()
}

fn kinds(records: &[Record]) -> Vec<(u64, &str)> {
    records.iter().map(|record| (record.number.0, &*record.kind)).collect()
}

/// Records 1 to 19: `a` (1, 4 to 8, 14 to 18), `gone` (2, 9 to 13), `b` (3), and that `gone` is forgotten (19).
fn sample() -> Bed {
    let mut bed = Bed::with_sessions(&["a", "gone", "b"]);
    bed.commit(&[turn("a", 1, "one"), turn("gone", 1, &"x".repeat(9000)), turn("a", 3, "two")]);
    bed.store.forget_session("gone", &by(9)).unwrap();
    bed
}

#[test]
fn a_forgotten_session_is_replaced_and_everything_else_stays_as_it_was() {
    let mut bed = sample();
    let before = bed.all();
    let report = bed.store.compact(&by(20)).unwrap();
    assert_eq!((report.records, report.runs, report.sessions), (6, 2, 1));
    let after = bed.all();
    let placed: Vec<_> =
        kinds(&after).into_iter().filter(|(_, kind)| kind.starts_with("comp")).collect();
    assert_eq!(placed, [(2, "compacted"), (9, "compacted"), (20, "compaction")]);
    for name in ["a", "b"] {
        assert_eq!(of(&before, name), of(&after, name), "{name}");
    }
    let verified = verify(&bed).unwrap();
    assert_eq!((verified.head.number.0, verified.erased, verified.compacted), (20, 0, 6));
    // Nothing is known of it any more, in any table.
    let names: Vec<_> = bed.reader().sessions().unwrap().into_iter().map(|row| row.name).collect();
    assert_eq!(names, ["a".into(), "b".into()] as [Box<str>; 2]);
    let connection = raw(bed.dir.path());
    for table in ["session_key", "milestone"] {
        let sql = format!("SELECT count(*) FROM {table} WHERE session = 2");
        assert_eq!(
            connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap(),
            0,
            "{table}"
        );
    }
    let blobs: i64 =
        connection.query_row("SELECT count(*) FROM blob", [], |row| row.get(0)).unwrap();
    assert_eq!(blobs, 0, "the large body was the only one");
    // And it goes on as if nothing had been.
    drop(connection);
    bed.commit(&[turn("b", 1, "later"), begin("gone"), turn("gone", 1, "another")]);
    verify(&bed).unwrap();
    let (first, hash) = (&before[8], before[12].hash);
    let text = after
        .iter()
        .find(|record| record.number == RecordNumber(9))
        .unwrap()
        .body
        .text()
        .unwrap()
        .to_owned();
    assert_eq!(
        text,
        format!(
            "(:from 9 :to 13 :records 5 :first \"{}\" :last \"{hash}\" :forgotten 5)",
            first.hash
        )
    );
}

#[test]
fn a_session_that_goes_on_keeps_its_numbers() {
    let mut bed = Bed::with_sessions(&["a"]);
    let message = hash_text("m");
    let receipt = |body: &str| MessageReceipt { message, body: hash_text(body) };
    let mut turns: Vec<_> = (0..40).map(|at| turn("a", 2 * at + 1, "text")).collect();
    for (at, turn) in turns.iter_mut().enumerate() {
        turn.drafts[0].receipt = Some(receipt(&at.to_string()));
    }
    bed.commit(&turns);
    let state = StateCheckpoint { session: "a".into(), state: "(:state)".into() };
    // Records 2 to 151 are seqs 1 to 60.
    for number in 2..=151 {
        bed.store.forget_record(RecordNumber(number), Some(&state), &by(99)).unwrap();
    }
    let before = bed.all();
    let report = bed.store.compact(&by(100)).unwrap();
    // A step takes so many at most; in a build for faults they are few.
    let steps = 150_u64.div_ceil(MAX_RECORDS_PER_STEP);
    assert_eq!((report.records, report.runs, report.sessions), (150, steps, 0));
    assert_eq!(verify(&bed).unwrap().compacted, 150);
    let reader = bed.reader();
    for after in [0, 1, 30, 59, 60, 63, 64, 79, 80] {
        let stream = reader.stream("a", after, 100).unwrap();
        let seqs: Vec<_> = stream.iter().map(|record| record.seq.unwrap()).collect();
        assert_eq!(seqs, (after + 1..=80).collect::<Vec<_>>(), "after {after}");
        for record in &stream {
            assert_eq!(record.body == RecordBody::Erased, record.seq <= Some(60), "{record:?}");
        }
        assert_eq!(reader.stream("a", after, 3).unwrap(), stream[..stream.len().min(3)]);
    }
    // What is told of one number is told of all that were taken away with it.
    let whole = reader.record(RecordNumber(2)).unwrap().unwrap();
    assert_eq!(reader.record(RecordNumber(77)).unwrap().unwrap(), whole);
    assert!(
        whole
            .body
            .text()
            .unwrap()
            .ends_with(":sessions ((:session \"a\" :records 150 :seqs (1 60))))")
    );
    a_session_reads_on(&mut bed, &before, &whole);
}

/// Whoever reads the session alone sees what stands for the others too, once; and it goes on.
fn a_session_reads_on(bed: &mut Bed, before: &[Record], whole: &Record) {
    let reader = bed.reader();
    let filter = RecordFilter { session: Some("a".into()), ..RecordFilter::default() };
    let (mut after, mut alone) = (RecordNumber(0), Vec::new());
    while let Some(page) =
        Some(reader.records(after, &filter, 7).unwrap()).filter(|it| !it.is_empty())
    {
        after = page.last().unwrap().number;
        alone.extend(page);
    }
    assert_eq!(alone.len(), 1 + 1 + 50);
    assert_eq!(&alone[1], whole);
    assert_eq!(
        alone[2..],
        before
            .iter()
            .filter(|it| &*it.session == "a" && it.number.0 > 151)
            .cloned()
            .collect::<Vec<_>>()
    );
    let loaded = reader.load("a", 100).unwrap();
    assert_eq!((loaded.session.head_seq, loaded.receipts.len()), (80, 10));
    assert_eq!(loaded.tail.len(), 0);
    assert!(matches!(
        bed.store.forget_record(RecordNumber(5), None, &by(101)).unwrap_err(),
        StoreError::AlreadyForgotten(_)
    ));
    bed.commit(&[turn("a", 81, "more")]);
    verify(bed).unwrap();
}

#[test]
fn a_stream_whose_end_is_gone_still_has_all_its_numbers() {
    let mut bed = Bed::with_sessions(&["a"]);
    bed.commit(&[turn("a", 1, "one")]);
    for number in 2..=6 {
        bed.store.forget_record(RecordNumber(number), None, &by(9)).unwrap();
    }
    bed.store.compact(&by(9)).unwrap();
    let stream = bed.reader().stream("a", 0, 10).unwrap();
    let told: Vec<_> = stream.iter().map(|it| (it.seq, &it.body)).collect();
    assert_eq!(told, [(Some(1), &RecordBody::Erased), (Some(2), &RecordBody::Erased)]);
    assert_eq!(bed.reader().stream("a", 2, 10).unwrap(), []);
}

#[test]
fn room_is_given_back_to_the_disk() {
    let mut bed = Bed::with_sessions(&["kept"]);
    for at in 0..200 {
        let name = format!("s{at}");
        bed.commit(&[
            begin(&name),
            turn(&name, 1, &"x".repeat(20_000)),
            turn("kept", 2 * at + 1, "x"),
        ]);
    }
    let names: Vec<Box<str>> = (0..200).map(|at| format!("s{at}").into()).collect();
    assert_eq!(bed.store.forget_sessions(&names, &by(999)).unwrap(), 200);
    assert_eq!(bed.store.forget_sessions(&names, &by(999)).unwrap(), 0);
    let forgot = bed.all().iter().filter(|record| &*record.kind == "forgot").count();
    assert_eq!(forgot, 1, "many share a record");
    verify(&bed).unwrap();
    let size = bed.reader().size(bed.dir.path()).unwrap();
    assert_eq!(size.forgotten.records, 1200);
    assert!(size.forgotten.bytes > 200 * 40_000, "{size:?}");
    let report = bed.store.compact(&by(1000)).unwrap();
    assert_eq!((report.records, report.sessions), (1200, 199));
    assert!(report.bytes_before > 8_000_000 && report.bytes_after < 1_000_000, "{report:?}");
    let on_disk: u64 =
        fs::read_dir(bed.dir.path()).unwrap().map(|it| it.unwrap().metadata().unwrap().len()).sum();
    assert!(on_disk < 1_000_000, "{on_disk}");
    assert_eq!(verify(&bed).unwrap().compacted, 1200);
    let size = bed.reader().size(bed.dir.path()).unwrap();
    assert_eq!((size.forgotten.records, size.compacted), (0, 1200));
    assert_eq!(&*size.principals[0].name, "uid:1000");
    // The latest session keeps its id, whatever became of it.
    bed.commit(&[begin("new"), turn("new", 1, "x")]);
    verify(&bed).unwrap();
}

#[test]
fn what_shares_its_text_with_what_is_gone_is_gone_too() {
    let mut bed = Bed::with_sessions(&["a"]);
    let mut both = turn("a", 1, "the very same long text");
    let (from, at) = ("(:context (".len(), "(:text ".len());
    let bytes = "\"the very same long text\"".len();
    both.drafts[3].body = format!("(:text {:?})", "the very same long text");
    both.drafts[1].shared = Some(bridle_record::SharedPart { from, with: 3, at, bytes });
    bed.commit(&[both]);
    bed.store.forget_record(RecordNumber(5), None, &by(9)).unwrap();
    bed.store.compact(&by(9)).unwrap();
    // Records 3 and 5, between which one stays.
    assert_eq!(verify(&bed).unwrap().compacted, 2);
    let found = bed.all();
    assert_eq!(found.iter().filter(|it| &*it.kind == "compacted").count(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Whatever is forgotten and compacted, how often, in whichever order: what is not forgotten can be read as
    /// before, and the chain holds.
    #[test]
    fn any_sequence_of_forgetting_and_compacting_holds(steps in prop::collection::vec(0_u64..40, 1..24)) {
        let mut bed = Bed::with_sessions(&["s0", "s1", "s2"]);
        let mut seqs = [0_u64; 3];
        for step in steps {
            let which = (step % 3) as usize;
            let name = format!("s{which}");
            match step / 3 {
                0..=6 => {
                    let turns: Vec<_> = (0..=step % 4).map(|at| turn(&name, seqs[which] + 2 * at + 1, &"y".repeat(900))).collect();
                    seqs[which] += 2 * turns.len() as u64;
                    bed.commit(&turns);
                }
                7 => {
                    bed.store.forget_session(&name, &by(i64::MAX / 2)).unwrap();
                    bed.commit(&[begin(&name)]);
                    seqs[which] = 0;
                }
                8 | 9 => {
                    let head = bed.store.head().unwrap().number.0;
                    for number in (1..=head).filter(|number| number % (step % 4 + 2) == 0) {
                        // The daemon's own, and what is gone already, cannot be.
                        let _ = bed.store.forget_record(RecordNumber(number), None, &by(i64::MAX / 2));
                    }
                }
                _ => {
                    let before: Vec<Record> = bed.all().into_iter().filter(|it| it.body != RecordBody::Erased && &*it.kind != "compacted").collect();
                    bed.store.compact(&by(i64::MAX / 2)).unwrap();
                    let after = bed.all();
                    prop_assert!(after.iter().all(|it| it.body != RecordBody::Erased));
                    for record in before {
                        prop_assert!(after.contains(&record), "{record:?}");
                    }
                    let again = bed.store.compact(&by(i64::MAX / 2)).unwrap();
                    prop_assert_eq!((again.records, again.runs), (0, 0));
                }
            }
            let verified = verify(&bed).unwrap();
            prop_assert_eq!(verified.head, bed.store.head().unwrap());
            for (which, seq) in seqs.iter().enumerate() {
                let stream = bed.reader().stream(&format!("s{which}"), 0, 999).unwrap();
                let found: Vec<_> = stream.iter().map(|it| it.seq.unwrap()).collect();
                prop_assert_eq!(found, (1..=*seq).collect::<Vec<_>>());
            }
        }
        let Bed { store, dir } = bed;
        drop(store);
        // Another process finds the same.
        let mut again = open(dir.path());
        again.head().unwrap();
        all(&again.reader().unwrap());
    }
}

#[test]
fn every_byte_of_a_compacted_record_is_vouched_for() {
    let mut bed = sample();
    bed.store.compact(&by(20)).unwrap();
    let connection = raw(bed.dir.path());
    let (first, bytes): (i64, Vec<u8>) = connection
        .query_row("SELECT first, records FROM record WHERE first = 9", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        let sql = "UPDATE record SET records = ?2 WHERE first = ?1";
        connection.execute(sql, rusqlite::params![first, changed]).unwrap();
        // Its last hash is the next record's business.
        let found = broken(&bed, None);
        assert!((8..=14).contains(&found.number.0), "byte {at}: {found}");
        connection.execute(sql, rusqlite::params![first, bytes]).unwrap();
    }
    verify(&bed).unwrap();
    for (sql, number) in [
        ("DELETE FROM record WHERE first = 9", 9),
        ("DELETE FROM record WHERE first = 14", 14),
        ("UPDATE place SET sessions = x'01' WHERE first = 9", 9),
        ("INSERT INTO salt VALUES (9, x'01', zeroblob(16))", 14),
        ("UPDATE session SET records = records + 1 WHERE id = 1", 18),
    ] {
        let bed = copy(&bed);
        raw(bed.path()).execute(sql, []).unwrap();
        let found =
            bridle_record::RecordReader::open(bed.path()).unwrap().verify(None, &mut |_, _| ());
        match found {
            Err(StoreError::Broken(broken)) => {
                assert_eq!(broken.number.0, number, "{sql}: {broken}");
            }
            other => panic!("{sql}: {other:?}"),
        }
    }
}

fn copy(bed: &Bed) -> tempfile::TempDir {
    raw(bed.dir.path()).execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let dir = tempfile::tempdir().unwrap();
    fs::copy(bed.file(), dir.path().join("record.db")).unwrap();
    dir
}

/// Somebody takes records away as compacting does, and does not say so in the chain.
#[test]
fn records_cannot_be_taken_away_in_silence() {
    let mut bed = sample();
    let other = copy(&bed);
    bed.store.compact(&by(20)).unwrap();
    let stub: Vec<u8> = raw(bed.dir.path())
        .query_row("SELECT records FROM record WHERE first = 9", [], |row| row.get(0))
        .unwrap();
    let connection = Connection::open(other.path().join("record.db")).unwrap();
    drop(raw(other.path()));
    // The record page of 4 to 18 is cut into three.
    let page: Vec<u8> = connection
        .query_row("SELECT records FROM record WHERE first = 4", [], |row| row.get(0))
        .unwrap();
    let entries = crate::record_pages::read(&page);
    connection.execute("DELETE FROM record WHERE first >= 4 AND first < 19", []).unwrap();
    for (first, bytes) in [
        (4, crate::record_pages::write(&entries[..5])),
        (9, stub),
        (14, crate::record_pages::write(&entries[10..])),
    ] {
        connection
            .execute("INSERT INTO record VALUES (?1, ?2)", rusqlite::params![first, bytes])
            .unwrap();
    }
    let reader = bridle_record::RecordReader::open(other.path()).unwrap();
    let found = reader.verify(None, &mut |_, _| ());
    match found {
        Err(StoreError::Broken(BrokenRecord {
            number: RecordNumber(9),
            flaw: RecordFlaw::Unvouched,
        })) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_kept_head_is_compared_as_far_as_it_can_be() {
    let mut bed = sample();
    let records = bed.all();
    let head = |number: u64| {
        let record = records.iter().find(|it| it.number.0 == number).unwrap();
        ChainHead { number: record.number, hash: record.hash }
    };
    bed.store.compact(&by(20)).unwrap();
    let reader = bed.reader();
    for number in [1, 2, 8, 9, 13, 14, 19] {
        reader.verify(Some(head(number)), &mut |_, _| ()).unwrap();
        let other = ChainHead { hash: head(1).hash, ..head(number) };
        if number != 1 {
            assert!(
                matches!(broken(&bed, Some(other)).flaw, RecordFlaw::NotTheHead { .. }),
                "{number}"
            );
        }
    }
    for number in [10, 12] {
        let found = broken(&bed, Some(head(number)));
        assert_eq!(
            found,
            BrokenRecord { number: RecordNumber(number), flaw: RecordFlaw::Compacted }
        );
    }
}

#[test]
fn a_record_from_before_can_be_compacted() {
    let bed = sample();
    let Bed { store, dir } = bed;
    drop(store);
    let connection = raw(dir.path());
    connection.execute_batch("DROP TABLE spent; PRAGMA user_version = 4").unwrap();
    drop(connection);
    let reader = bridle_record::RecordReader::open(dir.path()).unwrap();
    reader.verify(None, &mut |_, _| ()).unwrap();
    let mut store = open(dir.path());
    assert_eq!(store.compact(&by(20)).unwrap().records, 6);
    store.reader().unwrap().verify(None, &mut |_, _| ()).unwrap();
}

#[test]
fn records_are_protected_again_afterward() {
    let mut bed = sample();
    bed.store.compact(&by(20)).unwrap();
    let connection = Connection::open(bed.file()).unwrap();
    for sql in ["DELETE FROM record", "UPDATE record SET records = x''", "DELETE FROM blob"] {
        match connection.execute(sql, []) {
            Err(error) => assert!(error.to_string().contains("append-only"), "{sql}: {error}"),
            Ok(changed) => assert_eq!((sql, changed), ("DELETE FROM blob", 0)),
        }
    }
}
