//! Why a file of the memory was not read or changed. Where nothing else is said, nothing was written.

use std::io;
use std::path::PathBuf;

use super::MAX_MEMORY_FILE_BYTES;
use super::merge::MergeConflict;
use super::path::FilePath;

/// Reason why a file is not read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The folder of the user's files cannot be used.
    #[error("the folder `{}` cannot be used", path.display())]
    Root {
        /// The folder.
        path: PathBuf,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// A link leads out of the root, or in circles.
    #[error("`{path}` leads out of the memory, expected a file below its folder")]
    Outside {
        /// The file.
        path: FilePath,
    },
    /// A folder on the way does not exist.
    #[error("`{path}` is in a folder that does not exist")]
    NoFolder {
        /// The file.
        path: FilePath,
    },
    /// The path is a folder, a pipe, a device or a socket.
    #[error("`{path}` is no plain file")]
    NotPlain {
        /// The file.
        path: FilePath,
    },
    /// The file is too large.
    #[error("`{path}` has more than {MAX_MEMORY_FILE_BYTES} bytes")]
    TooLarge {
        /// The file.
        path: FilePath,
    },
    /// The file is not what it was when the change was made up.
    #[error("`{path}` has changed meanwhile; look at it again")]
    Changed {
        /// The file.
        path: FilePath,
    },
    /// A program is about to write it.
    #[error("`{path}` is open for writing in process `{by}`; try again when it is closed")]
    Open {
        /// The file.
        path: FilePath,
        /// The number of the process.
        by: u32,
    },
    /// An editor holds it.
    #[error("`{path}` is being edited by `{by}`; save it there, or give it up")]
    Locked {
        /// The file.
        path: FilePath,
        /// Holder, as the lock names it.
        by: Box<str>,
    },
    /// A shell has unsaved changes in it.
    #[error("`{path}` has unsaved changes in the shell `{by}`; save it there first")]
    Modified {
        /// The file.
        path: FilePath,
        /// The shell.
        by: Box<str>,
    },
    /// Text in the file is to be encrypted and is not. Every version is kept, and such text must not be.
    #[error(
        "`{path}` has text in the clear below a `:crypt:` heading, and bridle keeps every version of what it changes; \
         encrypt it first (`M-x org-encrypt-entries`)"
    )]
    InClear {
        /// The file.
        path: FilePath,
    },
    /// The path is among those that are never written: policies, configuration, state.
    #[error("`{path}` is protected and never written by bridle")]
    Protected {
        /// The file.
        path: FilePath,
    },
    /// The change to be undone and a later one are about the same lines.
    #[error("{} with what was written since", counted(.0.len(), "place conflicts", "places conflict"))]
    Conflicts(Vec<MergeConflict>),
    /// Nothing that was done for that record is known.
    #[error("record `{0}` changed no file")]
    NoChange(u64),
    /// Nothing that was done in that turn is known.
    #[error("turn `{turn}` of session `{session}` changed no file")]
    NoTurn {
        /// The session.
        session: Box<str>,
        /// The turn.
        turn: u64,
    },
    /// Nothing that was done in that session is known.
    #[error("session `{0}` changed no file")]
    NoSession(Box<str>),
    /// There is no such snapshot.
    #[error("no snapshot `{0}`")]
    NoSnapshot(Box<str>),
    /// The snapshot does not have that file.
    #[error("snapshot `{name}` has no file `{path}`")]
    NotInSnapshot {
        /// The snapshot.
        name: Box<str>,
        /// The file.
        path: FilePath,
    },
    /// There is one of that name.
    #[error("snapshot `{0}` exists already; choose another name")]
    SnapshotExists(Box<str>),
    /// A name that no snapshot can have.
    #[error("snapshot `{0}`, expected 1 to 64 of `A-Z a-z 0-9 . _ -`")]
    SnapshotName(Box<str>),
    /// There are too many files for a snapshot.
    #[error("more than {0} files below the folder")]
    TooManyFiles(usize),
    /// Of several files, some could be written and others not, and the former are not as they were
    /// left: somebody else wrote them since.
    #[error("only some files were written, `{path}` among them, because of another")]
    Partly {
        /// One that was written.
        path: FilePath,
        /// Reason why the other files were not changed.
        #[source]
        source: Box<MemoryError>,
    },
    /// The system refused.
    #[error("cannot use `{path}`")]
    Io {
        /// The file.
        path: FilePath,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// The past cannot be read or written.
    #[error("the past of the memory cannot be used")]
    Past(#[from] bridle_record::StoreError),
}

impl MemoryError {
    pub(super) fn io(path: &FilePath) -> impl Fn(rustix::io::Errno) -> Self + use<'_> {
        move |source| Self::Io { path: path.clone(), source: source.into() }
    }
}

impl From<rusqlite::Error> for MemoryError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Past(error.into())
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
