//! A record that is less than others know of. `memory.db` notes which record each change of a file follows from;
//! where the record ends before that, it was removed, emptied or replaced by an older copy. Going on would give
//! the same numbers to other records. Asked before the record is opened for writing.

use std::path::Path;

use crate::error::StoreError;
use crate::reader::RecordReader;
use crate::version_links;

/// Refuses a record that ends before what is known of it.
pub(crate) fn check(dir: &Path) -> Result<(), StoreError> {
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
