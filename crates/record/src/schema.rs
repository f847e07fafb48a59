//! The file: its tables, and how a connection to it is opened. Called by the store and the reader;
//! says nothing about what rows mean beyond the comments here.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::cipher;
use crate::database::{BUSY_TIMEOUT, RECORD_FILE, protect};
use crate::error::StoreError;
use crate::fault;

/// Version of the tables, in `user_version`. A newer one is refused, and one older than [`OLDEST_SCHEMA_VERSION`].
pub(crate) const SCHEMA_VERSION: u32 = 5;

/// Oldest version that can be read. A writer brings it up to date: it lacks the table of spending, and
/// has no compacted records.
const OLDEST_SCHEMA_VERSION: u32 = 4;

/// `brdl`, in the file's header: tells a record from any other database.
const APPLICATION_ID: i32 = 0x6272_646c;

/// Largest log that stays beside the file when it is empty again, in bytes: four times what is usual.
const MAX_LOG_BYTES: i64 = 16 << 20;

/// Bytes of the log at which a commit copies it into the file by itself. Until then a
/// [`WalCheckpointer`](crate::WalCheckpointer) may do so without making anybody wait. Fault tests write little, and want
/// logs that start over.
pub(crate) const FULL_LOG_BYTES: i64 = if cfg!(feature = "faults") { 1 << 20 } else { 16 << 20 };

/// Bytes of a page of a new file; one that is there keeps its own. SQLite writes the log page by page,
/// two calls of the system each, and copies it page by page: with 64 shells that asked at once, the same
/// machine answered 11,768 prompts a second with pages of 4 KiB, 13,370 with 8 and 14,378 with 16. A single
/// prompt writes three of them, and waits for the disk, not for that.
const PAGE_BYTES: i64 = 16 << 10;

/// Statements kept prepared, per connection: the writer has about twenty.
const MAX_CACHED_STATEMENTS: usize = 32;

/// Records of which is said at once which session they are of, and how far their sessions are: a commit
/// that fills a block *settles* all records since the last one that did. The log grows by every page that
/// a commit touches. With 64 records of 64 sessions the table alone touches 8, with an index by session
/// and one by seq 136, with one of blocks 12. Reading a session looks at one row of `place` for each block.
pub(crate) const BLOCK_RECORDS: i64 = 1024;

/// Every so many numbers of a stream, where that is is noted: no reader asks from the beginning.
pub(crate) const MILESTONE_INTERVAL: u64 = 64;

/// Rows of `session_key` and `salt` are only ever added at the end and overwritten in place by as many
/// bytes, never deleted: so that a key is gone does not depend on how SQLite moves rows between pages.
pub(crate) const TABLES: &str = "
CREATE TABLE meta (
  only      INTEGER PRIMARY KEY CHECK (only = 1),
  origin    BLOB NOT NULL,               -- random; stands before the first record in the chain
  unscrubbed INTEGER NOT NULL,           -- 1: forgotten bytes may still be in the log beside the file
  settled   INTEGER NOT NULL             -- the record up to which the tables session and place count
) STRICT;

CREATE TABLE session (
  id        INTEGER PRIMARY KEY,         -- 0 is the daemon itself
  name      TEXT NOT NULL,
  owner     TEXT NOT NULL,
  created   INTEGER NOT NULL,
  forgotten INTEGER NOT NULL DEFAULT 0,
  head_seq  INTEGER NOT NULL DEFAULT 0,  -- this and the next four up to meta.settled, see tail.rs
  records   INTEGER NOT NULL DEFAULT 0,
  last      INTEGER NOT NULL DEFAULT 0,  -- number of its last record
  last_at   INTEGER NOT NULL DEFAULT 0,
  receipts  INTEGER NOT NULL DEFAULT 0,  -- how many were ever given
  wake      INTEGER                      -- when it wants to be woken
) STRICT;
CREATE INDEX session_name ON session (name);
CREATE INDEX session_wake ON session (wake) WHERE wake IS NOT NULL;

CREATE TABLE session_key (
  session   INTEGER PRIMARY KEY,
  key       BLOB NOT NULL,               -- 32 bytes; zero when forgotten
  state_salt BLOB NOT NULL               -- 16 bytes, new with every checkpoint
) STRICT;

CREATE TABLE record (
  first     INTEGER PRIMARY KEY,         -- number of the first record in it
  records   BLOB NOT NULL                -- this and the next ones, as in record_page.rs
) STRICT;

CREATE TABLE place (
  first     INTEGER PRIMARY KEY,         -- the record after those of the row before
  sessions  BLOB NOT NULL                -- of this and the next ones, packed as in places.rs
) STRICT;

CREATE TABLE milestone (
  session   INTEGER NOT NULL,
  seq       INTEGER NOT NULL,            -- 0, and every 64th
  number    INTEGER NOT NULL,            -- the session's first record, and the one that has this seq
  PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE salt (
  first     INTEGER PRIMARY KEY,         -- number of the first record it is for
  sessions  BLOB NOT NULL,               -- of its records, packed like those of a place
  salts     BLOB NOT NULL                -- 16 bytes a record; zero when forgotten
) STRICT;

CREATE TABLE blob (
  hash      BLOB PRIMARY KEY NOT NULL,
  bytes     BLOB NOT NULL
) STRICT;

CREATE TABLE checkpoint (
  session   INTEGER PRIMARY KEY,
  number    INTEGER NOT NULL,            -- the record it was made after
  state     BLOB NOT NULL                -- sealed
) STRICT;

CREATE TABLE receipt (
  first     INTEGER PRIMARY KEY,         -- number of the first record it is for
  at        INTEGER NOT NULL,            -- time of the last
  entries   BLOB NOT NULL                -- 96 bytes a receipt, see store/receipts.rs
) STRICT;

CREATE TABLE open_effect (
  session   INTEGER NOT NULL,
  effect    INTEGER NOT NULL,
  deadline  INTEGER,
  started   INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (session, effect)
) STRICT, WITHOUT ROWID;

INSERT INTO session (id, name, owner, created) VALUES (0, '', '', 0);
";

/// Triggers that keep records from being changed by accident. Compacting takes them away, and puts them
/// back before it commits.
pub(crate) const GUARD_TRIGGERS: &str = "
CREATE TRIGGER record_is_not_edited BEFORE UPDATE ON record
BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END;
CREATE TRIGGER record_is_not_deleted BEFORE DELETE ON record
BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END;
CREATE TRIGGER blob_is_not_edited BEFORE UPDATE ON blob
BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END;
CREATE TRIGGER blob_is_not_deleted BEFORE DELETE ON blob
BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END;
";

/// Takes the triggers away.
pub(crate) const DROP_GUARD_TRIGGERS: &str = "
DROP TRIGGER IF EXISTS record_is_not_edited;
DROP TRIGGER IF EXISTS record_is_not_deleted;
DROP TRIGGER IF EXISTS blob_is_not_edited;
DROP TRIGGER IF EXISTS blob_is_not_deleted;
";

/// Table that version 4 did not have: what principals have used of their budgets, see `spending.rs`.
const SPENT_TABLE: &str = "
CREATE TABLE spent (
  principal TEXT PRIMARY KEY NOT NULL,
  bytes     INTEGER NOT NULL,            -- used up
  at        INTEGER NOT NULL             -- at this time
) STRICT, WITHOUT ROWID;
";

/// Opens the file for writing, makes it if it is not there, and protects it.
pub(crate) fn open_writer(dir: &Path) -> Result<Connection, StoreError> {
    let path = dir.join(RECORD_FILE);
    protect(&path)?;
    fault::point("store.open.protected");
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(&path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    keep_plans(&connection)?;
    connection.set_prepared_statement_cache_capacity(MAX_CACHED_STATEMENTS);
    // Before anything is written: a file that is not ours must stay as it is.
    let version = version(&connection, &path)?;
    if version == 0 {
        // Before anything else: what is written first says how large a page is.
        connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    fault::point("store.open.logged");
    connection.pragma_update_and_check(None, "journal_size_limit", MAX_LOG_BYTES, |_| Ok(()))?;
    let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let pages = FULL_LOG_BYTES / page.max(1);
    connection.pragma_update_and_check(None, "wal_autocheckpoint", pages, |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "secure_delete", true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // So that REPLACE cannot go around the triggers.
    connection.pragma_update(None, "recursive_triggers", true)?;
    match version {
        0 => create(&mut connection)?,
        SCHEMA_VERSION => {}
        _ => bring_up_to_date(&mut connection)?,
    }
    fault::point("store.open.created");
    Ok(connection)
}

/// Opens a file that is there once more, to copy the log into it.
pub(crate) fn open_copier(dir: &Path) -> Result<Connection, StoreError> {
    let path = dir.join(RECORD_FILE);
    if !path.exists() {
        return Err(StoreError::Missing { path });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&path, flags)?;
    // It waits for nobody: what is in the way now will not be the next time.
    connection.busy_timeout(Duration::ZERO)?;
    // So that the log is synced before it is copied, and the file before the log is used again.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "secure_delete", true)?;
    if version(&connection, &path)? == 0 {
        return Err(StoreError::Missing { path });
    }
    Ok(connection)
}

/// Opens the file for reading alone, from any process of the same user.
pub(crate) fn open_reader(dir: &Path) -> Result<Connection, StoreError> {
    let path = dir.join(RECORD_FILE);
    if !path.exists() {
        return Err(StoreError::Missing { path });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    keep_plans(&connection)?;
    connection.set_prepared_statement_cache_capacity(MAX_CACHED_STATEMENTS);
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "trusted_schema", false)?;
    if version(&connection, &path)? == 0 {
        return Err(StoreError::Missing { path });
    }
    Ok(connection)
}

/// Statements keep the plan they were prepared with. Else SQLite, as it is built here, plans several of
/// them anew whenever they are asked about something else, which costs 40 us each time.
fn keep_plans(connection: &Connection) -> Result<(), StoreError> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// The version of the tables; 0 for a file that is still empty.
fn version(connection: &Connection, path: &Path) -> Result<u32, StoreError> {
    let found: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let application: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application, found, tables) {
        (0, 0, 0) => Ok(0),
        (APPLICATION_ID, found, _) if found > SCHEMA_VERSION => {
            Err(StoreError::Newer { found, known: SCHEMA_VERSION })
        }
        (APPLICATION_ID, found, _) if found >= OLDEST_SCHEMA_VERSION => Ok(found),
        (APPLICATION_ID, found, _) if found > 0 => {
            Err(StoreError::Older { found, known: SCHEMA_VERSION })
        }
        _ => Err(StoreError::Foreign { path: path.into() }),
    }
}

fn create(connection: &mut Connection) -> Result<(), StoreError> {
    let origin: [u8; 32] = cipher::random()?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(TABLES)?;
    transaction.execute_batch(GUARD_TRIGGERS)?;
    transaction.execute_batch(SPENT_TABLE)?;
    transaction.execute(
        "INSERT INTO meta (only, origin, unscrubbed, settled) VALUES (1, ?1, 0, 0)",
        [&origin[..]],
    )?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    transaction.commit()?;
    Ok(())
}

/// Adds what a file of an older version lacks.
fn bring_up_to_date(connection: &mut Connection) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(SPENT_TABLE)?;
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    fault::point("store.open.migrated");
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests;
