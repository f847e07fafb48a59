//! Changes of an Org text: every byte that is not meant stays as it is. Made by `Document` and `Tree`; whoever asked
//! for one writes the result, or shows its diff.

mod archive;
mod checkbox;
mod clock;
mod count;
mod drawer;
mod entry;
mod headline;
mod journal;
mod planning;
mod repeat;
mod state;
mod subtree;

use std::fmt;

use crate::lines::Lines;
use crate::text::Span;

pub use archive::{Archived, Origin};
pub use drawer::Plan;
pub use state::StateChange;

/// Lines shown before and behind a change, as `diff -u` and `git` do.
const CONTEXT_LINES: usize = 3;

/// Reason why a text cannot be changed as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EditError {
    /// The node is of another type than the change is for.
    OtherType,
    /// The text that is to be put in would not be read as what it is meant for.
    Unreadable,
    /// The part that is to be changed is not there.
    Missing,
    /// A subtree cannot go into itself.
    IntoItself,
    /// Another checkbox must be checked before this one.
    Blocked,
    /// The text has no such keyword of progress.
    UnknownState,
    /// A heading below, or one before it under `ORDERED`, must be done first.
    Waiting,
    /// A timestamp repeats by hours and has no time of day.
    NoHour,
    /// A timestamp would be moved out of the years that one can name.
    OutOfCalendar,
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherType => "the node is of another type than the change is for",
            Self::Unreadable => "the new text would be read as something else",
            Self::Missing => "what is to be changed is not there",
            Self::IntoItself => "a subtree cannot go into itself",
            Self::Blocked => "another checkbox must be checked before this one",
            Self::UnknownState => "the file has no such keyword",
            Self::Waiting => {
                "something below it, or before it where the order counts, is not done yet"
            }
            Self::NoHour => "a timestamp repeats by hours and has no time of day",
            Self::OutOfCalendar => "a timestamp would be moved out of the years 1 to 9999",
        })
    }
}

impl std::error::Error for EditError {}

/// Bytes put in the place of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    /// Bytes that are taken away; empty for an insertion.
    pub span: Span,
    /// Bytes that are put there.
    pub text: Vec<u8>,
}

/// A change of a text: splices in order, none touching another.
#[derive(Clone, Debug)]
pub struct Edit<'t> {
    source: &'t [u8],
    splices: Vec<Splice>,
}

impl<'t> Edit<'t> {
    pub(crate) fn new(source: &'t [u8], mut splices: Vec<Splice>) -> Self {
        splices.retain(|splice| splice.span.of(source) != splice.text);
        splices.sort_by_key(|splice| (splice.span.start, splice.span.end));
        Self { source, splices }
    }

    pub(crate) fn replace(source: &'t [u8], span: Span, text: impl Into<Vec<u8>>) -> Self {
        Self::new(source, vec![Splice { span, text: text.into() }])
    }

    /// Puts `text` at the first beginning of a line from `offset` on. It gets a line end where it has none,
    /// and so does a last line of the source without one, in the style of the first line.
    pub(crate) fn insert(source: &'t [u8], offset: usize, text: &[u8]) -> Self {
        Self::new(source, vec![insertion(source, offset, text)])
    }

    /// Returns the splices, in the order of the text.
    #[must_use]
    pub fn splices(&self) -> &[Splice] {
        &self.splices
    }

    /// The changed text.
    #[must_use]
    pub fn apply(&self) -> Vec<u8> {
        self.changed(Span { start: 0, end: self.source.len() }, &self.splices)
    }

    /// The bytes of a span with splices that are in it.
    fn changed(&self, span: Span, splices: &[Splice]) -> Vec<u8> {
        let mut text = Vec::with_capacity(span.end - span.start);
        let mut at = span.start;
        for splice in splices {
            text.extend_from_slice(&self.source[at..splice.span.start]);
            text.extend_from_slice(&splice.text);
            at = splice.span.end;
        }
        text.extend_from_slice(&self.source[at..span.end]);
        text
    }

    /// The change as a unified diff of the file `name`; empty when nothing changes.
    #[must_use]
    pub fn diff(&self, name: &str) -> Vec<u8> {
        if self.splices.is_empty() {
            return Vec::new();
        }
        let lines = Lines::new(self.source);
        let head = format!("--- {}\n+++ {}\n", quoted("a/", name), quoted("b/", name));
        let mut diff = head.into_bytes();
        let mut grown = 0_isize;
        for hunk in self.hunks(&lines) {
            self.write(&hunk, &lines, &mut grown, &mut diff);
        }
        diff
    }

    /// The changed lines, near ones together.
    fn hunks(&self, lines: &Lines<'_>) -> Vec<Hunk> {
        let mut hunks: Vec<Hunk> = Vec::new();
        for (index, splice) in self.splices.iter().enumerate() {
            let (first, end) = touched(splice, lines, self.source);
            let change = Change { first, end, splices: index..index + 1 };
            match hunks.last_mut() {
                Some(hunk) if first <= hunk.end() + 2 * CONTEXT_LINES => hunk.add(change),
                _ => hunks.push(Hunk(vec![change])),
            }
        }
        hunks
    }

    fn write(&self, hunk: &Hunk, lines: &Lines<'_>, grown: &mut isize, diff: &mut Vec<u8>) {
        let line = |index: usize| lines.span(index, index + 1).of(self.source);
        let first = hunk.first().saturating_sub(CONTEXT_LINES);
        let last = lines.count().min(hunk.end() + CONTEXT_LINES);
        let (mut body, mut added, mut removed, mut at) = (Vec::new(), 0, 0, first);
        for change in &hunk.0 {
            (at..change.first).for_each(|index| show(b' ', line(index), &mut body));
            (change.first..change.end).for_each(|index| show(b'-', line(index), &mut body));
            let text = self.changed(
                lines.span(change.first, change.end),
                &self.splices[change.splices.clone()],
            );
            for line in text.split_inclusive(|byte| *byte == b'\n') {
                show(b'+', line, &mut body);
                added += 1;
            }
            removed += change.end - change.first;
            at = change.end;
        }
        (at..last).for_each(|index| show(b' ', line(index), &mut body));
        let old = last - first;
        let new = old - removed + added;
        let start = |count: usize, first: usize| if count == 0 { first } else { first + 1 };
        let new_first = first.saturating_add_signed(*grown);
        let head = format!("@@ -{},{old} +{},{new} @@\n", start(old, first), start(new, new_first));
        *grown += added.cast_signed() - removed.cast_signed();
        diff.extend_from_slice(head.as_bytes());
        diff.extend_from_slice(&body);
    }
}

/// Lines that are changed as one, and the splices in them.
struct Change {
    first: usize,
    end: usize,
    splices: std::ops::Range<usize>,
}

/// Changes that are shown together.
struct Hunk(Vec<Change>);

impl Hunk {
    fn first(&self) -> usize {
        self.0.first().map_or(0, |change| change.first)
    }

    fn end(&self) -> usize {
        self.0.last().map_or(0, |change| change.end)
    }

    /// Adds a change, to the last one where they share a line.
    fn add(&mut self, change: Change) {
        match self.0.last_mut().filter(|last| change.first < last.end) {
            Some(last) => {
                last.end = last.end.max(change.end);
                last.splices.end = change.splices.end;
            }
            None => self.0.push(change),
        }
    }
}

/// The lines that a splice changes. One that puts whole lines between two lines changes none.
fn touched(splice: &Splice, lines: &Lines<'_>, source: &[u8]) -> (usize, usize) {
    let Span { start, end } = splice.span;
    let begins = |offset: usize| offset == 0 || source[offset - 1] == b'\n';
    let line_at = |offset: usize| {
        if offset == source.len() && begins(offset) { lines.count() } else { lines.at(offset) }
    };
    let whole =
        begins(start) && begins(end) && (splice.text.is_empty() || splice.text.ends_with(b"\n"));
    let first = line_at(start);
    if whole {
        return (first, line_at(end));
    }
    (first, (line_at(end) + 1).min(lines.count()).max(first))
}

/// Whole lines put at the first beginning of a line from `offset` on.
fn insertion(source: &[u8], offset: usize, text: &[u8]) -> Splice {
    let begins_line = offset == 0 || source.get(offset - 1) == Some(&b'\n');
    let next = memchr::memchr(b'\n', &source[offset..]).map(|newline| offset + newline + 1);
    let at = if begins_line { offset } else { next.unwrap_or(source.len()) };
    let newline = newline(source);
    let mut inserted = Vec::new();
    if !text.is_empty() {
        if at > 0 && source[at - 1] != b'\n' {
            inserted.extend_from_slice(newline);
        }
        inserted.extend_from_slice(text);
        if !text.ends_with(b"\n") {
            inserted.extend_from_slice(newline);
        }
    }
    Splice { span: Span { start: at, end: at }, text: inserted }
}

/// The line end of the first line.
fn newline(source: &[u8]) -> &'static [u8] {
    let dos = memchr::memchr(b'\n', source).is_some_and(|at| source[..at].ends_with(b"\r"));
    if dos { b"\r\n" } else { b"\n" }
}

/// Adds a line of a diff.
fn show(sign: u8, line: &[u8], diff: &mut Vec<u8>) {
    diff.push(sign);
    diff.extend_from_slice(line);
    if !line.ends_with(b"\n") {
        diff.extend_from_slice(b"\n\\ No newline at end of file\n");
    }
}

/// The name as `git` writes it: between quotes where a byte could be mistaken for a part of the diff.
fn quoted(side: &str, name: &str) -> String {
    let plain = |byte: u8| !byte.is_ascii_control() && !matches!(byte, b'"' | b'\\');
    if name.bytes().all(plain) {
        return format!("{side}{name}");
    }
    let escape = |letter: char| match u8::try_from(letter) {
        Ok(byte) if byte.is_ascii() && !plain(byte) => format!("\\{byte:03o}"),
        _ => letter.to_string(),
    };
    format!("\"{side}{}\"", name.chars().map(escape).collect::<String>())
}
