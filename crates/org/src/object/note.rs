//! References to footnotes, and citations.

use super::cursor::Sought;
use super::{Found, Frame, Reader};
use crate::kind::Type;
use crate::syntax::{is_word, length_at, letter_at};
use crate::text::strip_prefix_any_case;

impl Reader<'_> {
    /// `[fn:name]`, `[fn:name:text]`, `[fn::text]`.
    pub(super) fn footnote_reference(&mut self, at: usize, frame: &Frame) -> Option<Found> {
        let rest = self.rest(at, frame);
        strip_prefix_any_case(rest, b"[fn:").filter(|_| frame.set.has(Type::FootnoteReference))?;
        let mut behind = at + 4;
        while behind < frame.end {
            let letter = letter_at(self.text, behind);
            if !is_word(letter) && !matches!(letter, Some('-' | '_')) {
                break;
            }
            behind += length_at(self.text, behind);
        }
        let inline = match self.rest(behind, frame).first()? {
            b':' => true,
            b']' if behind > at + 4 => false,
            _ => return None,
        };
        let close = self
            .scratch
            .brackets
            .close(self.text, self.start, at)
            .filter(|close| *close < frame.end)?;
        let contents = inline.then_some((behind + 1, close));
        Some(self.found(Type::FootnoteReference, at, close + 1, frame, contents))
    }

    /// `[cite/style:prefix; @key suffix; suffix]`.
    pub(super) fn citation(&mut self, at: usize, frame: &Frame) -> Option<Found> {
        let rest = self.rest(at, frame);
        let mut inner =
            strip_prefix_any_case(rest, b"[cite").filter(|_| frame.set.has(Type::Citation))?;
        if let Some(style) = inner.strip_prefix(b"/") {
            let is_style = |byte: &&u8| byte.is_ascii_alphanumeric() || b"/_-".contains(*byte);
            let length = style.iter().take_while(is_style).count();
            inner = (length > 0).then(|| &style[length..])?;
        }
        inner = inner.strip_prefix(b":")?;
        let blanks = inner.iter().take_while(|byte| b" \t\n\r".contains(*byte)).count();
        let start = at + rest.len() - inner.len() + blanks;
        let close = self
            .scratch
            .brackets
            .close(self.text, self.start, at)
            .filter(|close| *close < frame.end)?;
        let (key, key_end) = self.key(start, close)?;
        let prefix = memchr::memrchr(b';', &self.text[start..key]);
        let begin = prefix.map_or(start, |semicolon| start + semicolon + 1);
        let tail =
            self.text[..close].iter().rev().take_while(|byte| b" \t\n\r".contains(*byte)).count();
        let last = close - tail;
        let suffix = self.text.get(key_end..last).and_then(|rest| memchr::memrchr(b';', rest));
        let suffix = suffix.map(|semicolon| key_end + semicolon);
        let end = match suffix {
            Some(semicolon) if self.key(semicolon, last).is_none() => semicolon + 1,
            _ => last,
        };
        Some(self.found(Type::Citation, at, close + 1, frame, Some((begin, end.max(begin)))))
    }

    /// One key of a citation with what stands around it, up to a semicolon.
    pub(super) fn citation_reference(&mut self, at: usize, frame: &Frame) -> Option<Found> {
        let (_, key_end) = self.key(at, frame.end)?;
        let end = memchr::memchr(b';', self.rest(key_end, frame))
            .map_or(frame.end, |semi| key_end + semi + 1);
        Some(Found { kind: Type::CitationReference, begin: at, end, contents: None })
    }

    /// Returns the spans before the keys of a citation, and behind them.
    pub(super) fn around_keys(&self, found: &Found) -> [(usize, usize); 2] {
        let (first, last) = found.contents.unwrap_or((found.end, found.end));
        let behind_colon = memchr::memchr(b':', &self.text[found.begin..first])
            .map_or(first, |colon| found.begin + colon + 1);
        let is_space = |byte: &&u8| b" \t\n\r".contains(*byte);
        let blanks = self.text[behind_colon..first].iter().take_while(is_space).count();
        let start = behind_colon + blanks;
        // The citation ends with its bracket, and the blanks behind it.
        let close = memchr::memrchr(b']', &self.text[..found.end]).unwrap_or(last).max(last);
        let tail = self.text[last..close].iter().rev().take_while(is_space).count();
        [(start, first.saturating_sub(1).max(start)), (last, close - tail)]
    }

    /// Returns the spans before the key of a reference, and behind it.
    pub(super) fn around_key(&mut self, found: &Found) -> [(usize, usize); 2] {
        let Some((key, key_end)) = self.key(found.begin, found.end) else {
            return [(found.end, found.end); 2];
        };
        let separated = self.text[key_end..found.end].ends_with(b";");
        [(found.begin, key), (key_end, found.end - usize::from(separated))]
    }

    /// Returns the beginning of the first key from `from` on, with its `@`, and its end.
    fn key(&mut self, from: usize, limit: usize) -> Option<(usize, usize)> {
        let at = self.scratch.cursors.find(self.text, Sought::Key, from)?;
        let mut end = at + 1;
        while end < limit && is_key(letter_at(self.text, end)) {
            end += length_at(self.text, end);
        }
        (at + 1 < end && end <= limit).then_some((at, end))
    }
}

/// Whether a key may have this character.
pub(super) fn is_key(letter: Option<char>) -> bool {
    is_word(letter) || letter.is_some_and(|letter| "-.:?!`'/*@+|(){}<>&_^$#%~".contains(letter))
}

/// The key of a reference, without its `@`.
pub(crate) fn key_of(reference: &[u8]) -> Option<&[u8]> {
    let mut places = memchr::memchr_iter(b'@', reference);
    places.find_map(|at| {
        let rest = &reference[at + 1..];
        let mut end = 0;
        while end < rest.len() && is_key(letter_at(rest, end)) {
            end += length_at(rest, end);
        }
        (end > 0).then(|| &rest[..end])
    })
}
