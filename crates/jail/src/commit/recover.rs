//! Commits without an end, found at the start: looked at path by path and finished, or rolled back
//! when nothing was applied or somebody else's work is in the way.

use std::fs;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::apply::{Applier, StepFault};
use super::journal::{self, JournalEntry, JournalRecord};
use super::{CommitError, CommitId};
use crate::change::PathConflict;
use crate::error::JailError;
use crate::tree::{self, PathState, is_absent};

/// End that a recovery gave to a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryVerdict {
    /// Every path has its new state.
    Finished,
    /// Every path has its old state, except where conflicts say otherwise.
    RolledBack,
}

/// Commit that a recovery brought to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredCommit {
    /// Name of the commit.
    pub id: CommitId,
    /// End that it was given.
    pub verdict: RecoveryVerdict,
    /// Paths that were left as they are, since somebody else changed them.
    pub conflicts: Vec<PathConflict>,
}

pub(super) fn recover_all(folder: &Path) -> Result<Vec<RecoveredCommit>, CommitError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(JailError::io("list", folder)(error).into()),
    };
    let mut recovered = Vec::new();
    for entry in entries {
        let entry = entry.map_err(JailError::io("list", folder))?;
        let Some(id) = entry.file_name().to_str().and_then(CommitId::parse) else { continue };
        recovered.extend(recover_one(&entry.path(), &id)?);
    }
    recovered.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(recovered)
}

fn recover_one(folder: &Path, id: &CommitId) -> Result<Option<RecoveredCommit>, CommitError> {
    let end = |verdict, conflicts| Ok(Some(RecoveredCommit { id: id.clone(), verdict, conflicts }));
    if !folder.join("journal.json").exists() {
        // Died before the journal was whole: nothing was applied.
        tree::remove_tree(folder)?;
        return end(RecoveryVerdict::RolledBack, Vec::new());
    }
    let record = JournalRecord::read(folder)
        .map_err(|reason| CommitError::Unusable { id: id.0.clone(), reason })?;
    let applier = Applier::new(folder, &record, id);
    let is_ended =
        [journal::FINISHED, journal::ROLLED_BACK].iter().any(|it| folder.join(it).exists());
    if is_ended {
        tree::remove_tree(applier.workshop())?;
        return Ok(None);
    }
    let mut conflicts = give_back(&applier, &record)?;
    let states = record
        .entries
        .iter()
        .map(|entry| progress_of(&record, entry))
        .collect::<Result<Vec<_>, _>>()?;
    let is_free = conflicts.is_empty() && !states.contains(&StepProgress::Foreign);
    let is_begun = states.contains(&StepProgress::Done);
    if is_free && is_begun && !folder.join(journal::ROLLING_BACK).exists() {
        match finish(&applier, &record, &states) {
            Ok(()) => {
                applier.end(journal::FINISHED, &mut |_| {})?;
                return end(RecoveryVerdict::Finished, Vec::new());
            }
            Err(StepFault::Jail(error)) => return Err(error.into()),
            // Somebody works in it right now: back to the state before.
            Err(StepFault::Conflict(_)) => {}
        }
    }
    journal::mark(folder, journal::ROLLING_BACK)?;
    conflicts.extend(applier.backward()?);
    applier.end(journal::ROLLED_BACK, &mut |_| {})?;
    end(RecoveryVerdict::RolledBack, conflicts)
}

/// Progress of one entry, told by what is at its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepProgress {
    Pending,
    Done,
    Foreign,
}

fn progress_of(record: &JournalRecord, entry: &JournalEntry) -> Result<StepProgress, JailError> {
    let now = PathState::read(&record.project.join(&entry.path))?;
    let is_half_made = |state: &PathState| {
        matches!((state, &now), (PathState::Folder { .. }, PathState::Folder { .. }))
    };
    // What was, goes first; what is new, comes second: each of the two knows the other's states.
    let pair = record.entries.iter().find(|other| other.path == entry.path && *other != entry);
    let is_last_of_pair = entry.before == PathState::Absent;
    Ok(match pair {
        Some(first) if is_last_of_pair && now == first.before => StepProgress::Pending,
        Some(last) if !is_last_of_pair && (now == last.after || is_half_made(&last.after)) => {
            StepProgress::Done
        }
        _ if now == entry.after => StepProgress::Done,
        _ if now == entry.before => StepProgress::Pending,
        _ if entry.before == PathState::Absent && is_half_made(&entry.after) => StepProgress::Done,
        _ => StepProgress::Foreign,
    })
}

fn finish(
    applier: &Applier<'_>,
    record: &JournalRecord,
    states: &[StepProgress],
) -> Result<(), StepFault> {
    applier.make_ready(&mut |_| {})?;
    for (index, entry) in record.entries.iter().enumerate() {
        if states[index] == StepProgress::Pending {
            applier.step(index, entry, &mut |_| {})?;
        }
    }
    Ok(applier.finish_modes(&mut |_| {})?)
}

/// Puts back what was taken out by an exchange and turned out to be somebody else's bytes: the crash
/// came between the two.
fn give_back(
    applier: &Applier<'_>,
    record: &JournalRecord,
) -> Result<Vec<PathConflict>, CommitError> {
    let mut conflicts = Vec::new();
    for (index, entry) in record.entries.iter().enumerate() {
        let aside = applier.workshop().join(index.to_string());
        let state = PathState::read(&aside)?;
        if state == PathState::Absent {
            continue;
        }
        let is_known = [&entry.before, &entry.after].contains(&&state);
        // A file that was being laid ready has part of its bytes, and nothing was exchanged then.
        let path = record.project.join(&entry.path);
        let now = PathState::read(&path)?;
        if is_known {
            if state == entry.before && now == PathState::Absent && entry.after != PathState::Absent
            {
                continue;
            }
            if state == entry.before {
                fs::remove_file(&aside).map_err(JailError::io("remove", &aside))?;
            }
            continue;
        }
        let was_exchanged = now == entry.after;
        if !was_exchanged {
            fs::remove_file(&aside).map_err(JailError::io("remove", &aside))?;
            continue;
        }
        let flags = match entry.after {
            PathState::Absent => RenameFlags::NOREPLACE,
            _ => RenameFlags::EXCHANGE,
        };
        renameat_with(CWD, &aside, CWD, &path, flags)
            .map_err(|error| JailError::io("give back", &path)(error.into()))?;
        let reason = "changed meanwhile by somebody else".to_owned();
        conflicts.push(PathConflict { path: entry.path.clone(), reason });
    }
    Ok(conflicts)
}
