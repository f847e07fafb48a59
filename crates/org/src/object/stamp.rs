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
        if rest.starts_with(b"%%(") {
            let close = self.angle_close(at + 5, frame);
            return close.is_some_and(|close| self.text[close - 1] == b')');
        }
        if !is_date(rest) {
            return false;
        }
        match rest.get(10) {
            Some(b' ' | b']' | b'>') => true,
            Some(_) if self.text[at] == b'<' => self
                .angle_close(at + 11, frame)
                .is_some_and(|close| ends_with_repeater(&self.text[at + 12..close])),
            _ => false,
        }
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

/// `2026-11-15` at the beginning.
pub(crate) fn is_date(bytes: &[u8]) -> bool {
    let shape = b"0000-00-00";
    bytes.len() >= shape.len()
        && bytes.iter().zip(shape).all(|(byte, shape)| match shape {
            b'-' => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

/// `+1w` at the end, with something before it.
fn ends_with_repeater(bytes: &[u8]) -> bool {
    let Some((b'd' | b'w' | b'm' | b'y', rest)) = bytes.split_last() else { return false };
    let digits = rest.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && rest[..rest.len() - digits].ends_with(b"+")
}
