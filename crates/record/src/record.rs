//! Records as readers get them, their numbers and hashes, and the filter that selects them. The writer's side is in
//! `append`. Knows nothing of SQL.

use std::fmt;

use bridle_sexp::byte_text::hex;

/// The number of a record: global, dense, from 1. `RecordNumber(0)` stands before the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordNumber(pub u64);

impl fmt::Display for RecordNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A BLAKE3 hash. Prints as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordHash(pub(crate) [u8; 32]);

impl RecordHash {
    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads 64 hex digits, of either case. `None` for anything else.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text).ok().map(|hash| Self(*hash.as_bytes()))
    }
}

impl From<[u8; 32]> for RecordHash {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for RecordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for RecordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

/// The hash of a text, as in a `mark` record or the body hash of a receipt.
#[must_use]
pub fn hash_text(text: &str) -> RecordHash {
    RecordHash(*blake3::hash(text.as_bytes()).as_bytes())
}

/// The last record: what to keep elsewhere to notice that a tail was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHead {
    /// Its number; 0 while the record is empty.
    pub number: RecordNumber,
    /// Its hash; that of the origin while the record is empty.
    pub hash: RecordHash,
}

/// One record, opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its place among all records.
    pub number: RecordNumber,
    /// Name of its session; empty for the daemon's own.
    pub session: Box<str>,
    /// Its place in the session's stream, if it is part of that.
    pub seq: Option<u64>,
    /// Milliseconds since the epoch. Never goes backward within a session.
    pub at: i64,
    /// The record it follows from.
    pub cause: Option<RecordNumber>,
    /// Principal who caused the record.
    pub principal: Box<str>,
    /// Kind of the record: `signal`, `say`, ...
    pub kind: Box<str>,
    /// Version of the kind.
    pub version: u32,
    /// Body of the record.
    pub body: RecordBody,
    /// Hash of the record before it.
    pub prev: RecordHash,
    /// Its own hash.
    pub hash: RecordHash,
}

/// Body of a record, as far as it can still be known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordBody {
    /// The text that was handed in.
    Text(String),
    /// The body was forgotten: the key is destroyed, the sealed bytes remain.
    Erased,
}

impl RecordBody {
    /// The text, unless it was forgotten.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Erased => None,
        }
    }
}

/// Filter of records. The default is all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordFilter {
    /// Only those of this session; the empty name is the daemon itself.
    pub session: Option<Box<str>>,
    /// None after this one.
    pub to: Option<RecordNumber>,
    /// Only these kinds; empty means any.
    pub kinds: Vec<Box<str>>,
}
