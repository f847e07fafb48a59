//! From a name to a folder that is held open: step by step from the root, by handles and never by
//! paths, so that nobody can put a link in the way between a look and a write.
//!
//! Links are read and followed here, inside the root only. What comes out is a folder and a last name
//! that is no link; whoever opens it refuses a link all the same.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, open, openat, readlinkat, statat};
use rustix::io::Errno;

use super::error::MemoryError;
use super::path::FilePath;
use super::snapshot::MAX_SNAPSHOT_FILES;
use super::{SeenContent, TEMPORARY_PREFIX, file_swap};

/// Links that are followed on the way to one file.
const MAX_FOLLOWED_LINKS: usize = 16;

/// Folders below each other that are looked into when all files are listed.
const MAX_FOLDER_DEPTH: usize = 64;

/// The folder of the user's files. It is opened anew for every walk: one that was moved away and has another
/// in its place is no longer the user's memory, and who holds a folder open keeps the system from telling
/// others that it went.
pub(super) struct RootFolder {
    path: PathBuf,
}

/// Place of a file that exists or would be made.
pub(super) struct FileSpot {
    /// Its folder.
    pub(super) folder: OwnedFd,
    /// Its last name; no link when it was looked at.
    pub(super) name: OsString,
    /// Its name below the root with all links followed.
    pub(super) real: FilePath,
    /// The name it was asked for by, for messages.
    pub(super) asked: FilePath,
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

impl RootFolder {
    pub(super) fn open(path: &Path) -> Result<Self, MemoryError> {
        let failed = |source| MemoryError::Root { path: path.to_owned(), source };
        let root = Self { path: path.canonicalize().map_err(failed)? };
        root.top()?;
        Ok(root)
    }

    /// The folder itself, for one walk.
    fn top(&self) -> Result<OwnedFd, MemoryError> {
        open(&self.path, folder_flags(), Mode::empty())
            .map_err(|error| MemoryError::Root { path: self.path.clone(), source: error.into() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a file; `None` if it does not exist.
    pub(super) fn read(&self, path: &FilePath) -> Result<Option<SeenContent>, MemoryError> {
        match self.find(path) {
            Err(MemoryError::NoFolder { .. }) => Ok(None),
            Err(error) => Err(error),
            Ok(spot) => file_swap::read(&spot),
        }
    }

    /// Walks to a file.
    pub(super) fn find(&self, path: &FilePath) -> Result<FileSpot, MemoryError> {
        let mut walk = PathWalk {
            root: self,
            top: self.top()?,
            asked: path,
            left: path.as_str().split('/').map(OsString::from).collect(),
            taken: Vec::new(),
            links: 0,
        };
        loop {
            let Some(name) = walk.left.pop_front() else {
                return Err(MemoryError::NotPlain { path: path.clone() });
            };
            if walk.left.is_empty() {
                if walk.is_link(&name)? {
                    walk.follow(&name)?;
                    continue;
                }
                return walk.arrive(name);
            }
            walk.enter(name)?;
        }
    }

    /// All plain Org files below the root, without hidden ones and without following links, sorted.
    pub(super) fn files(&self) -> Result<Vec<FilePath>, MemoryError> {
        let mut files = Vec::new();
        let mut folders = vec![(self.path.clone(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            // A folder that went away meanwhile, or that may not be read, has nothing to keep.
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                let hidden = entry.file_name().as_bytes().starts_with(b".");
                let Ok(kind) = entry.file_type() else { continue };
                if hidden {
                    continue;
                }
                let path = entry.path();
                if kind.is_dir() && depth < MAX_FOLDER_DEPTH {
                    folders.push((path, depth + 1));
                } else if kind.is_file() && is_org(&path) {
                    let below = path.strip_prefix(&self.path).ok().and_then(Path::to_str);
                    files.extend(below.and_then(FilePath::parse));
                    if files.len() > MAX_SNAPSHOT_FILES {
                        return Err(MemoryError::TooManyFiles(MAX_SNAPSHOT_FILES));
                    }
                }
            }
        }
        files.sort_unstable();
        Ok(files)
    }
}

fn is_org(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
    name.ends_with(b".org") || name.ends_with(b".org_archive")
}

/// On the way to a file.
struct PathWalk<'r> {
    root: &'r RootFolder,
    top: OwnedFd,
    asked: &'r FilePath,
    /// Names still to be walked.
    left: VecDeque<OsString>,
    /// Folders walked into, below the root.
    taken: Vec<(OsString, OwnedFd)>,
    links: usize,
}

impl PathWalk<'_> {
    fn here(&self) -> BorrowedFd<'_> {
        self.taken.last().map_or(self.top.as_fd(), |(_, folder)| folder.as_fd())
    }

    fn outside(&self) -> MemoryError {
        MemoryError::Outside { path: self.asked.clone() }
    }

    fn is_link(&self, name: &OsStr) -> Result<bool, MemoryError> {
        match statat(self.here(), name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Symlink),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(MemoryError::io(self.asked)(error)),
        }
    }

    fn enter(&mut self, name: OsString) -> Result<(), MemoryError> {
        match openat(self.here(), &name, folder_flags(), Mode::empty()) {
            Ok(folder) => {
                self.taken.push((name, folder));
                Ok(())
            }
            // What a link is opened as differs between systems.
            Err(Errno::LOOP | Errno::NOTDIR | Errno::MLINK) if self.is_link(&name)? => {
                self.follow(&name)
            }
            Err(Errno::NOENT) => Err(MemoryError::NoFolder { path: self.asked.clone() }),
            Err(Errno::NOTDIR) => Err(MemoryError::NoFolder { path: self.asked.clone() }),
            Err(error) => Err(MemoryError::io(self.asked)(error)),
        }
    }

    /// Puts what a link says in its place.
    fn follow(&mut self, name: &OsStr) -> Result<(), MemoryError> {
        self.links += 1;
        if self.links > MAX_FOLLOWED_LINKS {
            return Err(self.outside());
        }
        let target =
            readlinkat(self.here(), name, Vec::new()).map_err(MemoryError::io(self.asked))?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        let mut steps: Vec<OsString> = Vec::new();
        let mut target = target.as_path();
        if target.is_absolute() {
            target = target.strip_prefix(&self.root.path).map_err(|_| self.outside())?;
            self.taken.clear();
        }
        for part in target.components() {
            match part {
                Component::Normal(name) => steps.push(name.to_owned()),
                Component::CurDir => {}
                // After a folder of the link itself, `..` would have to know where that leads.
                Component::ParentDir if steps.is_empty() => {
                    self.taken.pop().ok_or_else(|| self.outside())?;
                }
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(self.outside());
                }
            }
        }
        for step in steps.into_iter().rev() {
            self.left.push_front(step);
        }
        Ok(())
    }

    fn arrive(self, name: OsString) -> Result<FileSpot, MemoryError> {
        let folders = self.taken.iter().map(|(name, _)| name.as_os_str());
        let real: PathBuf = folders.chain([name.as_os_str()]).collect();
        let real = real.to_str().and_then(FilePath::parse).ok_or_else(|| self.outside())?;
        if name.as_bytes().starts_with(TEMPORARY_PREFIX.as_bytes()) {
            return Err(self.outside());
        }
        let failed = MemoryError::io(self.asked);
        let folder = match self.taken.last() {
            Some((_, folder)) => rustix::io::dup(folder),
            None => rustix::io::dup(&self.top),
        };
        let folder = folder.map_err(failed)?;
        Ok(FileSpot { folder, name, real, asked: self.asked.clone() })
    }
}
