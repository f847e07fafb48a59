//! Changes of the line of a headline.

use super::entry::keyword_splice;
use super::{Edit, EditError, Splice};
use crate::heading::{Title, title};
use crate::kind::Type;
use crate::line::heading_level;
use crate::text::{Span, drop_blanks, offset_in, skip_blanks};
use crate::tree::{NodeId, Tree};

/// The tag of what is archived where it stands.
const ARCHIVE: &[u8] = b"ARCHIVE";

/// The line of a headline and what it says.
struct Said<'t> {
    line: &'t [u8],
    start: usize,
    /// Behind the stars.
    stars: usize,
    title: Title<'t>,
}

impl Said<'_> {
    /// Returns the place of a part of the line in the text, with so many bytes before and behind it.
    fn span(&self, part: &[u8], before: usize, behind: usize) -> Span {
        let at = self.start + offset_in(self.line, part);
        Span { start: at - before, end: at + part.len() + behind }
    }

    /// From there over one blank behind it.
    fn with_blank(&self, span: Span) -> Span {
        let rest = &self.line[span.end - self.start..];
        Span { start: span.start, end: span.end + usize::from(rest.starts_with(b" ")) }
    }

    /// Returns the beginning of the text behind the stars.
    fn front(&self) -> usize {
        let rest = &self.line[self.stars..];
        self.start + self.line.len() - skip_blanks(rest).len()
    }

    /// The cookie of the priority.
    fn cookie(&self) -> Option<Span> {
        self.title.priority.map(|letter| self.span(letter, 2, 1))
    }
}

impl<'t> Tree<'t> {
    /// Sets the keyword of progress of a headline, or takes it away, and nothing else: [`Tree::change_state`] does what Org
    /// does.
    ///
    /// # Errors
    ///
    /// The node is no headline, or the text has no such keyword.
    pub fn set_state(
        &self,
        headline: NodeId,
        keyword: Option<&[u8]>,
    ) -> Result<Edit<'t>, EditError> {
        let said = self.said(headline)?;
        if keyword.is_some_and(|keyword| !self.settings.words.has(keyword)) {
            return Err(EditError::UnknownState);
        }
        let Splice { span, text } = keyword_splice(said.line, &self.settings.words, keyword);
        let span = Span { start: said.start + span.start, end: said.start + span.end };
        Ok(Edit::replace(self.whole, span, text))
    }

    /// Sets the priority of a headline, or takes it away.
    ///
    /// # Errors
    ///
    /// The node is no headline, or the priority is no visible ASCII character.
    pub fn set_priority(
        &self,
        headline: NodeId,
        priority: Option<u8>,
    ) -> Result<Edit<'t>, EditError> {
        let said = self.said(headline)?;
        let priority = priority.map(|letter| letter.to_ascii_uppercase());
        let is_known = |letter: u8| match self.settings.priorities() {
            Some([highest, lowest, _]) => (highest..=lowest).contains(&letter),
            None => true,
        };
        if priority.is_some_and(|letter| !letter.is_ascii_graphic() || !is_known(letter)) {
            return Err(EditError::Unreadable);
        }
        let behind_todo = said.title.todo.map(|todo| said.span(todo.keyword, 0, 0).end);
        let (span, text) = match (said.cookie(), priority) {
            (Some(span), Some(letter)) => (span, vec![b'[', b'#', letter, b']']),
            (Some(span), None) => (said.with_blank(span), Vec::new()),
            (None, Some(letter)) => match behind_todo {
                Some(behind) => (empty(behind), vec![b' ', b'[', b'#', letter, b']']),
                None => (empty(said.front()), vec![b'[', b'#', letter, b']', b' ']),
            },
            (None, None) => (empty(said.front()), Vec::new()),
        };
        Ok(Edit::replace(self.whole, span, text))
    }

    /// Sets the title of a headline; keyword, priority and tags stay.
    ///
    /// # Errors
    ///
    /// The node is no headline, or the title would be read as something else, such as a keyword or tags.
    pub fn set_title(&self, headline: NodeId, text: &[u8]) -> Result<Edit<'t>, EditError> {
        let said = self.said(headline)?;
        let mut span = said.span(said.title.title, 0, 0);
        let mut new = text.to_vec();
        if said.title.tag_group.is_empty() && text != said.title.title {
            // Blanks at the end of the line go, as they do for Org.
            span.end = said.start + said.line.len();
        }
        if said.title.title.is_empty() {
            // Behind all that stands before a title, with a blank before it and one before tags.
            let commented = if said.title.commented { &b" "[..] } else { b"" };
            let tags = (!said.title.tag_group.is_empty())
                .then(|| said.span(said.title.tag_group, 1, 1).start);
            span = empty(tags.unwrap_or(said.start + said.line.len()));
            let blank = if tags.is_some() { &b" "[..] } else { b"" };
            new = [commented, text, blank].concat();
        }
        self.checked(&said, Edit::replace(self.whole, span, new), |after| {
            after.title == text && after.tag_group == said.title.tag_group
        })
    }

    /// Sets the tags of a headline itself; none takes them away.
    ///
    /// # Errors
    ///
    /// The node is no headline, or one of the tags has characters that tags cannot have.
    pub fn set_tags(&self, headline: NodeId, tags: &[&[u8]]) -> Result<Edit<'t>, EditError> {
        let said = self.said(headline)?;
        if said.title.tags == tags {
            return Ok(Edit::new(self.whole, Vec::new()));
        }
        let group = if tags.is_empty() {
            Vec::new()
        } else {
            [b" :", &tags.join(&b':')[..], b":"].concat()
        };
        let old = (!said.title.tag_group.is_empty()).then(|| said.span(said.title.tag_group, 1, 1));
        let front = old.map_or(said.line.len(), |span| span.start - said.start);
        let front = drop_blanks(&said.line[..front]).len();
        // Where nothing but stars is left, a blank keeps them a headline.
        let blank: &[u8] = if front <= said.stars { b" " } else { b"" };
        let (start, end) = (said.start + front, said.start + said.line.len());
        let (span, text) = (Span { start, end }, [blank, &group].concat());
        self.checked(&said, Edit::replace(self.whole, span, text), |after| {
            after.tags == tags && after.title == said.title.title
        })
    }

    /// Marks a headline as archived where it stands, with the tag that Org has for it.
    ///
    /// # Errors
    ///
    /// The node is no headline.
    pub fn archive(&self, headline: NodeId) -> Result<Edit<'t>, EditError> {
        let mut tags = self.said(headline)?.title.tags;
        if !tags.contains(&ARCHIVE) {
            tags.push(ARCHIVE);
        }
        self.set_tags(headline, &tags)
    }

    fn said(&self, headline: NodeId) -> Result<Said<'t>, EditError> {
        let node = self.node(headline).filter(|node| node.kind == Type::Headline);
        let start = node.ok_or(EditError::OtherType)?.span().start;
        let line = self.lines.content(self.lines.at(start));
        let stars = heading_level(line).ok_or(EditError::OtherType)?;
        Ok(Said { line, start, stars, title: title(&line[stars..], &self.settings.words) })
    }

    /// The change, if the changed line says what is wanted, and says the same of state and priority.
    fn checked(
        &self,
        said: &Said<'t>,
        edit: Edit<'t>,
        wanted: impl Fn(&Title<'_>) -> bool,
    ) -> Result<Edit<'t>, EditError> {
        let whole = Span { start: said.start, end: said.start + said.line.len() };
        let changed = edit.changed(whole, edit.splices());
        let one_line = !changed.contains(&b'\n') && heading_level(&changed) == Some(said.stars);
        let after = one_line.then(|| title(&changed[said.stars..], &self.settings.words));
        let keeps = |after: &Title<'_>| {
            after.todo.map(|todo| todo.keyword) == said.title.todo.map(|todo| todo.keyword)
                && after.priority == said.title.priority
                && after.commented == said.title.commented
        };
        let good = after.is_some_and(|after| wanted(&after) && keeps(&after));
        if good { Ok(edit) } else { Err(EditError::Unreadable) }
    }
}

fn empty(at: usize) -> Span {
    Span { start: at, end: at }
}
