//! The newest records of a session, which the table of sessions does not count yet. Writing the row of every session
//! in every commit cost as much as the records; so rows are brought up to date once a block, and readers of a row add
//! what came since. Used by the writer when it opens, by the reader and by `verify`.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use rusqlite::Connection;

use crate::error::StoreError;
use crate::record_page::{self, RawRecord};
use crate::session_ranges;

/// Records that a session wrote since its row was written.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SessionTail {
    pub(crate) records: i64,
    /// 0 if none of them is numbered.
    pub(crate) head_seq: i64,
    /// Number of the last one; 0 if there is none.
    pub(crate) last: i64,
    pub(crate) last_at: i64,
}

/// The tails of all sessions.
#[derive(Default)]
pub(crate) struct SessionTails {
    /// Those that have one.
    pub(crate) of: BTreeMap<i64, SessionTail>,
    /// The session of each record since, in order.
    pub(crate) sessions: Vec<i64>,
}

/// The tails of all sessions. Reads about a block.
pub(crate) fn all(connection: &Connection) -> Result<SessionTails, StoreError> {
    let later = session_ranges::settled_up_to(connection)?.saturating_add(1)..=i64::MAX;
    let mut tails = SessionTails::default();
    let _ = record_page::each(connection, &later, &mut |raw| {
        tails.sessions.push(raw.session);
        tails.of.entry(raw.session).or_default().see(raw);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(tails)
}

/// The tail of one session, whose records since have these numbers.
pub(crate) fn of(
    connection: &Connection,
    session: i64,
    later: &[i64],
) -> Result<SessionTail, StoreError> {
    let mut tail = SessionTail::default();
    for (first, last) in session_ranges::runs(later.iter().copied()) {
        let _ = record_page::each(connection, &(first..=last), &mut |raw| {
            if raw.session == session {
                tail.see(raw);
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    Ok(tail)
}

impl SessionTail {
    /// Goes on with a record.
    fn see(&mut self, raw: &RawRecord<'_>) {
        self.records += 1;
        self.head_seq = raw.seq.unwrap_or(self.head_seq);
        self.last = raw.number;
        self.last_at = raw.at;
    }

    /// Goes on with what came after.
    pub(crate) fn add(&mut self, later: &Self) {
        self.records += later.records;
        self.head_seq = self.head_seq.max(later.head_seq);
        self.last = self.last.max(later.last);
        self.last_at = self.last_at.max(later.last_at);
    }
}
