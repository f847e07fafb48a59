//! Searches that are remembered. Objects are looked for from front to back, so where something was found, or was
//! not, from one place on answers for every later place before it.

use crate::syntax::{is_space, letter_at, letter_before};
use crate::text::find_pair;

use super::note::is_key;
use super::radio::Radio;

/// Result of a search from one place on, in the container of that number.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    container: u64,
    from: usize,
    found: Option<usize>,
}

impl Known {
    fn ask(
        &mut self,
        container: u64,
        from: usize,
        search: impl FnOnce(usize) -> Option<usize>,
    ) -> Option<usize> {
        let holds = self.container == container
            && self.from <= from
            && self.found.is_none_or(|found| from <= found);
        if !holds {
            *self = Self { container, from, found: search(from) };
        }
        self.found
    }
}

/// Object of a search.
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
    /// End of the language of an inline source block.
    LanguageEnd,
    /// End of the name of an inline call.
    CallEnd,
    /// A line end behind which only blanks come before the next, or before `>`.
    EmptyLine,
    /// `@` and a key.
    Key,
}

const SOUGHT_KINDS: usize = Sought::Key as usize + 1;

/// Marks of emphasis.
pub(super) const MARKS: &[u8; 6] = b"*/_+=~";

#[derive(Clone, Debug, Default)]
pub(super) struct Cursors {
    /// Number of the container that is read: results of another one do not count.
    container: u64,
    sought: [Known; SOUGHT_KINDS],
    closers: [Known; MARKS.len()],
    newlines: [Known; 2],
    radio: Known,
    /// Beginning of the repeater before an angle, and that angle: many timestamps that fail may share it.
    repeater: Known,
}

impl Cursors {
    /// Another container is read.
    pub(super) fn forget(&mut self) {
        self.container += 1;
    }

    /// The first place from `from` on where `sought` begins.
    pub(super) fn find(&mut self, text: &[u8], sought: Sought, from: usize) -> Option<usize> {
        let container = self.container;
        self.sought[sought as usize].ask(container, from, |from| {
            let rest = text.get(from..)?;
            let at = match sought {
                Sought::StampEnd => memchr::memchr2(b']', b'>', rest),
                Sought::Angle => memchr::memchr(b'>', rest),
                Sought::Nul => memchr::memchr(0, rest),
                Sought::LinkEnd => find_pair(rest, b']', b']'),
                Sought::RoundMath => find_pair(rest, b'\\', b')'),
                Sought::SquareMath => find_pair(rest, b'\\', b']'),
                Sought::DisplayMath => find_pair(rest, b'$', b'$'),
                Sought::MacroEnd => memchr::memmem::find(rest, b")}}}"),
                Sought::LanguageEnd => rest.iter().position(|byte| b" \t\n[{".contains(byte)),
                Sought::CallEnd => rest.iter().position(|byte| b" \t\n[(".contains(byte)),
                Sought::EmptyLine => memchr::memchr_iter(b'\n', rest).find(|at| {
                    let mut behind = rest[at + 1..].iter();
                    let next = behind.find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
                    matches!(next, Some(b'\n' | b'>'))
                }),
                Sought::Key => memchr::memchr_iter(b'@', rest)
                    .find(|at| rest.len() > at + 1 && is_key(letter_at(rest, at + 1))),
            };
            at.map(|at| from + at)
        })
    }

    /// Returns the first place from `from` on that reads like a radio target, in the container from `start` on.
    pub(super) fn radio(
        &mut self,
        text: &[u8],
        radio: &Radio,
        start: usize,
        from: usize,
    ) -> Option<usize> {
        self.radio.ask(self.container, from, |from| radio.next(text, start, from))
    }

    /// Returns the beginning of the repeater before the angle at `close`.
    pub(super) fn repeater(&mut self, text: &[u8], close: usize) -> Option<usize> {
        let known = self.repeater;
        if known.container != self.container || known.from != close {
            let found = text.get(..close).and_then(super::stamp::repeater_at);
            self.repeater = Known { container: self.container, from: close, found };
        }
        self.repeater.found
    }

    /// The end of the line that holds `at`.
    pub(super) fn first_newline(&mut self, text: &[u8], at: usize) -> usize {
        let search = |from: usize| {
            memchr::memchr(b'\n', text.get(from..).unwrap_or_default())
                .map(|newline| from + newline)
        };
        self.newlines[0].ask(self.container, at, search).unwrap_or(text.len())
    }

    /// The end of the line after the one that holds `at`: emphasis may take one line end inside it.
    pub(super) fn second_newline(&mut self, text: &[u8], at: usize) -> usize {
        let search = |from: usize| {
            memchr::memchr(b'\n', text.get(from..).unwrap_or_default())
                .map(|newline| from + newline)
        };
        let first = self.newlines[0].ask(self.container, at, search);
        let second =
            first.and_then(|first| self.newlines[1].ask(self.container, first + 1, search));
        second.unwrap_or(text.len())
    }

    /// The first place from `from` on where `mark` could close emphasis: a character that is no space before it,
    /// and behind it the end of a line or something that may follow.
    pub(super) fn closer(&mut self, text: &[u8], mark: u8, from: usize) -> Option<usize> {
        let index = MARKS.iter().position(|known| *known == mark)?;
        let container = self.container;
        self.closers[index].ask(container, from, |from| {
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
        Some(byte) if byte.is_ascii() => matches!(
            byte,
            b'-' | b' '
                | b'\t'
                | b'\n'
                | b'\r'
                | 0x0c
                | b'.'
                | b','
                | b':'
                | b'!'
                | b'?'
                | b';'
                | b'\''
                | b'"'
                | b')'
                | b'}'
                | b'\\'
                | b'['
        ),
        Some(_) => is_space(letter_at(text, at)),
    }
}
