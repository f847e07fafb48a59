//! Keys, sets of keys, and nonces.
//!
//! Built by the daemon and the CLI from their settings. A secret goes in and never comes out: no
//! accessor, and `Debug` shows the id alone.

use std::fmt;
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::{Seal, SealText};

/// The shortest secret for a server, in bytes: 128 bits, what cannot be guessed.
pub const MIN_SECRET: usize = 16;

/// The digits of a nonce: 128 random bits, enough that none ever comes twice.
const NONCE_LEN: usize = 32;

/// The name of a key, as said in hello; also the name of the principal that holds it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(Arc<str>);

impl KeyId {
    /// A key's name.
    pub fn new(name: &str) -> KeyId {
        KeyId(name.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reason why a key, a set of keys or a nonce was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The secret is too short for a server.
    #[error("expected a secret of at least {MIN_SECRET} bytes for key `{id}`, got {length}")]
    TooShort {
        /// The key.
        id: KeyId,
        /// The secret's length in bytes.
        length: usize,
    },
    /// Two keys have one name.
    #[error("expected keys with different names, got `{id}` twice")]
    Twice {
        /// The name.
        id: KeyId,
    },
    /// A set without a key.
    #[error("expected at least one key, got none")]
    NoKey,
    /// A nonce of another form.
    #[error("expected a nonce of {NONCE_LEN} hex digits, got something else")]
    BadNonce,
}

/// A shared secret and its name.
#[derive(Clone)]
pub struct SigningKey {
    id: KeyId,
    /// The keyed state; every signature starts from a copy.
    mac: Hmac<Sha256>,
}

impl SigningKey {
    /// A key from any bytes, however few: for tools that must speak to peers as they are.
    pub fn from_bytes(id: KeyId, secret: &[u8]) -> SigningKey {
        let mac = Hmac::new_from_slice(secret).expect("HMAC takes a key of any length");
        SigningKey { id, mac }
    }

    /// A key for a server: the secret has at least [`MIN_SECRET`] bytes.
    ///
    /// # Errors
    ///
    /// [`KeyError::TooShort`].
    pub fn strong(id: KeyId, secret: &[u8]) -> Result<SigningKey, KeyError> {
        if secret.len() < MIN_SECRET {
            return Err(KeyError::TooShort { id, length: secret.len() });
        }
        Ok(SigningKey::from_bytes(id, secret))
    }

    /// The key's name.
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// The signature, in lower-case hex, of a text that is no frame. `purpose` keeps it from
    /// passing as the signature of anything else.
    pub fn sign_text(&self, purpose: &str, text: &str) -> String {
        let mut digits = [0; size_of::<SealText>()];
        crate::frame::write_hex(&self.seal_text(purpose, text), &mut digits);
        String::from_utf8_lossy(&digits).into_owned()
    }

    /// Tells whether `signature` is what [`SigningKey::sign_text`] gives for this text.
    pub fn has_signed_text(&self, purpose: &str, text: &str, signature: &str) -> bool {
        let mut seal = Seal::default();
        let is_seal = signature.len() == size_of::<SealText>()
            && crate::frame::read_hex(signature.as_bytes(), &mut seal).is_some();
        is_seal && same(&seal, &self.seal_text(purpose, text))
    }

    fn seal_text(&self, purpose: &str, text: &str) -> Seal {
        // No text contains a zero byte after its purpose by accident, and no frame begins so.
        self.seal([purpose.as_bytes(), &[0], text.as_bytes()])
    }

    /// The signature of the parts, one after the other.
    pub(super) fn seal<'p>(&self, parts: impl IntoIterator<Item = &'p [u8]>) -> Seal {
        let mut mac = self.mac.clone();
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// The version 1 signature of a Lisp that signs one byte for each character.
    ///
    /// `None` when the text has characters above U+00FF, which such a peer cannot sign.
    pub(super) fn seal_latin1(&self, text: &str) -> Option<Seal> {
        let mut mac = self.mac.clone();
        // Through a small buffer: the text may be megabytes.
        let mut chunk = [0u8; 512];
        let mut filled = 0;
        for character in text.chars() {
            chunk[filled] = u8::try_from(character).ok()?;
            filled += 1;
            if filled == chunk.len() {
                mac.update(&chunk);
                filled = 0;
            }
        }
        mac.update(&chunk[..filled]);
        Some(mac.finalize().into_bytes().into())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Whether two signatures are equal, in a time that does not depend on where they differ.
pub(super) fn same(left: &Seal, right: &Seal) -> bool {
    left.ct_eq(right).into()
}

/// The keys a side accepts; the first one signs what is not addressed to a known key.
///
/// To rotate: put the new key first, and drop the old one when no peer uses it any more.
#[derive(Clone, Debug)]
pub struct SigningKeyring {
    keys: Arc<[SigningKey]>,
}

impl SigningKeyring {
    /// A set of keys with different names.
    ///
    /// # Errors
    ///
    /// [`KeyError::NoKey`] or [`KeyError::Twice`].
    pub fn new(keys: impl IntoIterator<Item = SigningKey>) -> Result<SigningKeyring, KeyError> {
        let keys: Arc<[SigningKey]> = keys.into_iter().collect();
        if keys.is_empty() {
            return Err(KeyError::NoKey);
        }
        for (index, key) in keys.iter().enumerate() {
            if keys[..index].iter().any(|other| other.id == key.id) {
                return Err(KeyError::Twice { id: key.id.clone() });
            }
        }
        Ok(SigningKeyring { keys })
    }

    /// The set of one key.
    pub fn of(key: SigningKey) -> SigningKeyring {
        SigningKeyring { keys: Arc::new([key]) }
    }

    /// The key that signs by default.
    pub fn first(&self) -> &SigningKey {
        &self.keys[0]
    }

    /// The key named `id`.
    pub fn get(&self, id: &str) -> Option<&SigningKey> {
        self.keys.iter().find(|key| key.id.as_str() == id)
    }

    /// All keys, the signing one first.
    pub fn iter(&self) -> impl Iterator<Item = &SigningKey> {
        self.keys.iter()
    }
}

/// A number used once: what one side contributes to the identity of a connection.
///
/// On the wire and in signatures it is its 32 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionNonce([u8; NONCE_LEN]);

impl ConnectionNonce {
    /// A nonce from 128 bits that the caller drew from the system's random source.
    pub fn from_random(bits: [u8; NONCE_LEN / 2]) -> ConnectionNonce {
        let mut digits = [0; NONCE_LEN];
        crate::frame::write_hex(&bits, &mut digits);
        ConnectionNonce(digits)
    }

    /// A nonce as a peer wrote it.
    ///
    /// # Errors
    ///
    /// [`KeyError::BadNonce`] unless it is 32 hex digits.
    pub fn parse(text: &str) -> Result<ConnectionNonce, KeyError> {
        let digits: [u8; NONCE_LEN] = text.as_bytes().try_into().map_err(|_| KeyError::BadNonce)?;
        match crate::frame::first_not_hex(&digits) {
            None => Ok(ConnectionNonce(digits)),
            Some(_) => Err(KeyError::BadNonce),
        }
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
