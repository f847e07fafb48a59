//! The folder, and reading one file of it without being led out of it.
//!
//! A path is walked name by name from the top, and no name may be a link: the file that is opened is below the folder
//! whatever changes meanwhile. Files are opened so that a pipe cannot block, and read whole or not at all.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, openat};

use super::rules::ReadRules;
use super::scan::{FileTrace, SkipReason};
use bridle_record::StoreError;

/// Readings of a file that changes while it is read.
const MAX_READINGS: usize = 3;

/// Longest path that is looked at, in bytes: that of the system.
pub const MAX_PATH_BYTES: usize = 4096;

/// A folder of Org files.
#[derive(Debug)]
pub struct MemexFolder {
    root: PathBuf,
    top: OwnedFd,
    rules: ReadRules,
}

impl MemexFolder {
    /// Opens a folder; links in its own name are followed once, here.
    ///
    /// # Errors
    /// There is no such folder, or it may not be read.
    pub fn open(folder: &Path, rules: ReadRules) -> Result<MemexFolder, StoreError> {
        let failed = |source| StoreError::Io { path: folder.into(), source };
        let root = folder.canonicalize().map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let top = rustix::fs::open(&root, flags, Mode::empty()).map_err(|e| failed(e.into()))?;
        Ok(MemexFolder { root, top, rules })
    }

    /// The folder as the system knows it.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the rules that say what of the folder is read.
    #[must_use]
    pub fn rules(&self) -> &ReadRules {
        &self.rules
    }

    /// Reads a file: its bytes, and how it was when it had them.
    ///
    /// # Errors
    /// The reason why the file is not read; [`None`] means that the file does not exist.
    pub fn read(&self, path: &str) -> Result<(Vec<u8>, FileTrace), Option<SkipReason>> {
        for _ in 0..MAX_READINGS {
            let mut file = self.open_beneath(path)?;
            let before = file.metadata().map_err(|_| SkipReason::Unreadable)?;
            if !before.is_file() {
                return Err(Some(SkipReason::NotAFile));
            }
            if before.len() > self.rules.max_file {
                return Err(Some(SkipReason::TooLarge));
            }
            let size = usize::try_from(before.len()).unwrap_or(usize::MAX);
            let mut bytes = Vec::with_capacity(size.saturating_add(1));
            let most = self.rules.max_file.saturating_add(1);
            (&mut file).take(most).read_to_end(&mut bytes).map_err(|_| SkipReason::Unreadable)?;
            let after = file.metadata().map_err(|_| SkipReason::Unreadable)?;
            let (before, after) = (FileTrace::of(&before), FileTrace::of(&after));
            if before == after && bytes.len() == size {
                return Ok((bytes, after));
            }
        }
        Err(Some(SkipReason::Changing))
    }

    /// Opens what is at a path below the top, no link on the way.
    fn open_beneath(&self, path: &str) -> Result<File, Option<SkipReason>> {
        let names = names(path).ok_or(Some(SkipReason::Unreadable))?;
        let (last, folders) = names.split_last().ok_or(Some(SkipReason::NotAFile))?;
        let fail = |error: rustix::io::Errno| match error {
            rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR => None,
            rustix::io::Errno::LOOP | rustix::io::Errno::MLINK => Some(SkipReason::Link),
            rustix::io::Errno::NXIO => Some(SkipReason::NotAFile),
            _ => Some(SkipReason::Unreadable),
        };
        let into = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut folder: Option<OwnedFd> = None;
        for name in folders {
            let at = folder.as_ref().map_or(self.top.as_fd(), |folder| folder.as_fd());
            folder = Some(openat(at, *name, into, Mode::empty()).map_err(fail)?);
        }
        let at = folder.as_ref().map_or(self.top.as_fd(), |folder| folder.as_fd());
        // Without NONBLOCK, opening a pipe waits until somebody writes into it.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(openat(at, *last, flags | OFlags::NOCTTY, Mode::empty()).map_err(fail)?.into())
    }
}

/// The names of a path from the top, if it is one that stays below it.
fn names(path: &str) -> Option<Vec<&str>> {
    let is_plain = |name: &&str| !matches!(*name, "" | "." | "..") && !name.contains('\0');
    let names: Vec<&str> = path.split('/').collect();
    (path.len() <= MAX_PATH_BYTES && names.iter().all(is_plain)).then_some(names)
}

/// Resolves a path that a shell names: below one of `roots`, with every link followed. `None` both when it leads
/// elsewhere and when it leads nowhere, so that nobody learns what else exists.
///
/// A path that is not absolute is meant from the first root. The roots are as the system knows them.
#[must_use]
pub fn resolve(path: &str, roots: &[PathBuf]) -> Option<PathBuf> {
    if path.is_empty() || path.len() > MAX_PATH_BYTES || path.contains('\0') {
        return None;
    }
    let named = Path::new(path);
    // Before any link is followed: a link may make `a/..` something else than it looks like.
    if named.components().any(|part| matches!(part, Component::ParentDir)) {
        return None;
    }
    let whole = roots.first()?.join(named);
    let found = whole.canonicalize().ok()?;
    roots.iter().any(|root| found.starts_with(root)).then_some(found)
}
