//! Faults of pairing. No text here has a code or a token in it.

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
    /// Too many codes are open.
    #[error("there are {MAX_OPEN} open codes, expected fewer")]
    TooMany,
    /// Too many devices wait.
    #[error("{MAX_WAITING} devices wait to be paired, expected fewer")]
    TooManyDevices,
    /// A text that is no code.
    #[error("bad code, expected {CODE_LEN} letters and digits")]
    NoCode,
    /// The token of a code cannot be made.
    #[error("cannot make the token")]
    Token(#[source] tokens::TokenError),
    /// No randomness.
    #[error("no random bytes from the system")]
    Random(#[source] io::Error),
}

/// Refusal of a token to a device.
#[derive(Debug, thiserror::Error)]
pub enum PairingRefusal {
    /// The code is wrong, over, or was redeemed.
    #[error("no such code is open")]
    NotOpen,
    /// Too many codes were wrong.
    #[error("too many wrong codes")]
    SlowDown {
        /// Milliseconds until the next try may come.
        retry_after_ms: i64,
    },
    /// Fault of the daemon, not of the device.
    #[error("cannot redeem a code")]
    Failed(#[source] PairingError),
}
