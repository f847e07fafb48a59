//! The hash of a record. Written by the store, checked by `verify`; nobody else may compute it. What
//! is hashed is a promise: a record is never migrated.

use crate::record::RecordHash;

/// Keeps these hashes apart from every other use of BLAKE3. Not a secret.
const DOMAIN: &[u8; 32] = b"bridle: the chain, version 2    ";

/// Identity of a session: every one of its records vouches for it.
#[derive(Clone, Copy)]
pub(crate) struct SessionIdentity([u8; 32]);

impl SessionIdentity {
    /// BLAKE3 over id and time, eight bytes each, little end first, the length of the name likewise, and
    /// the two texts.
    pub(crate) fn new(id: i64, name: &[u8], owner: &[u8], created: i64) -> Self {
        let mut fields = Vec::with_capacity(24 + name.len() + owner.len());
        fields.extend_from_slice(&id.to_le_bytes());
        fields.extend_from_slice(&created.to_le_bytes());
        fields.extend_from_slice(&(name.len() as u64).to_le_bytes());
        fields.extend_from_slice(name);
        fields.extend_from_slice(owner);
        Self(*blake3::keyed_hash(DOMAIN, &fields).as_bytes())
    }

    /// The hash of one of its records: BLAKE3 over the fields as they are stored, with the hash of the
    /// record before it among them, and keyed with who the session is.
    pub(crate) fn hash(&self, fields: &[u8]) -> RecordHash {
        RecordHash(*blake3::keyed_hash(&self.0, fields).as_bytes())
    }
}

/// The address of a blob: the hash of its bytes as they are stored.
pub(crate) fn address(bytes: &[u8]) -> RecordHash {
    RecordHash(*blake3::hash(bytes).as_bytes())
}
