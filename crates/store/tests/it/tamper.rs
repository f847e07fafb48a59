//! Whatever is done to the record behind its back, verifying names the first record that it was done
//! to.

use std::fs;
use std::sync::OnceLock;

use bridle_store::{Broken, Error, Flaw, Head, Number, Reader, Verified};
use proptest::prelude::*;
use rusqlite::{Connection, params};
use tempfile::TempDir;

use crate::support::{Bed, begin, by, open, raw, turn};

const COLUMNS: &[&str] = &[
    "session",
    "seq",
    "at",
    "cause",
    "principal",
    "kind",
    "version",
    "body",
    "blob",
    "prev",
    "hash",
];

/// Records 1 to 35: three sessions, large and small bodies, one forgotten session (3, 14 to 18) and one
/// forgotten record (25), which the daemon noted (24, 30).
fn make_sample() -> Bed {
    let mut bed = Bed::with_sessions(&["a", "b", "gone"]);
    let large = "x".repeat(5000);
    bed.commit(&[turn("a", 1, "one"), turn("b", 1, &large)]);
    bed.commit(&[turn("gone", 1, "secret"), turn("a", 3, "two")]);
    bed.store.forget_session("gone", &by(9)).unwrap();
    bed.commit(&[turn("b", 3, "three")]);
    bed.store.forget_record(Number(25), None, &by(9)).unwrap();
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

fn verify(dir: &TempDir, kept: Option<Head>) -> Result<Verified, Error> {
    Reader::open(dir.path()).unwrap().verify(kept, &mut |_, _| ())
}

fn broken(dir: &TempDir, kept: Option<Head>) -> Broken {
    match verify(dir, kept) {
        Err(Error::Broken(broken)) => broken,
        other => panic!("expected a broken record, got {other:?}"),
    }
}

/// Changes one column of one record: a bit of what is there, or something where nothing was.
fn edit(connection: &Connection, number: i64, column: &str, bit: usize) {
    let select = format!("SELECT {column}, typeof({column}) FROM record WHERE number = ?1");
    let (value, kind): (rusqlite::types::Value, String) =
        connection.query_row(&select, [number], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    use rusqlite::types::Value::{Blob, Integer, Null, Real, Text};
    let flip = |mut bytes: Vec<u8>| {
        if bytes.is_empty() {
            return vec![1];
        }
        let at = bit / 8 % bytes.len();
        bytes[at] ^= 1 << (bit % 8);
        bytes
    };
    let cast = if kind == "text" { "CAST(?2 AS TEXT)" } else { "?2" };
    let new = match value {
        Integer(integer) => Integer(integer ^ (1 << (bit % 40))),
        Text(text) => Blob(flip(text.into_bytes())),
        Blob(bytes) => Blob(flip(bytes)),
        Null if column == "body" || column == "blob" => Blob(vec![7; 32]),
        Null => Integer(i64::try_from(bit).unwrap() + 1000),
        Real(_) => unreachable!("no such column"),
    };
    let update = format!("UPDATE record SET {column} = {cast} WHERE number = ?1");
    assert_eq!(connection.execute(&update, params![number, new]).unwrap(), 1);
}

#[test]
fn an_untouched_record_is_whole_and_says_how_far_it_is() {
    let dir = sample();
    let mut heard = Vec::new();
    let reader = Reader::open(dir.path()).unwrap();
    let verified = reader.verify(None, &mut |done, of| heard.push((done, of))).unwrap();
    assert_eq!(verified.head, open(dir.path()).head().unwrap());
    assert_eq!((verified.head.number.0, verified.sessions, verified.erased), (35, 3, 7));
    assert_eq!(heard, [(35, 35)]);
    assert_eq!(verify(&Bed::new().dir, None).unwrap().head.number, Number(0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_edited_record_is_named(number in 1..=RECORDS, column in 0..COLUMNS.len(), bit in 0_usize..9999) {
        let dir = sample();
        edit(&raw(dir.path()), number, COLUMNS[column], bit);
        let broken = broken(&dir, None);
        prop_assert_eq!(broken.number, Number(number.unsigned_abs()), "{:?}", broken);
    }

    #[test]
    fn a_dropped_record_is_named(number in 1..=RECORDS, more in 0..3_i64) {
        let dir = sample();
        let last = (number + more).min(RECORDS);
        raw(dir.path())
            .execute("DELETE FROM record WHERE number BETWEEN ?1 AND ?2", [number, last])
            .unwrap();
        let broken = broken(&dir, None);
        prop_assert_eq!(broken, Broken { number: Number(number.unsigned_abs()), flaw: Flaw::Missing });
    }

    #[test]
    fn records_that_changed_places_are_named(one in 1..=RECORDS, other in 1..=RECORDS) {
        prop_assume!(one != other);
        let dir = sample();
        raw(dir.path())
            .execute_batch(&format!(
                "UPDATE record SET number = -1 WHERE number = {one};
                 UPDATE record SET number = {one} WHERE number = {other};
                 UPDATE record SET number = {other} WHERE number = -1;"
            ))
            .unwrap();
        prop_assert_eq!(broken(&dir, None).number, Number(one.min(other).unsigned_abs()));
    }

    #[test]
    fn a_cut_tail_is_missed(keep in 0..RECORDS) {
        let dir = sample();
        let kept = open(dir.path()).head().unwrap();
        // By somebody who also mends every table that would tell.
        raw(dir.path())
            .execute_batch(&format!(
                "DELETE FROM record WHERE number > {keep};
                 UPDATE session SET
                   records = (SELECT count(*) FROM record WHERE session = id),
                   head_seq = (SELECT coalesce(max(seq), 0) FROM record WHERE session = id),
                   last = (SELECT coalesce(max(number), 0) FROM record WHERE session = id),
                   last_at = (SELECT coalesce(max(at), 0) FROM record WHERE session = id);"
            ))
            .unwrap();
        let missing = broken(&dir, Some(kept));
        prop_assert_eq!(missing, Broken { number: Number(keep.unsigned_abs() + 1), flaw: Flaw::Missing });
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
        ("INSERT INTO record SELECT -4, session, 99, at, cause, principal, kind, version, body, blob,
                                    prev, hash FROM record WHERE number = 4", 0),
        ("INSERT INTO record SELECT 36, session, 99, at, cause, principal, kind, version, body, blob,
                                    prev, hash FROM record WHERE number = 35", 36),
    ];
    for (sql, number) in cases {
        let dir = sample();
        assert!(raw(dir.path()).execute(sql, []).unwrap() > 0, "{sql}");
        let broken = broken(&dir, None);
        assert_eq!(broken.number, Number(*number), "{sql}: {broken}");
    }
}

#[test]
fn a_replaced_record_is_told_from_the_one_after_it() {
    // Somebody swaps in a record, hash and all, from another world.
    let (dir, other) = (sample(), make_sample());
    let sql = "SELECT session, seq, at, cause, principal, kind, version, body, prev, hash
               FROM record WHERE number = 13";
    let connection = raw(dir.path());
    connection.execute("ATTACH ?1 AS other", [other.file().to_str().unwrap()]).unwrap();
    let copied = connection
        .execute(
            &format!(
                "UPDATE main.record SET (session, seq, at, cause, principal, kind, version, body,
                 prev, hash) = ({}) WHERE number = 13",
                sql.replace("FROM record", "FROM other.record")
            ),
            [],
        )
        .unwrap();
    assert_eq!(copied, 1);
    // It is whole, but remembers another record before it: that is the first that does not fit.
    let broken = broken(&dir, None);
    assert!(
        matches!(broken, Broken { number: Number(12), flaw: Flaw::Replaced { .. } }),
        "{broken}"
    );
}

#[test]
fn another_history_does_not_match_a_kept_head() {
    let (dir, mut other) = (sample(), make_sample());
    let kept = other.store.head().unwrap();
    let broken = broken(&dir, Some(kept));
    assert_eq!(broken.number, kept.number);
    assert!(matches!(broken.flaw, Flaw::NotTheHead { .. }));
    other.commit(&[begin("later"), turn("later", 1, "x")]);
    verify(&other.dir, Some(kept)).unwrap();
}

#[test]
fn the_record_cannot_be_edited_by_accident() {
    let dir = sample();
    let connection = Connection::open(dir.path().join("record.db")).unwrap();
    for sql in [
        "UPDATE record SET at = 1",
        "DELETE FROM record WHERE number = 35",
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
        if let Ok(reader) = Reader::open(dir.path()) {
            let _ = reader.verify(None, &mut |_, _| ());
            let _ = reader.load("a", 0);
        }
    }
    fs::write(&file, &good).unwrap();
    Reader::open(dir.path()).unwrap().verify(None, &mut |_, _| ()).unwrap();
}
