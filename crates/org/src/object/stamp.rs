//! Timestamps and statistics cookies.

use super::cursor::Sought;
use super::{Found, Frame, Reader};
use crate::kind::Type;

impl Reader<'_> {
    pub(super) fn timestamp(&mut self, at: usize, frame: &Frame) -> Option<Found> {
        if !frame.set.has(Type::Timestamp) || !self.is_stamp(at, frame) {
            return None;
        }
        let close = self.stamp_close(at + 1, frame)?;
        let behind = self.rest(close + 1, frame);
        let is_range = matches!(behind, [b'-', b'-', b'<' | b'[', ..]);
        let second = is_range.then(|| self.stamp_close(close + 4, frame)).flatten();
        Some(self.found(Type::Timestamp, at, second.unwrap_or(close) + 1, frame, None))
    }

    /// The first `]` or `>` from `from` on, on the same line.
    fn stamp_close(&mut self, from: usize, frame: &Frame) -> Option<usize> {
        let close = self.scratch.cursors.find(self.text, Sought::StampEnd, from)?;
        let line_end = self.scratch.cursors.first_newline(self.text, from);
        (close < frame.end && close < line_end).then_some(close)
    }

    /// Whether a timestamp begins: a date, a date with a repeater, or an expression of the diary.
    fn is_stamp(&mut self, at: usize, frame: &Frame) -> bool {
        let rest = self.rest(at + 1, frame);
        let is_diary = rest.starts_with(b"%%(");
        if is_date(rest) && matches!(rest.get(10), Some(b' ' | b']' | b'>')) {
            return true;
        }
        if self.text[at] != b'<' || !(is_diary || rest.first().is_some_and(u8::is_ascii_digit)) {
            return false;
        }
        let Some(close) = self.angle_close(at + 1, frame) else { return false };
        if is_diary {
            return is_expression(&self.text[at + 1..close]);
        }
        let plus = self.scratch.cursors.repeater(self.text, close);
        plus.is_some_and(|plus| plus > at && is_long_date(&self.text[at + 1..plus]))
    }

    fn angle_close(&mut self, from: usize, frame: &Frame) -> Option<usize> {
        let close = self.scratch.cursors.find(self.text, Sought::Angle, from)?;
        let line_end = self.scratch.cursors.first_newline(self.text, from);
        (close < frame.end && close < line_end).then_some(close)
    }

    /// `[1/2]`, `[50%]`.
    pub(super) fn cookie(&self, at: usize, frame: &Frame) -> Option<Found> {
        let rest = self.rest(at + 1, frame);
        let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let first = digits(rest);
        let end = match rest.get(first)? {
            b'%' => first + 1,
            b'/' => first + 1 + digits(&rest[first + 1..]),
            _ => return None,
        };
        let fits = frame.set.has(Type::StatisticsCookie) && rest.get(end) == Some(&b']');
        fits.then(|| self.found(Type::StatisticsCookie, at, at + 1 + end + 1, frame, None))
    }
}

/// The timestamp that a line begins with, or the range of two, for a planning line: there capital letters are others.
pub(crate) fn stamp_at(line: &[u8]) -> Option<&[u8]> {
    let inner = line.get(1..).filter(|_| matches!(line[0], b'<' | b'['))?;
    let angle =
        memchr::memchr(b'>', inner).filter(|_| line[0] == b'<').map(|close| &inner[..close]);
    let begins = (is_date(inner) && matches!(inner.get(10), Some(b' ' | b']' | b'>')))
        || angle.is_some_and(|inner| {
            is_expression(inner)
                || repeater_at(inner)
                    .filter(|_| inner.last().is_some_and(u8::is_ascii_lowercase))
                    .is_some_and(|plus| is_long_date(&inner[..plus]))
        });
    let close =
        |from: usize| memchr::memchr2(b']', b'>', line.get(from..)?).map(|close| from + close + 1);
    let end = close(1).filter(|_| begins)?;
    let is_range = matches!(&line[end..], [b'-', b'-', b'<' | b'[', ..]);
    let second = is_range.then(|| close(end + 3)).flatten();
    Some(&line[..second.unwrap_or(end)])
}

/// `2026-11-15` at the beginning.
pub(crate) fn is_date(bytes: &[u8]) -> bool {
    let shape = b"0000-00-00";
    bytes.len() >= shape.len()
        && bytes.iter().zip(shape).all(|(byte, shape)| match shape {
            b'-' => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

/// `%%(sexp)`, given what stands between the angles.
fn is_expression(inner: &[u8]) -> bool {
    inner.starts_with(b"%%(") && inner.ends_with(b")") && inner.len() > b"%%()".len()
}

/// Returns the beginning of the `+1w` at the end.
pub(super) fn repeater_at(bytes: &[u8]) -> Option<usize> {
    let (b'd' | b'w' | b'm' | b'y' | b'D' | b'W' | b'M' | b'Y', rest) = bytes.split_last()? else {
        return None;
    };
    let digits = rest.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let before = rest[..rest.len() - digits].strip_suffix(b"+")?;
    (digits > 0).then_some(before.len())
}

/// Whether a date is at the beginning, its year perhaps of more digits than four. Where another date stands before a
/// repeater, Org cannot read it, and gives up on the whole text.
fn is_long_date(bytes: &[u8]) -> bool {
    let year = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    year >= 4 && is_date(&bytes[year - 4..])
}
