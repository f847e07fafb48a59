//! Why bytes are not one JSON text: a closed list, with the place. Made by `read`, answered by the
//! refusals; neither holds a byte of the input.

use std::fmt;

/// The rule that the bytes break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
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
    /// Something follows the value.
    TrailingBytes,
    /// There are more values than the limit.
    TooManyValues,
}

impl Fault {
    /// All of them, in the order of the table in `docs/protocol.md`.
    pub const ALL: [Fault; 13] = [
        Fault::TooLarge,
        Fault::NotUtf8,
        Fault::ByteOrderMark,
        Fault::Empty,
        Fault::Incomplete,
        Fault::Syntax,
        Fault::ControlCharacter,
        Fault::BadEscape,
        Fault::LoneSurrogate,
        Fault::NotANumber,
        Fault::DuplicateKey,
        Fault::TrailingBytes,
        Fault::TooManyValues,
    ];

    /// The word that stands in `details.reason`.
    pub fn as_str(self) -> &'static str {
        match self {
            Fault::TooLarge => "too_large",
            Fault::NotUtf8 => "not_utf8",
            Fault::ByteOrderMark => "byte_order_mark",
            Fault::Empty => "empty",
            Fault::Incomplete => "incomplete",
            Fault::Syntax => "syntax",
            Fault::ControlCharacter => "control_character",
            Fault::BadEscape => "bad_escape",
            Fault::LoneSurrogate => "lone_surrogate",
            Fault::NotANumber => "not_a_number",
            Fault::DuplicateKey => "duplicate_key",
            Fault::TrailingBytes => "trailing_bytes",
            Fault::TooManyValues => "too_many_values",
        }
    }

    /// The sentence for people.
    pub fn explanation(self) -> &'static str {
        match self {
            Fault::TooLarge => "the message has more bytes than this engine takes",
            Fault::NotUtf8 => "the message is not UTF-8",
            Fault::ByteOrderMark => "the message begins with a byte order mark",
            Fault::Empty => "the message is empty",
            Fault::Incomplete => "the message ends inside a value",
            Fault::Syntax => "the message is not JSON",
            Fault::ControlCharacter => "a string holds a control character that is not escaped",
            Fault::BadEscape => "a string holds a backslash that escapes nothing",
            Fault::LoneSurrogate => "a string holds one half of a surrogate pair",
            Fault::NotANumber => "`NaN` and infinities are not JSON",
            Fault::DuplicateKey => "an object has the same key twice",
            Fault::TrailingBytes => "something follows the message",
            Fault::TooManyValues => "the message has more values than this engine takes",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Bytes that are not one JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault} at byte {offset}")]
pub struct Broken {
    /// The rule that is broken.
    pub fault: Fault,
    /// The byte where that shows, counted from 0.
    pub offset: usize,
}

impl Broken {
    pub(super) fn at(offset: usize, fault: Fault) -> Self {
        Broken { fault, offset }
    }
}
