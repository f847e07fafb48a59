//! Use of budgets by principals, kept in the same transaction as the records that used it, so that a restart gives
//! nobody a new one. The size of a budget, and how it refills, is the daemon's business.

use rusqlite::{Connection, params};

use crate::database::{count, int};
use crate::error::StoreError;

/// Use of a budget at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetUse {
    /// Principal whose budget it is.
    pub principal: Box<str>,
    /// Bytes used up.
    pub bytes: u64,
    /// Time in milliseconds since the epoch.
    pub at: i64,
}

/// Notes a use, in the place of an earlier one; nothing of what is paid back.
pub(crate) fn note(connection: &Connection, spending: &BudgetUse) -> Result<(), StoreError> {
    let BudgetUse { principal, bytes, at } = spending;
    if *bytes == 0 {
        connection
            .prepare_cached("DELETE FROM spent WHERE principal = ?1")?
            .execute([principal])?;
        return Ok(());
    }
    connection
        .prepare_cached("INSERT OR REPLACE INTO spent (principal, bytes, at) VALUES (?1, ?2, ?3)")?
        .execute(params![principal, int(*bytes), at])?;
    Ok(())
}

/// Returns all uses that were noted last.
pub(crate) fn all(connection: &Connection) -> Result<Vec<BudgetUse>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT principal, bytes, at FROM spent")?;
    let rows = statement.query_map([], |row| {
        Ok(BudgetUse { principal: row.get(0)?, bytes: count(row.get(1)?), at: row.get(2)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
