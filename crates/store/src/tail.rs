//! The newest records, which the table of sessions does not count yet. Writing the row of every session
//! in every commit cost as much as the records; so rows are brought up to date once a block, and whoever
//! reads one adds what came since. Used by the writer when it opens, by the reader and by `verify`.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use crate::error::Error;
use crate::schema::BLOCK;

/// What a session wrote since its row was written.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tail {
    pub(crate) records: i64,
    /// 0 if none of them is numbered.
    pub(crate) head_seq: i64,
    /// Number of the last one; 0 if there is none.
    pub(crate) last: i64,
    pub(crate) last_at: i64,
}

/// The record up to which the table of sessions counts.
pub(crate) fn settled(connection: &Connection) -> Result<i64, Error> {
    Ok(connection.prepare_cached("SELECT settled FROM meta")?.query_row([], |row| row.get(0))?)
}

/// The tails of all sessions that have one. Reads about a block.
pub(crate) fn all(connection: &Connection) -> Result<BTreeMap<i64, Tail>, Error> {
    let mut statement = connection
        .prepare_cached("SELECT session, seq, number, at FROM record WHERE number > ?1")?;
    let mut rows = statement.query([settled(connection)?])?;
    let mut tails: BTreeMap<i64, Tail> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let tail = tails.entry(row.get(0)?).or_default();
        let seq: Option<i64> = row.get(1)?;
        tail.records += 1;
        tail.head_seq = seq.unwrap_or(tail.head_seq);
        tail.last = row.get(2)?;
        tail.last_at = row.get(3)?;
    }
    Ok(tails)
}

/// The tail of one session.
pub(crate) fn of(connection: &Connection, session: i64) -> Result<Tail, Error> {
    let settled = settled(connection)?;
    let mut statement = connection.prepare_cached(
        "SELECT count(*), coalesce(max(seq), 0), coalesce(max(number), 0), coalesce(max(at), 0)
         FROM record WHERE number / 1024 = ?1 AND session = ?2 AND number > ?3",
    )?;
    let mut tail = Tail::default();
    for block in settled / BLOCK..=newest(connection)? / BLOCK {
        let later = statement.query_row(params![block, session, settled], |row| {
            let (records, head_seq) = (row.get(0)?, row.get(1)?);
            Ok(Tail { records, head_seq, last: row.get(2)?, last_at: row.get(3)? })
        })?;
        tail.add(&later);
    }
    Ok(tail)
}

/// Number of the last record in the tail of a session.
pub(crate) fn last(connection: &Connection, session: i64) -> Result<Option<i64>, Error> {
    let settled = settled(connection)?;
    let mut statement = connection.prepare_cached(
        "SELECT number FROM record WHERE number / 1024 = ?1 AND session = ?2 AND number > ?3
         ORDER BY number DESC LIMIT 1",
    )?;
    for block in (settled / BLOCK..=newest(connection)? / BLOCK).rev() {
        let last =
            statement.query_row(params![block, session, settled], |row| row.get(0)).optional()?;
        if last.is_some() {
            return Ok(last);
        }
    }
    Ok(None)
}

fn newest(connection: &Connection) -> Result<i64, Error> {
    Ok(connection
        .prepare_cached("SELECT coalesce(max(number), 0) FROM record")?
        .query_row([], |row| row.get(0))?)
}

impl Tail {
    /// Goes on with what came after.
    pub(crate) fn add(&mut self, later: &Self) {
        self.records += later.records;
        self.head_seq = self.head_seq.max(later.head_seq);
        self.last = self.last.max(later.last);
        self.last_at = self.last_at.max(later.last_at);
    }
}
