//! Archiving a subtree into another file: it is cut here, and comes there with notes on where it was, as Org does it.

use super::subtree::at_level;
use super::{Edit, EditError, newline};
use crate::heading::{Title, title};
use crate::kind::Type;
use crate::line::heading_level;
use crate::text::{Span, trim};
use crate::tree::{Node, NodeId, Tree};

/// Place and time from which a subtree is archived.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'o> {
    /// The name of the file that it is in.
    pub file: &'o [u8],
    /// The time, such as `2026-11-15 Sun 10:00`.
    pub time: &'o [u8],
}

/// An archived subtree.
#[derive(Clone, Debug)]
pub struct Archived<'t> {
    /// The text that it was in, without it.
    pub cut: Edit<'t>,
    /// The subtree as it is archived.
    pub subtree: Vec<u8>,
}

impl Archived<'_> {
    /// Puts the subtree at the end of the text of an archive, with an empty line before it.
    #[must_use]
    pub fn append_to<'a>(&self, archive: &'a [u8]) -> Edit<'a> {
        if archive.is_empty() {
            return Edit::insert(archive, 0, &self.subtree);
        }
        let apart = if archive.ends_with(b"\n") { newline(archive) } else { b"" };
        Edit::insert(archive, archive.len(), &[apart, &self.subtree].concat())
    }
}

impl<'t> Tree<'t> {
    /// Takes a subtree away, to be put into an archive: there it is on the first level, and its properties say when it was
    /// archived, and from which file, headline, category and state, with which inherited tags.
    ///
    /// # Errors
    ///
    /// The node is no headline, or the names of the origin cannot be in a property.
    pub fn archive_subtree(
        &self,
        headline: NodeId,
        origin: &Origin<'_>,
    ) -> Result<Archived<'t>, EditError> {
        let mut splices = self.cut_subtree(headline)?.splices().to_vec();
        self.count_without(headline, &mut splices);
        let cut = Edit::new(self.whole, splices);
        let own = self.title_of(headline)?;
        let above = self.headlines_above(headline);
        let mut subtree = at_level(self.subtree(headline)?.of(self.whole), 1);
        if !subtree.ends_with(b"\n") {
            subtree.extend_from_slice(newline(self.whole));
        }
        let path: Vec<Vec<u8>> = above.iter().map(|id| self.plain_title(*id)).collect();
        let notes: [(&[u8], Vec<u8>); 6] = [
            (b"ARCHIVE_TIME", origin.time.to_vec()),
            (b"ARCHIVE_FILE", origin.file.to_vec()),
            (b"ARCHIVE_OLPATH", path.join(&b'/')),
            (b"ARCHIVE_CATEGORY", self.category_of(headline, &above, origin)),
            (b"ARCHIVE_TODO", own.todo.map_or(&b""[..], |todo| todo.keyword).to_vec()),
            (b"ARCHIVE_ITAGS", self.inherited_tags(&own, &above).join(&b' ')),
        ];
        for (key, value) in notes.iter().filter(|(_, value)| !trim(value).is_empty()) {
            let tree = Tree::read(&subtree);
            let first =
                tree.ids().find(|id| tree.node(*id).map(|node| node.kind) == Some(Type::Headline));
            let edit =
                tree.set_property(first.ok_or(EditError::OtherType)?, key, Some(trim(value)))?;
            subtree = edit.apply();
        }
        Ok(Archived { cut, subtree })
    }

    /// The headlines that another is below, the outermost first.
    fn headlines_above(&self, headline: NodeId) -> Vec<NodeId> {
        let mut above: Vec<NodeId> =
            std::iter::successors(self.headline_above(headline), |id| self.headline_above(*id))
                .collect();
        above.reverse();
        above
    }

    fn title_of(&self, headline: NodeId) -> Result<Title<'t>, EditError> {
        let line = self.lines.content(self.headline_line(headline)?);
        let stars = heading_level(line).ok_or(EditError::OtherType)?;
        Ok(title(&line[stars..], &self.settings.words))
    }

    /// The title without cookies, and with links as they are shown.
    fn plain_title(&self, headline: NodeId) -> Vec<u8> {
        let Some(node) = self.node(headline) else { return Vec::new() };
        let Span { start, end } = crate::object::title_span(self, node);
        let objects = self.objects(headline);
        let (mut text, mut at) = (Vec::new(), start);
        for object in objects.nodes() {
            let Span { start: first, end: behind } = self.unblanked(object);
            let shown = match object.kind {
                // One that counts nothing yet stays, as it does for Org.
                Type::StatisticsCookie if is_counted(object.span().of(self.whole)) => &b""[..],
                Type::Link => match object.contents() {
                    Some(contents) => contents.of(self.whole),
                    None => continue,
                },
                _ => continue,
            };
            if first >= at {
                text.extend_from_slice(&self.whole[at..first]);
                text.extend_from_slice(shown);
                at = behind;
            }
        }
        text.extend_from_slice(self.whole.get(at..end).unwrap_or_default());
        trim(&text).to_vec()
    }

    /// An object without the blanks behind it.
    fn unblanked(&self, object: &Node) -> Span {
        let span = object.span();
        let text = crate::text::drop_blanks(span.of(self.whole));
        Span { start: span.start, end: span.start + text.len() }
    }

    fn category_of(&self, headline: NodeId, above: &[NodeId], origin: &Origin<'_>) -> Vec<u8> {
        let chain = std::iter::once(&headline).chain(above.iter().rev());
        let mut set = chain.filter_map(|id| self.own_property(id.0, b"CATEGORY"));
        let set = set.next().or_else(|| self.settings.category());
        let name = origin.file.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let stem =
            memchr::memrchr(b'.', name).filter(|dot| *dot > 0).map_or(name, |dot| &name[..dot]);
        set.unwrap_or(stem).to_vec()
    }

    /// The tags of the file and of the headlines above, each once, without those that the headline has itself.
    fn inherited_tags(&self, own: &Title<'t>, above: &[NodeId]) -> Vec<&'t [u8]> {
        let mut tags: Vec<&'t [u8]> = self.settings.file_tags().collect();
        for id in above {
            tags.extend(self.title_of(*id).map(|title| title.tags).unwrap_or_default());
        }
        let mut kept: Vec<&'t [u8]> = Vec::new();
        for tag in tags.into_iter().rev() {
            if !kept.contains(&tag) && !own.tags.contains(&tag) {
                kept.push(tag);
            }
        }
        kept.reverse();
        kept
    }
}

/// Whether a cookie has numbers on all its sides.
fn is_counted(cookie: &[u8]) -> bool {
    let inner = cookie.trim_ascii();
    let inner = inner.strip_prefix(b"[").and_then(|inner| inner.strip_suffix(b"]"));
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    inner.is_some_and(|inner| match inner.strip_suffix(b"%") {
        Some(number) => is_number(number),
        None => inner.split(|byte| *byte == b'/').all(is_number),
    })
}
