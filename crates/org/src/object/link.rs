//! Links: `[[target][text]]`, `<https:..>`, `https:..`; and the targets they lead to.

use super::cursor::Sought;
use super::{Found, Frame, Reader};
use crate::kind::Type;
use crate::syntax::{is_punctuation, joins_word, length_at, letter_at};
use crate::text::is_blank;

/// The types of links that Org knows without further modules.
pub(crate) const TYPES: &[&str] = &[
    "bbdb",
    "bibtex",
    "docview",
    "doi",
    "elisp",
    "eww",
    "file",
    "file+emacs",
    "file+sys",
    "ftp",
    "gnus",
    "help",
    "http",
    "https",
    "info",
    "irc",
    "mailto",
    "mhe",
    "news",
    "rmail",
    "shell",
    "w3m",
];

/// Length of the type of link at the end of `bytes`.
fn type_before(bytes: &[u8]) -> Option<usize> {
    let last = bytes.last().map(u8::to_ascii_lowercase);
    let ends = |name: &&&str| {
        if name.as_bytes().last().copied() != last {
            return false;
        }
        let start = bytes.len().checked_sub(name.len());
        start.is_some_and(|start| bytes[start..].eq_ignore_ascii_case(name.as_bytes()))
    };
    // Of `file+sys` and a type that it ends with, the longer one begins the word.
    TYPES.iter().filter(ends).map(|name| name.len()).max()
}

/// The type of link that `bytes` begins with, its colon behind it.
pub(crate) fn type_at(bytes: &[u8]) -> Option<&'static str> {
    let colon = bytes.iter().take(16).position(|byte| *byte == b':')?;
    TYPES.iter().find(|name| bytes[..colon].eq_ignore_ascii_case(name.as_bytes())).copied()
}

impl Reader<'_> {
    /// `https://example.org`, given the place of its first colon.
    pub(super) fn plain_link(&self, colon: usize, from: usize, frame: &Frame) -> Option<Found> {
        let before = &self.text[from..colon];
        before.last().filter(|byte| byte.is_ascii_alphanumeric())?;
        let begin = colon - type_before(before)?;
        self.plain_link_from(begin, colon, frame)
    }

    /// `file+sys:..`, given the place of its plus.
    pub(super) fn file_link(&self, plus: usize, from: usize, frame: &Frame) -> Option<Found> {
        let file = self.text[from..plus].len().checked_sub(4).map(|start| from + start)?;
        let name = type_at(self.rest(file, frame)).filter(|name| name.len() > 4)?;
        self.text[file..plus].eq_ignore_ascii_case(b"file").then_some(())?;
        self.plain_link_from(file, file + name.len(), frame)
    }

    fn plain_link_from(&self, begin: usize, colon: usize, frame: &Frame) -> Option<Found> {
        let starts_word = !self.before(begin, frame).is_some_and(joins_word);
        if !frame.set.has(Type::Link) || !starts_word {
            return None;
        }
        let end = self.plain_path(colon + 1, frame)?;
        Some(self.found(Type::Link, begin, end, frame, None))
    }

    /// The end of the path of a plain link: characters and parentheses, the last of which is no punctuation.
    fn plain_path(&self, start: usize, frame: &Frame) -> Option<usize> {
        let (mut at, mut end, mut units) = (start, None, 0);
        while at < frame.end {
            let (length, may_end) = match self.text[at] {
                byte if PLAIN[usize::from(byte)] => (1, true),
                b'(' => match self.parenthesis(at, frame, 2) {
                    Some(close) => (close + 1 - at, true),
                    None => break,
                },
                byte if is_bracket_or_space(byte) => break,
                byte => {
                    let letter = letter_at(self.text, at);
                    (length_at(self.text, at), byte == b'/' || !is_punctuation(letter))
                }
            };
            at += length;
            units += 1;
            if may_end && units > 1 {
                end = Some(at);
            }
        }
        end
    }

    /// Returns the place that closes the parenthesis at `at`, with at most `levels` of them in each other.
    fn parenthesis(&self, at: usize, frame: &Frame, levels: usize) -> Option<usize> {
        let (mut open, mut place) = (1, at + 1);
        while place < frame.end {
            match self.text[place] {
                b'(' if open == levels => return None,
                b'(' => open += 1,
                b')' if open == 1 => return Some(place),
                b')' => open -= 1,
                byte if is_bracket_or_space(byte) => return None,
                _ => {}
            }
            place += 1;
        }
        None
    }

    /// `<https://example.org>`.
    pub(super) fn angle_link(&mut self, at: usize, frame: &Frame) -> Option<Found> {
        let name = type_at(self.rest(at + 1, frame)).filter(|_| frame.set.has(Type::Link))?;
        let path = at + 1 + name.len() + 1;
        let close = self
            .scratch
            .cursors
            .find(self.text, Sought::Angle, path)
            .filter(|close| *close < frame.end)?;
        // No empty line in it, and no line of blanks before the end.
        let empty = self.scratch.cursors.find(self.text, Sought::EmptyLine, path);
        empty
            .is_none_or(|empty| empty > close)
            .then(|| self.found(Type::Link, at, close + 1, frame, None))
    }

    /// `[[target]]` or `[[target][text]]`.
    pub(super) fn bracket_link(&mut self, at: usize, frame: &Frame) -> Option<Found> {
        if !frame.set.has(Type::Link) {
            return None;
        }
        let close = self.target_end(at + 2, frame)?;
        match self.rest(close + 1, frame).first()? {
            b']' => Some(self.found(Type::Link, at, close + 2, frame, None)),
            b'[' => {
                let text = close + 2;
                let end = self.scratch.cursors.find(self.text, Sought::LinkEnd, text + 1)?;
                let contents = Some((text, end));
                (end + 2 <= frame.end).then(|| self.found(Type::Link, at, end + 2, frame, contents))
            }
            _ => None,
        }
    }

    /// Returns the end of the target of a link: the first bracket, unless an odd number of backslashes escapes it.
    fn target_end(&self, start: usize, frame: &Frame) -> Option<usize> {
        let mut at = start;
        loop {
            at += memchr::memchr2(b'[', b']', self.rest(at, frame))?;
            let slashes =
                self.text[start..at].iter().rev().take_while(|byte| **byte == b'\\').count();
            if slashes % 2 == 1 {
                at += 1;
                continue;
            }
            return (self.text[at] == b']' && at > start).then_some(at);
        }
    }

    /// `<<<text>>>`.
    pub(super) fn radio_target(&self, at: usize, frame: &Frame) -> Option<Found> {
        let fits = frame.set.has(Type::RadioTarget) && self.rest(at, frame).starts_with(b"<<<");
        let (begin, end) = fits.then(|| self.between(at + 3, b">>>", frame)).flatten()?;
        Some(self.found(Type::RadioTarget, at, end + 3, frame, Some((begin, end))))
    }

    /// `<<text>>`.
    pub(super) fn target(&self, at: usize, frame: &Frame) -> Option<Found> {
        let fits = frame.set.has(Type::Target);
        let (_, end) = fits.then(|| self.between(at + 2, b">>", frame)).flatten()?;
        Some(self.found(Type::Target, at, end + 2, frame, None))
    }

    /// Text on one line without angles, that neither begins nor ends with a blank, up to `close`.
    fn between(&self, begin: usize, close: &[u8], frame: &Frame) -> Option<(usize, usize)> {
        let rest = self.rest(begin, frame);
        let length = rest.iter().position(|byte| matches!(byte, b'<' | b'>' | b'\n'))?;
        let text = &rest[..length];
        let tight = !is_blank(*text.first()?) && !is_blank(*text.last()?);
        (tight && rest[length..].starts_with(close)).then_some((begin, begin + length))
    }
}

const fn is_bracket_or_space(byte: u8) -> bool {
    matches!(byte, b']' | b'[' | b' ' | b'\t' | b'\n' | b'\r' | b'(' | b')' | b'<' | b'>')
}

/// Bytes of ASCII that the path of a plain link goes on with, and may end with.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0;
    while byte < 128_u8 {
        plain[byte as usize] =
            byte == b'/' || !(byte.is_ascii_punctuation() || is_bracket_or_space(byte));
        byte += 1;
    }
    plain
};
