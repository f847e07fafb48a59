//! Forgetting versions while no daemon runs: the counterpart of [`MemoryStore::forget`](super::MemoryStore::forget)
//! for the offline commands.

use std::path::Path;

use bridle_record::StoreError;
use bridle_record::version_links::{latest_record, open_writer};

use super::history;

/// Forgets versions that follow from these sessions, or from one record of theirs. Returns how many there were.
///
/// # Errors
/// The database failed; the versions of sessions earlier in the list are forgotten.
pub fn forget_versions(
    state: &Path,
    sessions: &[Box<str>],
    record: Option<u64>,
) -> Result<usize, StoreError> {
    if sessions.is_empty() || latest_record(state)?.is_none() {
        return Ok(0);
    }
    let mut connection = open_writer(state)?;
    let mut forgotten = 0;
    for session in sessions {
        forgotten += history::forget(&mut connection, session, record)?;
    }
    Ok(forgotten)
}
