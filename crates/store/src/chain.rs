//! The hash of a record. Written by the store, checked by `verify`; nobody else may compute it. What
//! is hashed, and in which order, is a promise: a record is never migrated.

use crate::record::Hash;

/// Keeps these hashes apart from every other use of BLAKE3. Not a secret.
const DOMAIN: &[u8; 32] = b"bridle: the chain, version 1    ";

/// Who a session is: every one of its records vouches for it.
#[derive(Clone, Copy)]
pub(crate) struct Identity<'a> {
    pub(crate) id: i64,
    pub(crate) name: &'a [u8],
    pub(crate) owner: &'a [u8],
    pub(crate) created: i64,
}

/// A body as it is stored: sealed bytes, or the hash of the blob that has them.
#[derive(Clone, Copy)]
pub(crate) enum Stored<'a> {
    Inline(&'a [u8]),
    Blob(&'a [u8]),
}

/// A row of the record, as it is stored.
pub(crate) struct Link<'a> {
    pub(crate) number: i64,
    pub(crate) session: Identity<'a>,
    pub(crate) seq: Option<i64>,
    pub(crate) at: i64,
    pub(crate) cause: Option<i64>,
    pub(crate) principal: &'a [u8],
    pub(crate) kind: &'a [u8],
    pub(crate) version: i64,
    pub(crate) stored: Stored<'a>,
    pub(crate) prev: &'a [u8],
}

impl Link<'_> {
    /// BLAKE3 over the fields, each preceded by its length in eight bytes, little end first; integers
    /// are eight bytes as well, an absent one has length zero. They are put together in `buffer`, which
    /// is worth keeping for the next one.
    pub(crate) fn hash(&self, buffer: &mut Vec<u8>) -> Hash {
        let (tag, bytes) = match self.stored {
            Stored::Inline(bytes) => (b"inline", bytes),
            Stored::Blob(bytes) => (b"inblob", bytes),
        };
        buffer.clear();
        buffer.reserve(bytes.len() + SMALL_FIELDS);
        let mut fields = Fields(buffer);
        fields.integer(Some(self.number));
        fields.integer(Some(self.session.id));
        fields.bytes(self.session.name);
        fields.bytes(self.session.owner);
        fields.integer(Some(self.session.created));
        fields.integer(self.seq);
        fields.integer(Some(self.at));
        fields.integer(self.cause);
        fields.bytes(self.principal);
        fields.bytes(self.kind);
        fields.integer(Some(self.version));
        fields.bytes(self.prev);
        fields.bytes(tag);
        fields.bytes(bytes);
        Hash(*blake3::keyed_hash(DOMAIN, fields.0).as_bytes())
    }
}

/// The address of a blob: the hash of its bytes as they are stored.
pub(crate) fn address(bytes: &[u8]) -> Hash {
    Hash(*blake3::hash(bytes).as_bytes())
}

/// Room for all fields but the body, in bytes, as long as names are short.
const SMALL_FIELDS: usize = 512;

struct Fields<'a>(&'a mut Vec<u8>);

impl Fields<'_> {
    fn integer(&mut self, integer: Option<i64>) {
        match integer {
            Some(integer) => self.bytes(&integer.to_le_bytes()),
            None => self.bytes(&[]),
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.0.extend_from_slice(bytes);
    }
}
