//! What others wrote, kept as versions: files are looked at when the watcher heard that they changed.
//!
//! Called by the index thread. A file is read while no change of ours is under way, so that what is seen is
//! later than every version there is. Nobody waits for the disk here: after a power cut the latest of these versions
//! may be missing, the past is whole all the same.

use std::collections::HashSet;

use rusqlite::Connection;
use rustix::fs::{AtFlags, statat};

use super::error::MemoryError;
use super::path::FilePath;
use super::{MemoryStore, file_swap, history};

/// Largest file whose versions are kept when others wrote them, in bytes: what grows beyond it is no text that
/// somebody types. What bridle itself changes is kept up to [`MAX_MEMORY_FILE_BYTES`](super::MAX_MEMORY_FILE_BYTES).
pub const MAX_NOTICED_BYTES: u64 = 4 << 20;

/// Result of a look at a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticedChange {
    /// The content is new and kept as a version; with its number of bytes.
    News(u64),
    /// The content is known.
    Same,
    /// The content is not kept: it is larger than [`MAX_NOTICED_BYTES`], cannot be read, or may not be kept.
    Passed,
}

impl MemoryStore {
    /// Looks at files that others may have written, and keeps what is new. `may_keep` is shown each of them.
    /// A file nothing is known of is news as it is; one that is gone is a version without bytes.
    ///
    /// # Errors
    /// Nothing of this is kept.
    pub fn notice(
        &self,
        paths: &[FilePath],
        at: i64,
        may_keep: &dyn Fn(&FilePath, &[u8]) -> bool,
    ) -> Result<Vec<NoticedChange>, MemoryError> {
        let mut connection = self.lock();
        without_waiting(&mut connection, |connection| {
            let begun = history::begin(connection)?;
            let mut all = Vec::with_capacity(paths.len());
            for path in paths {
                let noticed = match self.look(path) {
                    Some(None) => match history::notice(&begun, path, None, at)? {
                        true => NoticedChange::News(0),
                        false => NoticedChange::Same,
                    },
                    Some(Some(bytes)) if may_keep(path, &bytes) => {
                        match history::notice(&begun, path, Some(&bytes), at)? {
                            true => NoticedChange::News(bytes.len() as u64),
                            false => NoticedChange::Same,
                        }
                    }
                    _ => NoticedChange::Passed,
                };
                all.push(noticed);
            }
            begun.commit().map_err(bridle_record::StoreError::from)?;
            Ok(all)
        })
    }

    /// The files of which there is a version, those that are gone included.
    ///
    /// # Errors
    /// The past cannot be read.
    pub fn known(&self) -> Result<HashSet<FilePath>, MemoryError> {
        let connection = self.lock();
        let read = || -> Result<HashSet<FilePath>, bridle_record::StoreError> {
            let mut statement =
                connection.prepare("SELECT DISTINCT path FROM version WHERE state = 1")?;
            let mut rows = statement.query([])?;
            let mut known = HashSet::new();
            while let Some(row) = rows.next()? {
                known.extend(row.get_ref(0)?.as_str().ok().and_then(FilePath::parse));
            }
            Ok(known)
        };
        Ok(read()?)
    }

    /// The bytes of a file, `None` inside when it is gone; `None` when it is not one to be kept.
    fn look(&self, path: &FilePath) -> Option<Option<Vec<u8>>> {
        let spot = match self.root.find(path) {
            Ok(spot) => spot,
            Err(MemoryError::NoFolder { .. }) => return Some(None),
            Err(_) => return None,
        };
        let size = statat(&spot.folder, &spot.name, AtFlags::SYMLINK_NOFOLLOW)
            .map(|stat| u64::try_from(stat.st_size).unwrap_or(u64::MAX));
        if size.is_ok_and(|size| size > MAX_NOTICED_BYTES) {
            return None;
        }
        let seen = file_swap::read(&spot).ok()?;
        match seen {
            Some(seen) => {
                (seen.bytes.len() as u64 <= MAX_NOTICED_BYTES).then_some(Some(seen.bytes))
            }
            None => Some(None),
        }
    }
}

/// Does work whose commits do not wait for the disk, unlike those of changes.
fn without_waiting<T>(
    connection: &mut Connection,
    work: impl FnOnce(&mut Connection) -> Result<T, MemoryError>,
) -> Result<T, MemoryError> {
    let set = |connection: &Connection, word: &str| {
        connection.pragma_update(None, "synchronous", word).map_err(bridle_record::StoreError::from)
    };
    set(connection, "NORMAL")?;
    let done = work(connection);
    set(connection, "FULL")?;
    done
}
