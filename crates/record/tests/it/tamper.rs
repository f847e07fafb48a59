//! Whatever is done to the record behind its back, verifying names the first record that it was done
//! to.

use std::fs;
use std::sync::OnceLock;

use bridle_record::{
    BrokenRecord, ChainHead, RecordFlaw, RecordNumber, RecordReader, StoreError, VerifyReport,
};
use proptest::prelude::*;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::record_pages::{self, Entry};
use crate::support::{Bed, begin, by, open, raw, turn};

/// What of a record can be changed: its numbers but the first, and what follows them.
const FIELDS: usize = 11;

/// Records 1 to 35: three sessions, large and small bodies, one forgotten session (3, 14 to 18) and one
/// forgotten record (25), which the daemon noted (24, 30).
fn make_sample() -> Bed {
    let mut bed = Bed::with_sessions(&["a", "b", "gone"]);
    let large = "x".repeat(5000);
    bed.commit(&[turn("a", 1, "one"), turn("b", 1, &large)]);
    bed.commit(&[turn("gone", 1, "secret"), turn("a", 3, "two")]);
    bed.store.forget_session("gone", &by(9)).unwrap();
    bed.commit(&[turn("b", 3, "three")]);
    bed.store.forget_record(RecordNumber(25), None, &by(9)).unwrap();
    bed.commit(&[turn("a", 5, "last")]);
    bed
}

/// A copy of the sample, made once: every commit waits for the disk.
fn sample() -> TempDir {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    let bytes = FILE.get_or_init(|| {
        let Bed { store, dir } = make_sample();
        drop(store);
        fs::read(dir.path().join("record.db")).unwrap()
    });
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("record.db"), bytes).unwrap();
    dir
}

const RECORDS: i64 = 35;

/// Where a record is in the list of all.
fn index(number: i64) -> usize {
    usize::try_from(number - 1).unwrap()
}

fn verify(dir: &TempDir, kept: Option<ChainHead>) -> Result<VerifyReport, StoreError> {
    RecordReader::open(dir.path()).unwrap().verify(kept, &mut |_, _| ())
}

fn broken(dir: &TempDir, kept: Option<ChainHead>) -> BrokenRecord {
    match verify(dir, kept) {
        Err(StoreError::Broken(broken)) => broken,
        other => panic!("expected a broken record, got {other:?}"),
    }
}

/// Changes one field of one record by a bit.
fn edit(entry: &mut Entry, field: usize, bit: usize) {
    let flip = |bytes: &mut Vec<u8>| {
        let at = bit / 8 % bytes.len().max(1);
        match bytes.get_mut(at) {
            Some(byte) => *byte ^= 1 << (bit % 8),
            None => bytes.push(1),
        }
    };
    match field {
        0..=4 => entry.numbers[field + 1] ^= 1 << (bit % 40),
        5 => entry.place ^= 1,
        6 => flip(&mut entry.principal),
        7 => flip(&mut entry.kind),
        8 => flip(&mut entry.body),
        9 => flip(&mut entry.prev),
        _ => flip(&mut entry.hash),
    }
}

#[test]
fn an_untouched_record_is_whole_and_says_how_far_it_is() {
    let dir = sample();
    let mut heard = Vec::new();
    let reader = RecordReader::open(dir.path()).unwrap();
    let verified = reader.verify(None, &mut |done, of| heard.push((done, of))).unwrap();
    assert_eq!(verified.head, open(dir.path()).head().unwrap());
    assert_eq!((verified.head.number.0, verified.sessions, verified.erased), (35, 3, 7));
    assert_eq!(heard, [(35, 35)]);
    assert_eq!(verify(&Bed::new().dir, None).unwrap().head.number, RecordNumber(0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_edited_record_is_named(number in 1..=RECORDS, field in 0..FIELDS, bit in 0_usize..9999) {
        let dir = sample();
        record_pages::change(&raw(dir.path()), |entries| edit(&mut entries[index(number)], field, bit));
        let broken = broken(&dir, None);
        prop_assert_eq!(broken.number, RecordNumber(number.unsigned_abs()), "{:?}", broken);
    }

    #[test]
    fn a_dropped_record_is_named(number in 1..=RECORDS, more in 0..3_i64) {
        let dir = sample();
        let last = (number + more).min(RECORDS);
        record_pages::change(&raw(dir.path()), |entries| {
            entries.drain(index(number)..=index(last));
        });
        let broken = broken(&dir, None);
        prop_assert_eq!(broken, BrokenRecord { number: RecordNumber(number.unsigned_abs()), flaw: RecordFlaw::Missing });
    }

    #[test]
    fn records_that_changed_places_are_named(one in 1..=RECORDS, other in 1..=RECORDS) {
        prop_assume!(one != other);
        let dir = sample();
        record_pages::change(&raw(dir.path()), |entries| {
            let (one, other) = (index(one), index(other));
            entries.swap(one, other);
            // By somebody who also numbers them anew.
            let (mine, yours) = (entries[one].number(), entries[other].number());
            (entries[one].numbers[0], entries[other].numbers[0]) = (yours, mine);
        });
        prop_assert_eq!(broken(&dir, None).number, RecordNumber(one.min(other).unsigned_abs()));
    }

    #[test]
    fn a_cut_tail_is_missed(keep in 0..RECORDS) {
        let dir = sample();
        let kept = open(dir.path()).head().unwrap();
        let connection = raw(dir.path());
        record_pages::change(&connection, |entries| entries.truncate(index(keep + 1)));
        // By somebody who also mends every table that would tell.
        connection
            .execute_batch("UPDATE session SET records = 0, head_seq = 0, last = 0, last_at = 0")
            .unwrap();
        for entry in record_pages::all(&connection).iter().flat_map(|(_, entries)| entries) {
            let [number, session, seq, at, ..] = entry.numbers.map(u64::cast_signed);
            connection
                .execute(
                    "UPDATE session SET records = records + 1, head_seq = max(head_seq, ?2),
                       last = ?3, last_at = ?4 WHERE id = ?1",
                    [session, seq, number, at],
                )
                .unwrap();
        }
        let missing = broken(&dir, Some(kept));
        prop_assert_eq!(missing, BrokenRecord { number: RecordNumber(keep.unsigned_abs() + 1), flaw: RecordFlaw::Missing });
    }
}

#[test]
fn other_tables_are_vouched_for_too() {
    let cases: &[(&str, u64)] = &[
        ("UPDATE meta SET origin = zeroblob(32)", 1),
        ("UPDATE session SET name = 'x' WHERE id = 2", 2),
        ("UPDATE session SET owner = 'x' WHERE id = 1", 1),
        ("UPDATE session SET created = 7 WHERE id = 3", 3),
        ("UPDATE session SET id = 9 WHERE id = 2", 2),
        ("UPDATE session_key SET key = randomblob(32) WHERE session = 1", 1),
        ("UPDATE session_key SET key = zeroblob(32) WHERE session = 2", 2),
        ("DELETE FROM session_key WHERE session = 1", 1),
        ("UPDATE salt SET salts = zeroblob(length(salts)) WHERE first = 4", 4),
        ("UPDATE salt SET salts = randomblob(length(salts)) WHERE first = 4", 4),
        ("UPDATE salt SET salts = x'' WHERE first = 4", 4),
        ("DELETE FROM salt WHERE first = 4", 4),
        ("UPDATE blob SET bytes = zeroblob(length(bytes))", 9),
        ("UPDATE blob SET hash = zeroblob(32) WHERE rowid = 2", 10),
        ("DELETE FROM blob", 9),
        ("UPDATE session SET records = records + 1 WHERE id = 2", 29),
        // Smaller ones would be overruled by records that came since the row was written.
        ("UPDATE session SET head_seq = 99 WHERE id = 1", 35),
        ("UPDATE session SET last_at = 99 WHERE id = 1", 35),
        ("UPDATE meta SET settled = settled + 1", 30),
        ("UPDATE meta SET settled = 0", 35),
        ("UPDATE session SET last = 99 WHERE id = 1", 36),
        ("UPDATE milestone SET number = 19 WHERE session = 1", 19),
        ("INSERT INTO milestone VALUES (2, 2, 14)", 14),
        ("INSERT INTO record SELECT -4, records FROM record WHERE first = 4", 0),
        ("INSERT INTO record SELECT 7, records FROM record WHERE first = 4", 7),
        ("INSERT INTO record SELECT 36, records FROM record WHERE first = 31", 36),
        ("INSERT INTO record VALUES (36, x'')", 36),
        ("UPDATE record SET records = x'' WHERE first = 4", 4),
        ("UPDATE record SET records = x'00' WHERE first = 4", 4),
        ("UPDATE record SET records = CAST(records || x'00' AS BLOB) WHERE first = 4", 14),
        ("UPDATE record SET first = 5 WHERE first = 4", 4),
        ("UPDATE record SET first = -1 WHERE first = 4", 0),
        ("DELETE FROM record WHERE first = 4", 4),
    ];
    for (sql, number) in cases {
        let dir = sample();
        assert!(raw(dir.path()).execute(sql, []).unwrap() > 0, "{sql}");
        let broken = broken(&dir, None);
        assert_eq!(broken.number, RecordNumber(*number), "{sql}: {broken}");
    }
}

#[test]
fn a_replaced_record_is_told_from_the_one_after_it() {
    // Somebody swaps in a record, hash and all, from another world.
    let (dir, other) = (sample(), make_sample());
    let others = record_pages::all(&other.raw());
    let theirs = others.into_iter().flat_map(|(_, entries)| entries).nth(index(13)).unwrap();
    record_pages::change(&raw(dir.path()), |entries| entries[index(13)] = theirs);
    // It is whole, but remembers another record before it: that is the first that does not fit.
    let broken = broken(&dir, None);
    assert!(
        matches!(
            broken,
            BrokenRecord { number: RecordNumber(12), flaw: RecordFlaw::Replaced { .. } }
        ),
        "{broken}"
    );
}

#[test]
fn another_history_does_not_match_a_kept_head() {
    let (dir, mut other) = (sample(), make_sample());
    let kept = other.store.head().unwrap();
    let broken = broken(&dir, Some(kept));
    assert_eq!(broken.number, kept.number);
    assert!(matches!(broken.flaw, RecordFlaw::NotTheHead { .. }));
    other.commit(&[begin("later"), turn("later", 1, "x")]);
    verify(&other.dir, Some(kept)).unwrap();
}

#[test]
fn the_record_cannot_be_edited_by_accident() {
    let dir = sample();
    let connection = Connection::open(dir.path().join("record.db")).unwrap();
    for sql in [
        "UPDATE record SET records = x''",
        "UPDATE record SET first = 99 WHERE first = 1",
        "DELETE FROM record WHERE first = 1",
        "UPDATE blob SET bytes = x''",
        "DELETE FROM blob",
    ] {
        let error = connection.execute(sql, []).unwrap_err();
        assert!(error.to_string().contains("the record is append-only"), "{sql}: {error}");
    }
    verify(&dir, None).unwrap();
}

#[test]
fn a_damaged_file_is_an_answer_not_a_panic() {
    let dir = sample();
    raw(dir.path()).execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let file = dir.path().join("record.db");
    let good = fs::read(&file).unwrap();
    for page in 1..good.len() / 4096 {
        let mut bytes = good.clone();
        bytes[page * 4096..][..4096].fill(0x5a);
        fs::write(&file, &bytes).unwrap();
        // Some pages are of tables that verifying does not need; none may make it panic or hang.
        if let Ok(reader) = RecordReader::open(dir.path()) {
            let _ = reader.verify(None, &mut |_, _| ());
            let _ = reader.load("a", 0);
        }
    }
    fs::write(&file, &good).unwrap();
    RecordReader::open(dir.path()).unwrap().verify(None, &mut |_, _| ()).unwrap();
}

/// Whichever byte of the table of records is changed, some record is named, and none before it.
#[test]
fn every_byte_of_the_records_is_vouched_for() {
    let dir = sample();
    let connection = raw(dir.path());
    let rows: Vec<(i64, Vec<u8>)> = connection
        .prepare("SELECT first, records FROM record")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let put = |first: i64, records: &[u8]| {
        let sql = "UPDATE record SET records = ?2 WHERE first = ?1";
        assert_eq!(connection.execute(sql, rusqlite::params![first, records]).unwrap(), 1);
    };
    for (first, records) in rows {
        let entries = record_pages::read(&records);
        let ends: Vec<usize> =
            (1..=entries.len()).map(|count| record_pages::write(&entries[..count]).len()).collect();
        for at in (0..records.len()).step_by(7) {
            let mut changed = records.clone();
            changed[at] ^= 1 << (at % 8);
            put(first, &changed);
            let hit = first + i64::try_from(ends.iter().filter(|end| **end <= at).count()).unwrap();
            let found = broken(&dir, None);
            assert_eq!(
                found.number,
                RecordNumber(hit.unsigned_abs()),
                "byte {at} of {first}: {found}"
            );
        }
        put(first, &records);
    }
    verify(&dir, None).unwrap();
}
