//! Destroying what can be destroyed without breaking the chain: keys and salts, and what was derived
//! from the texts. The sealed bytes stay, so that everything can still be verified. What is out of
//! reach (other records that quote it, forks, backups, the disk's own copies) is in decision 0006.

use std::time::Duration;

use rusqlite::{OptionalExtension, params};

use crate::append::{NewRecord, RecordCause, StateCheckpoint};
use crate::cipher::{self, SALT_BYTES, Salt};
use crate::database::{self, count, int};
use crate::error::StoreError;
use crate::fault;
use crate::record::RecordNumber;
use crate::record_page;
use crate::writer::{CommitBatch, RecordStore};

/// Kind of the record that says what was forgotten. Its cause is the record, or the session's first.
pub(crate) const FORGOT_KIND: &str = "forgot";

/// Beginning of the body of a `forgot` record about a whole session.
pub(crate) const WHOLE_SESSION: &str = "(:session ";

/// Beginning of the body about many sessions: the numbers of their first records follow.
pub(crate) const MANY_SESSIONS: &str = "(:sessions (";

/// Most sessions that one such record names.
const SESSIONS_PER_RECORD: usize = 256;

/// Beginning of the body about many records: their numbers follow.
pub(crate) const MANY_RECORDS: &str = "(:records (";

/// Wait for readers of old pages: each reads for milliseconds, and the writer waits.
const SCRUB_WAIT: Duration = Duration::from_secs(1);

/// Principal who asks for something to be forgotten, and the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgetRequest {
    /// The principal.
    pub principal: Box<str>,
    /// Milliseconds since the epoch.
    pub at: i64,
}

/// Result of forgetting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForgetResult {
    /// The `forgot` record.
    pub number: RecordNumber,
    /// Whether no file holds the key any more. `false`: a reader that began earlier still needs old
    /// pages; they are wiped by the first commit after it is done, or when the record is next opened.
    pub scrubbed: bool,
}

impl RecordStore {
    /// Destroys the key of a session, its state, open effects and wake time. Its records and receipts
    /// stay, unreadable, as [`RecordBody::Erased`](crate::RecordBody::Erased); its name may be used again.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`], [`StoreError::AlreadyForgotten`], [`StoreError::NotSealed`] for the daemon itself.
    pub fn forget_session(
        &mut self,
        name: &str,
        by: &ForgetRequest,
    ) -> Result<ForgetResult, StoreError> {
        if name.is_empty() {
            return Err(StoreError::NotSealed(name.into()));
        }
        let number = self.transact(1, 0, |batch| {
            let session = find_session(batch, name)?;
            // Nothing is written to it again, nor remembered of it.
            batch.settle()?;
            destroy_session(batch, session)?;
            batch.unknow(name);
            let first = first_record(batch, session)?;
            say(batch, by, first, format!("{WHOLE_SESSION}\"{name}\")"))
        })?;
        self.after_forgetting(number)
    }

    /// Forgets many sessions, as [`RecordStore::forget_session`] does one; a few hundred of them share a `forgot`
    /// record. Those that are not there or forgotten already are passed over. How many were forgotten.
    ///
    /// # Errors
    ///
    /// Those that came before are forgotten.
    pub fn forget_sessions(
        &mut self,
        names: &[Box<str>],
        by: &ForgetRequest,
    ) -> Result<u64, StoreError> {
        let mut forgotten = 0;
        for names in names.chunks(SESSIONS_PER_RECORD) {
            forgotten += self.forget_some(names, by)?;
        }
        Ok(forgotten)
    }

    fn forget_some(&mut self, names: &[Box<str>], by: &ForgetRequest) -> Result<u64, StoreError> {
        let (firsts, number) = self.transact(1, 0, |batch| {
            batch.settle()?;
            let mut firsts = Vec::new();
            for name in names {
                let session = match find_session(batch, name) {
                    Err(StoreError::NoSession(_) | StoreError::AlreadyForgotten(_)) => continue,
                    session => session?,
                };
                destroy_session(batch, session)?;
                batch.unknow(name);
                firsts.push(first_record(batch, session)?.unwrap_or(RecordNumber(0)).to_string());
            }
            if firsts.is_empty() {
                return Ok((0, None));
            }
            let body = format!("{MANY_SESSIONS}{}))", firsts.join(" "));
            Ok((firsts.len() as u64, Some(say(batch, by, None, body)?)))
        })?;
        if let Some(number) = number {
            self.after_forgetting(number)?;
        }
        Ok(firsts)
    }

    /// Destroys the salt of one record, so that nobody can read it or its receipt again.
    ///
    /// The state of its session may quote it: hand in the state that is to take the place of the kept
    /// one, or `None` to leave that as it is. Records that quote it are records of their own.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoRecord`], [`StoreError::AlreadyForgotten`], [`StoreError::NotSealed`] for one of the daemon's.
    pub fn forget_record(
        &mut self,
        number: RecordNumber,
        state: Option<&StateCheckpoint>,
        by: &ForgetRequest,
    ) -> Result<ForgetResult, StoreError> {
        let forgot = self.transact(1, 0, |batch| {
            destroy_record(batch, number)?;
            if let Some(state) = state {
                batch.checkpoint(state)?;
            }
            say(batch, by, Some(number), format!("(:record {number})"))
        })?;
        self.after_forgetting(forgot)
    }

    /// Wipes destroyed keys from the log beside the file. `false` if a reader still needs old pages.
    ///
    /// # Errors
    ///
    /// The files cannot be written.
    pub fn scrub(&mut self) -> Result<bool, StoreError> {
        self.scrub_waiting(SCRUB_WAIT)
    }

    /// After opening: a crash may have come between forgetting and wiping.
    pub(crate) fn scrub_if_needed(&mut self) -> Result<(), StoreError> {
        self.unscrubbed =
            self.connection().query_row("SELECT unscrubbed FROM meta", [], |row| row.get(0))?;
        self.scrub_again();
        Ok(())
    }

    /// After a commit: what could not be wiped earlier, without waiting for anybody.
    pub(crate) fn scrub_again(&mut self) {
        if self.unscrubbed {
            // It is noted in the file; the next commit tries again.
            let _ = self.scrub_waiting(Duration::ZERO);
        }
    }

    fn after_forgetting(&mut self, number: RecordNumber) -> Result<ForgetResult, StoreError> {
        self.unscrubbed = true;
        fault::point("store.forgotten");
        let scrubbed = match self.scrub() {
            Err(StoreError::Full | StoreError::Busy) => false,
            scrubbed => scrubbed?,
        };
        Ok(ForgetResult { number, scrubbed })
    }

    fn scrub_waiting(&mut self, patience: Duration) -> Result<bool, StoreError> {
        self.connection().busy_timeout(patience)?;
        let busy = self
            .connection()
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
        self.connection().busy_timeout(database::BUSY_TIMEOUT)?;
        if busy? {
            return Ok(false);
        }
        self.connection().execute("UPDATE meta SET unscrubbed = 0", [])?;
        self.unscrubbed = false;
        fault::point("store.scrubbed");
        Ok(true)
    }
}

fn find_session(batch: &CommitBatch<'_>, name: &str) -> Result<i64, StoreError> {
    let found: Option<(i64, bool)> = batch
        .connection()
        .query_row(
            "SELECT id, forgotten FROM session WHERE name = ?1 ORDER BY id DESC LIMIT 1",
            [name],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    match found {
        None => Err(StoreError::NoSession(name.into())),
        Some((_, true)) => Err(StoreError::AlreadyForgotten(name.into())),
        Some((id, false)) => Ok(id),
    }
}

/// Keys are overwritten where they stand (see the schema), everything else may go.
fn destroy_session(batch: &CommitBatch<'_>, session: i64) -> Result<(), StoreError> {
    let connection = batch.connection();
    connection.execute(
        "UPDATE session_key SET key = zeroblob(32), state_salt = zeroblob(16) WHERE session = ?1",
        [session],
    )?;
    connection.execute("UPDATE session SET forgotten = 1, wake = NULL WHERE id = ?1", [session])?;
    connection.execute("DELETE FROM checkpoint WHERE session = ?1", [session])?;
    connection.execute("DELETE FROM open_effect WHERE session = ?1", [session])?;
    Ok(())
}

fn first_record(batch: &CommitBatch<'_>, session: i64) -> Result<Option<RecordNumber>, StoreError> {
    let first: Option<i64> = batch
        .connection()
        .query_row(
            "SELECT number FROM milestone WHERE session = ?1 AND seq = 0",
            [session],
            |row| row.get(0),
        )
        .optional()?;
    Ok(first.map(|first| RecordNumber(count(first))))
}

fn destroy_record(batch: &CommitBatch<'_>, number: RecordNumber) -> Result<(), StoreError> {
    let connection = batch.connection();
    let forgotten = match record_page::whose(connection, int(number.0))? {
        None if is_compacted(connection, number)? => {
            return Err(StoreError::AlreadyForgotten(number.to_string().into()));
        }
        None => return Err(StoreError::NoRecord(number)),
        Some((0, _)) => return Err(StoreError::NotSealed(number.to_string().into())),
        Some((session, _)) => {
            let sql = "SELECT forgotten FROM session WHERE id = ?1";
            connection.query_row(sql, [session], |row| row.get(0))?
        }
    };
    if forgotten {
        return Err(StoreError::AlreadyForgotten(number.to_string().into()));
    }
    let (first, mut salts): (i64, Vec<u8>) = connection.query_row(
        "SELECT first, salts FROM salt WHERE first <= ?1 ORDER BY first DESC LIMIT 1",
        [int(number.0)],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let index = usize::try_from(int(number.0) - first).unwrap_or(usize::MAX);
    let salt: Option<&mut Salt> = salts.as_chunks_mut::<SALT_BYTES>().0.get_mut(index);
    match salt {
        None => return Err(StoreError::Damaged(format!("record `{number}` has no salt").into())),
        Some(salt) if cipher::is_destroyed(salt) => {
            return Err(StoreError::AlreadyForgotten(number.to_string().into()));
        }
        Some(salt) => *salt = [0; SALT_BYTES],
    }
    connection.execute("UPDATE salt SET salts = ?2 WHERE first = ?1", params![first, salts])?;
    Ok(())
}

/// Whether a record was taken away after it was forgotten.
fn is_compacted(
    connection: &rusqlite::Connection,
    number: RecordNumber,
) -> Result<bool, StoreError> {
    let (at, mut found) = (int(number.0), false);
    let _ = record_page::each_reaching(connection, &(at..=at), &mut |raw| {
        found = matches!(raw.stored, record_page::StoredBody::Compacted(_));
        Ok(std::ops::ControlFlow::Break(()))
    })?;
    Ok(found)
}

/// Adds the record that says so, in the same transaction.
fn say(
    batch: &mut CommitBatch<'_>,
    by: &ForgetRequest,
    cause: Option<RecordNumber>,
    body: String,
) -> Result<RecordNumber, StoreError> {
    batch.connection().execute("UPDATE meta SET unscrubbed = 1", [])?;
    fault::point("store.forget");
    let draft = NewRecord::new("", FORGOT_KIND, by.at, &by.principal, body)
        .caused_by(cause.map_or(RecordCause::None, RecordCause::Number));
    batch.add(&draft)
}
