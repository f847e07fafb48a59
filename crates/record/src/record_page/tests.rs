//! What is written comes back; nothing else is read as a record, nor makes the reader stumble.

use proptest::prelude::*;

use super::{
    LARGE_COMMIT_BYTES, PAGE_BYTES, PageRecords, PageWriter, RawRecord, RecordFacts, RecordFields,
    SMALL_PAGE_BYTES, StoredBody,
};
use crate::chain::SessionIdentity;
use crate::error::StoreError;
use crate::record::RecordHash;
use crate::schema::open_writer;

fn identity() -> SessionIdentity {
    SessionIdentity::new(7, b"main", b"uid:1000", 5)
}

/// A record of session 7 with this number and body, in the bytes of a record page.
fn write(page: &mut PageWriter, number: u64, body: &[u8], prev: RecordHash) -> RecordHash {
    let dir = tempfile::tempdir().unwrap();
    let connection = open_writer(dir.path()).unwrap();
    let mut fields = RecordFields::default();
    fields.begin(&RecordFacts {
        number,
        session: 7,
        seq: (number % 2 == 1).then_some(number),
        at: 1000,
        cause: (number > 1).then(|| number - 1),
        version: 1,
        principal: "uid:1000",
        kind: "say",
    });
    fields.inline(body.len(), |bytes| bytes.extend_from_slice(body));
    let hash = fields.end(prev, &identity());
    page.add(number, &fields, &hash, &connection).unwrap();
    hash
}

#[test]
fn what_was_written_comes_back() {
    let mut page = PageWriter::new(0);
    let origin = RecordHash([3; 32]);
    let one = write(&mut page, 300, b"first", origin);
    let two = write(&mut page, 301, b"", one);
    let raws: Vec<RawRecord<'_>> =
        PageRecords::new(&page.records).collect::<Result<_, _>>().unwrap();
    assert_eq!(page.first, 300);
    let told: Vec<_> = raws.iter().map(|raw| (raw.number, raw.seq, raw.cause)).collect();
    assert_eq!(told, [(300, None, Some(299)), (301, Some(301), Some(300))]);
    let [first, second] = &raws[..] else { panic!("{raws:?}") };
    assert_eq!((first.session, first.at, first.version), (7, 1000, 1));
    assert_eq!((first.principal, first.kind), (&b"uid:1000"[..], &b"say"[..]));
    assert_eq!(
        (first.stored, second.stored),
        (StoredBody::Inline(b"first"), StoredBody::Inline(b""))
    );
    assert_eq!((first.prev, first.hash, second.prev, second.hash), (origin, one, one, two));
    assert_eq!(identity().hash(second.fields), two);
}

#[test]
fn a_leaf_without_room_is_put_into_the_table() {
    // A commit of little, and one that fills pages.
    for (bytes, per_page, most) in
        [(30 * 1200, 3, SMALL_PAGE_BYTES), (LARGE_COMMIT_BYTES, 12, PAGE_BYTES)]
    {
        let dir = tempfile::tempdir().unwrap();
        let connection = open_writer(dir.path()).unwrap();
        let mut page = PageWriter::new(bytes);
        let mut fields = RecordFields::default();
        for number in 1..=30 {
            let (session, principal, kind) = (7, "", "say");
            let (seq, at, cause, version) = (None, 0, None, 1);
            fields.begin(&RecordFacts {
                number,
                session,
                seq,
                at,
                cause,
                version,
                principal,
                kind,
            });
            fields.inline(1200, |bytes| bytes.extend_from_slice(&[b'x'; 1200]));
            let hash = fields.end(RecordHash([0; 32]), &identity());
            page.add(number, &fields, &hash, &connection).unwrap();
        }
        page.put(&connection).unwrap();
        page.put(&connection).unwrap();
        let mut statement =
            connection.prepare("SELECT first, length(records) FROM record").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let rows: Vec<(usize, u32)> = rows
            .map(|row| row.map(|(first, length): (u32, u32)| (first as usize, length)))
            .collect::<Result<_, _>>()
            .unwrap();
        let firsts: Vec<_> = rows.iter().map(|row| row.0).collect();
        assert_eq!(firsts, (1..=30).step_by(per_page).collect::<Vec<_>>());
        assert!(rows.iter().all(|row| row.1 as usize <= most), "{rows:?}");
    }
}

/// A record page as large as may be has a page of its own, and no part of another one.
#[test]
fn a_full_leaf_is_a_page() {
    let dir = tempfile::tempdir().unwrap();
    let connection = open_writer(dir.path()).unwrap();
    let pages =
        || -> i64 { connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap() };
    let (before, mut page) = (pages(), PageWriter::new(LARGE_COMMIT_BYTES));
    for first in 1..=50 {
        (page.first, page.records) = (first << 40, vec![1; PAGE_BYTES]);
        page.put(&connection).unwrap();
    }
    // The first goes where the table was empty, and then a page leads to the others.
    assert_eq!(pages() - before, 50);
}

proptest! {
    /// Whatever the bytes are, reading ends, and tells what it cannot read once.
    #[test]
    fn any_bytes_are_read_or_told(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let read: Vec<_> = PageRecords::new(&bytes).collect();
        let told = read.iter().filter(|raw| matches!(raw, Err(StoreError::Damaged(_)))).count();
        prop_assert!(told <= 1 && read.len() <= 1 + bytes.len() / 40);
        prop_assert_eq!(told, usize::from(read.last().is_some_and(Result::is_err)));
    }

    /// Whichever byte is changed, a record before it stays, and the one that has it is told or another.
    #[test]
    fn a_changed_byte_changes_its_record(at in any::<proptest::sample::Index>(), bit in 0_u8..8) {
        let mut page = PageWriter::new(0);
        let one = write(&mut page, 1, b"one", RecordHash([0; 32]));
        let border = page.records.len();
        write(&mut page, 2, b"two", one);
        let good: Vec<RawRecord<'_>> = PageRecords::new(&page.records).collect::<Result<_, _>>().unwrap();
        let mut changed = page.records.clone();
        let at = at.index(changed.len());
        changed[at] ^= 1 << bit;
        let whole = |raw: &Result<RawRecord<'_>, StoreError>| {
            raw.as_ref().is_ok_and(|raw| identity().hash(raw.fields) == raw.hash)
        };
        let read: Vec<_> = PageRecords::new(&changed).collect();
        let hit = usize::from(at >= border);
        prop_assert!(!whole(&read[hit]), "byte {} of {}", at, changed.len());
        if hit == 1 {
            // But for what follows it.
            let first = RawRecord { rest: good[0].rest, ..*read[0].as_ref().unwrap() };
            prop_assert_eq!(first, good[0]);
        }
    }
}
