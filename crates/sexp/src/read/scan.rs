//! The pass over the text: marks, tokens and the tape.
//!
//! Called by [`Reader`] only. An open list keeps its parent in its own entry, so the tape is
//! also the stack. What the reader expects next is the [`Mode`] of the innermost open list.

use super::Reader;
use super::blank::skip_line;
use super::token::is_blank;
use crate::error::{Category, Fault};
use crate::limits::Dialect;
use crate::tree::{self, Entry, Kind, Tree, flag};

/// The parent of the outermost form.
const NONE: u32 = u32::MAX;

/// Bytes per value that the tape is sized for before the pass; it grows if that is too few.
const BYTES_PER_VALUE: usize = 8;

/// The most values that memory is taken for ahead of reading them: 1 MiB.
const RESERVED_VALUES: usize = 1 << 16;

/// The most that a full tape grows at once, as a factor: how far its first part may mislead.
const GROWTH_FACTOR: usize = 16;

/// State of the innermost open list: the element that it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Mode {
    /// Any number of elements, then the end.
    Elements,
    /// The one form of the text.
    Top,
    /// The form after a dot.
    AfterDot,
    /// Waits like `Elements`, just inside a list that stands after a dot.
    SpliceStart,
    /// The end: a tail has been read.
    TailDone,
    /// The one form after a quote mark, which ends the list.
    Marked,
    /// The one form after a quote mark that stands after a dot.
    MarkedTail,
}

/// One pass.
pub(super) struct Scan<'s> {
    pub(super) reader: Reader,
    pub(super) text: &'s str,
    pub(super) bytes: &'s [u8],
    entries: Vec<Entry>,
    /// The innermost open list, or [`NONE`].
    current: u32,
    pub(super) mode: Mode,
    depth: usize,
    /// Backquotes that are open here, less the commas that leave them.
    backquotes: usize,
}

/// The outcome of a step: the place after it, or `None` when the form is complete.
pub(super) type Step = Result<Option<usize>, Fault>;

impl<'s> Scan<'s> {
    pub(super) fn new(reader: &Reader, text: &'s str, mut entries: Vec<Entry>) -> Self {
        entries.clear();
        entries.reserve((text.len() / BYTES_PER_VALUE + 4).min(RESERVED_VALUES));
        Self {
            reader: *reader,
            text,
            bytes: text.as_bytes(),
            entries,
            current: NONE,
            mode: Mode::Top,
            depth: 0,
            backquotes: 0,
        }
    }

    /// Reads the form; gives the memory back when there is none.
    pub(super) fn run(mut self) -> Result<Tree<'s>, (Fault, Vec<Entry>)> {
        match self.pass() {
            Ok(consumed) => Ok(Tree {
                text: self.text,
                entries: self.entries,
                consumed,
                dialect: self.reader.dialect,
            }),
            Err(fault) => Err((fault, self.entries)),
        }
    }

    fn pass(&mut self) -> Result<usize, Fault> {
        let mut at = 0;
        loop {
            let Some(&byte) = self.bytes.get(at) else { return Err(self.out_of_text()) };
            // Questions and not a table: in a list of keys and values each is easy to guess, the
            // target of one jump for all is not. A tenth of the time.
            let step = if byte == b':' {
                self.keyword(at)
            } else if byte.is_ascii_digit() {
                self.digits(at)
            } else if byte == b')' {
                self.close(at, 0)
            } else if byte == b'(' {
                self.open(at, at + 1, Kind::List, 0)
            } else if byte == b'"' {
                self.string(at)
            } else if byte.is_ascii_alphabetic() {
                self.word(at)
            } else if is_blank(byte) {
                at += 1;
                continue;
            } else {
                self.rare(at, byte)
            };
            match step {
                Ok(Some(next)) => at = next,
                Ok(None) => return Ok(self.entries[0].end as usize),
                Err(fault) => return Err(self.first_fault(fault, at)),
            }
            // A jump, not a sum: guessed right, the next form need not wait for this byte.
            while self.bytes.get(at) == Some(&b' ') {
                at += 1;
            }
        }
    }

    /// A form or comment that begins with none of the common bytes.
    #[inline(never)]
    fn rare(&mut self, at: usize, byte: u8) -> Step {
        match byte {
            b'#' => self.dispatch(at),
            b'[' => self.open(at, at + 1, Kind::Vector, flag::BRACKET),
            b']' => self.close(at, flag::BRACKET),
            b'\'' => self.mark(at, at + 1, 0),
            b'`' => self.mark(at, at + 1, flag::BACKQUOTE),
            b',' => self.comma(at),
            b';' => Ok(Some(skip_line(self.bytes, at, self.reader.comments)?)),
            b'{' | b'}' => Err(Fault::new(Category::Brace, at, "braces have no meaning here")),
            b'?' if self.reader.dialect == Dialect::Emacs => self.emacs_character(at),
            0..=0x1F | 0x7F => Err(control(at)),
            _ => self.token(at),
        }
    }

    /// Returns the first fault, when `fault` is about the form that begins at `at`: after the tail of a list not
    /// even the beginning of a form may stand. A `#` that may yet begin a comment is undecided.
    #[cold]
    fn first_fault(&self, fault: Fault, at: usize) -> Fault {
        let begins_form = match self.bytes[at..] {
            [b'#'] | [b'#', b'|', ..] | [] => false,
            [b')' | b']' | b'{' | b'}' | b';' | 0..=0x1F | 0x7F, ..] => false,
            [..] => true,
        };
        if begins_form && self.mode == Mode::TailDone { after_tail(at) } else { fault }
    }

    fn out_of_text(&self) -> Fault {
        let end = self.bytes.len();
        if self.entries.is_empty() {
            let reason = "expected a form, got only blanks";
            return Fault::new(Category::Empty, end, reason).curable_if(true);
        }
        Fault::incomplete(end, "the text ends inside a form")
    }

    /// Writes an atom.
    #[inline(always)]
    pub(super) fn atom(&mut self, start: usize, end: usize, kind: Kind, flags: u8) -> Step {
        let index = self.push(start, end, kind, flags)?;
        if self.mode == Mode::Elements { Ok(Some(end)) } else { self.complete(index, end) }
    }

    #[inline(always)]
    fn push(&mut self, start: usize, end: usize, kind: Kind, flags: u8) -> Result<u32, Fault> {
        let index = self.entries.len();
        if index >= self.reader.limits.elements {
            return Err(too_many(start));
        }
        let entry = Entry {
            start: narrow(start),
            end: narrow(end),
            next: narrow(index + 1),
            kind,
            flags,
            notes: 0,
        };
        if index == self.entries.capacity() {
            self.grow(start);
        }
        self.entries.push(entry);
        Ok(narrow(index))
    }

    /// Makes room on a full tape when the text is read up to `at`: for as many values as the rest
    /// will hold if it is like the part before, and an eighth more. Doubling would take up to twice
    /// that, and beyond 32 MiB fresh pages from the system for every read.
    #[cold]
    fn grow(&mut self, at: usize) {
        let values = self.entries.len();
        let all = self.bytes.len() / (at / values.max(1)).max(1);
        let wanted = (all + all / 8).clamp(values + values / 2, values * GROWTH_FACTOR);
        self.entries.reserve_exact(wanted - values);
    }

    /// Opens a list or vector whose elements begin at `inside`.
    #[inline(always)]
    pub(super) fn open(&mut self, at: usize, inside: usize, kind: Kind, flags: u8) -> Step {
        self.deepen(at)?;
        if self.mode != Mode::Elements {
            self.expect_form(at)?;
            if self.mode == Mode::AfterDot && kind == Kind::List {
                self.entries[self.current as usize].notes += 1;
                self.mode = Mode::SpliceStart;
                return Ok(Some(inside));
            }
        }
        self.nest(at, inside, kind, flags)?;
        self.mode = Mode::Elements;
        Ok(Some(inside))
    }

    #[inline]
    fn nest(&mut self, at: usize, inside: usize, kind: Kind, flags: u8) -> Result<(), Fault> {
        let index = self.push(at, inside, kind, flags)?;
        if self.current != NONE {
            let parent = &mut self.entries[self.current as usize];
            parent.notes = parent.notes & SPLICES | u16::from(self.mode as u8) << MODE_SHIFT;
        }
        self.entries[index as usize].next = self.current;
        self.current = index;
        Ok(())
    }

    #[inline]
    fn deepen(&mut self, at: usize) -> Result<(), Fault> {
        if self.depth >= self.reader.limits.depth {
            let reason = format!("expected at most `{}` levels", self.reader.limits.depth);
            return Err(Fault::new(Category::LimitDepth, at, reason));
        }
        self.depth += 1;
        Ok(())
    }

    /// Closes the innermost list or vector.
    #[inline]
    fn close(&mut self, at: usize, bracket: u8) -> Step {
        let Some(&open) = self.entries.get(self.current as usize) else {
            return Err(Fault::new(Category::Unbalanced, at, "nothing is open here"));
        };
        if self.mode != Mode::Elements {
            self.expect_end(at)?;
        }
        if open.flags & flag::BRACKET != bracket {
            let reason = "closed with a mark of the other sort";
            return Err(Fault::new(Category::Unbalanced, at, reason));
        }
        if open.notes & SPLICES != 0 {
            self.entries[self.current as usize].notes -= 1;
            self.depth -= 1;
            self.mode = Mode::TailDone;
            return Ok(Some(at + 1));
        }
        let index = self.current;
        let next = narrow(self.entries.len());
        if open.kind == Kind::Vector
            && bracket == 0
            && tree::looks_propertized(&self.entries, index + 1, next)
        {
            self.entries[index as usize].kind = Kind::Propertized;
        }
        let entry = &mut self.entries[index as usize];
        entry.end = narrow(at + 1);
        entry.next = next;
        entry.notes = 0;
        if next == index + 1 && entry.kind == Kind::List {
            entry.kind = Kind::Nil;
        }
        self.leave(open.next);
        if self.mode == Mode::Elements { Ok(Some(at + 1)) } else { self.complete(index, at + 1) }
    }

    /// Goes back to the parent of a list that has ended.
    #[inline]
    fn leave(&mut self, parent: u32) {
        self.depth -= 1;
        self.current = parent;
        self.mode = match self.entries.get(parent as usize) {
            Some(parent) => MODES[usize::from(parent.notes >> MODE_SHIFT)],
            None => Mode::Top,
        };
    }

    /// Tells the innermost list, which waited for something, that `index` is it.
    fn complete(&mut self, mut index: u32, end: usize) -> Step {
        loop {
            match self.mode {
                Mode::Elements => return Ok(Some(end)),
                Mode::Top => return Ok(None),
                Mode::SpliceStart => self.mode = Mode::Elements,
                Mode::TailDone => {
                    return Err(after_tail(self.entries[index as usize].start as usize));
                }
                Mode::AfterDot => {
                    if self.entries[index as usize].kind == Kind::Nil {
                        self.entries.pop();
                    } else {
                        self.entries[self.current as usize].kind = Kind::Dotted;
                    }
                    self.mode = Mode::TailDone;
                    return Ok(Some(end));
                }
                Mode::MarkedTail => {
                    self.unmark();
                    self.depth -= 1;
                    self.mode = Mode::TailDone;
                    return Ok(Some(end));
                }
                Mode::Marked => {
                    self.unmark();
                    index = self.current;
                    let next = narrow(self.entries.len());
                    let entry = &mut self.entries[index as usize];
                    let parent = entry.next;
                    entry.end = narrow(end);
                    entry.next = next;
                    entry.notes = 0;
                    self.leave(parent);
                }
            }
        }
    }

    /// Reads a mark that wraps the next form in a list.
    pub(super) fn mark(&mut self, at: usize, inside: usize, backquote: u8) -> Step {
        self.deepen(at)?;
        self.expect_form(at)?;
        let is_tail = self.mode == Mode::AfterDot;
        if !is_tail {
            self.nest(at, inside, Kind::List, 0)?;
        }
        self.push(at, inside, Kind::Symbol, flag::MARK)?;
        self.mode = if is_tail { Mode::MarkedTail } else { Mode::Marked };
        self.entries[self.current as usize].flags |= backquote;
        match backquote {
            flag::BACKQUOTE => self.backquotes += 1,
            flag::COMMA => self.backquotes -= 1,
            _ => {}
        }
        Ok(Some(inside))
    }

    /// Undoes what the current list's mark did to the backquotes.
    fn unmark(&mut self) {
        let entry = &mut self.entries[self.current as usize];
        match entry.flags & (flag::BACKQUOTE | flag::COMMA) {
            flag::BACKQUOTE => self.backquotes -= 1,
            flag::COMMA => self.backquotes += 1,
            _ => {}
        }
        entry.flags &= !(flag::BACKQUOTE | flag::COMMA);
    }

    fn comma(&mut self, at: usize) -> Step {
        if self.backquotes == 0 {
            return Err(Fault::new(Category::Comma, at, "a comma outside backquote"));
        }
        let is_lisp = self.reader.dialect == Dialect::Lisp;
        let splices = match self.bytes.get(at + 1) {
            Some(b'@') => true,
            Some(b'.') => is_lisp,
            _ => false,
        };
        let on_backquote = self.mode == Mode::Marked
            && self.entries[self.current as usize].flags & flag::BACKQUOTE != 0;
        if splices && (on_backquote || self.mode == Mode::AfterDot) {
            return Err(Fault::new(Category::Comma, at, "nothing to splice into here"));
        }
        self.mark(at, at + 1 + usize::from(splices), flag::COMMA)
    }

    /// Refuses a form where only the end of the list may stand.
    fn expect_form(&self, at: usize) -> Result<(), Fault> {
        if self.mode == Mode::TailDone { Err(after_tail(at)) } else { Ok(()) }
    }

    /// Refuses the end of the list where a form must stand.
    fn expect_end(&self, at: usize) -> Result<(), Fault> {
        match self.mode {
            Mode::AfterDot => Err(Fault::new(Category::Dot, at, "expected a form after the dot")),
            Mode::Marked | Mode::MarkedTail => {
                Err(Fault::new(Category::Unbalanced, at, "expected a form after the mark"))
            }
            _ => Ok(()),
        }
    }

    /// A dot by itself.
    pub(super) fn dot(&mut self, at: usize) -> Step {
        let in_list = self.mode == Mode::Elements
            && self.entries[self.current as usize].kind == Kind::List
            && self.entries.len() > self.current as usize + 1;
        if !in_list {
            let fault = Fault::new(Category::Dot, at, "a dot that stands between no two forms");
            return Err(fault.curable_if(at + 1 == self.bytes.len()));
        }
        self.mode = Mode::AfterDot;
        Ok(Some(at + 1))
    }
}

/// Low bits of [`Entry::notes`]: lists that stand after a dot and are open, at most
/// [`DEPTH_CEILING`](crate::limits::DEPTH_CEILING).
const SPLICES: u16 = 0x1FFF;

/// Above them the list's mode, while one of its elements is open.
const MODE_SHIFT: u32 = 13;

/// Modes by number.
const MODES: [Mode; 8] = [
    Mode::Elements,
    Mode::Top,
    Mode::AfterDot,
    Mode::SpliceStart,
    Mode::TailDone,
    Mode::Marked,
    Mode::MarkedTail,
    Mode::Elements,
];

pub(super) fn control(at: usize) -> Fault {
    Fault::new(Category::Control, at, "a character that stands only in strings")
}

fn after_tail(at: usize) -> Fault {
    Fault::new(Category::Dot, at, "expected the end of the list after its tail")
}

#[cold]
fn too_many(at: usize) -> Fault {
    Fault::new(Category::LimitElements, at, "expected fewer values in one form")
}

/// Places and indexes are below 4 GiB: the length of the text was checked.
#[inline]
#[allow(clippy::cast_possible_truncation)] // see above; a checked cast costs a branch a value
fn narrow(place: usize) -> u32 {
    place as u32
}
