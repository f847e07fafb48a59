//! The user's own files below one folder, changed safely, with every version kept.
//!
//! The daemon opens one [`MemoryStore`] and hands in changes that were decided elsewhere, and files that its watcher
//! saw; commands read the same versions with [`VersionHistory`]. A change is written in one step, only if the file is
//! what was read, and never while an editor holds it. The text that is replaced is kept first, in `memory.db` beside
//! the record. No tasks, no clock, and no knowledge of what the text means.
//!
//! In reading order:
//! - `path`: names below the folder; `error`: reasons of refusal
//! - `file_place`: from a name to an open folder, without ever leaving the root
//! - `file_swap`: one file, replaced in one step; `lock`: files that an editor holds; `writers`: programs that have
//!   one open; `late_saves`: saves into a file that was replaced
//! - `diff`, `merge`: lines that differ, shown, and brought together again
//! - `blobs`, `history`: the versions; `noticed_change`: changes of other programs; `apply`: changes of ours, also
//!   after a crash
//! - `undo`: changes taken back; `snapshot`: all files at a moment; `preview`: both, without a daemon; `authorship`:
//!   lines of the user that would go with them; `offline_forget`: forgetting without a daemon

mod apply;
mod authorship;
mod blobs;
mod diff;
mod error;
mod file_place;
mod file_swap;
mod history;
mod late_saves;
mod lock;
mod merge;
mod noticed_change;
mod offline_forget;
mod path;
mod preview;
mod snapshot;
mod undo;
mod writers;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rusqlite::Connection;

pub use apply::{ChangeOutcome, WrittenFile};
pub use authorship::{LostLine, LostLines};
pub use diff::{LineChange, changes as line_changes, unified};
pub use error::MemoryError;
pub use history::{
    FileVersion, MEMORY_FILE, VersionFilter, VersionHistory, VersionId, VersionOrigin,
};
pub use merge::{MergeConflict, MergeResult, merge};
pub use noticed_change::{MAX_NOTICED_BYTES, NoticedChange};
pub use offline_forget::forget_versions;
pub use path::FilePath;
pub use preview::MemoryPreview;
pub use snapshot::{NewSnapshot, SnapshotRow};

use file_place::RootFolder;

use bridle_record::RecordHash;

/// The points that a change of a file of the memory passes, in order.
pub const MEMORY_FAULT_POINTS: &[&str] = &[
    "memory.planned",
    "memory.created",
    "memory.half",
    "memory.written",
    "memory.beside",
    "memory.exchanged",
    "memory.synced",
    "memory.settled",
    "memory.cleared",
];

/// Largest file that is read or written, in bytes: a hundred times a large Org file.
pub const MAX_MEMORY_FILE_BYTES: u64 = 64 << 20;

/// Files that lie beside others while they are replaced begin so. Watchers leave them alone.
pub const TEMPORARY_PREFIX: &str = ".bridle-";

/// The hash of the bytes of a file.
#[must_use]
pub fn hash_bytes(bytes: &[u8]) -> RecordHash {
    RecordHash::from(*blake3::hash(bytes).as_bytes())
}

/// Content of a file when it was read.
#[derive(Clone, PartialEq, Eq)]
pub struct SeenContent {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Their hash.
    pub hash: RecordHash,
}

impl SeenContent {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let hash = hash_bytes(&bytes);
        Self { bytes, hash }
    }
}

impl fmt::Debug for SeenContent {
    /// Says how long it is: what a file holds is nobody's business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seen").field("bytes", &self.bytes.len()).field("hash", &self.hash).finish()
    }
}

/// One file that is to become something else.
#[derive(Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Path of the file.
    pub path: FilePath,
    /// Hash that the file must have when it is replaced; `None`: the file must not exist.
    pub before: Option<RecordHash>,
    /// New content; `None`: the file is removed.
    pub after: Option<Vec<u8>>,
}

impl FileChange {
    /// The hash of what the file is to hold.
    #[must_use]
    pub fn after_hash(&self) -> Option<RecordHash> {
        self.after.as_deref().map(hash_bytes)
    }
}

impl fmt::Debug for FileChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Change")
            .field("path", &self.path)
            .field("before", &self.before)
            .field("after", &self.after_hash())
            .finish()
    }
}

/// Cause of a change: kept with each version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeCause {
    /// Kind of the change.
    pub origin: VersionOrigin,
    /// The number of the record that it follows from.
    pub record: Option<u64>,
    /// The session of that record.
    pub session: Box<str>,
    /// The turn of that session.
    pub turn: u64,
    /// On whose behalf.
    pub principal: Box<str>,
    /// Name of the action.
    pub action: Box<str>,
    /// Milliseconds since 1970.
    pub at: i64,
}

/// Folder of the files, and the paths in it that must not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryOptions {
    /// The folder of the user's files. Must exist.
    pub root: PathBuf,
    /// Absolute paths of files and folders that are never written, even below the root.
    pub protected: Vec<PathBuf>,
}

/// The files below one folder and their past, open for writing. One for each folder and state
/// directory.
pub struct MemoryStore {
    root: RootFolder,
    protected: Vec<PathBuf>,
    /// Held while files are changed: one change at a time.
    connection: Mutex<Connection>,
    /// Tells who has unsaved changes in a file.
    buffers: OnceLock<BufferOwners>,
    /// Tells which texts may be kept.
    keeps: OnceLock<KeepRule>,
    /// Files that were replaced a moment ago. Taken after the connection.
    late: Mutex<Vec<late_saves::ReplacedFile>>,
}

/// Tells who has unsaved changes in a file, by its whole path, as messages name them.
pub type BufferOwners = Box<dyn Fn(&Path) -> Option<Box<str>> + Send + Sync>;

/// Tells whether the text of a file may be kept as a version.
pub type KeepRule = Box<dyn Fn(&FilePath, &[u8]) -> bool + Send + Sync>;

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("root", &self.root.path()).finish_non_exhaustive()
    }
}

impl MemoryStore {
    /// Opens the files of a folder and their past in a state directory. What a crash left beside
    /// files is cleaned away, and how the changes ended that it interrupted is found out.
    ///
    /// # Errors
    /// The folder or the past cannot be opened.
    pub fn open(state: &Path, options: &MemoryOptions) -> Result<Self, MemoryError> {
        let root = RootFolder::open(&options.root)?;
        let connection = history::open_writer(state, root.path())?;
        let protected = options.protected.iter();
        let real = protected.clone().filter_map(|path| path.canonicalize().ok());
        let protected = protected.cloned().chain(real).collect();
        let (connection, buffers, keeps) =
            (Mutex::new(connection), OnceLock::new(), OnceLock::new());
        let late = Mutex::default();
        let memory = Self { root, protected, connection, buffers, keeps, late };
        memory.recover()?;
        Ok(memory)
    }

    /// The folder, as the system knows it.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Reads a file; `None` if it does not exist.
    ///
    /// # Errors
    /// The file cannot be read, is no plain file, or lies outside the root.
    pub fn read(&self, path: &FilePath) -> Result<Option<SeenContent>, MemoryError> {
        self.root.read(path)
    }

    /// The file that a name stands for: a link is followed, inside the root only.
    ///
    /// # Errors
    /// The file lies outside the root, or its folder does not exist.
    pub fn real_path(&self, path: &FilePath) -> Result<FilePath, MemoryError> {
        Ok(self.root.find(path)?.real)
    }

    /// Says whom to ask about unsaved changes before a file is written; the first word on it counts.
    pub fn set_buffer_owners(&self, buffers: BufferOwners) {
        let _ = self.buffers.set(buffers);
    }

    /// Says which texts may be kept as versions; the first word on it counts. Without one, all may.
    pub fn set_keep_rule(&self, rule: KeepRule) {
        let _ = self.keeps.set(rule);
    }

    /// Whether the text of a file may be kept.
    #[must_use]
    pub fn may_keep(&self, path: &FilePath, bytes: &[u8]) -> bool {
        self.keeps.get().is_none_or(|keeps| keeps(path, bytes))
    }

    /// Refuses a file that must not be written now.
    fn admit(&self, path: &FilePath, spot: &file_place::FileSpot) -> Result<(), MemoryError> {
        let real = self.root.path().join(spot.real.as_str());
        let named = self.root.path().join(path.as_str());
        let is_protected = |folder: &PathBuf| real.starts_with(folder) || named.starts_with(folder);
        if self.protected.iter().any(is_protected) {
            return Err(MemoryError::Protected { path: path.clone() });
        }
        if let Some(by) = lock::holder(spot)? {
            return Err(MemoryError::Locked { path: path.clone(), by });
        }
        let ask = |path: &PathBuf| self.buffers.get().and_then(|holder| holder(path));
        let holder = [&named, &real].into_iter().find_map(ask);
        match holder {
            Some(by) => Err(MemoryError::Modified { path: path.clone(), by }),
            None => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
