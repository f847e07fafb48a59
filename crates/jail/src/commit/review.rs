//! A commit looked at afterwards: its paths, and its differences from the contents that its journal keeps.

use std::collections::HashMap;
use std::path::PathBuf;

use super::journal::{self, JournalRecord};
use super::{CommitError, CommitId, CommitJournal};
use crate::change::{DiffSide, FileChange, PathConflict, TextDiff, unified_or_summary};
use crate::tree::PathState;

/// Changes that a commit made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedChanges {
    /// Folder of the project.
    pub project: PathBuf,
    /// Paths below it, in order.
    pub paths: Vec<PathBuf>,
    /// Commit that this one took back.
    pub undoes: Option<CommitId>,
}

impl CommitJournal {
    /// Reads what a commit changed.
    ///
    /// # Errors
    ///
    /// A commit that is unknown or damaged is an error.
    pub fn changes(&self, id: &CommitId) -> Result<CommittedChanges, CommitError> {
        let record = self.read(id)?;
        let mut paths: Vec<PathBuf> = record.entries.into_iter().map(|entry| entry.path).collect();
        paths.sort();
        paths.dedup();
        Ok(CommittedChanges { project: record.project, paths, undoes: record.undoes })
    }

    /// Tells whether a commit came to its end; false for one that was rolled back.
    #[must_use]
    pub fn is_finished(&self, id: &CommitId) -> bool {
        self.folder_of(id).join(journal::FINISHED).exists()
    }

    /// Checks that commits can be taken back one after the other, in this order.
    ///
    /// # Errors
    ///
    /// Paths that were changed since, or in between, by somebody else.
    pub fn check_undo(&self, commits: &[CommitId]) -> Result<(), CommitError> {
        // Paths as they are, and as the undos before have left them.
        let mut now: HashMap<PathBuf, PathState> = HashMap::new();
        let mut conflicts = Vec::new();
        for commit in commits {
            let record = self.read(commit)?;
            for entry in record.entries.iter().rev() {
                let path = record.project.join(&entry.path);
                let there = match now.get(&path) {
                    Some(state) => state.clone(),
                    None => PathState::read(&path)?,
                };
                if there != entry.after {
                    let reason = "changed since by somebody else".to_owned();
                    conflicts.push(PathConflict { path: entry.path.clone(), reason });
                }
                now.insert(path, entry.before.clone());
            }
        }
        match conflicts.is_empty() {
            true => Ok(()),
            false => Err(CommitError::Conflicts(conflicts)),
        }
    }

    /// Differences that a commit made, or those of some paths.
    ///
    /// # Errors
    ///
    /// A commit that is unknown or damaged is an error.
    pub fn patch(&self, id: &CommitId, only: &[PathBuf]) -> Result<String, CommitError> {
        let folder = self.folder_of(id);
        let mut record = self.read(id)?;
        let unusable = |reason| CommitError::Unusable { id: id.0.clone(), reason };
        record.keep_only(only).map_err(unusable)?;
        record.entries.sort_by(|one, other| one.path.cmp(&other.path));
        let mut out = String::new();
        for entry in record.entries {
            let side = |state: &PathState| {
                let blob = match state {
                    PathState::File { hash, .. } => journal::blob_of(&folder, hash),
                    _ => PathBuf::new(),
                };
                DiffSide::read(state, &blob)
            };
            let (old, new) = (side(&entry.before)?, side(&entry.after)?);
            let change = FileChange {
                path: entry.path,
                before: entry.before,
                after: entry.after,
                linked_before: None,
                linked_after: None,
                renamed_from: None,
                ignored: false,
                privileged: false,
            };
            match unified_or_summary(&change, old, new) {
                TextDiff::Unified(text) => out.push_str(&text),
                TextDiff::Binary(text) | TextDiff::Note(text) => {
                    out.push_str(&text);
                    out.push('\n');
                }
            }
        }
        Ok(out)
    }

    fn read(&self, id: &CommitId) -> Result<JournalRecord, CommitError> {
        let unusable = |reason| CommitError::Unusable { id: id.0.clone(), reason };
        JournalRecord::read(&self.folder_of(id)).map_err(unusable)
    }
}
