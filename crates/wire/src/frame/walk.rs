//! Finds the end of a payload whose length may count bytes or characters.
//!
//! The decoder starts a walk for payloads with non-ASCII text and for those that it throws away. A
//! walk looks at every byte once, however small the pieces in which they arrive, and holds no text:
//! the same walk serves payloads kept in the caller's buffer and payloads dropped as they pass.

use std::str;

use super::form::{FormScan, FormVerdict};
use super::{FrameError, LengthUnit};

/// The longest UTF-8 sequence, in bytes.
const MAX_CHAR: usize = 4;

/// A walk over one payload.
#[derive(Clone, Debug)]
pub(super) struct PayloadWalk {
    /// The length that the header states.
    length: usize,
    /// Unit of that length, if known.
    unit: Option<LengthUnit>,
    /// N bytes were not a whole form: looking for the end of N characters.
    reading_on: bool,
    /// Bytes passed.
    bytes: usize,
    /// Characters passed; an invalid sequence counts as one, as peers that replace it count it.
    chars: usize,
    ascii: bool,
    /// Offset of the first invalid sequence.
    invalid_at: Option<usize>,
    form: FormScan,
}

/// Result of one step of a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WalkStep {
    /// The end is at least this many bytes behind what was given.
    More(usize),
    /// The payload ends here.
    End {
        /// The unit that this payload proves.
        settled: Option<LengthUnit>,
    },
    /// The payload ends nowhere: framing is lost.
    Lost(FrameError),
}

impl PayloadWalk {
    pub(super) fn new(length: usize, unit: Option<LengthUnit>) -> PayloadWalk {
        PayloadWalk {
            length,
            unit,
            reading_on: false,
            bytes: 0,
            chars: 0,
            ascii: true,
            invalid_at: None,
            form: FormScan::default(),
        }
    }

    /// Bytes passed so far; at the end, the payload's length in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The fault in the text passed so far.
    pub(super) fn fault(&self) -> Option<FrameError> {
        self.invalid_at.map(|at| FrameError::InvalidUtf8 { at })
    }

    /// Takes the bytes from [`PayloadWalk::bytes`] on; passes as many as belong to the payload.
    pub(super) fn step(&mut self, fresh: &[u8]) -> WalkStep {
        match self.unit {
            Some(LengthUnit::Bytes) => self.step_bytes(fresh),
            Some(LengthUnit::Chars) => self.step_chars(fresh),
            None if self.reading_on => self.step_chars(fresh),
            None => self.step_unknown(fresh),
        }
    }

    /// Known to be bytes: only a payload that is thrown away is walked, so the text is not judged.
    fn step_bytes(&mut self, fresh: &[u8]) -> WalkStep {
        self.bytes += fresh.len().min(self.length - self.bytes);
        match self.length - self.bytes {
            0 => WalkStep::End { settled: None },
            left => WalkStep::More(left),
        }
    }

    /// Unknown: N bytes if they are a whole form, else N characters.
    fn step_unknown(&mut self, fresh: &[u8]) -> WalkStep {
        let start = self.bytes;
        let end = fresh.len().min(self.length - self.bytes);
        while self.bytes - start < end {
            if !self.pass(&fresh[self.bytes - start..end]) {
                break;
            }
        }
        let passed = self.bytes - start;
        if self.invalid_at.is_some() && start + end == self.length {
            self.bytes = self.length;
            return WalkStep::End { settled: None };
        } else if passed < end && start + end == self.length {
            // The Nth byte cuts a character, which no peer that counts bytes does.
            self.reading_on = true;
        } else if self.bytes < self.length {
            return WalkStep::More(self.length - start - fresh.len());
        } else if self.ascii {
            return WalkStep::End { settled: None };
        } else {
            match self.form.verdict() {
                FormVerdict::Complete => return WalkStep::End { settled: Some(LengthUnit::Bytes) },
                // Blanks behind the form: a peer that counts characters may have more of them,
                // which are then blanks between frames. The text is right in either case.
                FormVerdict::Unknown | FormVerdict::Trailing => {
                    return WalkStep::End { settled: None };
                }
                FormVerdict::Incomplete => self.reading_on = true,
            }
        }
        self.step_chars(&fresh[passed..])
    }

    fn step_chars(&mut self, fresh: &[u8]) -> WalkStep {
        let start = self.bytes;
        while self.chars < self.length {
            // N characters are at least N bytes: a window of that size never holds too many.
            let left = self.length - self.chars;
            let rest = &fresh[self.bytes - start..];
            let window = &rest[..rest.len().min(left)];
            if !self.pass(window) && !self.pass(one_char(rest)) {
                return WalkStep::More(left.saturating_sub(rest.len()).max(1));
            }
            if let (true, Some(at)) = (self.reading_on, self.invalid_at) {
                return self.stop_reading_on(at);
            }
        }
        if self.unit.is_some() {
            return WalkStep::End { settled: None };
        }
        match self.form.verdict() {
            FormVerdict::Complete | FormVerdict::Trailing => {
                WalkStep::End { settled: Some(LengthUnit::Chars) }
            }
            FormVerdict::Incomplete | FormVerdict::Unknown => {
                WalkStep::Lost(FrameError::UnitUnclear { length: self.length })
            }
        }
    }

    /// Text behind the Nth byte is invalid at `at`, so it is not characters that were counted.
    fn stop_reading_on(&mut self, at: usize) -> WalkStep {
        if at < self.length {
            // A character cut by the Nth byte and not continued behind it: N bytes, badly cut.
            self.bytes = self.length;
            return WalkStep::End { settled: None };
        }
        WalkStep::Lost(FrameError::UnitUnclear { length: self.length })
    }

    /// Passes the whole characters at the front of `window`; false if there is none.
    fn pass(&mut self, window: &[u8]) -> bool {
        let (text, invalid) = match str::from_utf8(window) {
            Ok(text) => (text, 0),
            Err(error) => {
                let valid = &window[..error.valid_up_to()];
                (str::from_utf8(valid).unwrap_or_default(), error.error_len().unwrap_or(0))
            }
        };
        let chars = text.chars().count();
        self.ascii &= chars == text.len() && invalid == 0;
        if self.unit.is_none() {
            self.form.feed(&window[..text.len() + invalid]);
        }
        self.bytes += text.len();
        self.chars += chars;
        if invalid > 0 {
            self.invalid_at.get_or_insert(self.bytes);
            self.bytes += invalid;
            self.chars += 1;
        }
        text.len() + invalid > 0
    }
}

/// The bytes of the one character at the front of `rest`, or all there are of it.
fn one_char(rest: &[u8]) -> &[u8] {
    let width = match rest.first() {
        None => 0,
        Some(0xF0..) => MAX_CHAR,
        Some(0xE0..) => 3,
        Some(0xC0..) => 2,
        Some(_) => 1,
    };
    &rest[..rest.len().min(width)]
}
