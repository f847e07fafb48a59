//! The commit of a change set: a journal first, then one file after the other, each only where it is
//! what the stage saw; finished or rolled back after a crash at any point; undone by the inverse.
//!
//! ```text
//! COMMITS/ID/journal.json   every path with its states before and after
//!            blobs/HASH     contents of both sides
//!            rolling-back   from here on there is only one way
//!            finished | rolled-back   the end; blobs stay for an undo
//! PROJECT/.bridle-ID/       new files before, old files after their exchange; gone at the end
//! ```

mod apply;
mod journal;
mod recover;
mod review;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use recover::{RecoveredCommit, RecoveryVerdict};
pub use review::CommittedChanges;

use crate::change::{ChangeSet, PathConflict};
use crate::error::JailError;
use journal::{JournalEntry, JournalRecord};

/// Name of a commit: sixteen hex digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CommitId(pub(crate) String);

impl CommitId {
    /// Reads a name.
    #[must_use]
    pub fn parse(text: &str) -> Option<CommitId> {
        let is_name = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_name.then(|| CommitId(text.to_owned()))
    }
}

impl std::fmt::Display for CommitId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Fault of a commit. Except for `Jail`, the project is as it was before.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Change set that is not the one that was approved.
    #[error("the changes are not those that were approved: expected {expected}, got {got}")]
    NotApproved {
        /// Hash that was approved.
        expected: String,
        /// Hash of the change set.
        got: String,
    },
    /// Work of the user in the way.
    #[error("{} paths were changed by somebody else meanwhile", .0.len())]
    Conflicts(Vec<PathConflict>),
    /// Commit that is unknown, unfinished or damaged.
    #[error("commit `{id}` cannot be used: {reason}")]
    Unusable {
        /// Name of the commit.
        id: String,
        /// Reason, in words.
        reason: String,
    },
    /// Failure of the file system; the journal is finished or rolled back by the next recovery.
    #[error("the commit failed")]
    Jail(#[from] JailError),
}

/// Commit whose journal is on disk and of which nothing is applied yet.
#[derive(Debug)]
pub struct PreparedCommit {
    id: CommitId,
    record: JournalRecord,
}

impl PreparedCommit {
    /// Name, for the record that is written before anything is applied.
    #[must_use]
    pub fn id(&self) -> &CommitId {
        &self.id
    }
}

/// Commit that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitOutcome {
    /// Name, for `undo`.
    pub id: CommitId,
    /// Paths that were changed.
    pub paths: usize,
}

/// Point of a commit, for progress and for tests that die there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitPoint {
    /// A content was copied beside the journal.
    BlobKept,
    /// The journal is on disk.
    Journaled,
    /// A new file lies ready in the project.
    FileReady,
    /// All new files are on disk.
    Synced,
    /// A new file is in place, the old one is not checked yet.
    Exchanged,
    /// A path has its new state.
    Applied,
    /// All paths have, the end is not marked yet.
    AllApplied,
    /// The end is marked.
    Marked,
    /// The folder of new files is gone.
    Cleaned,
}

/// Folder of journals.
#[derive(Debug, Clone)]
pub struct CommitJournal {
    folder: PathBuf,
}

impl CommitJournal {
    /// Names the folder; made when it is needed.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> CommitJournal {
        CommitJournal { folder: folder.into() }
    }

    /// Keeps both sides of a change set and writes its journal; the project is not touched.
    ///
    /// # Errors
    ///
    /// Another hash than the approved one, conflicts, and contents that changed since are refused.
    pub fn prepare(
        &self,
        set: &ChangeSet,
        approved: &str,
        at_point: &mut dyn FnMut(CommitPoint),
    ) -> Result<PreparedCommit, CommitError> {
        let got = set.hash();
        if got != approved {
            return Err(CommitError::NotApproved { expected: approved.to_owned(), got });
        }
        if !set.conflicts.is_empty() {
            return Err(CommitError::Conflicts(set.conflicts.clone()));
        }
        let entries = set.changes.iter().flat_map(JournalEntry::of_change).collect();
        let record = JournalRecord::new(&set.project, entries, None);
        let sources = [set.project.as_path(), set.contents.as_path()];
        self.keep(record, journal::BlobSource::Trees(sources), at_point)
    }

    /// Applies a prepared commit.
    ///
    /// # Errors
    ///
    /// At a conflict everything is as before, and the conflicts are told.
    pub fn apply(
        &self,
        prepared: &PreparedCommit,
        at_point: &mut dyn FnMut(CommitPoint),
    ) -> Result<CommitOutcome, CommitError> {
        apply::Applier::new(&self.folder_of(&prepared.id), &prepared.record, &prepared.id)
            .run(at_point)?;
        Ok(CommitOutcome { id: prepared.id.clone(), paths: prepared.record.paths() })
    }

    /// Prepares and applies.
    ///
    /// # Errors
    ///
    /// Those of both.
    pub fn commit(
        &self,
        set: &ChangeSet,
        approved: &str,
        at_point: &mut dyn FnMut(CommitPoint),
    ) -> Result<CommitOutcome, CommitError> {
        let prepared = self.prepare(set, approved, at_point)?;
        self.apply(&prepared, at_point)
    }

    /// Takes a commit back, or some of its paths: each must be as the commit left it. The undo is a
    /// commit, too, and can be undone.
    ///
    /// # Errors
    ///
    /// Paths that were changed since are told, and nothing is changed.
    pub fn undo(
        &self,
        id: &CommitId,
        only: &[PathBuf],
        at_point: &mut dyn FnMut(CommitPoint),
    ) -> Result<CommitOutcome, CommitError> {
        let folder = self.folder_of(id);
        let unusable =
            |reason: &str| CommitError::Unusable { id: id.0.clone(), reason: reason.into() };
        let mut old = JournalRecord::read(&folder).map_err(|reason| unusable(&reason))?;
        old.keep_only(only).map_err(|reason| unusable(&reason))?;
        if !folder.join(journal::FINISHED).exists() {
            return Err(unusable("it was not finished"));
        }
        let conflicts = old.conflicts_with_after()?;
        if !conflicts.is_empty() {
            return Err(CommitError::Conflicts(conflicts));
        }
        let record = old.inverse(id);
        let prepared = self.keep(record, journal::BlobSource::Journal(&folder), at_point)?;
        self.apply(&prepared, at_point)
    }

    /// Finishes or rolls back every commit that has no end.
    ///
    /// # Errors
    ///
    /// A journal that cannot be read stops the recovery: somebody has to look.
    pub fn recover(&self) -> Result<Vec<RecoveredCommit>, CommitError> {
        recover::recover_all(&self.folder)
    }

    /// Forgets a commit: it can no longer be undone.
    ///
    /// # Errors
    ///
    /// A folder that cannot be removed is an error.
    pub fn forget(&self, id: &CommitId) -> Result<(), CommitError> {
        Ok(crate::tree::remove_tree(&self.folder_of(id))?)
    }

    fn folder_of(&self, id: &CommitId) -> PathBuf {
        self.folder.join(&id.0)
    }

    fn keep(
        &self,
        record: JournalRecord,
        source: journal::BlobSource<'_>,
        at_point: &mut dyn FnMut(CommitPoint),
    ) -> Result<PreparedCommit, CommitError> {
        let id = record.name();
        let folder = self.folder_of(&id);
        crate::stage::make_private_folder(&folder)?;
        if let Err(error) = record.write(&folder, source, at_point) {
            // Nothing was applied: without its folder the commit has never been.
            let _ = crate::tree::remove_tree(&folder);
            return Err(error);
        }
        Ok(PreparedCommit { id, record })
    }
}

/// Folder in the project in which a commit prepares its files.
pub(crate) fn workshop_of(project: &Path, id: &CommitId) -> PathBuf {
    project.join(format!(".bridle-{}", id.0))
}
