//! The newest records, which the table of sessions does not count yet. Writing the row of every session
//! in every commit cost as much as the records; so rows are brought up to date once a block, and whoever
//! reads one adds what came since. Used by the writer when it opens, by the reader and by `verify`.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use crate::error::Error;
use crate::places;

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

/// The record up to which the table of sessions counts, and that of places.
pub(crate) fn settled(connection: &Connection) -> Result<i64, Error> {
    Ok(connection.prepare_cached("SELECT settled FROM meta")?.query_row([], |row| row.get(0))?)
}

/// The tails of all sessions.
#[derive(Default)]
pub(crate) struct Tails {
    /// Those that have one.
    pub(crate) of: BTreeMap<i64, Tail>,
    /// The session of each record since, in order.
    pub(crate) sessions: Vec<i64>,
}

/// The tails of all sessions. Reads about a block.
pub(crate) fn all(connection: &Connection) -> Result<Tails, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT session, seq, number, at FROM record WHERE number > ?1 ORDER BY number",
    )?;
    let mut rows = statement.query([settled(connection)?])?;
    let mut tails = Tails::default();
    while let Some(row) = rows.next()? {
        let session = row.get(0)?;
        tails.sessions.push(session);
        let tail = tails.of.entry(session).or_default();
        let seq: Option<i64> = row.get(1)?;
        tail.records += 1;
        tail.head_seq = seq.unwrap_or(tail.head_seq);
        tail.last = row.get(2)?;
        tail.last_at = row.get(3)?;
    }
    Ok(tails)
}

/// The tail of one session, whose records since have these numbers.
pub(crate) fn of(connection: &Connection, session: i64, later: &[i64]) -> Result<Tail, Error> {
    let mut statement = connection.prepare_cached(OF_RUN)?;
    let mut tail = Tail::default();
    for (first, last) in places::runs(later.iter().copied()) {
        let run = statement.query_row(params![first, last, session], |row| {
            let (records, head_seq) = (row.get(0)?, row.get(1)?);
            Ok(Tail { records, head_seq, last: row.get(2)?, last_at: row.get(3)? })
        })?;
        tail.add(&run);
    }
    Ok(tail)
}

/// What records that follow each other add up to.
pub(crate) const OF_RUN: &str =
    "SELECT count(*), coalesce(max(seq), 0), coalesce(max(number), 0), coalesce(max(at), 0)
     FROM record WHERE number >= ?1 AND number <= ?2 AND session = ?3";

impl Tail {
    /// Goes on with what came after.
    pub(crate) fn add(&mut self, later: &Self) {
        self.records += later.records;
        self.head_seq = self.head_seq.max(later.head_seq);
        self.last = self.last.max(later.last);
        self.last_at = self.last_at.max(later.last_at);
    }
}
