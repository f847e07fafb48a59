//! Reasons why a question to the Memex is not answered. The daemon turns them into the errors of its protocols; their
//! texts are for people and repeat nothing that the asker sent.

/// Text of a refusal when the index cannot be read.
pub(crate) const UNREADABLE: &str =
    "the index of the memex cannot be read; the daemon's log has the reason";

/// A reason why a question is not answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemexRefusal {
    /// No folder is set.
    #[error("no memex is set; `bridle init DIR` chooses a folder of Org files")]
    NoMemex,
    /// Nothing has this name, or nothing that the asker may see.
    #[error("{0}")]
    NotFound(&'static str),
    /// A field of the payload is not understood.
    #[error("expected {expected}")]
    Field {
        /// Key of the field.
        key: &'static str,
        /// Value that would be understood.
        expected: String,
    },
    /// The question is understood and cannot be answered as it stands.
    #[error("{0}")]
    Invalid(&'static str),
    /// The index cannot be read now.
    #[error("{0}")]
    Unavailable(String),
    /// A fault of the daemon; its log has the reason.
    #[error("a fault of the daemon; its log has the reason")]
    Internal,
}
