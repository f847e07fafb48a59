//! Which object begins next: from one byte that can begin one, or can be in the front of one, to the next.

use super::{Found, Frame, Reader};
use crate::kind::Type;
use crate::lines::widen;
use crate::syntax::{is_alphanumeric, is_space, letter_at, letter_before};
use crate::text::is_blank;

/// Bytes that an object begins with, or that show one: `:` of a plain link, `_` of `src_` and `call_`.
const STARTS: [bool; 256] = {
    let mut starts = [false; 256];
    let mut byte = 0;
    while byte < 128_u8 {
        starts[byte as usize] = is_start(byte);
        byte += 1;
    }
    starts
};

/// Bytes that are looked at together.
const CHUNK_BYTES: usize = 16;

/// Whether the byte is such a one: comparisons alone, so that the compiler makes them for a chunk at once.
const fn is_start(byte: u8) -> bool {
    (byte == b'$')
        | (byte == b'*')
        | (byte == b'+')
        | (byte == b'/')
        | (byte == b':')
        | (byte == b'<')
        | (byte == b'=')
        | (byte == b'@')
        | ((byte.wrapping_sub(b'[') <= b'_' - b'[') & (byte != b']'))
        | (byte == b'{')
        | (byte == b'~')
}

/// Returns the place of the first such byte in a chunk.
fn in_chunk(chunk: &[u8; CHUNK_BYTES]) -> Option<usize> {
    let mut marks = [0_u8; CHUNK_BYTES];
    for (mark, byte) in marks.iter_mut().zip(chunk) {
        *mark = u8::from(is_start(*byte));
    }
    let marks = u128::from_le_bytes(marks);
    (marks != 0).then(|| widen(marks.trailing_zeros() / u8::BITS))
}

/// Returns the place of the first byte that could begin an object, or show one.
fn first_start(text: &[u8]) -> Option<usize> {
    let (chunks, rest) = text.as_chunks::<CHUNK_BYTES>();
    for (index, chunk) in chunks.iter().enumerate() {
        if let Some(at) = in_chunk(chunk) {
            return Some(index * CHUNK_BYTES + at);
        }
    }
    let at = rest.iter().position(|byte| STARTS[usize::from(*byte)]);
    at.map(|at| chunks.len() * CHUNK_BYTES + at)
}

/// Whether any byte could begin an object, or show one.
pub(super) fn may_begin(text: &[u8]) -> bool {
    first_start(text).is_some()
}

impl Reader<'_> {
    /// The first object from `at` on.
    pub(super) fn next(&mut self, at: usize, frame: &Frame) -> Option<Found> {
        if frame.set.has(Type::CitationReference) && !frame.set.has(Type::Bold) {
            return self.citation_reference(at, frame);
        }
        let limit = self.radio_link(at, frame);
        let end = limit.map_or(frame.end, |(begin, _)| begin);
        let mut place = at;
        while let Some(skipped) = first_start(&self.text[place..end]) {
            place += skipped;
            if let Some(found) = self.object(place, at, frame) {
                return Some(found);
            }
            place += 1;
        }
        limit.map(|(begin, end)| self.found(Type::Link, begin, end, frame, Some((begin, end))))
    }

    /// Returns the beginning and the end of the next radio link.
    fn radio_link(&mut self, at: usize, frame: &Frame) -> Option<(usize, usize)> {
        let radio = self.radio.filter(|_| frame.set.has(Type::Link))?;
        let mut from = at;
        loop {
            let begin = self.scratch.cursors.radio(self.text, radio, self.start, from)?;
            if begin >= frame.end {
                return None;
            }
            if let Some(end) = radio.link(self.text, begin, frame.end) {
                return Some((begin, end));
            }
            // It would end outside.
            from = begin + 1;
        }
    }

    /// The object at `at`, or that which `at` shows to begin before, but not before `from`.
    fn object(&mut self, at: usize, from: usize, frame: &Frame) -> Option<Found> {
        let byte = self.text[at];
        let next = (at + 1 < frame.end).then(|| self.text[at + 1]);
        match byte {
            b':' => self.plain_link(at, from, frame),
            b'_' => {
                let inline = self.inline(at, from, frame);
                inline
                    .or_else(|| self.script(Type::Subscript, at, frame))
                    .or_else(|| self.emphasis(at, frame))
            }
            b'^' => self.superscript(at, frame),
            b'+' => self.file_link(at, from, frame).or_else(|| self.emphasis(at, frame)),
            b'*' | b'/' | b'~' | b'=' => self.emphasis(at, frame),
            b'@' if next == Some(b'@') => self.snippet(at, frame),
            b'{' if next == Some(b'{') => self.macro_(at, frame),
            b'$' => self.dollar(at, frame),
            b'<' => match next? {
                b'<' => self.radio_target(at, frame).or_else(|| self.target(at, frame)),
                b'%' | b'0'..=b'9' => self.timestamp(at, frame),
                byte if byte.is_ascii_alphabetic() => self.angle_link(at, frame),
                _ => None,
            },
            b'\\' => self.backslash(at, frame),
            b'[' => match next? {
                b'[' => self.bracket_link(at, frame),
                // Of these names Org looks at the first letter as it stands, and at the others in either case.
                b'f' => self.footnote_reference(at, frame),
                b'c' => self.citation(at, frame),
                b'%' | b'/' => self.cookie(at, frame),
                b'0'..=b'9' => self.timestamp(at, frame).or_else(|| self.cookie(at, frame)),
                _ => None,
            },
            _ => None,
        }
    }

    fn superscript(&mut self, at: usize, frame: &Frame) -> Option<Found> {
        let next = (at + 1 < frame.end).then(|| letter_at(self.text, at + 1))?;
        let begins =
            matches!(next, Some('-' | '{' | '(' | '*' | '+' | '.' | ',')) || is_alphanumeric(next);
        begins.then(|| self.script(Type::Superscript, at, frame)).flatten()
    }

    /// An object with the blanks behind it.
    pub(super) fn found(
        &self,
        kind: Type,
        begin: usize,
        end: usize,
        frame: &Frame,
        contents: Option<(usize, usize)>,
    ) -> Found {
        let behind = self.text.get(end..frame.end).unwrap_or_default();
        let blanks = behind.iter().take_while(|byte| is_blank(**byte)).count();
        Found { kind, begin, end: end + blanks, contents }
    }

    /// Whether a line begins at `at`, for who sees nothing outside of the frame.
    pub(super) fn begins_line(&self, at: usize, frame: &Frame) -> bool {
        at == frame.start || self.text[at - 1] == b'\n'
    }

    /// Whether a line ends at `at`.
    pub(super) fn ends_line(&self, at: usize, frame: &Frame) -> bool {
        at >= frame.end
            || self.text[at] == b'\n'
            || (self.text[at] == b'\r' && (at + 1 >= frame.end || self.text[at + 1] == b'\n'))
    }

    /// The character before `at`; nothing at the beginning of the frame.
    pub(super) fn before(&self, at: usize, frame: &Frame) -> Option<Option<char>> {
        (at > frame.start).then(|| letter_before(self.text, at))
    }

    /// Whether a space, or nothing at all, is at `at`.
    pub(super) fn is_space_at(&self, at: usize, frame: &Frame) -> bool {
        at >= frame.end || is_space(letter_at(self.text, at))
    }

    /// The bytes from `at` to the end of the frame.
    pub(super) fn rest(&self, at: usize, frame: &Frame) -> &[u8] {
        self.text.get(at..frame.end).unwrap_or_default()
    }
}
