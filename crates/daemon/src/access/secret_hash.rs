//! Hashes of tokens, codes and device secrets, as they stand in files of the state folder.
//!
//! Each kind of secret has a context of its own, so that the hash of one is never that of another.
//! A secret with 256 random bits needs no slow hash; a code lives for minutes and its tries are counted.

use subtle::ConstantTimeEq as _;

use bridle_sexp::byte_text::{hex, unhex_array};

/// Bytes of a hash.
const HASH_BYTES: usize = 32;

/// Hash of a secret; comparing takes the same time wherever two differ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SecretHash([u8; HASH_BYTES]);

impl SecretHash {
    /// Hashes a secret within a context.
    pub(crate) fn of(context: &str, secret: impl AsRef<[u8]>) -> SecretHash {
        SecretHash(blake3::derive_key(context, secret.as_ref()))
    }

    /// Reads the hex digits of a hash; `None` for any other text.
    pub(crate) fn from_hex(text: &str) -> Option<SecretHash> {
        unhex_array(text).map(SecretHash)
    }

    /// Writes the hash as hex digits.
    pub(crate) fn to_hex(self) -> String {
        hex(&self.0)
    }
}

impl PartialEq for SecretHash {
    fn eq(&self, other: &SecretHash) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for SecretHash {}

#[cfg(test)]
mod tests {
    use super::SecretHash;

    #[test]
    fn hashes_are_compared_whole() {
        let hash = SecretHash::of("a context of tests", "a");
        assert_eq!(hash, SecretHash::of("a context of tests", "a"));
        for at in [0, 15, 31] {
            let mut other = hash;
            other.0[at] ^= 1;
            assert_ne!(hash, other, "{at}");
        }
    }
}
