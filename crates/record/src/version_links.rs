//! Links from `memory.db` into the record: each version of a user's file names the record that it follows from.
//!
//! They tell that the record beside them is less than it was: [`latest_record`] is asked before the record is opened
//! for writing and while it is repaired, [`detach_after`] cuts links to records that a repair lost. The tables of
//! `memory.db` belong to the crate `memex`; of them, this module knows the one column.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};

use crate::database::{BUSY_TIMEOUT, count, int};
use crate::error::StoreError;

/// Name of the database of versions in the state folder. SQLite puts `-wal` and `-shm` beside it.
pub const MEMORY_FILE: &str = "memory.db";

/// Schema version of `memory.db`, in `user_version`.
pub const MEMORY_SCHEMA_VERSION: i32 = 1;

/// `brdm`, in the header of `memory.db`.
pub const MEMORY_APPLICATION_ID: i32 = 0x6272_646d;

/// Returns the number of the last record that any version follows from; `None` if there is no such version, or no
/// database of versions that can be read. Whoever opens that database for writing says what is wrong with it.
///
/// # Errors
/// The database of versions is there and cannot be queried.
pub fn latest_record(state: &Path) -> Result<Option<u64>, StoreError> {
    if !state.join(MEMORY_FILE).exists() {
        return Ok(None);
    }
    let connection = match open_known(state) {
        Ok(Some(connection)) => connection,
        Ok(None) | Err(StoreError::Damaged(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let sql = "SELECT max(record) FROM version WHERE record IS NOT NULL";
    let latest: Option<i64> = connection.query_row(sql, [], |row| row.get(0))?;
    Ok(latest.map(count))
}

/// Cuts the links of versions to records after `number`: those records are gone, and others will have their numbers.
/// The versions stay. Returns how many links were cut.
///
/// # Errors
/// No link was cut.
pub fn detach_after(state: &Path, number: u64) -> Result<u64, StoreError> {
    if latest_record(state)?.is_none_or(|latest| latest <= number) {
        return Ok(0);
    }
    let connection = open_writer(state)?;
    let changed = connection.execute(
        "UPDATE version SET record = NULL, session = '', turn = 0 WHERE record > ?1",
        params![int(number)],
    )?;
    Ok(changed as u64)
}

/// Opens the database of versions for writing while no daemon has it open.
///
/// # Errors
/// The file cannot be opened.
pub fn open_writer(state: &Path) -> Result<Connection, StoreError> {
    let connection = open(state, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "secure_delete", true)?;
    Ok(connection)
}

/// Opens the database for reading; `None` if its header is not that of a database of versions.
fn open_known(state: &Path) -> Result<Option<Connection>, StoreError> {
    let connection = open(state, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let of = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let found = (of("application_id")?, of("user_version")?);
    Ok((found == (MEMORY_APPLICATION_ID, MEMORY_SCHEMA_VERSION)).then_some(connection))
}

fn open(state: &Path, access: OpenFlags) -> Result<Connection, StoreError> {
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(state.join(MEMORY_FILE), flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}
