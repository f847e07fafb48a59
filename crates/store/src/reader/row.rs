//! A row of the record as it is stored, before anybody believes it. Read by the reader and by
//! `verify`, which must also cope with bytes that were never written by us.

use rusqlite::Row;

use crate::chain::{Identity, Link, Stored};

/// The beginning of every query for [`Raw`]: its columns, in its order.
macro_rules! columns {
    () => {
        "SELECT number, session, seq, at, cause, principal, kind, version, body, blob, prev, hash \
         FROM record "
    };
}
pub(crate) use columns;

/// A row as it is stored.
pub(crate) struct Raw {
    pub(crate) number: i64,
    pub(crate) session: i64,
    pub(crate) seq: Option<i64>,
    pub(crate) at: i64,
    pub(crate) cause: Option<i64>,
    pub(crate) principal: Vec<u8>,
    pub(crate) kind: Vec<u8>,
    pub(crate) version: i64,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) blob: Option<Vec<u8>>,
    pub(crate) prev: Vec<u8>,
    pub(crate) hash: Vec<u8>,
}

impl Raw {
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            number: row.get(0)?,
            session: row.get(1)?,
            seq: row.get(2)?,
            at: row.get(3)?,
            cause: row.get(4)?,
            principal: bytes(row, 5)?,
            kind: bytes(row, 6)?,
            version: row.get(7)?,
            body: row.get(8)?,
            blob: row.get(9)?,
            prev: row.get(10)?,
            hash: row.get(11)?,
        })
    }

    /// What its hash is made of; `None` if it has no body, or two.
    pub(crate) fn link<'a>(&'a self, session: Identity<'a>) -> Option<Link<'a>> {
        let stored = match (&self.body, &self.blob) {
            (Some(body), None) => Stored::Inline(body),
            (None, Some(blob)) => Stored::Blob(blob),
            _ => return None,
        };
        Some(Link {
            number: self.number,
            session,
            seq: self.seq,
            at: self.at,
            cause: self.cause,
            principal: &self.principal,
            kind: &self.kind,
            version: self.version,
            stored,
            prev: &self.prev,
        })
    }
}

/// A text column, whose bytes need not be text any more.
pub(crate) fn bytes(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<u8>> {
    Ok(row.get_ref(column)?.as_bytes_or_null()?.unwrap_or_default().to_vec())
}
