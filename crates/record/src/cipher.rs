//! Sealing: what a session said can be read only as long as its key exists. Called by the writer and
//! the reader with bytes; where keys are kept is the schema's business.
//!
//! Each text is sealed once, under a key derived for it alone from the session's key, a label, its
//! number and a random salt. So the nonce may be constant, and destroying the salt destroys the text.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, Tag, UnboundKey};

use crate::error::StoreError;

/// Bytes of a salt: nobody guesses 128 bits.
pub const SALT_BYTES: usize = 16;

/// Bytes that sealing adds.
pub const TAG_BYTES: usize = 16;

/// Bytes that are masked together: two hashes.
pub const MASK_BYTES: usize = 64;

/// Random bytes that belong to one text. All zero once that is forgotten.
pub type Salt = [u8; SALT_BYTES];

/// The key of a session. All zero once the session is forgotten.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionKey([u8; 32]);

/// Kind of a sealed text, so that none can stand in another's place.
#[derive(Clone, Copy)]
pub enum SealLabel {
    /// Body of a record.
    Body = 1,
    /// State of a session.
    State = 2,
    /// Receipt of a message.
    Receipt = 3,
    /// Hash and type of a file on the shelf.
    Facts = 4,
    /// Bytes of a file on the shelf.
    Content = 5,
    /// Facts about the text of an unsaved buffer.
    OverlayFacts = 6,
    /// Text of an unsaved buffer.
    OverlayText = 7,
}

/// Place of a sealed text: its kind, number and salt.
#[derive(Clone, Copy)]
pub struct SealPlace<'a> {
    /// Kind of the text.
    pub label: SealLabel,
    /// Number of the text among those of its kind.
    pub number: u64,
    /// Salt of the text.
    pub salt: &'a Salt,
}

impl SessionKey {
    /// Makes a key of random bytes.
    ///
    /// # Errors
    /// [`StoreError::Random`]: the system gives none.
    pub fn new() -> Result<Self, StoreError> {
        random().map(Self)
    }

    /// From the database; `None` if it does not have the form of a key.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Returns the bytes for the database.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Tells whether the key was destroyed: all zero.
    pub fn is_destroyed(&self) -> bool {
        self.0 == [0; 32]
    }

    /// Seals a text in place of its bytes.
    pub fn seal(&self, place: SealPlace<'_>, mut text: Vec<u8>) -> Vec<u8> {
        let tag = self.lock(place, &mut text);
        text.extend_from_slice(tag.as_ref());
        text
    }

    /// Seals a text, given in parts, at the end of other bytes.
    pub fn seal_into(&self, place: SealPlace<'_>, text: &[&[u8]], bytes: &mut Vec<u8>) {
        let begin = bytes.len();
        text.iter().for_each(|part| bytes.extend_from_slice(part));
        let tag = self.lock(place, &mut bytes[begin..]);
        bytes.extend_from_slice(tag.as_ref());
    }

    fn lock(&self, place: SealPlace<'_>, text: &mut [u8]) -> Tag {
        self.cipher(place)
            .seal_in_place_separate_tag(nonce(), Aad::empty(), text)
            .expect("no text has 256 GiB")
    }

    /// Opens what [`seal`](Self::seal) made for this place; `None` if it is anything else.
    pub fn open(&self, place: SealPlace<'_>, mut sealed: Vec<u8>) -> Option<Vec<u8>> {
        let length =
            self.cipher(place).open_in_place(nonce(), Aad::empty(), &mut sealed).ok()?.len();
        sealed.truncate(length);
        Some(sealed)
    }

    /// Hides two hashes, or shows them again. Nothing tells whether they were changed meanwhile: that
    /// is for what may be wrong without harm.
    pub fn mask(&self, place: SealPlace<'_>, hashes: &mut [u8; MASK_BYTES]) {
        let mut mask = [0; MASK_BYTES];
        blake3::Hasher::new_keyed(&self.0).update(&place.bytes()).finalize_xof().fill(&mut mask);
        for (byte, mask) in hashes.iter_mut().zip(mask) {
            *byte ^= mask;
        }
    }

    fn cipher(&self, place: SealPlace<'_>) -> LessSafeKey {
        let key = blake3::keyed_hash(&self.0, &place.bytes());
        let key = UnboundKey::new(&CHACHA20_POLY1305, key.as_bytes());
        LessSafeKey::new(key.expect("the hash has the length of a key"))
    }
}

impl SealPlace<'_> {
    fn bytes(&self) -> [u8; 1 + 8 + SALT_BYTES] {
        let mut bytes = [0; 1 + 8 + SALT_BYTES];
        bytes[0] = self.label as u8;
        bytes[1..9].copy_from_slice(&self.number.to_le_bytes());
        bytes[9..].copy_from_slice(self.salt);
        bytes
    }
}

/// Always the same: no key is used twice.
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

/// Whether a salt was destroyed.
pub fn is_destroyed(salt: &Salt) -> bool {
    *salt == [0; SALT_BYTES]
}

/// Returns random bytes from the system.
///
/// # Errors
/// [`StoreError::Random`]: the system gives none.
pub fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(StoreError::Random)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
