//! `*bold*` and its kin, and sub- and superscripts.

use super::{Found, Frame, Reader};
use crate::kind::Type;
use crate::syntax::{is_alphanumeric, is_space, length_at, letter_at};

impl Reader<'_> {
    pub(super) fn emphasis(&mut self, at: usize, frame: &Frame) -> Option<Found> {
        let mark = self.text[at];
        let kind = match mark {
            b'*' => Type::Bold,
            b'/' => Type::Italic,
            b'_' => Type::Underline,
            b'+' => Type::StrikeThrough,
            b'=' => Type::Verbatim,
            _ => Type::Code,
        };
        if !frame.set.has(kind) || !self.may_open(at, frame) || self.is_space_at(at + 1, frame) {
            return None;
        }
        let close = self.closer(mark, at, frame)?;
        let contents = (!matches!(kind, Type::Verbatim | Type::Code)).then_some((at + 1, close));
        Some(self.found(kind, at, close + 1, frame, contents))
    }

    /// Whether emphasis may begin behind what is before `at`.
    fn may_open(&self, at: usize, frame: &Frame) -> bool {
        self.begins_line(at, frame)
            || self.before(at, frame).is_some_and(|letter| {
                is_space(letter) || matches!(letter, Some('-' | '(' | '\'' | '"' | '{'))
            })
    }

    /// Returns the mark that closes the emphasis that `mark` opens at `at`: the first such mark with at most one
    /// line end before it. At the end of the frame nothing needs to follow.
    fn closer(&mut self, mark: u8, at: usize, frame: &Frame) -> Option<usize> {
        let from = at + 2;
        let limit = self.scratch.cursors.second_newline(self.text, at + 1).min(frame.end);
        let close =
            self.scratch.cursors.closer(self.text, mark, from).filter(|close| *close < limit);
        let last = frame.end - 1;
        let at_end = || {
            let closes = last >= from && last < limit && self.text[last] == mark;
            (closes && !self.before(last, frame).is_some_and(is_space)).then_some(last)
        };
        close.or_else(at_end)
    }

    /// `a_b`, `a^{b}`, `a_(b)`, `a^*`.
    pub(super) fn script(&mut self, kind: Type, at: usize, frame: &Frame) -> Option<Found> {
        if !frame.set.has(kind) {
            return None;
        }
        // At the beginning of a line Org looks one character further.
        let begin = if self.begins_line(at, frame) {
            Some(at + 1).filter(|next| {
                self.rest(*next, frame).first().is_some_and(|byte| b"_^".contains(byte))
            })?
        } else {
            self.before(at, frame).filter(|letter| !is_space(*letter))?;
            at
        };
        let inner = begin + 1;
        let (start, text) = (self.start, self.text);
        let (contents, end) = match *self.rest(inner, frame).first()? {
            b'{' => {
                let close = self.scratch.braces.shallow(text, start, inner)?;
                ((inner + 1, close), close + 1)
            }
            b'(' => {
                let close = self.scratch.parentheses.shallow(text, start, inner)?;
                ((inner, close + 1), close + 1)
            }
            b'*' => ((inner, inner + 1), inner + 1),
            _ => {
                let end = self.script_end(inner, frame)?;
                ((inner, end), end)
            }
        };
        (end <= frame.end).then(|| self.found(kind, begin, end, frame, Some(contents)))
    }

    /// The end of `-a.b,c`: the last letter or digit of the run.
    fn script_end(&self, inner: usize, frame: &Frame) -> Option<usize> {
        let sign = usize::from(matches!(self.text[inner], b'+' | b'-'));
        let mut at = inner + sign;
        let mut end = None;
        while at < frame.end {
            let letter = letter_at(self.text, at);
            let length = length_at(self.text, at);
            if is_alphanumeric(letter) {
                end = Some(at + length);
            } else if !matches!(letter, Some('.' | ',' | '\\')) {
                break;
            }
            at += length;
        }
        end
    }
}
