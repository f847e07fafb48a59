//! What would be taken back, shown without a daemon and without writing anything. For the commands.

use std::fmt;
use std::path::Path;

use super::error::MemoryError;
use super::file_place::RootFolder;
use super::history::VersionHistory;
use super::path::FilePath;
use super::undo::UndoView;
use super::{FileChange, SeenContent};

/// The past and the present files, for reading alone.
pub struct MemoryPreview {
    past: VersionHistory,
    root: RootFolder,
}

impl fmt::Debug for MemoryPreview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Preview").field("root", &self.root.path()).finish_non_exhaustive()
    }
}

impl MemoryPreview {
    /// Opens the past of a state directory and the folder of its files.
    ///
    /// # Errors
    /// One of them is not there.
    pub fn open(state: &Path) -> Result<Self, MemoryError> {
        let past = VersionHistory::open(state)?;
        let root = RootFolder::open(&past.root()?)?;
        Ok(Self { past, root })
    }

    /// The past.
    #[must_use]
    pub fn past(&self) -> &VersionHistory {
        &self.past
    }

    /// Returns the changes that [`MemoryStore::undo`](super::MemoryStore::undo) would make.
    ///
    /// # Errors
    /// As there.
    pub fn undo(&self, record: u64) -> Result<Vec<FileChange>, MemoryError> {
        self.view().undo(record)
    }

    /// Returns the changes that [`MemoryStore::rollback`](super::MemoryStore::rollback) would make.
    ///
    /// # Errors
    /// As there.
    pub fn rollback(&self, session: &str, turn: u64) -> Result<Vec<FileChange>, MemoryError> {
        self.view().rollback(session, turn)
    }

    /// Returns the changes that [`MemoryStore::rollback_session`](super::MemoryStore::rollback_session) would make.
    ///
    /// # Errors
    /// As there.
    pub fn rollback_session(&self, session: &str) -> Result<Vec<FileChange>, MemoryError> {
        self.view().rollback_session(session)
    }

    /// Returns the changes that [`MemoryStore::restore`](super::MemoryStore::restore) would make.
    ///
    /// # Errors
    /// As there.
    pub fn restore(
        &self,
        name: &str,
        only: Option<&FilePath>,
    ) -> Result<Vec<FileChange>, MemoryError> {
        self.view().restore(name, only)
    }

    /// The folder, as the system knows it.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Reads a file as it is now.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&self, path: &FilePath) -> Result<Option<SeenContent>, MemoryError> {
        self.root.read(path)
    }

    fn view(&self) -> UndoView<'_> {
        UndoView { connection: &self.past.connection, root: &self.root }
    }
}
