//! The change set of a stage: what was added, changed and deleted, beside what the user did
//! meanwhile. Its hash stands for all of it: what is judged and shown is what is committed.

mod facts;
mod later;
mod overlay;
mod patch;

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use serde::{Deserialize, Serialize};

pub use facts::ChangeFacts;
pub use later::LaterRun;
pub(crate) use overlay::is_opaque;
pub(crate) use patch::{DiffSide, unified_or_summary};
pub use patch::{TextDiff, diff_texts};

use crate::error::JailError;
use crate::layer::JailLayer;
use crate::stage::Stage;
use crate::tree::{self, EntryStamp, PathState, is_absent, path_text};

/// Kind of a change, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// New entry.
    Added,
    /// Other contents, or another target of a link.
    Changed,
    /// Same contents with another mode.
    Mode,
    /// Another kind of entry than before: a file where a folder was.
    Replaced,
    /// Gone.
    Deleted,
}

/// Change of one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Path below the project.
    #[serde(with = "path_text")]
    pub path: PathBuf,
    /// State in the project when the stage began.
    pub before: PathState,
    /// State in the stage.
    pub after: PathState,
    /// Other path that was the same file before: its hard link is restored by an undo.
    pub linked_before: Option<String>,
    /// Other path that is the same file in the stage.
    pub linked_after: Option<String>,
    /// Deleted path with the same contents: a rename, for people.
    pub renamed_from: Option<String>,
    /// Covered by a `.gitignore`: summarised where changes are shown.
    pub ignored: bool,
    /// The stage gives the file rights of its owner or group, which a commit never carries over.
    pub privileged: bool,
}

impl FileChange {
    /// Kind of the change.
    #[must_use]
    pub fn kind(&self) -> ChangeKind {
        match (&self.before, &self.after) {
            (PathState::Absent, _) => ChangeKind::Added,
            (_, PathState::Absent) => ChangeKind::Deleted,
            (PathState::File { hash: old, .. }, PathState::File { hash: new, .. }) => {
                if old == new { ChangeKind::Mode } else { ChangeKind::Changed }
            }
            (PathState::Link { .. }, PathState::Link { .. }) => ChangeKind::Changed,
            (PathState::Folder { .. }, PathState::Folder { .. }) => ChangeKind::Mode,
            _ => ChangeKind::Replaced,
        }
    }
}

/// Path that the user changed while the stage was open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathConflict {
    /// Path below the project.
    #[serde(with = "path_text")]
    pub path: PathBuf,
    /// Reason, in words.
    pub reason: String,
}

/// Mode of a file that was not there before.
const NEW_FILE_MODE: u32 = 0o644;

/// Everything that a stage would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeSet {
    /// Folder of the project.
    pub project: PathBuf,
    /// Folder with the new contents.
    pub contents: PathBuf,
    /// Changes by path.
    pub changes: Vec<FileChange>,
    /// Paths where the user's own work is in the way.
    pub conflicts: Vec<PathConflict>,
    /// Sockets, pipes and devices of the stage, which are not committed.
    pub skipped: Vec<PathBuf>,
}

impl ChangeSet {
    /// Hash that stands for project, paths, states before and after.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(path_text::escape(&self.project).as_bytes());
        for change in &self.changes {
            let text = serde_json::to_vec(change).expect("a change becomes JSON");
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(&text);
        }
        hasher.finalize().to_hex().to_string()
    }

    /// The change of one plain file outside of any stage: the new text lies under the same name in `contents`. Its
    /// mode stays.
    ///
    /// # Errors
    ///
    /// A path that is no plain file, or cannot be read.
    pub fn of_file(folder: &Path, name: &Path, contents: &Path) -> Result<ChangeSet, JailError> {
        let before = PathState::read(&folder.join(name))?;
        let mode = match &before {
            PathState::File { mode, .. } => *mode,
            PathState::Absent => NEW_FILE_MODE,
            _ => return Err(JailError::InvalidSpec("it is no plain file".to_owned())),
        };
        let after = match PathState::read(&contents.join(name))? {
            PathState::File { hash, bytes, .. } => PathState::File { hash, bytes, mode },
            _ => return Err(JailError::InvalidSpec("the new text is no plain file".to_owned())),
        };
        let change = FileChange {
            path: name.to_owned(),
            before,
            after,
            linked_before: None,
            linked_after: None,
            renamed_from: None,
            ignored: false,
            privileged: false,
        };
        let is_change = change.before != change.after;
        Ok(ChangeSet {
            project: folder.to_owned(),
            contents: contents.to_owned(),
            changes: Vec::from_iter(is_change.then_some(change)),
            conflicts: Vec::new(),
            skipped: Vec::new(),
        })
    }

    /// Nothing to commit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Files and bytes of ignored changes, and the folders that they are in.
    #[must_use]
    pub fn ignored_summary(&self) -> (usize, u64, Vec<PathBuf>) {
        let ignored: Vec<&FileChange> = self.changes.iter().filter(|it| it.ignored).collect();
        let mut folders: Vec<PathBuf> = ignored
            .iter()
            .filter_map(|it| it.path.components().next())
            .map(|part| PathBuf::from(part.as_os_str()))
            .collect();
        folders.dedup();
        (ignored.len(), ignored.iter().map(|it| it.after.bytes()).sum(), folders)
    }
}

/// Sources of both sides of a change.
struct ChangeContext<'s> {
    stage: &'s Stage,
    contents: PathBuf,
    ignored: Gitignore,
    /// Paths of the project by inode, where one has several names.
    linked: HashMap<u64, Vec<&'s Path>>,
    found: Vec<FileChange>,
    conflicts: Vec<PathConflict>,
    skipped: Vec<PathBuf>,
    /// First path of each file with several names in the stage.
    first_names: HashMap<u64, PathBuf>,
}

pub(crate) fn compute(stage: &Stage) -> Result<ChangeSet, JailError> {
    let mut linked: HashMap<u64, Vec<&Path>> = HashMap::new();
    for (path, stamp) in stage.base() {
        if stamp.links > 1 && stamp.kind == tree::EntryKind::File {
            linked.entry(stamp.inode).or_default().push(path);
        }
    }
    let mut context = ChangeContext {
        stage,
        contents: stage.contents(),
        ignored: gitignore_of(stage.project()),
        linked,
        found: Vec::new(),
        conflicts: Vec::new(),
        skipped: Vec::new(),
        first_names: HashMap::new(),
    };
    match stage.layer() {
        JailLayer::Full => overlay::collect(&mut context)?,
        JailLayer::Copy | JailLayer::Root => collect_copy(&mut context)?,
    }
    let ChangeContext { contents, mut found, conflicts, skipped, .. } = context;
    found.sort_by(|one, other| one.path.cmp(&other.path));
    name_renames(&mut found);
    Ok(ChangeSet {
        project: stage.project().to_owned(),
        contents,
        changes: found,
        conflicts,
        skipped,
    })
}

/// Compares a copy with what it was when it was made.
fn collect_copy(context: &mut ChangeContext<'_>) -> Result<(), JailError> {
    let now = tree::stamp_tree(&context.contents, &[])?;
    let copied = context.stage.copied();
    for (path, stamp) in &now {
        if !copied.get(path).is_some_and(|old| old.is_same(stamp)) {
            context.add(path)?;
        } else if stamp.links > 1 && stamp.kind == tree::EntryKind::File {
            context.first_names.entry(stamp.inode).or_insert_with(|| path.clone());
        }
    }
    for path in copied.keys().filter(|path| !now.contains_key(*path)) {
        context.remove(path)?;
    }
    Ok(())
}

impl ChangeContext<'_> {
    /// Takes a path whose contents are in the stage.
    fn add(&mut self, path: &Path) -> Result<(), JailError> {
        let staged = self.contents.join(path);
        let after = PathState::read(&staged)?;
        if after == PathState::Special {
            self.skipped.push(path.to_owned());
            return Ok(());
        }
        let metadata = fs::symlink_metadata(&staged).map_err(JailError::io("look at", &staged))?;
        let mut linked_after = None;
        if metadata.is_file() && metadata.nlink() > 1 {
            let first = self.first_names.entry(metadata.ino()).or_insert_with(|| path.to_owned());
            if first != path {
                linked_after = Some(path_text::escape(first));
            }
        }
        let privileged = metadata.is_file() && metadata.mode() & 0o6000 != 0;
        self.push(path, after, linked_after, privileged)
    }

    /// Takes a path that the stage no longer has.
    fn remove(&mut self, path: &Path) -> Result<(), JailError> {
        self.push(path, PathState::Absent, None, false)
    }

    fn push(
        &mut self,
        path: &Path,
        after: PathState,
        linked_after: Option<String>,
        privileged: bool,
    ) -> Result<(), JailError> {
        let real = self.stage.project().join(path);
        let old = self.stage.base().get(path);
        let now = match fs::symlink_metadata(&real) {
            Ok(metadata) => Some(EntryStamp::new(&metadata)),
            Err(error) if is_absent(&error) => None,
            Err(error) => return Err(JailError::io("look at", real)(error)),
        };
        let before = PathState::read(&real)?;
        let relinked = linked_after.is_some() && old.is_none_or(|stamp| stamp.links == 1);
        if before == after && !relinked {
            return Ok(());
        }
        let is_as_it_was = match (old, &now) {
            (None, None) => true,
            (Some(old), Some(now)) => old.is_same(now),
            _ => false,
        };
        if !is_as_it_was {
            let reason = match (old, &now) {
                (None, _) => "made meanwhile by somebody else",
                (_, None) => "deleted meanwhile by somebody else",
                _ => "changed meanwhile by somebody else",
            };
            self.conflicts.push(PathConflict { path: path.to_owned(), reason: reason.into() });
        }
        let linked_before = old.and_then(|stamp| self.linked.get(&stamp.inode));
        let linked_before = linked_before
            .and_then(|names| names.iter().find(|name| **name != path))
            .map(|name| path_text::escape(name));
        let is_folder = matches!(after, PathState::Folder { .. });
        let ignored = self.ignored.matched_path_or_any_parents(path, is_folder).is_ignore();
        self.found.push(FileChange {
            path: path.to_owned(),
            before,
            after,
            linked_before,
            linked_after,
            renamed_from: None,
            ignored,
            privileged,
        });
        Ok(())
    }
}

/// Patterns of the project's own `.gitignore`; without one nothing is ignored.
fn gitignore_of(project: &Path) -> Gitignore {
    let text = fs::read_to_string(project.join(".gitignore")).unwrap_or_default();
    let mut builder = GitignoreBuilder::new("");
    for line in text.lines() {
        // A pattern that cannot be read ignores nothing: more is shown, never less.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Names, for each added file, a deleted one with the same contents.
fn name_renames(changes: &mut [FileChange]) {
    let mut gone: HashMap<String, Vec<String>> = HashMap::new();
    for change in changes.iter().rev() {
        if let (PathState::File { hash, bytes: 1.., .. }, PathState::Absent) =
            (&change.before, &change.after)
        {
            gone.entry(hash.clone()).or_default().push(path_text::escape(&change.path));
        }
    }
    for change in changes {
        if let (PathState::Absent, PathState::File { hash, .. }) = (&change.before, &change.after)
            && let Some(name) = gone.get_mut(hash).and_then(Vec::pop)
        {
            change.renamed_from = Some(name);
        }
    }
}
