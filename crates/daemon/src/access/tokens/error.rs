//! Why tokens could not be read, created or revoked. No text here has a token in it.

use std::io;
use std::path::PathBuf;

use super::{MAX_DAYS, MAX_NAME, MAX_TOKENS, TokenId};

/// A fault of the tokens of a state directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] crate::access::private_file::PrivateFileError),
    /// The file is not what was written.
    #[error("`{}` is damaged at line {line}: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The first line that is wrong, counted from 1.
        line: usize,
        /// Description of the fault.
        why: &'static str,
    },
    /// No token of that id.
    #[error("no token `{id}`")]
    Unknown {
        /// The id.
        id: TokenId,
    },
    /// The file is full.
    #[error("there are {MAX_TOKENS} tokens, expected fewer")]
    TooMany,
    /// Random id that exists already.
    #[error("the id is taken by chance")]
    IdTaken,
    /// The name cannot be shown on a line.
    #[error("bad name, expected at most {MAX_NAME} bytes without control characters")]
    BadName,
    /// A token that is good for nothing.
    #[error("no scope, expected at least one")]
    NoScope,
    /// The end is in the past or too far away.
    #[error("bad end, expected a time from now to {MAX_DAYS} days, or none")]
    BadEnd,
    /// No randomness.
    #[error("no random bytes from the system")]
    Random(#[source] io::Error),
}
