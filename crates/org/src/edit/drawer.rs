//! Changes of the drawer of properties, and where it and the planning line are.

use super::entry::{indent_to, indentation};
use super::{Edit, EditError, Splice, insertion, newline};
use crate::kind::Type;
use crate::property::{self, is_planning, pair};
use crate::text::Span;
use crate::tree::{NodeId, Tree};

/// Entry of a planning line.
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
    pub(super) fn word(self) -> &'static [u8] {
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
        // As far in as the drawer.
        let column = indentation(self.lines.content(first));
        let indented = [indent_to(column), line].concat();
        let is_key = |index: &usize, adds: bool| {
            pair(self.lines.content(*index)).is_some_and(|(known, _)| {
                let base = known.strip_suffix(b"+").filter(|_| adds).unwrap_or(known);
                base.eq_ignore_ascii_case(key)
            })
        };
        let Some(_) = value else { return Ok(self.remove_properties(first, last, is_key)) };
        match (first + 1..last).find(|index| is_key(index, false)) {
            Some(index) => {
                let start = self.lines.start(index);
                let end = start + self.lines.content(index).len();
                Ok(Edit::replace(self.whole, Span { start, end }, indented))
            }
            None => Ok(Edit::insert(self.whole, self.lines.start(last), &indented)),
        }
    }

    /// Takes lines of a drawer away, and the drawer when nothing is left.
    fn remove_properties(
        &self,
        first: usize,
        last: usize,
        is_key: impl Fn(&usize, bool) -> bool,
    ) -> Edit<'t> {
        let gone: Vec<usize> = (first + 1..last).filter(|index| is_key(index, true)).collect();
        let line =
            |index: usize| Splice { span: self.lines.span(index, index + 1), text: Vec::new() };
        if gone.len() == last - first - 1 {
            return Edit::replace(self.whole, self.lines.span(first, last + 1), *b"");
        }
        Edit::new(self.whole, gone.into_iter().map(line).collect())
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
