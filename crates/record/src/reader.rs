//! Reading the record: from another thread, or from another process of the same user, also while the
//! daemon writes. Each call sees one moment of the record. Opens what was sealed, as long as its key
//! exists; changes nothing.

mod gaps;
mod opener;

use std::ops::{ControlFlow, RangeInclusive};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::chain_ends;
use crate::database::{count, int};
use crate::error::StoreError;
use crate::receipts::RECEIPT_AGE;
use crate::record::{ChainHead, Record, RecordFilter, RecordHash, RecordNumber};
use crate::record_page::{self, RawRecord, StoredBody};
use crate::schema;
use crate::session_ranges::{self, SessionRanges};
use crate::session_tail::{self, SessionTail};
use crate::spending::{self, BudgetUse};

pub(crate) use opener::{OpenedBody, RecordOpener};

/// Most records that one call returns, whatever its limit says.
pub const MAX_PAGE_RECORDS: usize = 4096;

/// A page ends early once its bodies have this many bytes together.
pub const MAX_PAGE_BYTES: usize = 8 << 20;

/// The record, open for reading. Wants a thread of its own: calls wait for the disk.
#[derive(Debug)]
pub struct RecordReader {
    connection: Connection,
}

/// Facts about a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Its name.
    pub name: Box<str>,
    /// The principal it belongs to.
    pub owner: Box<str>,
    /// Time of the first record, in milliseconds since the epoch.
    pub created: i64,
    /// The last number of its stream; 0 if that is empty.
    pub head_seq: u64,
    /// Number of records.
    pub records: u64,
    /// Its last record; 0 if there is none.
    pub last: RecordNumber,
    /// Time of that.
    pub last_at: i64,
    /// Whether its key is destroyed.
    pub forgotten: bool,
}

/// All that is needed to go on with a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedSessionRows {
    /// The session.
    pub session: SessionRow,
    /// The last state that was handed in, and the record it was made after.
    pub checkpoint: Option<(RecordNumber, String)>,
    /// All records since; without a checkpoint, all there are.
    pub tail: Vec<Record>,
    /// Effects that wait for an outcome.
    pub open: Vec<OpenEffectRow>,
    /// Receipts that still count, oldest first.
    pub receipts: Vec<ReceiptRow>,
}

/// A receipt that was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiptRow {
    /// The seq that the message was given.
    pub seq: u64,
    /// Time in milliseconds since the epoch.
    pub at: i64,
    /// See [`MessageReceipt::message`](crate::MessageReceipt::message).
    pub message: RecordHash,
    /// See [`MessageReceipt::body`](crate::MessageReceipt::body).
    pub body: RecordHash,
}

/// An effect that waits for its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenEffectRow {
    /// Its id within the session.
    pub effect: u64,
    /// Whether an actuator may have begun.
    pub started: bool,
    /// Deadline of the effect, in milliseconds since the epoch; `None`: it waits for ever.
    pub deadline: Option<i64>,
}

/// A session that has something to do without being asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WakingSession {
    /// Its name.
    pub session: Box<str>,
    /// Number of effects that wait for an outcome.
    pub open: u64,
    /// Time at which the session wants to be woken.
    pub wake: Option<i64>,
}

macro_rules! session_columns {
    () => {
        "SELECT name, owner, created, head_seq, records, last, last_at, forgotten, id
         FROM session "
    };
}

impl RecordReader {
    /// Opens the record of a state directory.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] if there is none, [`StoreError::Newer`] and [`StoreError::Foreign`] if it is not one
    /// that can be read.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        Ok(Self { connection: schema::open_reader(dir)? })
    }

    /// The last record.
    ///
    /// # Errors
    ///
    /// The file cannot be read, as for every call here.
    pub fn head(&self) -> Result<ChainHead, StoreError> {
        chain_ends::read_head(&self.connection)
    }

    /// Records after a number, in order, at most `limit` or a page. None means there are none: a page
    /// may end early, so ask again with the last number until it is empty.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`] if the filter names one that never was.
    pub fn records(
        &self,
        after: RecordNumber,
        filter: &RecordFilter,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let moment = self.moment()?;
        let is_wanted = |raw: &RawRecord<'_>| {
            filter.kinds.is_empty() || filter.kinds.iter().any(|kind| kind.as_bytes() == raw.kind)
        };
        let mut page = RecordPageReader::new(&moment, limit, &is_wanted);
        let (after, to) = (int(after.0), int(filter.to.map_or(u64::MAX, |to| to.0)));
        match &filter.session {
            None => {
                let range = after.saturating_add(1)..=to;
                let _ = record_page::each(&moment, &range, &mut |raw| page.take(raw))?;
            }
            Some(name) => {
                let session = SessionChoice::find(&moment, name)?;
                let from = session.milestone(&moment, 0)?.max(after.saturating_add(1));
                session.each(&moment, &RecordStretch::all(from..=to), &mut |raw| page.take(raw))?;
            }
        }
        Ok(page.records)
    }

    /// One record; for one that was compacted, the `compacted` record that stands for it and others.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn record(&self, number: RecordNumber) -> Result<Option<Record>, StoreError> {
        let moment = self.moment()?;
        let (mut opener, mut found) = (RecordOpener::new(&moment), None);
        let at = int(number.0);
        let _ = record_page::each_reaching(&moment, &(at..=at), &mut |raw| {
            found = Some(opener.record(raw)?);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// Hands out the latest records of one kind, the last one first, at most `most`.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn last(
        &self,
        kind: &str,
        most: usize,
        take: &mut dyn FnMut(Record),
    ) -> Result<(), StoreError> {
        let moment = self.moment()?;
        let mut opener = RecordOpener::new(&moment);
        let mut rest = most;
        record_page::each_backward(&moment, &mut |raw| {
            if rest == 0 {
                return Ok(ControlFlow::Break(()));
            }
            if raw.kind == kind.as_bytes() {
                rest -= 1;
                take(opener.record(raw)?);
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// The numbered records of a session after a seq, in order, at most `limit` or a page; empty when
    /// there are none. In the place of each that was compacted stands one that is erased: it has its seq,
    /// and no number.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`].
    pub fn stream(
        &self,
        session: &str,
        after_seq: u64,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let moment = self.moment()?;
        let whose = SessionChoice::find(&moment, session)?;
        let from = whose.milestone(&moment, after_seq)?;
        let mut page = RecordPageReader::new(&moment, limit, &|_| true);
        let stretch = RecordStretch { numbers: from..=i64::MAX, after_seq: Some(int(after_seq)) };
        let mut is_full = false;
        whose.each(&moment, &stretch, &mut |raw| {
            let next = page.take(raw)?;
            is_full = next.is_break();
            Ok(next)
        })?;
        let mut records = page.records;
        if !is_full && let Some(row) = whose.row(&moment)? {
            gaps::fill_end(&mut records, session, after_seq, &row);
        }
        Ok(gaps::fill(records, session, after_seq, limit.min(MAX_PAGE_RECORDS)))
    }

    /// All sessions, oldest first, forgotten ones included.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn sessions(&self) -> Result<Vec<SessionRow>, StoreError> {
        let moment = self.moment()?;
        let tails = session_tail::all(&moment)?;
        let mut statement =
            moment.prepare_cached(concat!(session_columns!(), "WHERE id > 0 ORDER BY id"))?;
        let rows = statement.query_map([], |row| {
            let tail = tails.of.get(&row.get(8)?).copied().unwrap_or_default();
            Ok(SessionRow::read(row)?.followed_by(&tail))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The session of a name; the latest, if earlier ones of that name are forgotten.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn session(&self, name: &str) -> Result<Option<SessionRow>, StoreError> {
        let moment = self.moment()?;
        match SessionChoice::find(&moment, name) {
            Ok(session) => session.row(&moment),
            Err(StoreError::NoSession(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All that is needed to go on with a session. `now` decides which receipts still count.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`].
    pub fn load(&self, session: &str, now: i64) -> Result<LoadedSessionRows, StoreError> {
        let moment = self.moment()?;
        let whose = SessionChoice::find(&moment, session)?;
        let id = whose.id;
        let row = whose.row(&moment)?.ok_or_else(|| StoreError::NoSession(session.into()))?;
        let opener = &mut RecordOpener::new(&moment);
        let checkpoint = opener.checkpoint(id)?;
        let from = match &checkpoint {
            Some((number, _)) => int(number.0).saturating_add(1),
            None => whose.milestone(&moment, 0)?,
        };
        let mut tail = Vec::new();
        whose.each(&moment, &RecordStretch::all(from..=i64::MAX), &mut |raw| {
            tail.push(opener.record(raw)?);
            Ok(ControlFlow::Continue(()))
        })?;
        let receipts = opener.receipts(id, whose.last, now.saturating_sub(RECEIPT_AGE))?;
        Ok(LoadedSessionRows {
            session: row,
            checkpoint,
            tail,
            open: open_effects(&moment, id)?,
            receipts,
        })
    }

    /// Sessions with open effects or a wake time: what a daemon that starts must look after. The work
    /// depends on how many there are, not on how many records or other sessions.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn open_sessions(&self) -> Result<Vec<WakingSession>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT name, (SELECT count(*) FROM open_effect WHERE session = id), wake FROM session
             WHERE id IN (SELECT session FROM open_effect
                          UNION SELECT id FROM session WHERE wake IS NOT NULL)
             ORDER BY id",
        )?;
        let rows = statement.query_map([], |row| {
            Ok(WakingSession { session: row.get(0)?, open: count(row.get(1)?), wake: row.get(2)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub(crate) fn origin(&self) -> Result<RecordHash, StoreError> {
        chain_ends::read_origin(&self.connection)
    }

    /// Returns all uses of budgets that were noted last.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn spendings(&self) -> Result<Vec<BudgetUse>, StoreError> {
        let moment = self.moment()?;
        spending::all(&moment)
    }

    /// One moment of the record, for several statements.
    pub(crate) fn moment(&self) -> Result<Transaction<'_>, StoreError> {
        Ok(self.connection.unchecked_transaction()?)
    }
}

/// One page of records, being filled.
struct RecordPageReader<'a> {
    opener: RecordOpener<'a>,
    limit: usize,
    is_wanted: &'a dyn Fn(&RawRecord<'_>) -> bool,
    records: Vec<Record>,
    bytes: usize,
}

impl<'a> RecordPageReader<'a> {
    fn new(
        moment: &'a Connection,
        limit: usize,
        is_wanted: &'a dyn Fn(&RawRecord<'_>) -> bool,
    ) -> Self {
        let limit = limit.min(MAX_PAGE_RECORDS);
        Self { opener: RecordOpener::new(moment), limit, is_wanted, records: Vec::new(), bytes: 0 }
    }

    /// Takes a record if it is wanted, and says whether there is room for another one.
    fn take(&mut self, raw: &RawRecord<'_>) -> Result<ControlFlow<()>, StoreError> {
        if self.records.len() < self.limit && (self.is_wanted)(raw) {
            let record = self.opener.record(raw)?;
            self.bytes += record.body.text().map_or(0, str::len);
            self.records.push(record);
        }
        let full = self.records.len() >= self.limit || self.bytes >= MAX_PAGE_BYTES;
        Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

/// A session whose records are wanted.
struct SessionChoice {
    id: i64,
    /// Number of its last record that is settled.
    last: i64,
    /// Numbers of those that are not.
    later: Vec<i64>,
}

impl SessionChoice {
    fn find(connection: &Connection, name: &str) -> Result<Self, StoreError> {
        let (id, last) = connection
            .prepare_cached(
                "SELECT id, last FROM session WHERE name = ?1 ORDER BY id DESC LIMIT 1",
            )?
            .query_row([name], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?
            .ok_or_else(|| StoreError::NoSession(name.into()))?;
        Ok(Self { id, last, later: session_ranges::later(connection, id)? })
    }

    /// Returns the row of the session; nothing for the daemon itself.
    fn row(&self, connection: &Connection) -> Result<Option<SessionRow>, StoreError> {
        let row = connection
            .prepare_cached(concat!(session_columns!(), "WHERE id = ?1 AND id > 0"))?
            .query_row([self.id], SessionRow::read)
            .optional()?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(row.followed_by(&session_tail::of(connection, self.id, &self.later)?)))
    }

    /// A record not after the one that follows this seq.
    fn milestone(&self, connection: &Connection, seq: u64) -> Result<i64, StoreError> {
        let found = connection
            .prepare_cached(
                "SELECT number FROM milestone WHERE session = ?1 AND seq <= ?2
                 ORDER BY seq DESC LIMIT 1",
            )?
            .query_row(params![self.id, int(seq)], |row| row.get(0))
            .optional()?;
        Ok(found.unwrap_or(0))
    }

    /// Hands out its records of a stretch, in order, until it is told to stop.
    fn each(
        &self,
        connection: &Connection,
        stretch: &RecordStretch,
        take: &mut dyn FnMut(&RawRecord<'_>) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        let RecordStretch { numbers: range, after_seq } = stretch;
        let is_wanted = |raw: &RawRecord<'_>| match (raw.stored, after_seq) {
            (StoredBody::Compacted(_), after) => after.is_none() && range.contains(&raw.number),
            (_, None) => raw.session == self.id,
            (_, Some(after)) => raw.session == self.id && raw.seq > Some(*after),
        };
        let mut hand_out = |numbers: &mut dyn Iterator<Item = i64>| {
            for (first, last) in
                session_ranges::runs(numbers.filter(|number| range.contains(number)))
            {
                let run = first..=last;
                let done = record_page::each_reaching(
                    connection,
                    &run,
                    &mut |raw| match is_wanted(raw) {
                        true => take(raw),
                        false => Ok(ControlFlow::Continue(())),
                    },
                )?;
                if done.is_break() {
                    return Ok(done);
                }
            }
            Ok(ControlFlow::Continue(()))
        };
        let mut settled = |places: SessionRanges<'_>| hand_out(&mut places.of(self.id));
        let within = *range.start()..=self.last.min(*range.end());
        if session_ranges::settled(connection, &within, &mut settled)?.is_continue() {
            let _ = hand_out(&mut self.later.iter().copied())?;
        }
        Ok(())
    }
}

/// Records of a session that are to be read: a range of numbers.
struct RecordStretch {
    /// Those with such numbers.
    numbers: RangeInclusive<i64>,
    /// If it is told, those alone that are numbered in the session's stream, after this number.
    after_seq: Option<i64>,
}

impl RecordStretch {
    fn all(numbers: RangeInclusive<i64>) -> Self {
        Self { numbers, after_seq: None }
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
            last: RecordNumber(count(row.get(5)?)),
            last_at: row.get(6)?,
            forgotten: row.get(7)?,
        })
    }

    /// Adds the records that the session wrote since its row was written.
    fn followed_by(self, tail: &SessionTail) -> Self {
        Self {
            head_seq: self.head_seq.max(count(tail.head_seq)),
            records: self.records + count(tail.records),
            last: self.last.max(RecordNumber(count(tail.last))),
            last_at: self.last_at.max(tail.last_at),
            ..self
        }
    }
}

fn open_effects(connection: &Connection, session: i64) -> Result<Vec<OpenEffectRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT effect, started, deadline FROM open_effect WHERE session = ?1 ORDER BY effect",
    )?;
    let rows = statement.query_map([session], |row| {
        Ok(OpenEffectRow {
            effect: count(row.get(0)?),
            started: row.get(1)?,
            deadline: row.get(2)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests;
