//! Changes of what stands right below a headline: properties and planning.

use super::{Edit, EditError, insertion, newline};
use crate::kind::Type;
use crate::property::{self, is_planning, pair};
use crate::text::{Span, drop_blanks, is_space, offset_in, skip_blanks};
use crate::tree::{NodeId, Tree};

/// What a planning line can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// `SCHEDULED:`.
    Scheduled,
    /// `DEADLINE:`.
    Deadline,
    /// `CLOSED:`.
    Closed,
}

impl Plan {
    fn word(self) -> &'static [u8] {
        match self {
            Self::Scheduled => b"SCHEDULED:",
            Self::Deadline => b"DEADLINE:",
            Self::Closed => b"CLOSED:",
        }
    }
}

/// Lines right below a headline.
pub(super) struct Below {
    pub(super) planning: Option<usize>,
    /// First and last line of the drawer.
    pub(super) drawer: Option<(usize, usize)>,
    /// The line behind all of that.
    pub(super) end: usize,
}

impl<'t> Tree<'t> {
    /// Sets a property of a headline in its drawer, or takes it away, and the drawer with it when nothing is left.
    ///
    /// # Errors
    ///
    /// The node is no headline, or key or value cannot stand in a drawer.
    pub fn set_property(
        &self,
        headline: NodeId,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<Edit<'t>, EditError> {
        let below = self.below(headline)?;
        let value_text = value.unwrap_or_default();
        let blank: &[u8] = if value_text.is_empty() { b"" } else { b" " };
        let line = [&b":"[..], key, b":", blank, value_text].concat();
        let readable = pair(&line) == Some((key, value_text));
        if line.contains(&b'\n') || !readable || key.eq_ignore_ascii_case(b"end") {
            return Err(EditError::Unreadable);
        }
        let Some((first, last)) = below.drawer else {
            let drawer = [&b":PROPERTIES:"[..], &line, b":END:"].join(newline(self.whole));
            let text = if value.is_some() { &drawer[..] } else { b"" };
            return Ok(Edit::insert(self.whole, self.lines.start(below.end), text));
        };
        let is_key = |index: &usize| {
            pair(self.lines.content(*index))
                .is_some_and(|(known, _)| known.eq_ignore_ascii_case(key))
        };
        let index = (first + 1..last).find(is_key);
        match (index, value) {
            (Some(index), Some(value)) => Ok(self.set_value(index, value)),
            (Some(_), None) if last - first == 2 => {
                Ok(Edit::replace(self.whole, self.lines.span(first, last + 1), *b""))
            }
            (Some(index), None) => {
                Ok(Edit::replace(self.whole, self.lines.span(index, index + 1), *b""))
            }
            (None, Some(_)) => {
                let end = self.lines.content(last);
                let indent = &end[..end.len() - skip_blanks(end).len()];
                Ok(Edit::insert(self.whole, self.lines.start(last), &[indent, &line].concat()))
            }
            (None, None) => Ok(Edit::new(self.whole, Vec::new())),
        }
    }

    /// Puts another value behind the key of a line.
    fn set_value(&self, index: usize, value: &[u8]) -> Edit<'t> {
        let line = self.lines.content(index);
        let (key, old) = pair(line).unwrap_or_default();
        let key_end = offset_in(line, key) + key.len() + 1;
        let start = self.lines.start(index);
        let (from, text) = if old.is_empty() {
            (key_end, [b" ", value].concat())
        } else {
            (offset_in(line, old), value.to_vec())
        };
        let until = if old.is_empty() { line.len() } else { from + old.len() };
        Edit::replace(self.whole, Span { start: start + from, end: start + until }, text)
    }

    /// Sets a timestamp of the planning line of a headline, or takes it away, and the line when nothing is left.
    ///
    /// # Errors
    ///
    /// The node is no headline, or `stamp` is no timestamp on one line.
    pub fn set_planning(
        &self,
        headline: NodeId,
        plan: Plan,
        stamp: Option<&[u8]>,
    ) -> Result<Edit<'t>, EditError> {
        let below = self.below(headline)?;
        if stamp.is_some_and(|stamp| !is_stamp(stamp)) {
            return Err(EditError::Unreadable);
        }
        let Some(index) = below.planning else {
            let text = stamp.map(|stamp| [plan.word(), b" ", stamp].concat()).unwrap_or_default();
            let at = self.lines.start(self.headline_line(headline)? + 1);
            return Ok(Edit::insert(self.whole, at, &text));
        };
        let said = property::planning(&self.lines, index);
        let old = match plan {
            Plan::Scheduled => said.scheduled,
            Plan::Deadline => said.deadline,
            Plan::Closed => said.closed,
        };
        let (line, start) = (self.lines.content(index), self.lines.start(index));
        let (span, text) = match (old, stamp) {
            (Some(old), Some(stamp)) => {
                let at = start + offset_in(line, old);
                (Span { start: at, end: at + old.len() }, stamp.to_vec())
            }
            (Some(old), None) => return Ok(self.unplan(index, old, plan)),
            (None, Some(stamp)) => {
                // In front of what is there, as Org does.
                let at = start + line.len() - skip_blanks(line).len();
                (Span { start: at, end: at }, [plan.word(), b" ", stamp, b" "].concat())
            }
            (None, None) => (Span { start, end: start }, Vec::new()),
        };
        Ok(Edit::replace(self.whole, span, text))
    }

    /// Takes a timestamp away with its word, and the line when nothing else is on it.
    fn unplan(&self, index: usize, old: &[u8], plan: Plan) -> Edit<'t> {
        let (line, start) = (self.lines.content(index), self.lines.start(index));
        let end = offset_in(line, old) + old.len();
        let word = memchr::memmem::rfind(&line[..offset_in(line, old)], plan.word()).unwrap_or(0);
        let behind = line.len() - skip_blanks(&line[end..]).len();
        let rest = [&line[..word], &line[behind..]].concat();
        if rest.iter().all(|byte| is_space(*byte)) {
            return Edit::replace(self.whole, self.lines.span(index, index + 1), *b"");
        }
        // The blanks between it and what follows go, or those before it when nothing does.
        let (from, until) = if behind < line.len() {
            (word, behind)
        } else {
            (drop_blanks(&line[..word]).len(), end)
        };
        Edit::replace(self.whole, Span { start: start + from, end: start + until }, *b"")
    }

    pub(super) fn headline_line(&self, headline: NodeId) -> Result<usize, EditError> {
        let node = self.node(headline).filter(|node| node.kind == Type::Headline);
        Ok(self.lines.at(node.ok_or(EditError::OtherType)?.span().start))
    }

    pub(super) fn below(&self, headline: NodeId) -> Result<Below, EditError> {
        let line = self.headline_line(headline)?;
        let mut end = line + 1;
        let planning =
            (end < self.lines.count() && is_planning(self.lines.content(end))).then_some(end);
        end += usize::from(planning.is_some());
        let last = property::drawer_end(&self.lines, end, self.lines.count());
        let drawer = last.map(|last| (end, last));
        end = last.map_or(end, |last| last + 1);
        Ok(Below { planning, drawer, end })
    }

    /// Lines put before line `index`.
    pub(super) fn insert_lines(&self, index: usize, text: &[u8]) -> Edit<'t> {
        Edit::new(self.whole, vec![insertion(self.whole, self.lines.start(index), text)])
    }
}

/// Whether this is one timestamp, or a range, and nothing else.
pub(super) fn is_stamp(stamp: &[u8]) -> bool {
    let tree = Tree::read(stamp);
    let Some(paragraph) = tree.ids().last() else { return false };
    let objects = tree.objects(paragraph);
    !stamp.contains(&b'\n')
        && matches!(objects.nodes(), [only] if only.kind == Type::Timestamp && only.span() == Span { start: 0, end: stamp.len() })
}
