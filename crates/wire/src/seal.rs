//! Signatures of frames: HMAC-SHA256 with a shared secret, in two versions.
//!
//! The frame codec calls [`FrameSigner`] and [`FrameVerifier`]; daemon and client build them. Nothing here
//! draws random numbers or reads a clock: nonces are handed in.
//!
//! ```text
//! version 1   HMAC(secret, payload)
//! version 2   HMAC(secret, direction, client nonce, server nonce, counter, header, payload)
//!             'C' or 'S'   32 hex digits  32 hex digits  8 bytes  6 digits
//! ```
//!
//! Version 1 is what old peers speak. It covers neither the header nor the order of frames, so a
//! recorded frame can be sent again. It has no direction either, so whatever a server signs begins with
//! [`DAEMON_MARK`], and a server takes nothing that does. Version 2 numbers the frames of each direction from 0, big
//! endian, and binds them to one connection by a nonce of either side. All fields before the
//! payload have a fixed width, so no two frames are signed as the same bytes.
//!
//! How a connection gets to version 2:
//!
//! ```text
//! server -> client   hello, version 1:  :auth (:hmac 1 2 :nonce SERVER-NONCE)
//! client -> server   hello, version 2:  :auth (:hmac 2 :key ID :nonce CLIENT-NONCE :answer SERVER-NONCE)
//! server -> client   everything else, version 2
//! ```
//!
//! A client whose first frame is version 1 stays with version 1, if the server is told to allow it.

mod auth;
mod key;
mod signer;
mod verifier;

#[cfg(test)]
mod tests;

pub use key::{ConnectionNonce, KeyError, KeyId, MIN_SECRET, SigningKey, SigningKeyring};
pub use signer::{FrameSigner, SealSession};
pub use verifier::{FrameOrigin, FrameVerifier, VersionOnePolicy};

use crate::frame::{HEADER_LEN, SEAL_LEN};

/// Sender of a frame; part of what version 2 signs, so no frame can be sent back to its author.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameDirection {
    /// The client sends, the server reads.
    FromClient,
    /// The server sends, the client reads.
    FromServer,
}

impl FrameDirection {
    fn byte(self) -> u8 {
        match self {
            FrameDirection::FromClient => b'C',
            FrameDirection::FromServer => b'S',
        }
    }
}

/// Prefix of every payload that a server signs in version 1: a blank, which readers of forms
/// skip and no client begins a payload with.
pub const DAEMON_MARK: &str = " ";

/// The six digits of a frame as they stand on the wire; version 2 signs them as they are.
pub(crate) type Header = [u8; HEADER_LEN];

/// A signature as it stands on the wire.
pub(crate) type SealText = [u8; SEAL_LEN];

/// A decoded signature.
pub(crate) type Seal = [u8; SEAL_LEN / 2];
