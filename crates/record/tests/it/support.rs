//! A record in a directory of its own, and turns to fill it with.

use std::path::{Path, PathBuf};

use bridle_record::{
    AppendNumbers, AppendRefusal, ForgetRequest, NewRecord, NewSessionRow, Record, RecordAppend,
    RecordCause, RecordFilter, RecordNumber, RecordReader, RecordStore, StoreError, StoreOptions,
};
use rusqlite::Connection;
use tempfile::TempDir;

pub(crate) const WHO: &str = "uid:1000";

/// A record in a directory that goes away with it.
pub(crate) struct Bed {
    pub(crate) store: RecordStore,
    pub(crate) dir: TempDir,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { store: open(dir.path()), dir }
    }

    /// With these sessions begun, one record each.
    pub(crate) fn with_sessions(names: &[&str]) -> Self {
        let mut bed = Self::new();
        for name in names {
            bed.commit(&[begin(name)]);
        }
        bed
    }

    pub(crate) fn commit(&mut self, appends: &[RecordAppend]) -> Vec<AppendNumbers> {
        self.store.commit(appends).unwrap()
    }

    pub(crate) fn reader(&self) -> RecordReader {
        self.store.reader().unwrap()
    }

    pub(crate) fn all(&self) -> Vec<Record> {
        all(&self.reader())
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.dir.path().join("record.db")
    }

    /// A connection that knows nothing of our rules, with the triggers dropped.
    pub(crate) fn raw(&self) -> Connection {
        raw(self.dir.path())
    }

    /// Why a commit was refused.
    pub(crate) fn refusal(&mut self, append: RecordAppend) -> AppendRefusal {
        match self.store.commit(&[RecordAppend::default(), append]) {
            Err(StoreError::Refused { append: 1, reason }) => reason,
            other => panic!("expected a refusal of append 1, got {other:?}"),
        }
    }
}

pub(crate) fn open(dir: &Path) -> RecordStore {
    RecordStore::open(dir, &StoreOptions::default()).unwrap()
}

pub(crate) fn raw(dir: &Path) -> Connection {
    let connection = Connection::open(dir.join("record.db")).unwrap();
    connection
        .execute_batch(
            "PRAGMA synchronous = OFF;
             DROP TRIGGER IF EXISTS record_is_not_edited;
             DROP TRIGGER IF EXISTS record_is_not_deleted;
             DROP TRIGGER IF EXISTS blob_is_not_edited;
             DROP TRIGGER IF EXISTS blob_is_not_deleted;
             PRAGMA ignore_check_constraints = ON;",
        )
        .unwrap();
    connection
}

/// All records, page by page.
pub(crate) fn all(reader: &RecordReader) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    loop {
        let after = records.last().map_or(RecordNumber(0), |record| record.number);
        let page = reader.records(after, &RecordFilter::default(), 100).unwrap();
        if page.is_empty() {
            return records;
        }
        records.extend(page);
    }
}

pub(crate) fn by(at: i64) -> ForgetRequest {
    ForgetRequest { principal: WHO.into(), at }
}

pub(crate) fn begin(name: &str) -> RecordAppend {
    RecordAppend {
        session: Some(NewSessionRow { name: name.into(), owner: WHO.into(), at: 1 }),
        drafts: vec![NewRecord::new(name, "began", 1, WHO, format!("(:owner \"{WHO}\")"))],
        ..RecordAppend::default()
    }
}

/// What a prompt and its answer leave behind: five records, two of them numbered from `seq`.
pub(crate) fn turn(session: &str, seq: u64, text: &str) -> RecordAppend {
    let at = i64::try_from(seq).unwrap();
    let draft = |kind, body: String| NewRecord::new(session, kind, at, WHO, body);
    let because = |draft: NewRecord| draft.caused_by(RecordCause::Earlier(0));
    RecordAppend {
        drafts: vec![
            draft("signal", format!("(:text {text:?})")).numbered(seq),
            because(draft("consult", format!("(:context ({text:?}))"))),
            because(draft("decided", "(:verdict :allow)".into())),
            because(draft("say", format!("(:answers {seq})"))).numbered(seq + 1),
            because(draft("finish", "(:reason :done)".into())),
        ],
        ..RecordAppend::default()
    }
}
