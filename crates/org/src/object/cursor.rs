//! Searches that are remembered. Objects are looked for from front to back, so where something was found, or was
//! not, from one place on answers for every later place before it.

use crate::syntax::{is_space, letter_at, letter_before};

/// What was found from one place on.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    asked: bool,
    from: usize,
    found: Option<usize>,
}

impl Known {
    fn ask(&mut self, from: usize, search: impl FnOnce(usize) -> Option<usize>) -> Option<usize> {
        let holds = self.asked && self.from <= from && self.found.is_none_or(|found| from <= found);
        if !holds {
            *self = Self { asked: true, from, found: search(from) };
        }
        self.found
    }
}

/// What is searched for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sought {
    /// `]` or `>`.
    StampEnd,
    /// `>`.
    Angle,
    /// `]]`.
    LinkEnd,
    /// `\)`.
    RoundMath,
    /// `\]`.
    SquareMath,
    /// `$$`.
    DisplayMath,
    /// `)}}}`.
    MacroEnd,
    /// NUL.
    Nul,
    /// What ends the language of an inline source block.
    LanguageEnd,
    /// What ends the name of an inline call.
    CallEnd,
}

const SOUGHT: usize = Sought::CallEnd as usize + 1;

/// Marks of emphasis.
pub(super) const MARKS: &[u8; 6] = b"*/_+=~";

#[derive(Debug, Default)]
pub(super) struct Cursors {
    sought: [Known; SOUGHT],
    closers: [Known; MARKS.len()],
    newlines: [Known; 2],
}

impl Cursors {
    /// The first place from `from` on where `sought` begins.
    pub(super) fn find(&mut self, text: &[u8], sought: Sought, from: usize) -> Option<usize> {
        let pattern: &[u8] = match sought {
            Sought::LinkEnd => b"]]",
            Sought::RoundMath => b"\\)",
            Sought::SquareMath => b"\\]",
            Sought::DisplayMath => b"$$",
            Sought::MacroEnd => b")}}}",
            Sought::Nul => b"\0",
            Sought::Angle => b">",
            Sought::StampEnd | Sought::LanguageEnd | Sought::CallEnd => b"",
        };
        self.sought[sought as usize].ask(from, |from| {
            let rest = text.get(from..)?;
            let at = match sought {
                Sought::StampEnd => memchr::memchr2(b']', b'>', rest),
                Sought::LanguageEnd => rest.iter().position(|byte| b" \t\n[{".contains(byte)),
                Sought::CallEnd => rest.iter().position(|byte| b" \t\n[(".contains(byte)),
                _ => memchr::memmem::find(rest, pattern),
            };
            at.map(|at| from + at)
        })
    }

    /// The end of the line that holds `at`.
    pub(super) fn first_newline(&mut self, text: &[u8], at: usize) -> usize {
        let search = |from: usize| {
            memchr::memchr(b'\n', text.get(from..).unwrap_or_default())
                .map(|newline| from + newline)
        };
        self.newlines[0].ask(at, search).unwrap_or(text.len())
    }

    /// The end of the line after the one that holds `at`: emphasis may take one line end inside it.
    pub(super) fn second_newline(&mut self, text: &[u8], at: usize) -> usize {
        let search = |from: usize| {
            memchr::memchr(b'\n', text.get(from..).unwrap_or_default())
                .map(|newline| from + newline)
        };
        let first = self.newlines[0].ask(at, search);
        let second = first.and_then(|first| self.newlines[1].ask(first + 1, search));
        second.unwrap_or(text.len())
    }

    /// The first place from `from` on where `mark` could close emphasis: a character that is no space before it,
    /// and behind it the end of a line or something that may follow.
    pub(super) fn closer(&mut self, text: &[u8], mark: u8, from: usize) -> Option<usize> {
        let index = MARKS.iter().position(|known| *known == mark)?;
        self.closers[index].ask(from, |from| {
            let mut at = from;
            loop {
                at += memchr::memchr(mark, text.get(at..)?)?;
                if !is_space(letter_before(text, at)) && may_follow(text, at + 1) {
                    return Some(at);
                }
                at += 1;
            }
        })
    }
}

/// Whether what is at `at` may follow emphasis.
fn may_follow(text: &[u8], at: usize) -> bool {
    match text.get(at) {
        None => true,
        Some(byte) if byte.is_ascii() => b"- \t\n\r\x0c.,:!?;'\")}\\[".contains(byte),
        Some(_) => is_space(letter_at(text, at)),
    }
}
