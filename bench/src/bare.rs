//! The rival of the record: rows put into one SQLite table as fast as SQLite does it, with the same
//! journal and the same syncs, and none of the record's chain, seals, sessions or receipts.

use std::path::Path;

use anyhow::{Context, Result};
use rusqlite::{Connection, params};

/// An open table.
pub struct Bare {
    connection: Connection,
    next: i64,
}

impl Bare {
    /// Makes the table in a new file.
    pub fn create(path: &Path) -> Result<Self> {
        let connection = Connection::open(path).context("cannot open the bare table")?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;
             CREATE TABLE row (
                 number INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER,
                 at INTEGER NOT NULL, kind TEXT NOT NULL, body BLOB NOT NULL
             ) STRICT;",
        )?;
        Ok(Self { connection, next: 1 })
    }

    /// Inserts a row for each body, in one durable transaction.
    pub fn commit(&mut self, bodies: &[Vec<u8>]) -> Result<()> {
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO row (number, session, seq, at, kind, body) VALUES (?, ?, ?, ?, ?, ?)",
            )?;
            for body in bodies {
                insert.execute(params![self.next, 1, self.next, 0, "signal", body])?;
                self.next += 1;
            }
        }
        Ok(transaction.commit()?)
    }
}
