//! What begins with a backslash or a dollar: entities, LaTeX fragments, line breaks.

use super::cursor::Sought;
use super::entities::{MAX_BLANKS, is_entity};
use super::{Found, Frame, Reader};
use crate::kind::Type;
use crate::syntax::{ends_fragment, letter_at};
use crate::text::is_blank;

/// Entities with digits in their names, which are otherwise letters alone.
const WITH_DIGITS: &[&[u8]] =
    &[b"there4", b"sup1", b"sup2", b"sup3", b"frac12", b"frac14", b"frac32", b"frac34"];

impl Reader<'_> {
    pub(super) fn backslash(&mut self, at: usize, frame: &Frame) -> Option<Found> {
        match *self.rest(at + 1, frame).first()? {
            b'\\' => self.line_break(at, frame),
            b'(' => self.math(at, Sought::RoundMath, frame),
            b'[' => self.math(at, Sought::SquareMath, frame),
            b'_' => self.blank_entity(at, frame),
            byte if byte.is_ascii_alphabetic() => {
                self.entity(at, frame).or_else(|| self.command(at, frame))
            }
            _ => None,
        }
    }

    fn line_break(&self, at: usize, frame: &Frame) -> Option<Found> {
        let blanks = self.rest(at + 2, frame).iter().take_while(|byte| is_blank(**byte)).count();
        let end = at + 2 + blanks;
        let escaped = at > frame.start && self.text[at - 1] == b'\\';
        if !frame.set.has(Type::LineBreak) || escaped || !self.ends_line(end, frame) {
            return None;
        }
        let newline = memchr::memchr(b'\n', self.rest(end, frame))
            .map_or(frame.end, |newline| end + newline + 1);
        Some(Found { kind: Type::LineBreak, begin: at, end: newline, contents: None })
    }

    fn math(&mut self, at: usize, sought: Sought, frame: &Frame) -> Option<Found> {
        let close = self.scratch.cursors.find(self.text, sought, at + 2)?;
        self.fragment(at, close + 2, frame)
    }

    fn fragment(&self, at: usize, end: usize, frame: &Frame) -> Option<Found> {
        let fits = frame.set.has(Type::LatexFragment) && end <= frame.end;
        fits.then(|| self.found(Type::LatexFragment, at, end, frame, None))
    }

    /// `\_` and blanks, which stands for so many of them.
    fn blank_entity(&self, at: usize, frame: &Frame) -> Option<Found> {
        let blanks = self.rest(at + 2, frame).iter().take_while(|byte| **byte == b' ').count();
        let fits = frame.set.has(Type::Entity) && (1..=MAX_BLANKS).contains(&blanks);
        fits.then(|| self.found(Type::Entity, at, at + 2 + blanks, frame, None))
    }

    fn entity(&self, at: usize, frame: &Frame) -> Option<Found> {
        if !frame.set.has(Type::Entity) {
            return None;
        }
        let rest = self.rest(at + 1, frame);
        let letters = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let ends = |length: usize| {
            at + 1 + length >= frame.end
                || !letter_at(self.text, at + 1 + length).is_some_and(char::is_alphabetic)
        };
        let with_digits =
            WITH_DIGITS.iter().find(|name| rest.starts_with(name) && ends(name.len()));
        let length = with_digits.map_or(letters, |name| name.len());
        if !ends(length) || !is_entity(&rest[..length]) {
            return None;
        }
        let braces = if rest[length..].starts_with(b"{}") { 2 } else { 0 };
        Some(self.found(Type::Entity, at, at + 1 + length + braces, frame, None))
    }

    /// `\name*[option]{argument}`.
    fn command(&self, at: usize, frame: &Frame) -> Option<Found> {
        let mut rest = self.rest(at + 1, frame);
        rest = &rest[rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count()..];
        rest = rest.strip_prefix(b"*").unwrap_or(rest);
        loop {
            let close = match rest.first() {
                Some(b'[') => b']',
                Some(b'{') => b'}',
                _ => break,
            };
            let stops: &[u8] = if close == b']' { b"][\n{}" } else { b"{}\n" };
            let length = rest[1..].iter().take_while(|byte| !stops.contains(byte)).count();
            if rest.get(1 + length) != Some(&close) {
                break;
            }
            rest = &rest[length + 2..];
        }
        self.fragment(at, frame.end - rest.len(), frame)
    }

    pub(super) fn dollar(&mut self, at: usize, frame: &Frame) -> Option<Found> {
        let next = *self.rest(at + 1, frame).first()?;
        if next == b'$' {
            let close = self.scratch.cursors.find(self.text, Sought::DisplayMath, at + 2)?;
            return self.fragment(at, close + 2, frame);
        }
        let doubled = at > frame.start && self.text[at - 1] == b'$';
        if doubled || b" \t\n\r,.;".contains(&next) {
            return None;
        }
        let close = memchr::memchr(b'$', self.rest(at + 1, frame)).map(|close| at + 1 + close)?;
        let spaced = b" \t\n\r,.".contains(&self.text[close - 1]);
        let behind = close + 1;
        let ended = self.ends_line(behind, frame) || ends_fragment(letter_at(self.text, behind));
        (!spaced && ended).then(|| self.fragment(at, behind, frame)).flatten()
    }
}
