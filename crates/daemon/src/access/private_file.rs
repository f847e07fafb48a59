//! Small files of the state directory that are for one user alone, shared by processes.
//!
//! Tokens and pairings are kept in them. Whoever changes one holds the lock beside it, reads, and
//! renames a new file over the old one; readers need no lock. What is inside is the business of
//! their callers.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::state_folder::{create_private, no_follow};

/// Fault of a file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrivateFileError {
    /// The file, its lock or its directory cannot be used.
    #[error("cannot use `{}`", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Others than its owner can read or write the file.
    #[error("`{}` has mode {mode:03o}, expected 600", path.display())]
    OpenToOthers {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The file or the directory belongs to another user.
    #[error("`{}` belongs to user {uid}, expected {own}", path.display())]
    NotOurs {
        /// The file or directory.
        path: PathBuf,
        /// Its owner.
        uid: u32,
        /// User of this process.
        own: u32,
    },
}

/// Makes a folder of the state for this user alone, unless it is there; refuses another user's.
///
/// # Errors
/// The folder cannot be made or looked at, or belongs to somebody else.
pub fn create_private_folder(dir: &Path) -> Result<(), PrivateFileError> {
    let failed = |source| PrivateFileError::Io { path: dir.to_owned(), source };
    create_private(dir).map_err(failed)?;
    check_owner(dir, &std::fs::metadata(dir).map_err(failed)?)
}

/// Identity of one version of a file: another file of the same name has another stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    inode: u64,
    size: u64,
    mode: u32,
    uid: u32,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    pub(crate) fn of(meta: &Metadata) -> FileStamp {
        FileStamp {
            inode: meta.ino(),
            size: meta.size(),
            mode: meta.mode(),
            uid: meta.uid(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// Path of a private file and the limit of its content.
#[derive(Debug)]
pub(crate) struct PrivateFile {
    dir: PathBuf,
    pub(crate) path: PathBuf,
    /// Largest content that is read, in bytes; one byte more is handed over to show that it is.
    most: u64,
}

/// The right to change a file, until it is dropped.
#[derive(Debug)]
pub(crate) struct PrivateFileLock<'f> {
    file: &'f PrivateFile,
    /// Released when it is closed.
    _lock: File,
}

impl PrivateFile {
    pub(crate) fn new(dir: &Path, name: &str, most: u64) -> PrivateFile {
        PrivateFile { dir: dir.to_owned(), path: dir.join(name), most }
    }

    /// The stamp of the file as it is now; `None` if there is none.
    pub(crate) fn stamp(&self) -> Option<FileStamp> {
        std::fs::symlink_metadata(&self.path).ok().map(|meta| FileStamp::of(&meta))
    }

    /// The content, and the stamp of what was read; `None` if there is no file.
    pub(crate) fn read(&self) -> Result<Option<(FileStamp, Vec<u8>)>, PrivateFileError> {
        let failed = |source| self.failed(source);
        // A pipe or a link is not even opened.
        match std::fs::symlink_metadata(&self.path) {
            Ok(meta) if !meta.is_file() => return Err(failed(io::Error::other("not a file"))),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        }
        let opened = OpenOptions::new().read(true).custom_flags(no_follow()).open(&self.path);
        let file = opened.map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        check_owner(&self.path, &meta)?;
        let mode = meta.mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(PrivateFileError::OpenToOthers { path: self.path.clone(), mode });
        }
        let mut bytes = Vec::new();
        file.take(self.most + 1).read_to_end(&mut bytes).map_err(failed)?;
        Ok(Some((FileStamp::of(&meta), bytes)))
    }

    /// Waits for the lock. Makes the directory if it is missing.
    pub(crate) fn hold(&self) -> Result<PrivateFileLock<'_>, PrivateFileError> {
        let failed = |source| self.failed(source);
        create_private(&self.dir).map_err(failed)?;
        // Whoever is somebody else would leave a file that the daemon cannot read.
        check_owner(&self.dir, &std::fs::metadata(&self.dir).map_err(failed)?)?;
        // The lock stays: removing it would let two processes lock two files of the same name.
        let lock = open(&self.path.with_extension("lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        Ok(PrivateFileLock { file: self, _lock: lock })
    }

    fn failed(&self, source: io::Error) -> PrivateFileError {
        PrivateFileError::Io { path: self.path.clone(), source }
    }
}

impl PrivateFileLock<'_> {
    /// Replaces the content, whole or not at all.
    pub(crate) fn replace(&self, content: &str) -> Result<(), PrivateFileError> {
        self.try_replace(content).map_err(|source| self.file.failed(source))
    }

    fn try_replace(&self, content: &str) -> io::Result<()> {
        let new = self.file.path.with_extension("new");
        // What a process left that died here may have any mode.
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = open(&new)?;
        file.write_all(content.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&new, &self.file.path)?;
        // What was taken out must not come back with the power.
        File::open(&self.file.dir)?.sync_all()
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags(no_follow()).open(path)
}

fn check_owner(path: &Path, meta: &Metadata) -> Result<(), PrivateFileError> {
    let (uid, own) = (meta.uid(), rustix::process::geteuid().as_raw());
    if uid == own {
        return Ok(());
    }
    Err(PrivateFileError::NotOurs { path: path.to_owned(), uid, own })
}
