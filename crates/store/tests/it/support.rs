//! A record in a directory of its own, and turns to fill it with.

use std::path::{Path, PathBuf};

use bridle_store::{
    Append, By, Cause, Draft, Error, Filter, NewSession, Number, Numbers, Options, Reader, Record,
    Refusal, Store,
};
use rusqlite::Connection;
use tempfile::TempDir;

pub(crate) const WHO: &str = "uid:1000";

/// A record in a directory that goes away with it.
pub(crate) struct Bed {
    pub(crate) store: Store,
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

    pub(crate) fn commit(&mut self, appends: &[Append]) -> Vec<Numbers> {
        self.store.commit(appends).unwrap()
    }

    pub(crate) fn reader(&self) -> Reader {
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
    pub(crate) fn refusal(&mut self, append: Append) -> Refusal {
        match self.store.commit(&[Append::default(), append]) {
            Err(Error::Refused { append: 1, reason }) => reason,
            other => panic!("expected a refusal of append 1, got {other:?}"),
        }
    }
}

pub(crate) fn open(dir: &Path) -> Store {
    Store::open(dir, &Options::default()).unwrap()
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
pub(crate) fn all(reader: &Reader) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    loop {
        let after = records.last().map_or(Number(0), |record| record.number);
        let page = reader.records(after, &Filter::default(), 100).unwrap();
        if page.is_empty() {
            return records;
        }
        records.extend(page);
    }
}

pub(crate) fn by(at: i64) -> By {
    By { principal: WHO.into(), at }
}

pub(crate) fn begin(name: &str) -> Append {
    Append {
        session: Some(NewSession { name: name.into(), owner: WHO.into(), at: 1 }),
        drafts: vec![Draft::new(name, "began", 1, WHO, format!("(:owner \"{WHO}\")"))],
        ..Append::default()
    }
}

/// What a prompt and its answer leave behind: five records, two of them numbered from `seq`.
pub(crate) fn turn(session: &str, seq: u64, text: &str) -> Append {
    let at = i64::try_from(seq).unwrap();
    let draft = |kind, body: String| Draft::new(session, kind, at, WHO, body);
    let because = |draft: Draft| draft.caused_by(Cause::Earlier(0));
    Append {
        drafts: vec![
            draft("signal", format!("(:text {text:?})")).numbered(seq),
            because(draft("consult", format!("(:context ({text:?}))"))),
            because(draft("decided", "(:verdict :allow)".into())),
            because(draft("say", format!("(:answers {seq})"))).numbered(seq + 1),
            because(draft("finish", "(:reason :done)".into())),
        ],
        ..Append::default()
    }
}
