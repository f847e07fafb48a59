//! What follows a `#`, and `?` in Emacs: a few things are read, the others refused by name.
//!
//! Part of the pass in [`scan`](super::scan).

use super::atom::{check_wide, constituents};
use super::blank::skip_block;
use super::scan::{Scan, Step};
use super::{character, token};
use crate::error::{Category, Fault};
use crate::limits::Dialect;
use crate::tree::Kind;

impl Scan<'_> {
    /// Reads or refuses what begins with the `#` at `at`.
    pub(super) fn dispatch(&mut self, at: usize) -> Step {
        let Some(&byte) = self.bytes.get(at + 1) else { return Err(self.ends_in_dispatch()) };
        match byte {
            b'(' => self.open(at, at + 2, Kind::Vector, 0),
            b'\'' => self.mark(at, at + 2, 0),
            b'\\' => self.lisp_character(at),
            b':' => self.uninterned(at),
            b'x' | b'X' => self.radix(at, 16),
            b'o' | b'O' => self.radix(at, 8),
            b'b' | b'B' => self.radix(at, 2),
            b'|' => skip_block(self.bytes, at, self.reader.comments).map(Some),
            b'0'..=b'9' => Err(self.refuse_numbered(at)),
            b'#' if self.reader.dialect == Dialect::Emacs => self.emacs_empty(at),
            _ => Err(refuse(at, byte)),
        }
    }

    fn ends_in_dispatch(&self) -> Fault {
        Fault::incomplete(self.bytes.len(), "the text ends after `#`")
    }

    /// `#12..`: labels, arrays, radixes; none is read.
    fn refuse_numbered(&self, at: usize) -> Fault {
        let after = self.bytes[at + 1..].iter().find(|byte| !byte.is_ascii_digit());
        let (category, reason) = match after {
            None => return self.ends_in_dispatch(),
            Some(b'a' | b'A') => (Category::Array, "arrays have no syntax here"),
            Some(b'(') => (Category::Array, "vectors have no size here"),
            Some(b'*') => (Category::Array, "bit vectors have no syntax here"),
            Some(b'=' | b'#' | b')' | b' ' | b'\n') => {
                (Category::Label, "labels and references to them are not read")
            }
            Some(_) => (Category::Dispatch, "no number may follow this `#`"),
        };
        Fault::new(category, at, reason)
    }

    fn radix(&mut self, at: usize, radix: u32) -> Step {
        let (end, _) = constituents(self.bytes, at + 2);
        let digits = &self.text[at + 2..end];
        let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(digits);
        if unsigned.is_empty() || !unsigned.chars().all(|c| c.is_digit(radix)) {
            let reason = format!("expected digits of radix `{radix}`");
            let fault = Fault::new(Category::Number, at, reason);
            return Err(fault.curable_if(end == self.bytes.len()));
        }
        self.check_digits(at, unsigned.len())?;
        self.atom(at, end, Kind::Integer, 0)
    }

    fn uninterned(&mut self, at: usize) -> Step {
        let end = self.end_of_escaped(at, at + 2)?;
        self.symbol(at, end)
    }

    /// `##`, Emacs's symbol without characters.
    fn emacs_empty(&mut self, at: usize) -> Step {
        let (end, _) = constituents(self.bytes, at + 2);
        if end > at + 2 {
            return Err(refuse(at, b'#'));
        }
        self.symbol(at, end)
    }

    fn lisp_character(&mut self, at: usize) -> Step {
        let Some(first) = self.text[at + 2..].chars().next() else {
            return Err(self.ends_in_dispatch());
        };
        if token::is_control(first) {
            return Err(Fault::new(Category::Control, at + 2, "name this character instead"));
        }
        let (end, _) = constituents(self.bytes, at + 2 + first.len_utf8());
        check_wide(self.text, at + 2 + first.len_utf8(), end)?;
        let stopped = self.bytes.get(end).is_some_and(|&byte| matches!(byte, b'\\' | b'|'));
        let name = &self.text[at + 2..end];
        if stopped || character::lisp(name).is_none() {
            let fault = Fault::new(Category::Character, at, "no character is called so");
            return Err(fault.curable_if(end == self.bytes.len()));
        }
        self.atom(at, end, Kind::Char, 0)
    }

    /// `?a` in Emacs.
    pub(super) fn emacs_character(&mut self, at: usize) -> Step {
        let rest = &self.text[at + 1..];
        if rest.is_empty() {
            return Err(Fault::incomplete(self.bytes.len(), "the text ends after `?`"));
        }
        let (c, length) = character::emacs(rest).map_err(|reason| {
            Fault::new(Category::Character, at, reason).curable_if(could_go_on(rest))
        })?;
        let end = at + 1 + length;
        if c.to_char().is_some_and(token::is_control) && !rest.starts_with('\\') {
            return Err(Fault::new(Category::Control, at + 1, "escape this character instead"));
        }
        let follows = self.bytes.get(end).map_or(token::END, |&byte| token::CLASS[byte as usize]);
        if follows != token::END {
            return Err(Fault::new(Category::Character, at, "expected one character after `?`"));
        }
        self.atom(at, end, Kind::Char, 0)
    }
}

/// Whether the whole rest of the text may be the beginning of an escape after `?`.
fn could_go_on(rest: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"\\_ +{-^".contains(&byte);
    rest.len() < character::LONGEST_NAME && rest.bytes().all(is_part)
}

/// Returns the reason why the syntax of `#` and this byte is not read.
fn refuse(at: usize, byte: u8) -> Fault {
    let (category, reason) = match byte {
        b'.' | b',' => (Category::ReadEval, "reading runs no code"),
        b'<' => (Category::Unreadable, "printed so as not to be read"),
        b's' | b'S' => (Category::Structure, "structures are not read"),
        b'p' | b'P' => (Category::Pathname, "pathnames are not read; send a string"),
        b'c' | b'C' => (Category::Complex, "complex numbers are not read"),
        b'+' | b'-' => (Category::Feature, "there are no features to ask about"),
        b'*' => (Category::Array, "bit vectors have no syntax here"),
        b'a' | b'A' => (Category::Array, "arrays have no syntax here"),
        b'#' => (Category::Label, "labels and references to them are not read"),
        _ => (Category::Dispatch, "this `#` syntax has no meaning here"),
    };
    Fault::new(category, at, reason)
}
