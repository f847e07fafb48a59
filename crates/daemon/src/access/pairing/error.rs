//! Why a code could not be issued or redeemed. No text here has a code or a token in it.

use std::io;

use super::{CODE_LEN, MAX_OPEN, MAX_WAITING};
use crate::access::tokens;

/// A fault of the pairings of a state directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PairingError {
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] crate::access::private_file::PrivateFileError),
    /// Enough codes are open.
    #[error("there are {MAX_OPEN} open codes, expected fewer")]
    TooMany,
    /// Enough devices wait.
    #[error("{MAX_WAITING} devices wait to be paired, expected fewer")]
    TooManyDevices,
    /// A code that is none.
    #[error("bad code, expected {CODE_LEN} letters and digits")]
    NoCode,
    /// The token of a code cannot be made.
    #[error("cannot make the token")]
    Token(#[source] tokens::TokenError),
    /// No randomness.
    #[error("no random bytes from the system")]
    Random(#[source] io::Error),
}

/// Why a device gets no token.
#[derive(Debug, thiserror::Error)]
pub enum PairingRefusal {
    /// The code is wrong, over, or was redeemed.
    #[error("no such code is open")]
    NotOpen,
    /// Too many codes were wrong.
    #[error("too many wrong codes")]
    SlowDown {
        /// When to try again, in milliseconds from now.
        retry_after_ms: i64,
    },
    /// It is not the device's fault.
    #[error("cannot redeem a code")]
    Failed(#[source] PairingError),
}
