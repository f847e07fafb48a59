//! Verifying the tables that say which session a record is of. A row that is missing or wrong would hide records from
//! readers of a session, and no hash covers it. Called by `verify`, page by page.

use std::collections::VecDeque;

use rusqlite::{Connection, OptionalExtension};

use crate::database::int;
use crate::error::StoreError;
use crate::session_ranges::SessionRanges;

/// The next row after the one that begins with a record.
const NEXT_SETTLED_ROW: &str =
    "SELECT first, sessions FROM place WHERE first > ?1 ORDER BY first LIMIT 1";
const NEXT_SALT_ROW: &str =
    "SELECT first, sessions FROM salt WHERE first > ?1 ORDER BY first LIMIT 1";

/// One table, compared with the records as far as they were seen. A flaw is kept until all of them were:
/// one of theirs counts for more.
pub(super) struct TableCheck {
    next_row: &'static str,
    /// Record that the last row began with.
    row: i64,
    /// The last record that a row has spoken of.
    last: i64,
    /// Records seen since.
    seen: VecDeque<TableProgress>,
    /// The first record that is not where its session looks for it.
    flaw: Option<i64>,
}

/// Progress through a table of places.
enum TableProgress {
    /// A record of a session.
    Of(i64),
    /// Records up to this one that were compacted, and the sessions that a row of their own names.
    Gap(i64, Vec<i64>),
}

impl TableCheck {
    /// The rows that are written when a block is full.
    pub(super) fn settled() -> Self {
        Self::new(NEXT_SETTLED_ROW)
    }

    /// Those that are written with each commit.
    pub(super) fn salted() -> Self {
        Self::new(NEXT_SALT_ROW)
    }

    fn new(next_row: &'static str) -> Self {
        Self { next_row, row: i64::MIN, last: 0, seen: VecDeque::new(), flaw: None }
    }

    /// The next record is of this session.
    pub(super) fn see(&mut self, session: i64) {
        if self.flaw.is_none() {
            self.seen.push_back(TableProgress::Of(session));
        }
    }

    /// The next records, up to this one, were compacted.
    pub(super) fn see_gap(&mut self, to: i64, sessions: Vec<i64>) {
        if self.flaw.is_none() {
            self.seen.push_back(TableProgress::Gap(to, sessions));
        }
    }

    /// Goes through the rows for the records seen so far. There must be some for those up to `to`, and
    /// none beyond.
    pub(super) fn compare(&mut self, moment: &Connection, to: i64) -> Result<(), StoreError> {
        while self.flaw.is_none() && self.last < to && !self.seen.is_empty() {
            if let Some(TableProgress::Gap(..)) = self.seen.front() {
                self.pass_gap(moment)?;
                continue;
            }
            let row = self.next_row(moment)?.filter(|(first, _)| *first == self.last + 1);
            let (first, packed) = row.unwrap_or_default();
            let claimed: Vec<i64> =
                SessionRanges::new(first, &packed).map(|(_, session)| session).collect();
            let records = self.seen.iter().map_while(|it| match it {
                TableProgress::Of(session) => Some(*session),
                TableProgress::Gap(..) => None,
            });
            let records: Vec<i64> = records.take(claimed.len()).collect();
            // A row may go on with the next page, but not into a gap.
            let ends_at_gap = records.len() < claimed.len() && records.len() < self.seen.len();
            let seen = records.len();
            let same =
                claimed.iter().zip(&records).take_while(|(claimed, seen)| claimed == seen).count();
            let end = self.last + int(claimed.len() as u64);
            let beyond = (end > to).then_some(to.saturating_add(1));
            let wrong = (same < seen || claimed.is_empty() || ends_at_gap)
                .then(|| self.last + 1 + int(same as u64));
            if wrong.or(beyond).is_some() {
                self.flaw = wrong.or(beyond);
                self.seen.clear();
            } else if seen < claimed.len() {
                // The rest of it is of records that come with the next page.
                break;
            } else {
                self.seen.drain(..seen);
                (self.row, self.last) = (first, end);
            }
        }
        Ok(())
    }

    /// Goes over records that were compacted: none of them is told of, but their sessions may be.
    fn pass_gap(&mut self, moment: &Connection) -> Result<(), StoreError> {
        let Some(TableProgress::Gap(to, sessions)) = self.seen.pop_front() else { return Ok(()) };
        if !sessions.is_empty() {
            let row = self.next_row(moment)?.filter(|(first, _)| *first == self.last + 1);
            let (first, packed) = row.unwrap_or_default();
            if !SessionRanges::new(first, &packed).map(|(_, session)| session).eq(sessions) {
                self.flaw = Some(self.last + 1);
                self.seen.clear();
                return Ok(());
            }
            self.row = first;
        }
        self.last = to;
        Ok(())
    }

    /// After the last record: the first one that is not where its session looks for it.
    pub(super) fn end(&self, moment: &Connection) -> Result<Option<i64>, StoreError> {
        let more = self.next_row(moment)?.map(|_| self.last + 1);
        Ok(self.flaw.or(more))
    }

    fn next_row(&self, moment: &Connection) -> Result<Option<(i64, Vec<u8>)>, StoreError> {
        let row = moment
            .prepare_cached(self.next_row)?
            .query_row([self.row], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        Ok(row)
    }
}
