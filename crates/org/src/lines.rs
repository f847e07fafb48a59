//! The table of lines: where each begins, and what it could begin. One pass over the text, made once and used
//! by everything that reads elements. What a line is in the end takes the lines around it: `parse` decides.

use crate::line;
use crate::text::{Span, is_blank};

/// Longest text whose structure is read, in bytes: offsets are kept in 32 bits. What lies behind is kept
/// and printed, and belongs to no element.
pub(crate) const MAX_TEXT: usize = 0xffff_fff0;

/// Class of a line: the element that it could begin, by itself alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Nothing but blanks.
    Blank,
    /// Stars at the first column and a blank.
    Heading,
    /// Nothing special.
    Text,
    /// `| a row`.
    Row,
    /// `+---+`, of a table made with `table.el`.
    Rule,
    /// `# comment`.
    Comment,
    /// `: fixed width`.
    Fixed,
    /// `:NAME:`.
    Drawer,
    /// `-----`.
    HorizontalRule,
    /// `\begin{name}`.
    Environment,
    /// `CLOCK:`.
    Clock,
    /// `- item`.
    Item,
    /// `[fn:name]` at the first column.
    Footnote,
    /// `%%(` at the first column.
    Diary,
    /// `#+` and something.
    Marked,
    /// A star at the first column that begins no heading: it ends a paragraph and begins another.
    Star,
}

/// Beginnings of the lines. A line ends with `\n`, with `\r\n`, or at the end of the text.
#[derive(Clone, Debug)]
pub(crate) struct Lines<'t> {
    source: &'t [u8],
    starts: Vec<u32>,
    classes: Vec<Class>,
}

/// An offset as it is kept.
pub(crate) fn narrow(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

/// An offset as it is used.
pub(crate) fn widen(offset: u32) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

impl<'t> Lines<'t> {
    pub(crate) fn new(source: &'t [u8]) -> Self {
        let source = &source[..source.len().min(MAX_TEXT)];
        // Most lines of prose are longer; growing once or twice costs less than counting first.
        let guess = source.len() / 32 + 1;
        let (mut starts, mut classes) = (Vec::with_capacity(guess), Vec::with_capacity(guess));
        let mut start = 0;
        while start < source.len() {
            let newline = memchr::memchr(b'\n', &source[start..]);
            let end = newline.map_or(source.len(), |newline| start + newline);
            let line = &source[start..end];
            let line =
                if newline.is_some() { line.strip_suffix(b"\r").unwrap_or(line) } else { line };
            starts.push(narrow(start));
            classes.push(classify(line));
            start = end + 1;
        }
        Self { source, starts, classes }
    }

    pub(crate) fn source(&self) -> &'t [u8] {
        self.source
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// The offset where the line begins; behind the last line, the end of the text.
    pub(crate) fn start(&self, index: usize) -> usize {
        self.starts.get(index).map_or(self.source.len(), |start| widen(*start))
    }

    /// Returns the class of a line; behind the last line, that of an empty one.
    pub(crate) fn class(&self, index: usize) -> Class {
        self.classes.get(index).copied().unwrap_or(Class::Blank)
    }

    /// The bytes of the lines from `first` to before `end`, line ends included.
    pub(crate) fn span(&self, first: usize, end: usize) -> Span {
        Span { start: self.start(first), end: self.start(end) }
    }

    /// The line without its end.
    pub(crate) fn content(&self, index: usize) -> &'t [u8] {
        let line = &self.source[self.start(index)..self.start(index + 1)];
        let Some(line) = line.strip_suffix(b"\n") else { return line };
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    /// The index of the line that holds the byte at `offset`.
    pub(crate) fn at(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| widen(*start) <= offset).saturating_sub(1)
    }

    /// The first line from `from` on that is not blank, or `limit`.
    pub(crate) fn written(&self, from: usize, limit: usize) -> usize {
        (from..limit).find(|line| self.class(*line) != Class::Blank).unwrap_or(limit)
    }

    /// The line behind the last one before `end` that is not blank; not before `first`.
    pub(crate) fn unblanked(&self, first: usize, end: usize) -> usize {
        let last = (first..end).rev().find(|line| self.class(*line) != Class::Blank);
        last.map_or(first, |line| line + 1)
    }

    /// Whether this line and the next are empty, both with an end: nothing that has an indentation goes on
    /// behind them.
    pub(crate) fn two_blanks(&self, index: usize) -> bool {
        self.class(index) == Class::Blank
            && index + 1 < self.count()
            && self.class(index + 1) == Class::Blank
            && self.source[..self.start(index + 2)].last() == Some(&b'\n')
    }
}

/// Returns the class of a line without its line end.
fn classify(line: &[u8]) -> Class {
    let Some(indent) = line.iter().position(|byte| !is_blank(*byte)) else { return Class::Blank };
    let inner = &line[indent..];
    let ends_bullet = |rest: &[u8]| rest.first().is_none_or(|byte| is_blank(*byte));
    match inner[0] {
        b'*' if indent == 0 => {
            if line::heading_level(line).is_some() {
                Class::Heading
            } else if ends_bullet(&inner[1..]) {
                Class::Star
            } else {
                Class::Text
            }
        }
        b'*' | b'-' | b'+' if ends_bullet(&inner[1..]) => Class::Item,
        b'-' if line::is_rule(inner) => Class::HorizontalRule,
        b'+' if line::is_table_rule(inner) => Class::Rule,
        b'0'..=b'9' if line::is_item(line) => Class::Item,
        b'|' => Class::Row,
        b'#' => match inner.get(1) {
            None | Some(b' ') => Class::Comment,
            Some(b'+') => Class::Marked,
            Some(_) => Class::Text,
        },
        b':' => match inner.get(1) {
            None | Some(b' ') => Class::Fixed,
            Some(_) if line::is_drawer(line) => Class::Drawer,
            Some(_) => Class::Text,
        },
        b'\\' if line::environment_begin(line).is_some() => Class::Environment,
        b'[' if indent == 0 && line::is_footnote(line) => Class::Footnote,
        b'%' if indent == 0 && line.starts_with(b"%%(") => Class::Diary,
        b'C' | b'c' if line::is_clock(line) => Class::Clock,
        _ => Class::Text,
    }
}
