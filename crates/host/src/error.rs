//! Why a host cannot be made.

use std::path::PathBuf;

/// Bytes of one script: 1 MiB, a thousand rules of a page each.
pub(crate) const MAX_SCRIPT_BYTES: usize = 1 << 20;

/// Fault in the choice of a thinker.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The choice itself.
    #[error("thinker `{0}`, expected `models`, `builtin` or `script:FILE`")]
    UnknownThinker(Box<str>),
    /// The file cannot be read.
    #[error("cannot read the script `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        #[source]
        source: std::io::Error,
    },
    /// The file is too long.
    #[error("the script `{}` is too long, expected at most {MAX_SCRIPT_BYTES} bytes", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// The file is not UTF-8.
    #[error("the script `{}` is not UTF-8 text", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// Error that names the place.
        #[source]
        source: std::str::Utf8Error,
    },
    /// The file holds something that is no script.
    #[error("{}:{line}:{column}: {reason}", path.display())]
    Script {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// In characters, counted from 1.
        column: usize,
        /// Expected and got.
        reason: String,
    },
}
