//! Records that versions follow from, as far as `memory.db` knows them: what tells that the record beside it is
//! less than it was. Used before the record is opened, when it is repaired, and when sessions are forgotten; no
//! daemon runs then.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};

use super::versions::{self, MEMORY_FILE, VersionHistory};
use crate::error::StoreError;
use crate::schema::{BUSY, count, int};

/// Number of the last record that any version follows from; `None` without one, or where there is no past that
/// can be read.
///
/// # Errors
/// The past is there and cannot be asked.
pub fn latest_record(state: &Path) -> Result<Option<u64>, StoreError> {
    let past = match VersionHistory::open(state) {
        Ok(past) => past,
        // Whoever opens it for writing says what is wrong with it.
        Err(
            StoreError::Missing { .. }
            | StoreError::Damaged(_)
            | StoreError::Foreign { .. }
            | StoreError::Newer { .. },
        ) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let sql = "SELECT max(record) FROM version WHERE record IS NOT NULL";
    let latest: Option<i64> = past.connection.query_row(sql, [], |row| row.get(0))?;
    Ok(latest.map(count))
}

/// Lets versions that follow from records after this one follow from nothing: those records are gone, and others
/// will have their numbers. The versions stay. How many there were.
///
/// # Errors
/// Nothing was changed.
pub fn detach_after(state: &Path, number: u64) -> Result<u64, StoreError> {
    if latest_record(state)?.is_none_or(|latest| latest <= number) {
        return Ok(0);
    }
    let connection = open(state)?;
    let changed = connection.execute(
        "UPDATE version SET record = NULL, session = '', turn = 0 WHERE record > ?1",
        params![int(number)],
    )?;
    Ok(changed as u64)
}

/// Forgets versions that follow from these sessions, or from one record of theirs, as
/// [`MemoryStore::forget`](super::MemoryStore::forget) does. How many there were.
///
/// # Errors
/// Those of sessions that came before are forgotten.
pub fn forget_versions(
    state: &Path,
    sessions: &[Box<str>],
    record: Option<u64>,
) -> Result<usize, StoreError> {
    if sessions.is_empty() || latest_record(state)?.is_none() {
        return Ok(0);
    }
    let mut connection = open(state)?;
    let mut forgotten = 0;
    for session in sessions {
        forgotten += versions::forget(&mut connection, session, record)?;
    }
    Ok(forgotten)
}

fn open(state: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(state.join(MEMORY_FILE), flags)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "secure_delete", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}
