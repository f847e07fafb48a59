//! Large messages in parts: one payload, cut into messages that each fit a frame, and put together.
//!
//! Used by whoever writes a payload above the peer's largest frame, and by whoever told its peer
//! the capability `:parts`. It carries text and does not look into it; the whole is read like the
//! payload of any frame.
//!
//! ```text
//! (:type :EVENT :part (:id "7f" :n 1 :of 3) :data "...")
//! (:type :EVENT :part (:id "7f" :n 2 :of 3) :data "...")
//! (:type :EVENT :part (:id "7f" :n 3 :of 3) :data "...")
//! ```
//!
//! Parts of one payload come in order; parts of several payloads may alternate. Who gives up sends
//! `(:type :EVENT :part (:id "7f" :abort t))`.

mod assemble;
mod message;

#[cfg(test)]
mod tests;

pub use assemble::{
    AssemblerLimits, AssemblyStep, CallerMillis, PartAssembler, PartError, ReceivedPart,
};
pub use message::PartMessage;

/// The most parts of one payload: enough for 2 GiB in frames of 256 KiB, and four digits.
pub const MAX_PARTS: u32 = 9_999;

/// Digits of [`MAX_PARTS`], kept free in every part for each of its two numbers.
const NUMBER_DIGITS: usize = 4;

/// The longest UTF-8 sequence in bytes; longer than an escaped quote.
const MAX_CHAR: usize = 4;

/// The longest name of a payload, in bytes: a uuid with room to spare.
pub const MAX_ID: usize = 128;

/// The name of a payload sent in parts, chosen by its sender, unique among those under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PartsId(Box<str>);

impl PartsId {
    /// A name; `None` if it is empty or longer than [`MAX_ID`].
    pub fn new(name: &str) -> Option<PartsId> {
        (!name.is_empty() && name.len() <= MAX_ID).then(|| PartsId(name.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Reason why a payload cannot be sent in parts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    /// The frames are too small for any part.
    #[error("expected frames of at least {least} bytes, got `{max_frame}`")]
    FrameTooSmall {
        /// The peer's limit.
        max_frame: usize,
        /// Bytes that a part with one character needs.
        least: usize,
    },
    /// The payload would take too many parts.
    #[error("expected a payload of at most {MAX_PARTS} parts, got one of {bytes} bytes")]
    TooMany {
        /// The payload's size.
        bytes: usize,
    },
}

/// Cuts `payload` into messages of at most `max_frame` bytes each.
///
/// # Errors
///
/// [`SplitError`], before anything is written.
pub fn split<'p>(
    payload: &'p str,
    max_frame: usize,
    id: &PartsId,
) -> Result<MessageParts<'p>, SplitError> {
    let mut head = String::from("(:type :EVENT :part (:id \"");
    escape(id.as_str(), &mut head);
    head.push('"');
    let fixed = head.len() + NUMBERS.len() + 2 * NUMBER_DIGITS + TAIL.len();
    let room = max_frame.saturating_sub(fixed);
    if room < MAX_CHAR {
        return Err(SplitError::FrameTooSmall { max_frame, least: fixed + MAX_CHAR });
    }
    let mut of = 0u32;
    let mut rest = payload;
    loop {
        rest = &rest[fitting(rest, room)..];
        of += 1;
        if rest.is_empty() {
            return Ok(MessageParts { head, rest: payload, room, next: 1, of });
        }
        if of == MAX_PARTS {
            return Err(SplitError::TooMany { bytes: payload.len() });
        }
    }
}

/// The message that tells the peer to forget the parts it has.
pub fn abort_message(id: &PartsId) -> String {
    let mut message = String::from("(:type :EVENT :part (:id \"");
    escape(id.as_str(), &mut message);
    message.push_str("\" :abort t))");
    message
}

const NUMBERS: &str = " :n  :of ) :data \"";
const TAIL: &str = "\")";

/// The messages of one payload, made one at a time.
#[derive(Clone, Debug)]
pub struct MessageParts<'p> {
    /// The message up to the numbers.
    head: String,
    rest: &'p str,
    /// Bytes of escaped text in each part.
    room: usize,
    next: u32,
    of: u32,
}

impl Iterator for MessageParts<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        if self.next > self.of {
            return None;
        }
        let (data, rest) = self.rest.split_at(fitting(self.rest, self.room));
        let mut message = format!("{} :n {} :of {}) :data \"", self.head, self.next, self.of);
        escape(data, &mut message);
        message.push_str(TAIL);
        self.rest = rest;
        self.next += 1;
        Some(message)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.of + 1 - self.next).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}

impl ExactSizeIterator for MessageParts<'_> {}

/// Number of leading bytes of `text`, whole characters, that take at most `room` bytes when escaped.
fn fitting(text: &str, room: usize) -> usize {
    let mut cost = 0;
    let end = text.bytes().position(|byte| {
        cost += if needs_escape(byte) { 2 } else { 1 };
        cost > room
    });
    end.map_or(text.len(), |end| text.floor_char_boundary(end))
}

/// Writes `text` as the inside of a string of the data language.
fn escape(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.bytes().position(needs_escape) {
        out.push_str(&rest[..at]);
        out.push('\\');
        out.push_str(&rest[at..=at]);
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

fn needs_escape(byte: u8) -> bool {
    byte == b'"' || byte == b'\\'
}
