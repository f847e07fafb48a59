//! The journal of one commit: its paths with their states, and the contents of both sides by hash.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{CommitError, CommitId, CommitPoint};
use crate::change::{FileChange, PathConflict};
use crate::error::JailError;
use crate::tree::{self, PathState, path_text};

pub(super) const FINISHED: &str = "finished";
pub(super) const ROLLED_BACK: &str = "rolled-back";
pub(super) const ROLLING_BACK: &str = "rolling-back";
const JOURNAL: &str = "journal.json";
const BLOBS: &str = "blobs";

/// One step at one path. Something else than before takes two: what was goes, what is new comes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalEntry {
    #[serde(with = "path_text")]
    pub(super) path: PathBuf,
    pub(super) before: PathState,
    pub(super) after: PathState,
    /// Path that is the same file before, and after.
    pub(super) linked_before: Option<String>,
    pub(super) linked_after: Option<String>,
}

impl JournalEntry {
    pub(super) fn of_change(change: &FileChange) -> Vec<JournalEntry> {
        let entry = |before: &PathState, after: &PathState| JournalEntry {
            path: change.path.clone(),
            before: before.clone(),
            after: after.clone(),
            linked_before: change.linked_before.clone(),
            linked_after: change.linked_after.clone(),
        };
        let is_folder = |state: &PathState| matches!(state, PathState::Folder { .. });
        let (before, after) = (&change.before, &change.after);
        let is_swap = *before != PathState::Absent
            && *after != PathState::Absent
            && is_folder(before) != is_folder(after);
        if is_swap {
            vec![entry(before, &PathState::Absent), entry(&PathState::Absent, after)]
        } else {
            vec![entry(before, after)]
        }
    }
}

/// Source of contents that are kept.
#[derive(Clone, Copy)]
pub(super) enum BlobSource<'s> {
    /// Project and stage: contents before and after are at the entry's path.
    Trees([&'s Path; 2]),
    /// Journal of the commit that is taken back.
    Journal(&'s Path),
}

/// Journal as it is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalRecord {
    #[serde(with = "path_text")]
    pub(super) project: PathBuf,
    pub(super) entries: Vec<JournalEntry>,
    /// Commit that this one takes back.
    pub(super) undoes: Option<CommitId>,
    /// Makes the name of equal commits differ.
    nonce: String,
}

impl JournalRecord {
    pub(super) fn new(
        project: &Path,
        entries: Vec<JournalEntry>,
        undoes: Option<CommitId>,
    ) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut seed = [0_u8; 8];
        // The time alone makes it unique for all but two commits in one nanosecond.
        let _ = getrandom::fill(&mut seed);
        let nonce = format!("{}-{:x}", now.as_nanos(), u64::from_ne_bytes(seed));
        JournalRecord { project: project.to_owned(), entries: in_order(entries), undoes, nonce }
    }

    pub(super) fn name(&self) -> CommitId {
        CommitId(blake3::hash(&self.text()).to_hex()[..16].to_owned())
    }

    fn text(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a journal becomes JSON")
    }

    pub(super) fn read(folder: &Path) -> Result<JournalRecord, String> {
        let text = fs::read(folder.join(JOURNAL)).map_err(|error| error.to_string())?;
        let record: JournalRecord =
            serde_json::from_slice(&text).map_err(|error| error.to_string())?;
        if record.entries.iter().any(|entry| !tree::is_inside(&entry.path)) {
            return Err("a path leads out of the project".into());
        }
        Ok(record)
    }

    /// Number of different paths.
    pub(super) fn paths(&self) -> usize {
        self.entries.iter().map(|entry| &entry.path).collect::<BTreeSet<_>>().len()
    }

    /// Leaves some paths, with what is below them and the folders that they are in; all of them if none
    /// is named.
    pub(super) fn keep_only(&mut self, only: &[PathBuf]) -> Result<(), String> {
        if only.is_empty() {
            return Ok(());
        }
        let is_known = |path: &&PathBuf| self.entries.iter().any(|it| it.path.starts_with(path));
        if let Some(other) = only.iter().find(|path| !is_known(path)) {
            return Err(format!("it did not change `{}`", other.display()));
        }
        let is_lost_folder = |entry: &JournalEntry| {
            matches!(entry.before, PathState::Folder { .. }) && entry.after == PathState::Absent
        };
        self.entries.retain(|entry| {
            only.iter().any(|path| {
                entry.path.starts_with(path)
                    || (path.starts_with(&entry.path) && is_lost_folder(entry))
            })
        });
        Ok(())
    }

    /// The commit that takes this one back.
    pub(super) fn inverse(&self, id: &CommitId) -> JournalRecord {
        let entries = self.entries.iter().map(|entry| JournalEntry {
            path: entry.path.clone(),
            before: entry.after.clone(),
            after: entry.before.clone(),
            linked_before: entry.linked_after.clone(),
            linked_after: entry.linked_before.clone(),
        });
        JournalRecord::new(&self.project, entries.collect(), Some(id.clone()))
    }

    /// Paths that are no longer as this commit left them.
    pub(super) fn conflicts_with_after(&self) -> Result<Vec<PathConflict>, CommitError> {
        let mut last: HashMap<&Path, &PathState> = HashMap::new();
        for entry in &self.entries {
            last.insert(&entry.path, &entry.after);
        }
        let mut conflicts = Vec::new();
        for (path, after) in &last {
            let mut reason = None;
            if PathState::read(&self.project.join(path))? != **after {
                reason = Some("changed since by somebody else");
            } else if matches!(after, PathState::Folder { .. }) && self.is_new(path) {
                let entries = fs::read_dir(self.project.join(path)).into_iter().flatten().flatten();
                let is_ours =
                    |name: std::ffi::OsString| last.contains_key(path.join(name).as_path());
                let has_more = entries.into_iter().any(|entry| !is_ours(entry.file_name()));
                reason = has_more.then_some("has files that were made since by somebody else");
            }
            if let Some(reason) = reason {
                conflicts.push(PathConflict { path: path.to_path_buf(), reason: reason.into() });
            }
        }
        conflicts.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(conflicts)
    }

    fn is_new(&self, path: &Path) -> bool {
        self.entries.iter().any(|entry| entry.path == path && entry.before == PathState::Absent)
    }

    /// Keeps the contents, then the journal, and syncs both.
    pub(super) fn write(
        &self,
        folder: &Path,
        source: BlobSource<'_>,
        at_point: &mut dyn FnMut(CommitPoint),
    ) -> Result<(), CommitError> {
        let blobs = folder.join(BLOBS);
        crate::stage::make_private_folder(&blobs)?;
        for entry in &self.entries {
            for (index, state) in [&entry.before, &entry.after].into_iter().enumerate() {
                let PathState::File { hash, .. } = state else { continue };
                let target = blobs.join(hash);
                if target.exists() {
                    continue;
                }
                let from = match &source {
                    BlobSource::Trees(trees) => trees[index].join(&entry.path),
                    BlobSource::Journal(other) => other.join(BLOBS).join(hash),
                };
                keep_blob(&from, &target, hash, &entry.path)?;
                at_point(CommitPoint::BlobKept);
            }
        }
        let path = folder.join("journal.new");
        fs::write(&path, self.text()).map_err(JailError::io("write", &path))?;
        sync_file_system(folder)?;
        fs::rename(&path, folder.join(JOURNAL)).map_err(JailError::io("name", &path))?;
        sync_folder(folder)?;
        at_point(CommitPoint::Journaled);
        Ok(())
    }
}

/// Copies contents and checks that they are those that were judged.
fn keep_blob(from: &Path, to: &Path, hash: &str, path: &Path) -> Result<(), CommitError> {
    drop(tree::copy_file(from, to)?);
    let copy = tree::open_file(to).map_err(JailError::io("open", to))?;
    let (got, _) = tree::hash_file(&copy).map_err(JailError::io("read", to))?;
    if got == hash {
        return Ok(());
    }
    let reason = "changed between the question and the commit".to_owned();
    Err(CommitError::Conflicts(vec![PathConflict { path: path.to_owned(), reason }]))
}

pub(super) fn blob_of(folder: &Path, hash: &str) -> PathBuf {
    folder.join(BLOBS).join(hash)
}

/// Orders entries: removals first, children first; then additions, parents first; modes of folders last.
fn in_order(mut entries: Vec<JournalEntry>) -> Vec<JournalEntry> {
    let phase = |entry: &JournalEntry| match (&entry.before, &entry.after) {
        (_, PathState::Absent) => 0,
        (PathState::Folder { .. }, PathState::Folder { .. }) => 2,
        _ => 1,
    };
    entries.sort_by(|one, other| {
        let by_path =
            if phase(one) == 1 { one.path.cmp(&other.path) } else { other.path.cmp(&one.path) };
        phase(one).cmp(&phase(other)).then(by_path)
    });
    entries
}

/// Marks the end of a commit, or the way back.
pub(super) fn mark(folder: &Path, name: &str) -> Result<(), JailError> {
    let path = folder.join(name);
    let file = File::create(&path).map_err(JailError::io("make", &path))?;
    file.sync_all().map_err(JailError::io("sync", &path))?;
    sync_folder(folder)
}

pub(super) fn sync_folder(folder: &Path) -> Result<(), JailError> {
    File::open(folder).and_then(|it| it.sync_all()).map_err(JailError::io("sync", folder))
}

/// Syncs everything at once: one sync for each file of ten thousand takes minutes.
pub(super) fn sync_file_system(folder: &Path) -> Result<(), JailError> {
    let opened = File::open(folder).map_err(JailError::io("open", folder))?;
    #[cfg(target_os = "linux")]
    let synced = rustix::fs::syncfs(&opened).map_err(std::io::Error::from);
    #[cfg(not(target_os = "linux"))]
    let synced = {
        drop(opened);
        rustix::fs::sync();
        Ok(())
    };
    synced.map_err(JailError::io("sync", folder))
}
