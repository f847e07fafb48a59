//! The road that each query takes: by an index, never through the whole record; and what comes of it.

use rusqlite::Connection;

use super::{RecordFilter, RecordReader, opener, record_page};
use crate::schema::open_writer;
use crate::session_ranges;
use crate::{
    ForgetRequest, NewRecord, NewSessionRow, Record, RecordAppend, RecordNumber, RecordStore,
    StoreOptions,
};

fn check(connection: &Connection, sql: &str, expected: &[&str]) {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let values = vec![1; statement.parameter_count()];
    let plan: Vec<String> = statement
        .query_map(rusqlite::params_from_iter(values), |row| row.get(3))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(plan, expected, "{sql}");
}

#[test]
fn no_query_walks_through_the_record() {
    let dir = tempfile::tempdir().unwrap();
    let connection = open_writer(dir.path()).unwrap();
    check(
        &connection,
        record_page::PAGES_WITHIN,
        &[
            "SEARCH record USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
            "SCALAR SUBQUERY 1",
            "SEARCH record USING INTEGER PRIMARY KEY (rowid<?)",
        ],
    );
    check(
        &connection,
        opener::SALTS_FROM,
        &[
            "SEARCH salt USING INTEGER PRIMARY KEY (rowid>?)",
            "SCALAR SUBQUERY 1",
            "SEARCH salt USING INTEGER PRIMARY KEY (rowid<?)",
        ],
    );
    for sql in [session_ranges::PLACES_FORWARD, session_ranges::PLACES_BACKWARD] {
        check(
            &connection,
            sql,
            &[
                "SEARCH place USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
                "SCALAR SUBQUERY 1",
                "SEARCH place USING INTEGER PRIMARY KEY (rowid<?)",
            ],
        );
    }
    check(
        &connection,
        session_ranges::UNSETTLED_SALTS,
        &["SEARCH salt USING INTEGER PRIMARY KEY (rowid>?)"],
    );
}

/// A commit for each record, so that each has a row of salts of its own; two sessions in turn, and every
/// third record of the first one is not numbered.
#[test]
fn records_are_opened_with_their_own_salts_however_they_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = RecordStore::open(dir.path(), &StoreOptions::default()).unwrap();
    for name in ["one", "two"] {
        let session = NewSessionRow { name: name.into(), owner: "me".into(), at: 1 };
        store
            .commit(&[RecordAppend { session: Some(session), ..RecordAppend::default() }])
            .unwrap();
    }
    let (mut seq, mut numbered) = (0, Vec::new());
    for at in 0..120 {
        let body = format!("body {at}");
        let draft = NewRecord::new("one", "say", at + 1, "me", body.as_str());
        let draft = if at % 3 == 0 { draft } else { draft.numbered(seq + 1) };
        seq += u64::from(at % 3 != 0);
        numbered.extend((at % 3 != 0).then_some(body));
        let other = NewRecord::new("two", "say", at + 1, "me", "other");
        for draft in [draft, other] {
            store
                .commit(&[RecordAppend { drafts: vec![draft], ..RecordAppend::default() }])
                .unwrap();
        }
    }
    let reader = RecordReader::open(dir.path()).unwrap();
    let texts = |records: Vec<Record>| -> Vec<String> {
        records.iter().map(|it| it.body.text().unwrap_or("erased").to_owned()).collect()
    };
    let stream = |after| texts(reader.stream("one", after, 1000).unwrap());
    assert_eq!(stream(0), numbered);
    assert_eq!(stream(50), numbered[50..]);
    let all = RecordFilter { session: Some("one".into()), ..RecordFilter::default() };
    assert_eq!(reader.records(RecordNumber(0), &all, 1000).unwrap().len(), 120);
    let mut backward = Vec::new();
    reader.last("say", 240, &mut |record| backward.push(record)).unwrap();
    backward.retain(|record| &*record.session == "one");
    assert_eq!(texts(backward)[..2], ["body 119", "body 118"]);
    let gone = reader.stream("one", 9, 1).unwrap()[0].number;
    let by = ForgetRequest { principal: "me".into(), at: 1000 };
    store.forget_record(gone, None, &by).unwrap();
    numbered[9] = "erased".to_owned();
    assert_eq!(stream(0), numbered);
}
