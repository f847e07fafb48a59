//! Changes of whole subtrees: insert, cut, refile, move among siblings.

use super::entry::Entry;
use super::journal::{LogNote, LogPurpose, LogRules};
use super::{Edit, EditError, Splice, insertion, newline};
use crate::kind::Type;
use crate::line::heading_level;
use crate::moment::Moment;
use crate::text::Span;
use crate::tree::{NodeId, Tree};

impl<'t> Tree<'t> {
    /// A headline and all below it, with the empty lines before the next headline.
    ///
    /// # Errors
    ///
    /// The node is no headline.
    pub fn subtree(&self, headline: NodeId) -> Result<Span, EditError> {
        let first = self.headline_line(headline)?;
        let level = heading_level(self.lines.content(first)).unwrap_or(1);
        let ends = |index: &usize| {
            heading_level(self.lines.content(*index)).is_some_and(|other| other <= level)
        };
        let end = (first + 1..self.lines.count()).find(ends).unwrap_or(self.lines.count());
        Ok(self.lines.span(first, end))
    }

    /// Puts a text at the end of the subtree of a headline, its headlines one level below.
    ///
    /// # Errors
    ///
    /// The node is no headline.
    pub fn append_subtree(&self, headline: NodeId, text: &[u8]) -> Result<Edit<'t>, EditError> {
        let at = self.subtree(headline)?.end;
        let text = at_level(&with_line_ends(text, newline(self.whole)), self.stars(headline)? + 1);
        Ok(Edit::new(self.whole, vec![insertion(self.whole, at, &text)]))
    }

    /// Puts a text behind the subtree of a headline, its headlines on the same level.
    ///
    /// # Errors
    ///
    /// The node is no headline.
    pub fn insert_subtree(&self, headline: NodeId, text: &[u8]) -> Result<Edit<'t>, EditError> {
        let at = self.subtree(headline)?.end;
        let text = at_level(&with_line_ends(text, newline(self.whole)), self.stars(headline)?);
        Ok(Edit::new(self.whole, vec![insertion(self.whole, at, &text)]))
    }

    /// Takes a subtree away; the text of it is that of [`Tree::subtree`], to be put elsewhere.
    ///
    /// # Errors
    ///
    /// The node is no headline.
    pub fn cut_subtree(&self, headline: NodeId) -> Result<Edit<'t>, EditError> {
        Ok(Edit::replace(self.whole, self.subtree(headline)?, *b""))
    }

    /// Moves a subtree to the end of another, one level below it. Where the settings say so, its log says when.
    ///
    /// # Errors
    ///
    /// One of the nodes is no headline, or the target is in the subtree.
    pub fn refile(
        &self,
        headline: NodeId,
        target: NodeId,
        now: Moment,
    ) -> Result<Edit<'t>, EditError> {
        let (moved, into) = (self.subtree(headline)?, self.subtree(target)?);
        if moved.start <= into.start && into.start < moved.end {
            return Err(EditError::IntoItself);
        }
        let mut text = at_level(moved.of(self.whole), self.stars(target)? + 1);
        if !text.ends_with(b"\n") {
            text.extend_from_slice(newline(self.whole));
        }
        let text = self.refiled(target, text, now)?;
        if into.end == moved.end {
            // It is the last one there already: only its level changes.
            return Ok(Edit::replace(self.whole, moved, text));
        }
        let put = insertion(self.whole, into.end, &text);
        Ok(Edit::new(self.whole, vec![Splice { span: moved, text: Vec::new() }, put]))
    }

    /// A subtree as it is put below `target`: with a line in its log, where the settings here ask for one.
    ///
    /// # Errors
    ///
    /// The target is no headline, or the text has none.
    pub fn refiled(
        &self,
        target: NodeId,
        subtree: Vec<u8>,
        now: Moment,
    ) -> Result<Vec<u8>, EditError> {
        let mut rules = LogRules::of(self, target);
        let Some(kind) = rules.refile else { return Ok(subtree) };
        let mut tree = Tree::elements(&subtree);
        tree.settings.words = self.settings.words.clone();
        let first = Entry::headline(&tree)?;
        rules.set_drawer(tree.full_property(first, b"LOG_INTO_DRAWER").as_deref());
        let (mut entry, span) = Entry::of(&tree, first)?;
        entry.log(&LogNote { purpose: LogPurpose::Refiled, kind }, b"", &rules, now)?;
        Ok(Edit::new(&subtree, entry.splices(&subtree, span)).apply())
    }

    /// Moves a subtree before the one of the same level above it.
    ///
    /// # Errors
    ///
    /// The node is no headline, or the first one of its level below its parent.
    pub fn move_up(&self, headline: NodeId) -> Result<Edit<'t>, EditError> {
        let second = self.subtree(headline)?;
        let stars = self.stars(headline)?;
        let above = self
            .ids()
            .take_while(|id| *id < headline)
            .filter(|id| self.node(*id).is_some_and(|node| node.kind == Type::Headline));
        let first =
            above.filter(|id| self.stars(*id) == Ok(stars)).last().ok_or(EditError::Missing)?;
        let first = self.subtree(first)?;
        if first.end != second.start {
            return Err(EditError::Missing);
        }
        let mut text = second.of(self.whole).to_vec();
        if !text.ends_with(b"\n") {
            text.extend_from_slice(newline(self.whole));
        }
        let at = Span { start: first.start, end: first.start };
        Ok(Edit::new(
            self.whole,
            vec![Splice { span: at, text }, Splice { span: second, text: Vec::new() }],
        ))
    }

    pub(super) fn stars(&self, headline: NodeId) -> Result<usize, EditError> {
        let line = self.headline_line(headline)?;
        heading_level(self.lines.content(line)).ok_or(EditError::OtherType)
    }
}

/// The text with the line ends of another.
fn with_line_ends(text: &[u8], newline: &[u8]) -> Vec<u8> {
    if newline == b"\n" {
        return text.to_vec();
    }
    let mut ended = Vec::with_capacity(text.len() + 16);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\n") {
            Some(line) => {
                ended.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
                ended.extend_from_slice(newline);
            }
            None => ended.extend_from_slice(line),
        }
    }
    ended
}

/// The text with its headlines so that the first of them has so many stars; none has fewer than one.
pub(super) fn at_level(text: &[u8], stars: usize) -> Vec<u8> {
    let lines = || text.split_inclusive(|byte| *byte == b'\n');
    let Some(first) = lines().find_map(heading_level) else { return text.to_vec() };
    let mut changed = Vec::with_capacity(text.len() + 16);
    for line in lines() {
        let Some(level) = heading_level(line) else {
            changed.extend_from_slice(line);
            continue;
        };
        changed.resize(changed.len() + (level + stars).saturating_sub(first).max(1), b'*');
        changed.extend_from_slice(&line[level..]);
    }
    changed
}
