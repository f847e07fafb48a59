//! Copies what is committed from the log beside the file into the file itself, while the writer goes on.
//!
//! Nothing depends on it: the log is durable. Without it the writer copies by itself, inside a commit, when the log
//! has `FULL_LOG_BYTES` bytes, and everybody who waits for that commit waits for a thousand scattered pages too. The
//! daemon's record writer has a thread for it.

use std::fmt;
use std::path::Path;

use rusqlite::Connection;

use crate::error::StoreError;
use crate::schema;

/// A connection for copying, to be used on a thread of its own.
pub struct WalCheckpointer {
    connection: Connection,
}

impl fmt::Debug for WalCheckpointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Copier").finish_non_exhaustive()
    }
}

impl WalCheckpointer {
    /// Opens the record in a directory once more.
    ///
    /// # Errors
    ///
    /// There is no record, or it cannot be opened.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        Ok(Self { connection: schema::open_copier(dir)? })
    }

    /// Copies what no reader and no writer stands in the way of; how many pages of the log are copied
    /// now, of how many.
    ///
    /// # Errors
    ///
    /// The files cannot be read or written; a later call tries again.
    pub fn copy(&mut self) -> Result<(u64, u64), StoreError> {
        let asked = "PRAGMA wal_checkpoint(PASSIVE)";
        let pages = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(2)?, row.get::<_, i64>(1)?));
        let (copied, all) = self.connection.query_row(asked, [], pages)?;
        // Minus one without a log.
        Ok((u64::try_from(copied).unwrap_or(0), u64::try_from(all).unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests;
