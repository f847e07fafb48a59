//! Changes taken back: one, or all of a turn, by bringing their reverse together with what was written
//! since. What comes out are changes like any other, to be decided about and applied.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::error::MemoryError;
use super::file_place::RootFolder;
use super::history::{self, FileVersion, VersionFilter};
use super::merge::{MergeConflict, MergeResult, merge};
use super::{FileChange, FilePath, MemoryStore, SeenContent, blobs};
use bridle_record::RecordHash;

/// The past and the files, looked at together.
pub(super) struct UndoView<'v> {
    pub(super) connection: &'v Connection,
    pub(super) root: &'v RootFolder,
}

impl MemoryStore {
    /// Returns the changes that take a record back and keep all that was written since. Files that are as they were
    /// before are left out.
    ///
    /// # Errors
    /// [`MemoryError::Conflicts`] where both are about the same lines: then no file is to be written.
    pub fn undo(&self, record: u64) -> Result<Vec<FileChange>, MemoryError> {
        UndoView { connection: &self.lock(), root: &self.root }.undo(record)
    }

    /// Returns the changes that take a turn back and keep all that others wrote meanwhile and since.
    ///
    /// # Errors
    /// [`MemoryError::Conflicts`] where both are about the same lines: then no file is to be written.
    pub fn rollback(&self, session: &str, turn: u64) -> Result<Vec<FileChange>, MemoryError> {
        UndoView { connection: &self.lock(), root: &self.root }.rollback(session, turn)
    }

    /// Returns the changes that take all of a session back and keep all that others wrote meanwhile and since.
    ///
    /// # Errors
    /// [`MemoryError::Conflicts`] where both are about the same lines: then no file is to be written.
    pub fn rollback_session(&self, session: &str) -> Result<Vec<FileChange>, MemoryError> {
        UndoView { connection: &self.lock(), root: &self.root }.rollback_session(session)
    }
}

impl UndoView<'_> {
    pub(super) fn undo(&self, record: u64) -> Result<Vec<FileChange>, MemoryError> {
        let of = VersionFilter { record: Some(record), ..VersionFilter::default() };
        let versions = history::list(self.connection, &of, usize::MAX)?;
        if versions.is_empty() {
            return Err(MemoryError::NoChange(record));
        }
        let (mut changes, mut conflicts) = (Vec::new(), Vec::new());
        for version in &versions {
            match self.reverse(&version.path, &[version])? {
                ReversedChange::Change(change) => changes.extend(change),
                ReversedChange::Conflicts(found) => conflicts.extend(found),
            }
        }
        if conflicts.is_empty() { Ok(changes) } else { Err(MemoryError::Conflicts(conflicts)) }
    }

    pub(super) fn rollback(
        &self,
        session: &str,
        turn: u64,
    ) -> Result<Vec<FileChange>, MemoryError> {
        let versions = history::of_turn(self.connection, session, turn)?;
        if versions.is_empty() {
            return Err(MemoryError::NoTurn { session: session.into(), turn });
        }
        self.reverse_all(&versions)
    }

    pub(super) fn rollback_session(&self, session: &str) -> Result<Vec<FileChange>, MemoryError> {
        let versions = history::of_session(self.connection, session)?;
        if versions.is_empty() {
            return Err(MemoryError::NoSession(session.into()));
        }
        self.reverse_all(&versions)
    }

    fn reverse_all(&self, versions: &[FileVersion]) -> Result<Vec<FileChange>, MemoryError> {
        let mut files: BTreeMap<&FilePath, Vec<&FileVersion>> = BTreeMap::new();
        for version in versions {
            files.entry(&version.path).or_default().push(version);
        }
        let (mut changes, mut conflicts) = (Vec::new(), Vec::new());
        for (path, versions) in files {
            match self.reverse(path, &versions)? {
                ReversedChange::Change(change) => changes.extend(change),
                ReversedChange::Conflicts(found) => conflicts.extend(found),
            }
        }
        if conflicts.is_empty() { Ok(changes) } else { Err(MemoryError::Conflicts(conflicts)) }
    }

    /// Takes changes of one file back, the latest first. Those that follow on one another are one: a
    /// text that came and went in between is in nobody's way.
    fn reverse(
        &self,
        path: &FilePath,
        versions: &[&FileVersion],
    ) -> Result<ReversedChange, MemoryError> {
        let now = self.root.read(path)?;
        let mut text = now.as_ref().map(|seen| seen.bytes.clone());
        for run in versions.chunk_by(|one, next| one.after == next.before).rev() {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let (before, after) = (self.bytes(first.before)?, self.bytes(last.after)?);
            let of = |bytes: &Option<Vec<u8>>| bytes.clone().unwrap_or_default();
            match merge(&of(&after), &of(&text), &of(&before)) {
                MergeResult::Conflicts(mut conflicts) => {
                    conflicts.iter_mut().for_each(|it| it.path = Some(path.clone()));
                    return Ok(ReversedChange::Conflicts(conflicts));
                }
                MergeResult::Clean(merged) => {
                    // A file goes if it was not there before and nothing of anybody else's is in it.
                    let is_nothing = merged.is_empty() && (before.is_none() || text.is_none());
                    text = (!is_nothing).then_some(merged);
                }
            }
        }
        let change = FileChange { path: path.clone(), before: hash(now.as_ref()), after: text };
        let is_news = change.after_hash() != change.before;
        Ok(ReversedChange::Change(is_news.then_some(change)))
    }

    fn bytes(&self, hash: Option<RecordHash>) -> Result<Option<Vec<u8>>, MemoryError> {
        Ok(hash.map(|hash| blobs::get(self.connection, hash)).transpose()?)
    }
}

enum ReversedChange {
    Change(Option<FileChange>),
    Conflicts(Vec<MergeConflict>),
}

fn hash(seen: Option<&SeenContent>) -> Option<RecordHash> {
    seen.map(|seen| seen.hash)
}
