//! Why bytes are not one JSON text: a closed list, with the place. Made by `read`, answered by the
//! refusals; neither holds a byte of the input.

use std::fmt;

/// The rule that the bytes break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JsonFault {
    /// There are more bytes than the limit.
    TooLarge,
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The text begins with a byte order mark.
    ByteOrderMark,
    /// There is nothing but blanks.
    Empty,
    /// The text ends inside a value.
    Incomplete,
    /// A character stands where the grammar has none.
    Syntax,
    /// A string holds a control character that is not escaped.
    ControlCharacter,
    /// A backslash is followed by nothing that it may escape.
    BadEscape,
    /// One half of a surrogate pair without the other.
    LoneSurrogate,
    /// `NaN` or an infinity.
    NotANumber,
    /// An object has the same key twice.
    DuplicateKey,
    /// Bytes follow the value.
    TrailingBytes,
    /// There are more values than the limit.
    TooManyValues,
}

impl JsonFault {
    /// All of them, in the order of the table in `docs/protocol.md`.
    pub const ALL: [JsonFault; 13] = [
        JsonFault::TooLarge,
        JsonFault::NotUtf8,
        JsonFault::ByteOrderMark,
        JsonFault::Empty,
        JsonFault::Incomplete,
        JsonFault::Syntax,
        JsonFault::ControlCharacter,
        JsonFault::BadEscape,
        JsonFault::LoneSurrogate,
        JsonFault::NotANumber,
        JsonFault::DuplicateKey,
        JsonFault::TrailingBytes,
        JsonFault::TooManyValues,
    ];

    /// The word that stands in `details.reason`.
    pub fn as_str(self) -> &'static str {
        match self {
            JsonFault::TooLarge => "too_large",
            JsonFault::NotUtf8 => "not_utf8",
            JsonFault::ByteOrderMark => "byte_order_mark",
            JsonFault::Empty => "empty",
            JsonFault::Incomplete => "incomplete",
            JsonFault::Syntax => "syntax",
            JsonFault::ControlCharacter => "control_character",
            JsonFault::BadEscape => "bad_escape",
            JsonFault::LoneSurrogate => "lone_surrogate",
            JsonFault::NotANumber => "not_a_number",
            JsonFault::DuplicateKey => "duplicate_key",
            JsonFault::TrailingBytes => "trailing_bytes",
            JsonFault::TooManyValues => "too_many_values",
        }
    }

    /// The sentence for people.
    pub fn explanation(self) -> &'static str {
        match self {
            JsonFault::TooLarge => "the message has more bytes than this engine takes",
            JsonFault::NotUtf8 => "the message is not UTF-8",
            JsonFault::ByteOrderMark => "the message begins with a byte order mark",
            JsonFault::Empty => "the message is empty",
            JsonFault::Incomplete => "the message ends inside a value",
            JsonFault::Syntax => "the message is not JSON",
            JsonFault::ControlCharacter => "a string holds a control character that is not escaped",
            JsonFault::BadEscape => "a string holds a backslash that escapes nothing",
            JsonFault::LoneSurrogate => "a string holds one half of a surrogate pair",
            JsonFault::NotANumber => "`NaN` and infinities are not JSON",
            JsonFault::DuplicateKey => "an object has the same key twice",
            JsonFault::TrailingBytes => "something follows the message",
            JsonFault::TooManyValues => "the message has more values than this engine takes",
        }
    }
}

impl fmt::Display for JsonFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Bytes that are not one JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault} at byte {offset}")]
pub struct BrokenJson {
    /// The rule that is broken.
    pub fault: JsonFault,
    /// The byte where that shows, counted from 0.
    pub offset: usize,
}

impl BrokenJson {
    pub(super) fn at(offset: usize, fault: JsonFault) -> Self {
        BrokenJson { fault, offset }
    }
}
