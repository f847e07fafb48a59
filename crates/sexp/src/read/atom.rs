//! Atoms: strings, symbols, keywords and numbers, classified and written to the tape.
//!
//! Part of the pass in [`scan`](super::scan). The common tokens are recognized by their simple
//! bytes; [`Scan::token`] takes all others.

use super::scan::{Scan, Step, control};
use super::token::{self, CLASS};
use super::{number, run, string};
use crate::error::{Category, Fault};
use crate::limits::Dialect;
use crate::symbol;
use crate::tree::{Kind, flag};

impl Scan<'_> {
    #[inline]
    pub(super) fn string(&mut self, at: usize) -> Step {
        let Some((close, escaped)) = string::end_of(self.bytes, at + 1) else {
            return Err(Fault::incomplete(self.bytes.len(), "the text ends inside a string"));
        };
        if !escaped {
            return self.atom(at, close + 1, Kind::String, flag::PLAIN);
        }
        if self.reader.dialect == Dialect::Emacs {
            string::check_emacs(&self.text[at + 1..close], at + 1)?;
        }
        self.atom(at, close + 1, Kind::String, 0)
    }

    /// Reads a keyword; most have simple bytes only.
    #[inline(always)]
    pub(super) fn keyword(&mut self, at: usize) -> Step {
        let end = run::simple(self.bytes, at + 1);
        if end == at + 1 || !self.is_whole(at, end) {
            return self.token(at);
        }
        self.atom(at, end, Kind::Keyword, flag::PLAIN)
    }

    /// Reads a token that begins with a digit; most are short integers without sign or dot.
    #[inline(always)]
    pub(super) fn digits(&mut self, at: usize) -> Step {
        let end = run::digits(self.bytes, at + 1);
        let is_short = end - at < 16 && end - at <= self.reader.limits.integer_digits;
        if !is_short || !self.is_whole(at, end) {
            return self.token(at);
        }
        // Without a branch: zero is common, and a guess at it often wrong.
        let is_plain = (self.bytes[at] != b'0') | (end == at + 1);
        self.atom(at, end, Kind::Integer, flag::PLAIN * u8::from(is_plain))
    }

    /// Reads a token that begins with a letter, which is no number.
    #[inline(always)]
    pub(super) fn word(&mut self, at: usize) -> Step {
        let end = run::simple(self.bytes, at + 1);
        if !self.is_whole(at, end) {
            return self.token(at);
        }
        match symbol::constant(&self.bytes[at..end]) {
            Some(kind) => self.atom(at, end, kind, 0),
            None => self.atom(at, end, Kind::Symbol, flag::PLAIN),
        }
    }

    /// Whether a run of simple bytes is a whole token, and none too long.
    #[inline(always)]
    fn is_whole(&self, at: usize, end: usize) -> bool {
        end - at <= self.reader.limits.atom_bytes
            && self.bytes.get(end).is_none_or(|&byte| CLASS[byte as usize] == token::END)
    }

    /// Reads any symbol, keyword, number or dot.
    #[inline(never)]
    pub(super) fn token(&mut self, at: usize) -> Step {
        let first = self.bytes[at];
        let (end, classes) = constituents(self.bytes, at + 1);
        let after = self.bytes.get(end).map_or(token::END, |&byte| CLASS[byte as usize]);
        let stopped = after & token::ESCAPE != 0;
        let own = CLASS[first as usize];
        if stopped || own == token::ESCAPE || end - at > self.reader.limits.atom_bytes {
            return self.escaped(at);
        }
        if first == b':' {
            let is_plain = classes & !(token::DIGIT | token::PLAIN) == 0 && end > at + 1;
            return if is_plain {
                self.atom(at, end, Kind::Keyword, flag::PLAIN)
            } else {
                self.unusual(at, end)
            };
        }
        if (classes | own) & !(token::DIGIT | token::PLAIN) != 0 {
            return self.unusual(at, end);
        }
        if own == token::DIGIT || matches!(first, b'+' | b'-' | b'.') {
            return self.numeric(at, end);
        }
        if let Some(kind) = symbol::constant(&self.bytes[at..end]) {
            return self.atom(at, end, kind, 0);
        }
        let flags = if first == b'?' { 0 } else { flag::PLAIN };
        self.atom(at, end, Kind::Symbol, flags)
    }

    /// A token that begins like a number.
    #[inline]
    fn numeric(&mut self, at: usize, end: usize) -> Step {
        let token = &self.bytes[at..end];
        let curable = end == self.bytes.len();
        let kind = match number::classify(token) {
            None if token == b"." => return self.dot(at),
            None if token.iter().all(|&byte| byte == b'.') => {
                let fault = Fault::new(Category::Dot, at, "more than one dot");
                return Err(fault.curable_if(curable));
            }
            None => return self.atom(at, end, Kind::Symbol, flag::PLAIN),
            Some(number::Number::ZeroDenominator) => {
                let fault = Fault::new(Category::Number, at, "a ratio over zero");
                return Err(fault.curable_if(curable));
            }
            Some(number::Number::Float) => return self.atom(at, end, Kind::Float, flag::PLAIN),
            Some(number::Number::Integer) => Kind::Integer,
            Some(number::Number::Ratio) => Kind::Ratio,
        };
        self.check_digits(at, number::longest_run(token))?;
        self.atom(at, end, kind, 0)
    }

    pub(super) fn check_digits(&self, at: usize, digits: usize) -> Result<(), Fault> {
        let most = self.reader.limits.integer_digits;
        if digits <= most {
            return Ok(());
        }
        let reason = format!("expected at most `{most}` digits, got `{digits}`");
        Err(Fault::new(Category::LimitDigits, at, reason))
    }

    /// A token without escapes but with colons, `#` or characters outside ASCII.
    fn unusual(&mut self, at: usize, end: usize) -> Step {
        let token = &self.bytes[at..end];
        let is_emacs = self.reader.dialect == Dialect::Emacs;
        if let Some(hash) = memchr::memchr(b'#', token).filter(|_| is_emacs) {
            return self.ended_by_hash(at, at + hash);
        }
        check_wide(self.text, at, end)?;
        let is_keyword = token[0] == b':';
        let inner = if is_keyword { &token[1..] } else { token };
        let special = inner.iter().any(|byte| matches!(byte, b':' | b'#'));
        if special || inner.is_empty() || token[0] == b'?' {
            return self.symbol(at, end);
        }
        let kind = if is_keyword { Kind::Keyword } else { Kind::Symbol };
        self.atom(at, end, kind, flag::PLAIN)
    }

    /// In Emacs a `#` ends the token before it.
    fn ended_by_hash(&mut self, at: usize, end: usize) -> Step {
        let classes = self.bytes[at..end].iter().fold(0, |all, &byte| all | CLASS[byte as usize]);
        if classes & !(token::DIGIT | token::PLAIN) != 0 {
            check_wide(self.text, at, end)?;
            return self.symbol(at, end);
        }
        let first = self.bytes[at];
        if first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.') {
            return self.numeric(at, end);
        }
        self.symbol(at, end)
    }

    /// A token with escapes, or one that is too long.
    #[cold]
    fn escaped(&mut self, at: usize) -> Step {
        let end = self.end_of_escaped(at, at)?;
        if memchr::memchr2(b'\\', b'|', &self.bytes[at..end]).is_none() {
            return self.ended_by_hash(at, end);
        }
        self.symbol(at, end)
    }

    /// The end of a symbol that may have escapes; `from` is after its `#:`, if any.
    pub(super) fn end_of_escaped(&self, at: usize, from: usize) -> Result<usize, Fault> {
        let is_lisp = self.reader.dialect == Dialect::Lisp;
        let mut in_bars = false;
        let mut is_escaped = false;
        for (offset, c) in self.text[from..].char_indices() {
            let here = from + offset;
            let is_bare = !in_bars && !is_escaped;
            let ends = c.is_ascii() && CLASS[c as usize] == token::END || c == '#' && !is_lisp;
            if is_bare && ends {
                return Ok(here);
            }
            if here + c.len_utf8() - at > self.reader.limits.atom_bytes {
                let most = self.reader.limits.atom_bytes;
                let reason = format!("expected at most `{most}` bytes of one atom");
                return Err(Fault::new(Category::LimitAtom, at, reason));
            }
            if token::is_control(c) || is_bare && token::is_ambiguous(c) {
                return Err(control(here));
            }
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '|' if is_lisp => in_bars = !in_bars,
                _ => {}
            }
        }
        if in_bars || is_escaped {
            return Err(Fault::incomplete(self.bytes.len(), "the text ends inside a symbol"));
        }
        Ok(self.bytes.len())
    }

    /// Writes a symbol whose spelling is not simply its source.
    pub(super) fn symbol(&mut self, at: usize, end: usize) -> Step {
        match symbol::spell(&self.text[at..end], self.reader.dialect) {
            Ok((kind, _)) => self.atom(at, end, kind, 0),
            Err(reason) => {
                let fault = Fault::new(Category::Package, at, reason);
                Err(fault.curable_if(end == self.bytes.len()))
            }
        }
    }
}

/// The end of the constituents from `from` on, and the classes of their bytes together.
#[inline]
pub(super) fn constituents(bytes: &[u8], from: usize) -> (usize, u8) {
    let mut classes = 0;
    let mut end = from;
    while let Some(&byte) = bytes.get(end) {
        let class = CLASS[byte as usize];
        if class >= token::ESCAPE {
            break;
        }
        classes |= class;
        end += 1;
    }
    (end, classes)
}

/// Refuses characters outside ASCII that no bare token may hold.
pub(super) fn check_wide(text: &str, at: usize, end: usize) -> Result<(), Fault> {
    for (offset, c) in text[at..end].char_indices() {
        if token::is_control(c) || token::is_ambiguous(c) {
            return Err(control(at + offset));
        }
    }
    Ok(())
}
