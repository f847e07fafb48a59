//! Checks before the record is opened for writing: a repair that was interrupted, and a record that is less than
//! others know of. `memory.db` notes which record each change of a file follows from; where the record ends before
//! that, it was removed, emptied or replaced by an older copy. Going on would give the same numbers to other records.

use std::path::Path;

use crate::error::StoreError;
use crate::reader::RecordReader;
use crate::version_links;

/// Name of the folder with the new record of a repair, once it is whole.
pub(crate) const READY_FOLDER: &str = "record.repaired";

/// Refuses a record whose repair was interrupted while files were exchanged.
pub(crate) fn refuse_interrupted_repair(dir: &Path) -> Result<(), StoreError> {
    match dir.join(READY_FOLDER).exists() {
        true => Err(StoreError::RepairInterrupted),
        false => Ok(()),
    }
}

/// Refuses a record that ends before the last one that versions follow from.
pub(crate) fn refuse_truncated(dir: &Path) -> Result<(), StoreError> {
    let Some(known) = version_links::latest_record(dir)? else { return Ok(()) };
    let found = match RecordReader::open(dir) {
        Ok(reader) => reader.head()?.number.0,
        Err(StoreError::Missing { .. }) => 0,
        Err(error) => return Err(error),
    };
    if found < known {
        return Err(StoreError::Behind { found, known });
    }
    Ok(())
}
