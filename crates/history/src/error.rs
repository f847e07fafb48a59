//! Why history could not be read or checked.

use std::io;
use std::path::PathBuf;

/// A fault of one command over the record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// Nothing was ever recorded there.
    #[error("no record in `{}`", dir.display())]
    NoRecord {
        /// The state directory.
        dir: PathBuf,
    },
    /// No session of that name.
    #[error("no session `{name}`")]
    UnknownSession {
        /// The name.
        name: Box<str>,
    },
    /// The store cannot be read.
    #[error("cannot use the record")]
    Store(#[from] bridle_record::StoreError),
    /// Output that could not be written.
    #[error("cannot write the output")]
    Output(#[source] io::Error),
    /// No thread could be started.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    /// A kept head that is none.
    #[error("the kept head is no line of `bridle log head`: {why}")]
    BadHead {
        /// Flaw of the line.
        why: &'static str,
    },
    /// A kept head that another key signed, or nobody.
    #[error("the kept head is not signed with this key")]
    HeadNotSigned,
    /// The file of a mirror cannot be used.
    #[error("cannot keep the copy `{}`", path.display())]
    Mirror {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file of a mirror holds something else.
    #[error("`{}` is no copy of this record: {why}", path.display())]
    NotAMirror {
        /// The file.
        path: PathBuf,
        /// Sign by which the file was told from a copy.
        why: &'static str,
    },
    /// Another process keeps the same copy.
    #[error("another process keeps the copy `{}`", path.display())]
    MirrorTaken {
        /// The file.
        path: PathBuf,
    },
}
