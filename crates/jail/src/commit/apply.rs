//! A commit is carried out, or taken back half-way. Every file is exchanged with the new one in one
//! step, and what came out is compared with what the stage saw: an unexpected file goes back, so that
//! no byte of the user is lost, however late it was saved.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::journal::{self, JournalEntry, JournalRecord};
use super::{CommitError, CommitId, CommitPoint, workshop_of};
use crate::change::PathConflict;
use crate::error::JailError;
use crate::tree::{self, PathState, path_text};

pub(super) struct Applier<'j> {
    folder: &'j Path,
    record: &'j JournalRecord,
    workshop: PathBuf,
}

/// Failure of one step.
pub(super) enum StepFault {
    Conflict(String),
    Jail(JailError),
}

impl From<JailError> for StepFault {
    fn from(error: JailError) -> StepFault {
        StepFault::Jail(error)
    }
}

impl<'j> Applier<'j> {
    pub(super) fn new(folder: &'j Path, record: &'j JournalRecord, id: &CommitId) -> Applier<'j> {
        Applier { folder, record, workshop: workshop_of(&record.project, id) }
    }

    /// Applies all entries; at a conflict or failure takes those back that were applied.
    pub(super) fn run(&self, at_point: &mut dyn FnMut(CommitPoint)) -> Result<(), CommitError> {
        let result = self.forward(at_point);
        let Err(fault) = result else {
            at_point(CommitPoint::AllApplied);
            return self.end(journal::FINISHED, at_point);
        };
        journal::mark(self.folder, journal::ROLLING_BACK)?;
        let left = self.backward()?;
        self.end(journal::ROLLED_BACK, at_point)?;
        match fault {
            (_, StepFault::Jail(error)) => Err(error.into()),
            (path, StepFault::Conflict(reason)) => {
                let mut conflicts = vec![PathConflict { path, reason }];
                conflicts.extend(left);
                Err(CommitError::Conflicts(conflicts))
            }
        }
    }

    fn forward(&self, at_point: &mut dyn FnMut(CommitPoint)) -> Result<(), (PathBuf, StepFault)> {
        let in_project = |error: JailError| (self.record.project.clone(), StepFault::Jail(error));
        self.make_ready(at_point).map_err(in_project)?;
        for (index, entry) in self.record.entries.iter().enumerate() {
            self.step(index, entry, at_point).map_err(|fault| (entry.path.clone(), fault))?;
            at_point(CommitPoint::Applied);
        }
        self.finish_modes(at_point).map_err(in_project)
    }

    /// Lays all new files ready, in the file system of the project, and syncs them.
    pub(super) fn make_ready(
        &self,
        at_point: &mut dyn FnMut(CommitPoint),
    ) -> Result<(), JailError> {
        crate::stage::make_private_folder(&self.workshop)?;
        for (index, entry) in self.record.entries.iter().enumerate() {
            if needs_file(entry) && fs::symlink_metadata(self.ready(index)).is_err() {
                self.lay_ready(index, entry)?;
                at_point(CommitPoint::FileReady);
            }
        }
        journal::sync_file_system(&self.workshop)?;
        at_point(CommitPoint::Synced);
        Ok(())
    }

    fn lay_ready(&self, index: usize, entry: &JournalEntry) -> Result<(), JailError> {
        let path = self.ready(index);
        match &entry.after {
            PathState::Link { target } => {
                symlink(target, &path).map_err(JailError::io("make link", &path))
            }
            PathState::File { hash, mode, .. } => {
                let file = tree::copy_file(&journal::blob_of(self.folder, hash), &path)?;
                drop(file);
                self.give_owner(&path, &entry.path)?;
                tree::set_mode(&path, *mode)
            }
            PathState::Absent | PathState::Folder { .. } | PathState::Special => Ok(()),
        }
    }

    /// A daemon of root restores the owner: that of the file, else of its folder.
    fn give_owner(&self, path: &Path, relative: &Path) -> Result<(), JailError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(());
        }
        let real = self.record.project.join(relative);
        let known = real.ancestors().find_map(|it| fs::symlink_metadata(it).ok());
        let Some(known) = known else { return Ok(()) };
        std::os::unix::fs::lchown(path, Some(known.uid()), Some(known.gid()))
            .map_err(JailError::io("give owner to", path))
    }

    fn ready(&self, index: usize) -> PathBuf {
        self.workshop.join(index.to_string())
    }

    /// Brings one path from its state before to its state after; does nothing when it is there.
    pub(super) fn step(
        &self,
        index: usize,
        entry: &JournalEntry,
        at_point: &mut dyn FnMut(CommitPoint),
    ) -> Result<(), StepFault> {
        let path = self.record.project.join(&entry.path);
        self.refuse_links(&entry.path)?;
        match (&entry.before, &entry.after) {
            (PathState::Folder { .. }, PathState::Absent) => remove_folder(&path),
            (PathState::Absent, PathState::Folder { mode }) => {
                self.make_folder(&path, *mode, &entry.path)
            }
            (PathState::Folder { .. }, PathState::Folder { mode }) => {
                if PathState::read(&path)? != entry.before {
                    return Err(changed());
                }
                Ok(keep_group_bit(&path, *mode)?)
            }
            (PathState::File { hash: old, .. }, PathState::File { hash: new, mode, .. })
                if old == new && is_single(entry) =>
            {
                if PathState::read(&path)? != entry.before {
                    return Err(changed());
                }
                Ok(tree::set_mode(&path, *mode)?)
            }
            (_, PathState::Absent) => self.take_out(index, entry, &path, at_point),
            (PathState::Absent, _) => self.put_in(index, entry, &path),
            _ => self.exchange(index, entry, &path, at_point),
        }
    }

    /// No folder on the way may be a link: it could lead out of the project.
    fn refuse_links(&self, relative: &Path) -> Result<(), StepFault> {
        let mut path = self.record.project.clone();
        for part in relative.parent().into_iter().flat_map(Path::components) {
            path.push(part);
            if fs::symlink_metadata(&path).is_ok_and(|it| !it.is_dir()) {
                return Err(StepFault::Conflict(
                    "a folder on the way is something else now".into(),
                ));
            }
        }
        Ok(())
    }

    fn make_folder(&self, path: &Path, mode: u32, relative: &Path) -> Result<(), StepFault> {
        match in_folder(path, &|| fs::create_dir(path)) {
            Ok(()) => self.give_owner_of_folder(path, relative)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(StepFault::Conflict("made meanwhile by somebody else".into()));
            }
            Err(error) => return Err(JailError::io("make folder", path)(error).into()),
        }
        // What comes into it needs it writable; `finish_modes` takes that away again.
        Ok(keep_group_bit(path, mode | 0o700)?)
    }

    fn give_owner_of_folder(&self, path: &Path, relative: &Path) -> Result<(), JailError> {
        relative.parent().map_or(Ok(()), |parent| self.give_owner(path, parent))
    }

    /// Gives new folders the modes that they were not filled with.
    pub(super) fn finish_modes(
        &self,
        at_point: &mut dyn FnMut(CommitPoint),
    ) -> Result<(), JailError> {
        for entry in self.record.entries.iter().rev() {
            if let (PathState::Absent, PathState::Folder { mode }) = (&entry.before, &entry.after)
                && mode & 0o700 != 0o700
            {
                keep_group_bit(&self.record.project.join(&entry.path), *mode)?;
                at_point(CommitPoint::Applied);
            }
        }
        Ok(())
    }

    fn put_in(&self, index: usize, entry: &JournalEntry, path: &Path) -> Result<(), StepFault> {
        self.link_ready(index, entry)?;
        match rename(&self.ready(index), path, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(StepFault::Conflict("made meanwhile by somebody else".into()))
            }
            Err(error) => Err(JailError::io("put", path)(error).into()),
        }
    }

    fn exchange(
        &self,
        index: usize,
        entry: &JournalEntry,
        path: &Path,
        at_point: &mut dyn FnMut(CommitPoint),
    ) -> Result<(), StepFault> {
        self.link_ready(index, entry)?;
        let ready = self.ready(index);
        match rename(&ready, path, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(error) if tree::is_absent(&error) => {
                return Err(StepFault::Conflict("deleted meanwhile by somebody else".into()));
            }
            Err(error) => return Err(JailError::io("exchange", path)(error).into()),
        }
        at_point(CommitPoint::Exchanged);
        if PathState::read(&ready)? == entry.before {
            return Ok(fs::remove_file(&ready).map_err(JailError::io("remove", &ready))?);
        }
        rename(&ready, path, RenameFlags::EXCHANGE).map_err(JailError::io("give back", path))?;
        Err(changed())
    }

    fn take_out(
        &self,
        index: usize,
        entry: &JournalEntry,
        path: &Path,
        at_point: &mut dyn FnMut(CommitPoint),
    ) -> Result<(), StepFault> {
        let aside = self.ready(index);
        match rename(path, &aside, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(error) if tree::is_absent(&error) => {
                return Err(StepFault::Conflict("deleted meanwhile by somebody else".into()));
            }
            Err(error) => return Err(JailError::io("take", path)(error).into()),
        }
        at_point(CommitPoint::Exchanged);
        if PathState::read(&aside)? == entry.before {
            return Ok(fs::remove_file(&aside).map_err(JailError::io("remove", &aside))?);
        }
        rename(&aside, path, RenameFlags::NOREPLACE).map_err(JailError::io("give back", path))?;
        Err(changed())
    }

    /// Makes the ready file another name of the file that it shall be linked with, when that one has
    /// the same contents and mode by now.
    fn link_ready(&self, index: usize, entry: &JournalEntry) -> Result<(), JailError> {
        let Some(other) = entry.linked_after.as_deref().and_then(path_text::unescape) else {
            return Ok(());
        };
        let other = self.record.project.join(other);
        if !tree::is_inside(&entry.path) || PathState::read(&other)? != entry.after {
            return Ok(());
        }
        let ready = self.ready(index);
        let beside = self.workshop.join(format!("{index}-link"));
        // A leftover of a crash.
        let _ = fs::remove_file(&beside);
        fs::hard_link(&other, &beside).map_err(JailError::io("link", &other))?;
        fs::rename(&beside, &ready).map_err(JailError::io("put", &ready))
    }

    /// Takes back what was applied; paths that are neither stay and are told.
    pub(super) fn backward(&self) -> Result<Vec<PathConflict>, CommitError> {
        let inverse = self.record.inverse(&CommitId(String::new()));
        let workshop = self.workshop.join("back");
        tree::remove_tree(&workshop)?;
        let back = Applier { folder: self.folder, record: &inverse, workshop };
        back.make_ready_for_back()?;
        let mut left = Vec::new();
        for (index, entry) in inverse.entries.iter().enumerate() {
            let path = inverse.project.join(&entry.path);
            let now = PathState::read(&path)?;
            if now == entry.after || is_undone_by_another(&inverse, entry, &now) {
                continue;
            }
            let is_half_made = matches!(
                (&entry.before, &now),
                (PathState::Folder { .. }, PathState::Folder { .. })
            ) && entry.after == PathState::Absent;
            let result = if now == entry.before || is_half_made {
                back.step(index, entry, &mut |_| {})
            } else {
                Err(changed())
            };
            match result {
                Ok(()) => {}
                Err(StepFault::Conflict(reason)) => {
                    left.push(PathConflict { path: entry.path.clone(), reason });
                }
                Err(StepFault::Jail(error)) => return Err(error.into()),
            }
        }
        back.finish_modes(&mut |_| {})?;
        Ok(left)
    }

    fn make_ready_for_back(&self) -> Result<(), JailError> {
        crate::stage::make_private_folder(&self.workshop)?;
        for (index, entry) in self.record.entries.iter().enumerate() {
            let now = PathState::read(&self.record.project.join(&entry.path))?;
            if needs_file(entry) && now != entry.after {
                self.lay_ready(index, entry)?;
            }
        }
        journal::sync_file_system(&self.workshop)
    }

    /// Marks the end and cleans up.
    pub(super) fn end(
        &self,
        mark: &str,
        at_point: &mut dyn FnMut(CommitPoint),
    ) -> Result<(), CommitError> {
        journal::sync_file_system(&self.record.project)?;
        journal::mark(self.folder, mark)?;
        at_point(CommitPoint::Marked);
        tree::remove_tree(&self.workshop)?;
        at_point(CommitPoint::Cleaned);
        Ok(())
    }

    pub(super) fn workshop(&self) -> &Path {
        &self.workshop
    }
}

/// One path has two entries: the state between them is right for both.
fn is_undone_by_another(record: &JournalRecord, entry: &JournalEntry, now: &PathState) -> bool {
    record.entries.iter().any(|other| {
        let is_pair = other.path == entry.path && other != entry;
        is_pair && entry.after == PathState::Absent && other.after == *now
    })
}

fn needs_file(entry: &JournalEntry) -> bool {
    match (&entry.before, &entry.after) {
        (PathState::File { hash: old, .. }, PathState::File { hash: new, .. }) => {
            old != new || !is_single(entry)
        }
        (_, PathState::File { .. } | PathState::Link { .. }) => true,
        _ => false,
    }
}

/// A file with one name on both sides: its mode can be set in place.
fn is_single(entry: &JournalEntry) -> bool {
    entry.linked_before.is_none() && entry.linked_after.is_none()
}

fn changed() -> StepFault {
    StepFault::Conflict("changed meanwhile by somebody else".into())
}

/// Tries a step in a folder; where the folder is read-only, opens it for the step.
fn in_folder(path: &Path, step: &dyn Fn() -> io::Result<()>) -> io::Result<()> {
    let first = step();
    let (Err(error), Some(parent)) = (&first, path.parent()) else { return first };
    let Ok(metadata) = fs::symlink_metadata(parent) else { return first };
    let mode = metadata.permissions().mode() & 0o7777;
    if error.kind() != io::ErrorKind::PermissionDenied
        || !metadata.is_dir()
        || mode & 0o300 == 0o300
    {
        return first;
    }
    fs::set_permissions(parent, fs::Permissions::from_mode(mode | 0o700))?;
    let second = step();
    fs::set_permissions(parent, fs::Permissions::from_mode(mode))?;
    second
}

fn remove_folder(path: &Path) -> Result<(), StepFault> {
    match in_folder(path, &|| fs::remove_dir(path)) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            Err(StepFault::Conflict("has files that were made meanwhile by somebody else".into()))
        }
        Err(error) if tree::is_absent(&error) => {
            Err(StepFault::Conflict("deleted meanwhile by somebody else".into()))
        }
        Err(error) => Err(JailError::io("remove", path)(error).into()),
    }
}

/// Sets the mode of a folder; the bit by which its files inherit the group stays.
fn keep_group_bit(path: &Path, mode: u32) -> Result<(), JailError> {
    let now = fs::symlink_metadata(path).map_err(JailError::io("look at", path))?;
    let now = now.permissions().mode() & 0o7777;
    let wanted = mode | (now & 0o2000);
    if now == wanted { Ok(()) } else { tree::set_mode(path, wanted) }
}

fn rename(from: &Path, to: &Path, flags: RenameFlags) -> io::Result<()> {
    let step = || Ok(renameat_with(CWD, from, CWD, to, flags)?);
    in_folder(from, &|| in_folder(to, &step))
}
