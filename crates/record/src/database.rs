//! Helpers for every SQLite database in the state folder: private files, the wait for a lock, and numbers that
//! SQLite can hold. Used by the record, the databases beside it, and the index of the Memex.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::StoreError;

/// Name of the file in the state directory. SQLite puts `-wal` and `-shm` beside it.
pub const RECORD_FILE: &str = "record.db";

/// Suffixes of the files that SQLite keeps beside a database.
const COMPANIONS: &[&str] = &["", "-wal", "-shm"];

/// Wait for another process that holds a lock: it commits in milliseconds, unless it hangs.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Makes the file if need be, and lets nobody but its owner at it. SQLite gives the files that it
/// makes beside it the same mode.
pub fn protect(path: &Path) -> Result<(), StoreError> {
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |source| StoreError::Io { path, source }
    };
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(no_follow())
        .open(path)
        .map_err(failed(path))?;
    for companion in companions(path) {
        match fs::set_permissions(&companion, Permissions::from_mode(0o600)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed(&companion)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Flags with which a file of the state folder is opened: never through a link.
pub fn no_follow() -> i32 {
    i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default()
}

/// Makes a folder that nobody but its owner may enter.
pub fn make_private(folder: &Path) -> Result<(), StoreError> {
    let made = fs::DirBuilder::new().mode(0o700).create(folder);
    made.map_err(|source| StoreError::Io { path: folder.into(), source })
}

/// The file and those that SQLite keeps beside it, whether they are there or not.
pub fn companions(path: &Path) -> impl Iterator<Item = PathBuf> {
    COMPANIONS.iter().map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        name.into()
    })
}

/// A count for SQLite, whose integers are signed. Nothing here ever counts to 2^63.
pub fn int(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count from SQLite. What is negative was not written by us; it becomes a number that nothing has.
pub fn count(int: i64) -> u64 {
    u64::try_from(int).unwrap_or(u64::MAX)
}
