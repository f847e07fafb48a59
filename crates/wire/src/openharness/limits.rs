//! How much of a message is read: each bound with its name, default and reason.

use super::shape::ReadMode;

/// Bytes of a message: what a form or a chat needs a thousand times over, and what a turn may hold.
pub const DEFAULT_BYTES: usize = 1024 * 1024;

/// Levels of containers in what is understood or kept. Fields that are ignored may nest deeper.
pub const DEFAULT_DEPTH: usize = 64;

/// Most that [`MessageLimits::depth`] can be set to: values are copied, compared and dropped by recursion.
pub const MAX_DEPTH: usize = 128;

/// Values in a message, keys included: some 2 MiB of memory at most.
pub const DEFAULT_VALUES: usize = 100_000;

/// Bytes that one string of an attachment or of the environment may decode to.
pub const DEFAULT_INLINE_BLOB: usize = 8 * 1024;

/// Characters of a `request_id` or `correlation_id`: longer ones are refused and not echoed.
pub const MAX_ENVELOPE_ID: usize = 64 * 1024;

/// Characters of any other id, name or label.
pub const MAX_ID: usize = 1024;

/// Characters of a continuation token, and of the address of an attachment.
pub const MAX_TOKEN: usize = 8 * 1024;

/// Characters of a version.
pub const MAX_VERSION: usize = 128;

/// The bounds that an operator may change, and how strictly a message is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageLimits {
    /// Bytes of a message; over it, `payload_too_large`.
    pub bytes: usize,
    /// Levels of what is understood or kept, at most [`MAX_DEPTH`]; over it, `invalid_request`.
    pub depth: usize,
    /// Values of a message; over it, `invalid_request`.
    pub values: usize,
    /// Decoded bytes of one inline blob; over it, `embedded_blob`.
    pub inline_blob: usize,
    /// Treatment of nulls and unknown words.
    pub mode: ReadMode,
}

impl Default for MessageLimits {
    fn default() -> Self {
        MessageLimits {
            bytes: DEFAULT_BYTES,
            depth: DEFAULT_DEPTH,
            values: DEFAULT_VALUES,
            inline_blob: DEFAULT_INLINE_BLOB,
            mode: ReadMode::Lenient,
        }
    }
}
