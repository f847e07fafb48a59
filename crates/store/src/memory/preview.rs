//! What would be taken back, shown without a daemon and without writing anything. For the commands.

use std::fmt;
use std::path::Path;

use super::error::Error;
use super::path::FilePath;
use super::place::Root;
use super::undo::View;
use super::versions::Past;
use super::{Change, Seen};

/// The past and the present files, for reading alone.
pub struct Preview {
    past: Past,
    root: Root,
}

impl fmt::Debug for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Preview").field("root", &self.root.path()).finish_non_exhaustive()
    }
}

impl Preview {
    /// Opens the past of a state directory and the folder of its files.
    ///
    /// # Errors
    /// One of them is not there.
    pub fn open(state: &Path) -> Result<Self, Error> {
        let past = Past::open(state)?;
        let root = Root::open(&past.root()?)?;
        Ok(Self { past, root })
    }

    /// The past.
    #[must_use]
    pub fn past(&self) -> &Past {
        &self.past
    }

    /// What [`Memory::undo`](super::Memory::undo) would give.
    ///
    /// # Errors
    /// As there.
    pub fn undo(&self, record: u64) -> Result<Vec<Change>, Error> {
        self.view().undo(record)
    }

    /// What [`Memory::rollback`](super::Memory::rollback) would give.
    ///
    /// # Errors
    /// As there.
    pub fn rollback(&self, session: &str, turn: u64) -> Result<Vec<Change>, Error> {
        self.view().rollback(session, turn)
    }

    /// What [`Memory::restore`](super::Memory::restore) would give.
    ///
    /// # Errors
    /// As there.
    pub fn restore(&self, name: &str, only: Option<&FilePath>) -> Result<Vec<Change>, Error> {
        self.view().restore(name, only)
    }

    /// The folder, as the system knows it.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// What a file holds now.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(&self, path: &FilePath) -> Result<Option<Seen>, Error> {
        self.root.read(path)
    }

    fn view(&self) -> View<'_> {
        View { connection: &self.past.connection, root: &self.root }
    }
}
