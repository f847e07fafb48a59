//! Databases beside the record, whose rows are deleted again: making, recognizing and opening such a file.
//!
//! Used by the shelf and by the texts of unsaved buffers, which know what is in their tables. Not for the record,
//! which is never deleted from, nor for the index of the Memex, which nothing waits for.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::database::{BUSY_TIMEOUT, protect};
use crate::error::StoreError;

/// Largest log that stays beside a file, in bytes: a small one, since what was deleted may be in it.
const MAX_LOG_BYTES: i64 = 1 << 20;

/// Kind of a database beside the record: its name, and the numbers in its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SideFileKind {
    /// Its name in the state directory.
    pub file: &'static str,
    /// In its header.
    pub application: i32,
    /// Of its tables, in `user_version`.
    pub version: u32,
}

/// Opens a file of a kind in a directory; a new one gets its tables from `create`.
///
/// # Errors
/// [`StoreError::Foreign`] and [`StoreError::Newer`] leave the file as it is.
pub fn open(
    dir: &Path,
    kind: SideFileKind,
    create: impl FnOnce(&Transaction<'_>) -> Result<(), StoreError>,
) -> Result<Connection, StoreError> {
    let path = dir.join(kind.file);
    protect(&path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(&path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    let is_new = is_new(&connection, kind, &path)?;
    if is_new {
        // Before the first table: space is given back when rows go.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update_and_check(None, "journal_size_limit", MAX_LOG_BYTES, |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "secure_delete", true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "trusted_schema", false)?;
    if is_new {
        let begun = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        create(&begun)?;
        begun.pragma_update(None, "application_id", kind.application)?;
        begun.pragma_update(None, "user_version", kind.version)?;
        begun.commit()?;
    }
    Ok(connection)
}

/// Tells whether the file is still empty.
fn is_new(connection: &Connection, kind: SideFileKind, path: &Path) -> Result<bool, StoreError> {
    let SideFileKind { application, version, .. } = kind;
    let of = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let found = (of("application_id")?, u32::try_from(of("user_version")?));
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (found, tables) {
        ((0, Ok(0)), 0) => Ok(true),
        ((id, Ok(found)), _) if id == application && found == version => Ok(false),
        ((id, Ok(found)), _) if id == application && found > version => {
            Err(StoreError::Newer { found, known: version })
        }
        _ => Err(StoreError::Foreign { path: path.into() }),
    }
}
