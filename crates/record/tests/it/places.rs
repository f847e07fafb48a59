//! Where the records of a session are: across blocks that are settled and the records after them, whatever
//! happens to the writer in between; and tables that say something else are found out.

use std::collections::BTreeMap;
use std::fs;

use bridle_record::{
    BrokenRecord, MessageReceipt, NewRecord, RecordAppend, RecordFilter, RecordFlaw, RecordNumber,
    RecordReader, StoreError, hash_text,
};
use rusqlite::Connection;

use crate::record_pages;
use crate::support::{Bed, WHO, begin, by, open, raw, turn};

/// Records that a test believes each session has.
#[derive(Default)]
struct Model {
    numbers: BTreeMap<String, Vec<u64>>,
    seqs: BTreeMap<String, u64>,
    head: u64,
}

impl Model {
    /// The next `count` records of a session, every other one of its stream and with a receipt.
    fn append(&mut self, session: &str, count: u64) -> RecordAppend {
        let drafts = (0..count).map(|index| {
            self.head += 1;
            self.numbers.entry(session.into()).or_default().push(self.head);
            let draft = NewRecord::new(session, "say", 9, WHO, format!("({})", self.head));
            if !index.is_multiple_of(2) {
                return draft;
            }
            let seq = self.seqs.entry(session.into()).or_default();
            *seq += 1;
            let message = hash_text(&format!("{session} {seq}"));
            draft.numbered(*seq).known_by(MessageReceipt { message, body: hash_text("") })
        });
        RecordAppend { drafts: drafts.collect(), ..RecordAppend::default() }
    }

    fn begin(&mut self, bed: &mut Bed, session: &str) {
        bed.commit(&[begin(session)]);
        self.head += 1;
        self.numbers.insert(session.into(), vec![self.head]);
        self.seqs.insert(session.into(), 0);
    }

    /// Asks for everything, in several ways.
    fn check(&self, reader: &RecordReader) {
        reader.verify(None, &mut |_, _| ()).unwrap();
        for (session, numbers) in &self.numbers {
            let found = |after: u64, to: Option<u64>, limit| {
                let (session, to) = (Some(session.as_str().into()), to.map(RecordNumber));
                let filter = RecordFilter { session, to, ..RecordFilter::default() };
                let records = reader.records(RecordNumber(after), &filter, limit).unwrap();
                assert!(
                    records
                        .iter()
                        .all(|record| Some(&*record.session) == filter.session.as_deref())
                );
                records.iter().map(|record| record.number.0).collect::<Vec<_>>()
            };
            assert_eq!(found(0, None, 4096), *numbers, "{session}");
            for after in [1, 1022, 1023, 1024, 1500, 2047, 2048, self.head - 1, self.head] {
                let expected = numbers.iter().copied().filter(|number| *number > after);
                assert_eq!(found(after, None, 4096), expected.clone().collect::<Vec<_>>());
                let to = after + 600;
                let within: Vec<_> = expected.filter(|number| *number <= to).take(7).collect();
                assert_eq!(found(after, Some(to), 7), within, "{session}, after {after}");
            }
            let row = reader.session(session).unwrap().unwrap();
            let last = RecordNumber(*numbers.last().unwrap());
            assert_eq!((row.records, row.last), (numbers.len() as u64, last), "{session}");
            if row.forgotten {
                continue;
            }
            assert_eq!(row.head_seq, self.seqs[session], "{session}");
            let loaded = reader.load(session, 9).unwrap();
            assert_eq!((loaded.session, loaded.tail.len()), (row, numbers.len()), "{session}");
            let receipts: Vec<_> = loaded.receipts.iter().map(|receipt| receipt.seq).collect();
            assert_eq!(receipts, (1..=self.seqs[session]).collect::<Vec<_>>(), "{session}");
            let told = |seq: u64| hash_text(&format!("{session} {seq}"));
            assert!(loaded.receipts.iter().all(|receipt| receipt.message == told(receipt.seq)));
        }
    }
}

fn settled(bed: &Bed) -> u64 {
    let connection = Connection::open(bed.file()).unwrap();
    let settled: i64 =
        connection.query_row("SELECT settled FROM meta", [], |row| row.get(0)).unwrap();
    settled.unsigned_abs()
}

#[test]
fn a_session_is_found_across_settled_blocks_and_after_them() {
    let mut bed = Bed::new();
    let mut model = Model::default();
    for session in ["a", "b", "c", "gone", "rare"] {
        model.begin(&mut bed, session);
    }
    bed.commit(&[model.append("rare", 3)]);
    // Up to a block, beyond it, in small commits, in one that is larger than a block.
    for (round, sizes) in
        [[1, 5, 2], [200, 300, 400], [1, 1, 1], [60, 3, 60], [700, 800, 9], [2, 1, 4]]
            .into_iter()
            .cycle()
            .take(14)
            .enumerate()
    {
        let appends: Vec<_> = ["a", "b", "c"]
            .into_iter()
            .zip(sizes)
            .map(|(it, size)| model.append(it, size))
            .collect();
        bed.commit(&appends);
        if round == 4 {
            bed.commit(&[model.append("gone", 30)]);
        }
        if round == 6 {
            // In the middle of a block, where it settles all the same.
            bed.store.forget_session("gone", &by(9)).unwrap();
            model.head += 1;
            assert_eq!(settled(&bed), model.head - 1);
        }
        model.check(&bed.reader());
    }
    assert!(settled(&bed) > 4096 && settled(&bed) < model.head, "some are settled, some are not");
    bed.commit(&[model.append("rare", 2)]);
    model.check(&bed.reader());
    let Bed { store, dir } = bed;
    drop(store);
    model.check(&RecordReader::open(dir.path()).unwrap());
}

#[test]
fn what_the_writer_forgot_in_the_middle_of_a_block_is_looked_up_again() {
    let mut bed = Bed::new();
    let mut model = Model::default();
    model.begin(&mut bed, "a");
    model.begin(&mut bed, "b");
    let mut other = open(bed.dir.path());
    for round in 0..30 {
        bed.commit(&[model.append("a", 20), model.append("b", 10)]);
        match round % 3 {
            // Refused in the middle, when some of it was written.
            0 => {
                let refused = [turn("a", model.seqs["a"] + 1, "x"), turn("none", 1, "x")];
                assert!(matches!(
                    bed.store.commit(&refused),
                    Err(StoreError::Refused { append: 1, .. })
                ));
            }
            1 => drop(other.commit(&[model.append("b", 15)]).unwrap()),
            _ => {
                drop(bed.store);
                bed.store = open(bed.dir.path());
            }
        }
    }
    assert!(settled(&bed) >= 1024, "a block was filled meanwhile");
    model.check(&bed.reader());
}

#[test]
fn thousands_of_sessions_share_a_block() {
    let mut bed = Bed::new();
    let names: Vec<_> = (0..3000).map(|index| format!("s{index}")).collect();
    let mut model = Model::default();
    for some in names.chunks(700) {
        bed.commit(&some.iter().map(|name| begin(name)).collect::<Vec<_>>());
    }
    model.head = 3000;
    for some in names.chunks(400) {
        let appends: Vec<_> = some.iter().map(|name| model.append(name, 1)).collect();
        bed.commit(&appends);
    }
    let reader = bed.reader();
    assert_eq!(reader.verify(None, &mut |_, _| ()).unwrap().sessions, 3000);
    assert!(reader.sessions().unwrap().iter().all(|row| (row.records, row.head_seq) == (2, 1)));
    for index in [0, 1, 127, 128, 1023, 1999, 2999] {
        let loaded = reader.load(&names[index], 9).unwrap();
        let numbers: Vec<_> = loaded.tail.iter().map(|record| record.number.0).collect();
        let begun = index as u64 + 1;
        assert_eq!((numbers, loaded.receipts.len()), (vec![begun, begun + 3000], 1), "{index}");
    }
}

#[test]
fn a_crash_at_the_end_of_a_block_leaves_it_settled_or_not() {
    let mut bed = Bed::new();
    let mut model = Model::default();
    model.begin(&mut bed, "a");
    model.begin(&mut bed, "b");
    bed.commit(&[model.append("a", 1000)]);
    for _ in 0..9 {
        bed.commit(&[model.append("b", 2), model.append("a", 2)]);
        let left = tempfile::tempdir().unwrap();
        for name in ["record.db", "record.db-wal"] {
            fs::copy(bed.dir.path().join(name), left.path().join(name)).unwrap();
        }
        let mut store = open(left.path());
        model.check(&store.reader().unwrap());
        // It goes on where the other one would.
        store.commit(&[begin("c"), turn("c", 1, "x")]).unwrap();
        store.reader().unwrap().verify(None, &mut |_, _| ()).unwrap();
    }
    assert_eq!(settled(&bed), 1026, "the commit that filled the block was one of them");
}

/// Records 1 to 2,306, the last 252 of them not settled; `a` and `b` take turns.
fn two_blocks() -> Bed {
    let mut bed = Bed::new();
    let mut model = Model::default();
    model.begin(&mut bed, "a");
    model.begin(&mut bed, "b");
    for _ in 0..256 {
        bed.commit(&[model.append("a", 5), model.append("b", 4)]);
    }
    assert_eq!((settled(&bed), model.head), (2054, 2306));
    bed
}

#[test]
fn a_table_that_hides_a_record_is_found_out() {
    let bed = two_blocks();
    let sessions = |number: usize, byte: &str| {
        let at = |from: &str| format!("CAST(substr(sessions, {from}) AS BLOB)");
        let (before, after) = (at(&format!("1, {}", number - 1)), at(&format!("{}", number + 1)));
        format!("CAST({before} || x'{byte}' || {after} AS BLOB)")
    };
    let edit = |number, byte| {
        format!("UPDATE place SET sessions = {} WHERE first = 1", sessions(number, byte))
    };
    let cases = [
        ("DELETE FROM place WHERE first = 1".to_owned(), 1),
        ("DELETE FROM place WHERE first > 1".to_owned(), 1029),
        ("DELETE FROM place".to_owned(), 1),
        (edit(40, "02"), 40),
        (edit(40, "07"), 40),
        (edit(1028, "80"), 1028),
        (edit(40, "0101"), 44),
        ("UPDATE place SET sessions = x'' WHERE first = 1".to_owned(), 1),
        ("UPDATE place SET sessions = zeroblob(length(sessions)) WHERE first > 1".to_owned(), 1029),
        ("UPDATE place SET sessions = substr(sessions, 1, 500) WHERE first = 1".to_owned(), 501),
        (
            "UPDATE place SET sessions = CAST(sessions || x'01' AS BLOB) WHERE first > 1"
                .to_owned(),
            2055,
        ),
        ("UPDATE place SET first = 2 WHERE first = 1".to_owned(), 1),
        ("INSERT INTO place VALUES (0, x'01')".to_owned(), 1),
        ("INSERT INTO place VALUES (700, x'01')".to_owned(), 1029),
        ("INSERT INTO place VALUES (1100, x'01')".to_owned(), 2055),
        ("INSERT INTO place VALUES (2055, x'01')".to_owned(), 2055),
        (
            "UPDATE salt SET sessions = zeroblob(length(sessions)) WHERE first = 2298".to_owned(),
            2298,
        ),
        ("UPDATE salt SET sessions = x'' WHERE first = 3".to_owned(), 3),
        ("UPDATE salt SET sessions = substr(sessions, 1, 6) WHERE first = 2298".to_owned(), 2304),
    ];
    let file = fs::read({
        let connection = raw(bed.dir.path());
        connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        bed.file()
    })
    .unwrap();
    for (sql, number) in cases {
        is_found_out(&file, &sql, number);
    }
}

/// Changes a copy of a record, and verifies it.
fn is_found_out(file: &[u8], sql: &str, number: u64) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("record.db"), file).unwrap();
    assert!(raw(dir.path()).execute(sql, []).unwrap() > 0, "{sql}");
    let reader = RecordReader::open(dir.path()).unwrap();
    let found = match reader.verify(None, &mut |_, _| ()) {
        Err(StoreError::Broken(broken)) => broken,
        other => panic!("{sql}: {other:?}"),
    };
    assert_eq!(
        found,
        BrokenRecord { number: RecordNumber(number), flaw: RecordFlaw::Place },
        "{sql}"
    );
    assert_eq!(
        found.to_string(),
        format!(
            "record {number} is not where its session looks for it: the tables of places disagree \
             with the record"
        )
    );
    // Whatever is hidden, nobody is handed what is another's.
    for session in ["a", "b"] {
        let filter = RecordFilter { session: Some(session.into()), ..RecordFilter::default() };
        let records = reader.records(RecordNumber(0), &filter, 4096).unwrap();
        assert!(records.iter().all(|record| &*record.session == session), "{sql}");
    }
}

#[test]
fn an_edited_record_counts_for_more_than_a_table() {
    let bed = two_blocks();
    let connection = raw(bed.dir.path());
    connection.execute_batch("DELETE FROM place").unwrap();
    record_pages::change(&connection, |entries| entries[2199].numbers[record_pages::AT] = 8);
    let found = bed.reader().verify(None, &mut |_, _| ()).unwrap_err();
    assert_eq!(found.to_string(), "record 2200 was edited: its hash does not match");
}
