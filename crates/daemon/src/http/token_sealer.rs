//! Sealed texts that only this daemon can make and read: the content of continuation tokens.
//!
//! `run` opens the key, and `continuation` uses it. The key is a file of the state directory, made
//! once, so that a token outlives the daemon that made it. The same text gives the same token, as
//! the same request gives the same answer: the nonce is a keyed hash of the text, and no two texts
//! have the same one.

use std::fmt;
use std::io;
use std::path::Path;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;

use crate::access::private_file::{self, PrivateFile};
use bridle_sexp::byte_text::{hex, unhex};

/// The file of the key, in the state directory.
const KEY_FILE: &str = "continuation.key";

/// Bytes of the key.
const KEY_BYTES: usize = 32;

/// Bytes of the file: hex digits and the end of the line.
const KEY_FILE_BYTES: u64 = 65;

/// Fault of the key: tokens can be neither made nor read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The file cannot be used.
    #[error("cannot use the key of continuations")]
    File(#[from] private_file::PrivateFileError),
    /// The file holds something else.
    #[error(
        "the key of continuations is damaged, expected 64 hex digits: remove it, and tokens that were issued end"
    )]
    Damaged,
    /// The system gives no random bytes.
    #[error("cannot open the random source")]
    Random(#[source] io::Error),
}

/// Seals texts and opens them.
pub(crate) struct TokenSealer {
    text: LessSafeKey,
    nonce: hmac::Key,
}

impl fmt::Debug for TokenSealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seals").finish_non_exhaustive()
    }
}

/// A token that was opened.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OpenedToken {
    pub(super) text: String,
    /// Nonce that no other text of this daemon has.
    pub(super) nonce: String,
}

impl TokenSealer {
    /// Reads the key, or makes it.
    ///
    /// # Errors
    /// The file cannot be used or is no key, or there are no random bytes.
    pub(crate) fn open(state: &Path) -> Result<TokenSealer, SealError> {
        let file = PrivateFile::new(state, KEY_FILE, KEY_FILE_BYTES);
        let held = file.hold()?;
        if let Some((_, bytes)) = file.read()? {
            let key = std::str::from_utf8(&bytes).ok().and_then(|text| unhex(text.trim_end()));
            return TokenSealer::of(&key.ok_or(SealError::Damaged)?).ok_or(SealError::Damaged);
        }
        let mut key = [0; KEY_BYTES];
        getrandom::fill(&mut key).map_err(|error| SealError::Random(io::Error::other(error)))?;
        held.replace(&format!("{}\n", hex(&key)))?;
        TokenSealer::of(&key).ok_or(SealError::Damaged)
    }

    fn of(key: &[u8]) -> Option<TokenSealer> {
        let key: &[u8; KEY_BYTES] = key.try_into().ok()?;
        let root = hmac::Key::new(hmac::HMAC_SHA256, key);
        let text = hmac::sign(&root, b"bridle continuation text");
        let nonce = hmac::sign(&root, b"bridle continuation nonce");
        let text = UnboundKey::new(&AES_256_GCM, text.as_ref()).ok()?;
        let nonce = hmac::Key::new(hmac::HMAC_SHA256, nonce.as_ref());
        Some(TokenSealer { text: LessSafeKey::new(text), nonce })
    }

    /// Seals a text; `None` if it is larger than the cipher takes.
    pub(super) fn seal(&self, text: &str) -> Option<String> {
        let tag = hmac::sign(&self.nonce, text.as_bytes());
        let nonce: [u8; NONCE_LEN] = *tag.as_ref().first_chunk()?;
        let mut sealed = text.as_bytes().to_vec();
        let place = Nonce::assume_unique_for_key(nonce);
        self.text.seal_in_place_append_tag(place, Aad::empty(), &mut sealed).ok()?;
        Some(format!("{}{}", hex(&nonce), hex(&sealed)))
    }

    /// Opens a token; `None` if it is none of this daemon's, in every bit.
    pub(super) fn unseal(&self, token: &str) -> Option<OpenedToken> {
        let bytes = unhex(token)?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LEN>()?;
        let mut sealed = sealed.to_vec();
        let place = Nonce::assume_unique_for_key(*nonce);
        let text = self.text.open_in_place(place, Aad::empty(), &mut sealed).ok()?;
        let text = String::from_utf8(text.to_vec()).ok()?;
        Some(OpenedToken { text, nonce: hex(nonce) })
    }
}

#[cfg(test)]
mod tests;
