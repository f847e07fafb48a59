//! Reading the record: from another thread, or from another process of the same user, also while the
//! daemon writes. Each call sees one moment of the record. Opens what was sealed, as long as its key
//! exists; changes nothing.

mod opener;
mod row;

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::append::Receipt;
use crate::error::Error;
use crate::record::{Filter, Hash, Head, Number, Record};
use crate::schema::{self, count, int};
use crate::store::{self, RECEIPT_AGE};

pub(crate) use opener::{Opened, Opener};
pub(crate) use row::{Raw, columns};

/// Most records that one call returns, whatever its limit says.
pub const MAX_PAGE: usize = 4096;

/// A page ends early once its bodies have this many bytes together.
pub const MAX_PAGE_BYTES: usize = 8 << 20;

/// The record, open for reading. Wants a thread of its own: calls wait for the disk.
#[derive(Debug)]
pub struct Reader {
    connection: Connection,
}

/// What is known of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Its name.
    pub name: Box<str>,
    /// The principal it belongs to.
    pub owner: Box<str>,
    /// When it began, in milliseconds since the epoch.
    pub created: i64,
    /// The last number of its stream; 0 if that is empty.
    pub head_seq: u64,
    /// How many records it has.
    pub records: u64,
    /// Its last record; 0 if there is none.
    pub last: Number,
    /// Time of that.
    pub last_at: i64,
    /// Whether its key is destroyed.
    pub forgotten: bool,
}

/// All that is needed to go on with a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The session.
    pub session: SessionRow,
    /// The last state that was handed in, and the record it was made after.
    pub checkpoint: Option<(Number, String)>,
    /// All records since; without a checkpoint, all there are.
    pub tail: Vec<Record>,
    /// Effects that wait for an outcome.
    pub open: Vec<OpenRow>,
    /// Receipts that still count, oldest first.
    pub receipts: Vec<Receipt>,
}

/// An effect that waits for its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenRow {
    /// Its id within the session.
    pub effect: u64,
    /// Whether an actuator may have begun.
    pub started: bool,
    /// When to give up, if ever.
    pub deadline: Option<i64>,
}

/// A session that has something to do without being asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Its name.
    pub session: Box<str>,
    /// How many effects wait for an outcome.
    pub open: u64,
    /// When it wants to be woken.
    pub wake: Option<i64>,
}

macro_rules! session_columns {
    () => {
        "SELECT name, owner, created, head_seq, records, last, last_at, forgotten FROM session "
    };
}

impl Reader {
    /// Opens the record of a state directory.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if there is none, [`Error::Newer`] and [`Error::Foreign`] if it is not one
    /// that can be read.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        Ok(Self { connection: schema::open_reader(dir)? })
    }

    /// The last record.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, as for every call here.
    pub fn head(&self) -> Result<Head, Error> {
        store::read_head(&self.connection)
    }

    /// Records after a number, in order, at most `limit` or a page. None means there are none: a page
    /// may end early, so ask again with the last number until it is empty.
    ///
    /// # Errors
    ///
    /// [`Error::NoSession`] if the filter names one that never was.
    pub fn records(
        &self,
        after: Number,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Record>, Error> {
        let moment = self.moment()?;
        let to = int(filter.to.map_or(u64::MAX, |to| to.0));
        let wanted = |raw: &Raw| {
            filter.kinds.is_empty() || filter.kinds.iter().any(|kind| kind.as_bytes() == raw.kind)
        };
        let page = Page { moment: &moment, limit, wanted: &wanted };
        match &filter.session {
            None => page.read(
                concat!(row::columns!(), "WHERE number > ?1 AND number <= ?2 ORDER BY number"),
                params![int(after.0), to],
            ),
            Some(name) => page.read(
                concat!(
                    row::columns!(),
                    "WHERE number > ?1 AND number <= ?2 AND session = ?3 ORDER BY number"
                ),
                params![int(after.0), to, session_id(&moment, name)?],
            ),
        }
    }

    /// One record.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn record(&self, number: Number) -> Result<Option<Record>, Error> {
        let to = Filter { to: Some(number), ..Filter::default() };
        Ok(self.records(Number(number.0.saturating_sub(1)), &to, 1)?.pop())
    }

    /// The numbered records of a session after a seq, in order, at most `limit` or a page; empty when
    /// there are none.
    ///
    /// # Errors
    ///
    /// [`Error::NoSession`].
    pub fn stream(
        &self,
        session: &str,
        after_seq: u64,
        limit: usize,
    ) -> Result<Vec<Record>, Error> {
        let moment = self.moment()?;
        let session = session_id(&moment, session)?;
        Page { moment: &moment, limit, wanted: &|_| true }.read(
            concat!(row::columns!(), "WHERE session = ?1 AND seq > ?2 ORDER BY seq"),
            params![session, int(after_seq)],
        )
    }

    /// All sessions, oldest first, forgotten ones included.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn sessions(&self) -> Result<Vec<SessionRow>, Error> {
        let mut statement = self
            .connection
            .prepare_cached(concat!(session_columns!(), "WHERE id > 0 ORDER BY id"))?;
        let rows = statement.query_map([], SessionRow::read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The session of a name; the latest, if earlier ones of that name are forgotten.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn session(&self, name: &str) -> Result<Option<SessionRow>, Error> {
        session_row(&self.connection, name)
    }

    /// All that is needed to go on with a session. `now` decides which receipts still count.
    ///
    /// # Errors
    ///
    /// [`Error::NoSession`].
    pub fn load(&self, session: &str, now: i64) -> Result<Loaded, Error> {
        let moment = self.moment()?;
        let id = session_id(&moment, session)?;
        let row = session_row(&moment, session)?.ok_or_else(|| Error::NoSession(session.into()))?;
        let opener = &mut Opener::new(&moment);
        let checkpoint = opener.checkpoint(id)?;
        let after = checkpoint.as_ref().map_or(0, |(number, _)| int(number.0));
        let mut tail = Vec::new();
        let mut statement = moment.prepare_cached(concat!(
            row::columns!(),
            "WHERE session = ?1 AND number > ?2 ORDER BY number"
        ))?;
        let mut rows = statement.query(params![id, after])?;
        while let Some(row) = rows.next()? {
            tail.push(opener.record(Raw::read(row)?)?);
        }
        let receipts = opener.receipts(id, session, now.saturating_sub(RECEIPT_AGE))?;
        Ok(Loaded { session: row, checkpoint, tail, open: open_effects(&moment, id)?, receipts })
    }

    /// Sessions with open effects or a wake time: what a daemon that starts must look after. The work
    /// depends on how many there are, not on how many records or other sessions.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn open_sessions(&self) -> Result<Vec<Waiting>, Error> {
        let mut statement = self.connection.prepare_cached(
            "SELECT name, (SELECT count(*) FROM open_effect WHERE session = id), wake FROM session
             WHERE id IN (SELECT session FROM open_effect
                          UNION SELECT id FROM session WHERE wake IS NOT NULL)
             ORDER BY id",
        )?;
        let rows = statement.query_map([], |row| {
            Ok(Waiting { session: row.get(0)?, open: count(row.get(1)?), wake: row.get(2)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub(crate) fn origin(&self) -> Result<Hash, Error> {
        store::read_origin(&self.connection)
    }

    /// One moment of the record, for several statements.
    pub(crate) fn moment(&self) -> Result<Transaction<'_>, Error> {
        Ok(self.connection.unchecked_transaction()?)
    }
}

/// One page of records.
struct Page<'a> {
    moment: &'a Connection,
    limit: usize,
    wanted: &'a dyn Fn(&Raw) -> bool,
}

impl Page<'_> {
    fn read(&self, sql: &str, params: &[&dyn rusqlite::ToSql]) -> Result<Vec<Record>, Error> {
        let limit = self.limit.min(MAX_PAGE);
        let mut opener = Opener::new(self.moment);
        let mut statement = self.moment.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        let (mut page, mut bytes) = (Vec::new(), 0);
        while page.len() < limit && bytes < MAX_PAGE_BYTES {
            let Some(row) = rows.next()? else { break };
            let raw = Raw::read(row)?;
            if (self.wanted)(&raw) {
                let record = opener.record(raw)?;
                bytes += record.body.text().map_or(0, str::len);
                page.push(record);
            }
        }
        Ok(page)
    }
}

impl SessionRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            name: row.get(0)?,
            owner: row.get(1)?,
            created: row.get(2)?,
            head_seq: count(row.get(3)?),
            records: count(row.get(4)?),
            last: Number(count(row.get(5)?)),
            last_at: row.get(6)?,
            forgotten: row.get(7)?,
        })
    }
}

fn session_row(connection: &Connection, name: &str) -> Result<Option<SessionRow>, Error> {
    Ok(connection
        .prepare_cached(concat!(
            session_columns!(),
            "WHERE name = ?1 AND id > 0 ORDER BY id DESC LIMIT 1"
        ))?
        .query_row([name], SessionRow::read)
        .optional()?)
}

fn session_id(connection: &Connection, name: &str) -> Result<i64, Error> {
    connection
        .prepare_cached("SELECT id FROM session WHERE name = ?1 ORDER BY id DESC LIMIT 1")?
        .query_row([name], |row| row.get(0))
        .optional()?
        .ok_or_else(|| Error::NoSession(name.into()))
}

fn open_effects(connection: &Connection, session: i64) -> Result<Vec<OpenRow>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT effect, started, deadline FROM open_effect WHERE session = ?1 ORDER BY effect",
    )?;
    let rows = statement.query_map([session], |row| {
        Ok(OpenRow { effect: count(row.get(0)?), started: row.get(1)?, deadline: row.get(2)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests;
