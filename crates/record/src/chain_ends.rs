//! The two ends of the chain, as the tables have them: the origin before the first record, and the last record.

use std::ops::ControlFlow;

use rusqlite::Connection;

use crate::database::count;
use crate::error::StoreError;
use crate::record::{ChainHead, RecordHash, RecordNumber};
use crate::record_page;

/// The last record, or the origin.
pub(crate) fn read_head(connection: &Connection) -> Result<ChainHead, StoreError> {
    let mut head = None;
    record_page::each_backward(connection, &mut |raw| {
        head = Some(ChainHead { number: RecordNumber(count(raw.number)), hash: raw.hash });
        Ok(ControlFlow::Break(()))
    })?;
    match head {
        Some(head) => Ok(head),
        None => Ok(ChainHead { number: RecordNumber(0), hash: read_origin(connection)? }),
    }
}

/// Returns the hash that stands before the first record.
pub(crate) fn read_origin(connection: &Connection) -> Result<RecordHash, StoreError> {
    Ok(RecordHash(connection.query_row("SELECT origin FROM meta", [], |row| row.get(0))?))
}
