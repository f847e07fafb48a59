//! Changes to the record while no daemon runs: forgetting, compacting, repairing. Each takes the state directory for
//! itself, so that nothing in a daemon's memory can be wrong then.
//!
//! Called by the commands of the binary. Reading needs none of this: see `bridle_history`.

pub mod forget;

use std::path::Path;

use bridle_history::RecordHistory;
use bridle_history::upkeep::SessionSelection;
use bridle_record::{CompactionReport, ForgetRequest, RecordStore, RepairReport, StoreOptions};

use crate::lock::StateLock;
use forget::forget_beside;

/// Reason why the record could not be changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpkeepError {
    /// The record cannot be read or written.
    #[error(transparent)]
    History(#[from] bridle_history::HistoryError),
    /// The state directory is taken, or cannot be used.
    #[error("cannot take the state directory")]
    State(#[from] crate::DaemonError),
}

impl From<bridle_record::StoreError> for UpkeepError {
    fn from(error: bridle_record::StoreError) -> UpkeepError {
        UpkeepError::History(error.into())
    }
}

/// Forgets all sessions that a selection names; how many. `now` is in milliseconds since 1970.
///
/// # Errors
/// [`crate::DaemonError::Locked`] inside [`UpkeepError::State`] when a daemon runs; else what the store said.
pub fn forget_selected(
    dir: &Path,
    selection: SessionSelection,
    now: i64,
) -> Result<u64, UpkeepError> {
    let (_lock, mut store, by) = open(dir, now)?;
    let selected = RecordHistory::open(dir)?.select(selection)?;
    let names: Vec<Box<str>> = selected.sessions.into_iter().map(|row| row.name).collect();
    forget_beside(dir, &names)?;
    Ok(store.forget_sessions(&names, &by)?)
}

/// Takes away all records that are forgotten, and gives their room back to the disk.
///
/// # Errors
/// As for [`forget_selected`].
pub fn compact(dir: &Path, now: i64) -> Result<CompactionReport, UpkeepError> {
    let (_lock, mut store, by) = open(dir, now)?;
    Ok(store.compact(&by)?)
}

/// Puts what can be read of a damaged record into a new file; with `only_look`, says what that would be.
///
/// # Errors
/// As for [`forget_selected`].
pub fn repair(dir: &Path, now: i64, only_look: bool) -> Result<RepairReport, UpkeepError> {
    let _lock = StateLock::take(dir)?;
    match only_look {
        true => Ok(bridle_record::repair::inspect(dir)?),
        false => Ok(bridle_record::repair(dir, &ForgetRequest { principal: own_name(), at: now })?),
    }
}

fn open(dir: &Path, now: i64) -> Result<(StateLock, RecordStore, ForgetRequest), UpkeepError> {
    // A directory without a record is not given one.
    RecordHistory::open(dir)?;
    let lock = StateLock::take(dir)?;
    let mut store = RecordStore::open(dir, &StoreOptions::default())?;
    let by = ForgetRequest { principal: own_name(), at: now.max(store.latest_at()?) };
    Ok((lock, store, by))
}

fn own_name() -> Box<str> {
    format!("uid:{}", rustix::process::geteuid().as_raw()).into()
}

#[cfg(test)]
mod tests;
