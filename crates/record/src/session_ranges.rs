//! The sessions of records, as ranges of numbers. A row of salts names the sessions of its records, and when a block
//! is full, one row of `place` those of all since the last one. An index of the table of records would say the same;
//! it cost an entry for each record, and a third of the pages that a commit writes. Written by the batch, read by the
//! reader, compared with the records by `verify`.

use std::ops::{ControlFlow, RangeInclusive};

use rusqlite::{Connection, params};

use crate::database::count;
use crate::error::StoreError;
use crate::varint;

/// Session of records whose packed bytes are not as we write them: no session has this number.
const NO_SESSION: i64 = -1;

/// Settled rows within a range of numbers, the first of them perhaps from before it.
macro_rules! settled_rows {
    ($order:literal) => {
        concat!(
            "SELECT first, sessions FROM place
             WHERE first >= coalesce((SELECT max(first) FROM place WHERE first <= ?1), 0)
                   AND first <= ?2
             ORDER BY first ",
            $order
        )
    };
}
pub(crate) const PLACES_FORWARD: &str = settled_rows!("ASC");
pub(crate) const PLACES_BACKWARD: &str = settled_rows!("DESC");

/// Rows of records that are not settled yet.
pub(crate) const UNSETTLED_SALTS: &str =
    "SELECT first, sessions FROM salt WHERE first > ?1 ORDER BY first";

/// The sessions of some records, one after the other.
pub(crate) fn pack(sessions: &[i64]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(2 * sessions.len());
    for session in sessions {
        varint::write(&mut packed, count(*session));
    }
    packed
}

/// The sessions of the records from `first` on, with their numbers.
pub(crate) struct SessionRanges<'a> {
    number: i64,
    rest: &'a [u8],
}

impl<'a> SessionRanges<'a> {
    pub(crate) fn new(first: i64, packed: &'a [u8]) -> Self {
        Self { number: first, rest: packed }
    }

    /// The numbers of the records that are of a session.
    pub(crate) fn of(self, session: i64) -> impl Iterator<Item = i64> + use<'a> {
        self.filter(move |(_, of)| *of == session).map(|(number, _)| number)
    }
}

impl Iterator for SessionRanges<'_> {
    type Item = (i64, i64);

    fn next(&mut self) -> Option<(i64, i64)> {
        if self.rest.is_empty() {
            return None;
        }
        // Bytes of somebody else: this record and those behind it are nobody's.
        let (session, rest) = varint::read(self.rest).unwrap_or((u64::MAX, &[]));
        self.rest = rest;
        let number = self.number;
        self.number = number.saturating_add(1);
        Some((number, i64::try_from(session).unwrap_or(NO_SESSION)))
    }
}

/// The record up to which the table of sessions counts, and that of places.
pub(crate) fn settled_up_to(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.prepare_cached("SELECT settled FROM meta")?.query_row([], |row| row.get(0))?)
}

/// Hands out settled rows from a range of numbers, until it is told to stop.
pub(crate) fn settled(
    connection: &Connection,
    range: &RangeInclusive<i64>,
    take: &mut dyn FnMut(SessionRanges<'_>) -> Result<ControlFlow<()>, StoreError>,
) -> Result<ControlFlow<()>, StoreError> {
    rows(connection, PLACES_FORWARD, range, take)
}

/// Visits the settled records of a session, the last row first.
pub(crate) fn settled_backward(
    connection: &Connection,
    range: &RangeInclusive<i64>,
    take: &mut dyn FnMut(SessionRanges<'_>) -> Result<ControlFlow<()>, StoreError>,
) -> Result<ControlFlow<()>, StoreError> {
    rows(connection, PLACES_BACKWARD, range, take)
}

fn rows(
    connection: &Connection,
    sql: &str,
    range: &RangeInclusive<i64>,
    take: &mut dyn FnMut(SessionRanges<'_>) -> Result<ControlFlow<()>, StoreError>,
) -> Result<ControlFlow<()>, StoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![range.start(), range.end()])?;
    while let Some(row) = rows.next()? {
        let packed = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        if take(SessionRanges::new(row.get(0)?, packed))?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// The numbers of a session's records that are not settled yet, from the rows of salts: those are small,
/// the records themselves are not.
pub(crate) fn later(connection: &Connection, session: i64) -> Result<Vec<i64>, StoreError> {
    let mut statement = connection.prepare_cached(UNSETTLED_SALTS)?;
    let mut rows = statement.query([settled_up_to(connection)?])?;
    let mut numbers = Vec::new();
    while let Some(row) = rows.next()? {
        let packed = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        numbers.extend(SessionRanges::new(row.get(0)?, packed).of(session));
    }
    Ok(numbers)
}

/// Numbers that follow each other, as ranges: each is read by one query.
pub(crate) fn runs(numbers: impl Iterator<Item = i64>) -> impl Iterator<Item = (i64, i64)> {
    let mut numbers = numbers.peekable();
    std::iter::from_fn(move || {
        let first = numbers.next()?;
        let mut last = first;
        while let Some(next) = numbers.next_if(|next| last.checked_add(1) == Some(*next)) {
            last = next;
        }
        Some((first, last))
    })
}

#[cfg(test)]
mod tests;
