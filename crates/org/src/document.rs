//! An Org text for those who need no tree: its headings, source blocks and keywords, and what its lines are.
//! A view of the tree; nothing is decided here.

mod gather;

use std::borrow::Cow;

use crate::edit::Edit;
use crate::heading::{Heading, HeadingId};
use crate::keyword::Keyword;
use crate::lines::Lines;
use crate::property::{Property, join, lookup, set_by_keywords};
use crate::settings::Preset;
use crate::source::{SourceBlock, SourceId};
use crate::text::Span;
use crate::tree::Tree;

/// A piece of the text. The elements of a document follow one another without gap or overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Kind of the element.
    pub kind: Kind,
    /// Its bytes: whole lines.
    pub span: Span,
    /// Its first line, from 1.
    pub line: usize,
    /// The heading whose section it is in; of a heading, itself.
    pub heading: Option<HeadingId>,
}

/// Kind of an element. More kinds will come out of [`Kind::Text`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The line of a heading.
    Heading(HeadingId),
    /// The planning line of a heading.
    Planning,
    /// The drawer of properties of a heading, or of the file.
    Properties,
    /// A line `#+KEY: value` that belongs to no element below it.
    Keyword,
    /// A source block.
    Source(SourceId),
    /// A block that hides what is in it.
    Opaque(Opaque),
    /// The first line of a block or drawer whose contents are elements.
    Begin,
    /// The last line of one.
    End,
    /// Anything else: paragraphs, lists, tables, comments, empty lines.
    Text,
}

/// Block that hides its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Opaque {
    /// `#+begin_comment`.
    Comment,
    /// `#+begin_example`.
    Example,
    /// `#+begin_export`.
    Export,
    /// `#+begin_verse`.
    Verse,
    /// `\begin{name}`.
    Environment,
}

/// An Org text that has been read.
#[derive(Clone, Debug)]
pub struct Document<'t> {
    pub(crate) source: &'t [u8],
    pub(crate) lines: Lines<'t>,
    pub(crate) elements: Vec<Element>,
    pub(crate) headings: Vec<Heading<'t>>,
    pub(crate) sources: Vec<SourceBlock<'t>>,
    pub(crate) keywords: Vec<Keyword<'t>>,
    pub(crate) properties: Vec<Property<'t>>,
}

impl<'t> Document<'t> {
    /// Reads a text. Every text is an Org text; time and memory are linear in its length.
    #[must_use]
    pub fn read(source: &'t [u8]) -> Self {
        gather::gather(Tree::read(source))
    }

    /// Reads a text for which these settings hold where it has none of its own.
    #[must_use]
    pub fn read_with_preset(source: &'t [u8], preset: &Preset<'t>) -> Self {
        gather::gather(Tree::read_with_preset(source, preset))
    }

    /// Makes the view from a tree that was read already, with its settings.
    #[must_use]
    pub fn of_tree(tree: &Tree<'t>) -> Self {
        gather::gather(tree.clone())
    }

    /// The bytes that were read.
    #[must_use]
    pub fn source(&self) -> &'t [u8] {
        self.source
    }

    /// The elements in order; their spans put together are the source.
    #[must_use]
    pub fn elements(&self) -> &[Element] {
        &self.elements
    }

    /// The headings in order.
    #[must_use]
    pub fn headings(&self) -> &[Heading<'t>] {
        &self.headings
    }

    /// The heading of that number.
    #[must_use]
    pub fn heading(&self, id: HeadingId) -> Option<&Heading<'t>> {
        self.headings.get(id.0)
    }

    /// The source blocks in order, wherever they are.
    #[must_use]
    pub fn sources(&self) -> &[SourceBlock<'t>] {
        &self.sources
    }

    /// The source block of that number.
    #[must_use]
    pub fn source_block(&self, id: SourceId) -> Option<&SourceBlock<'t>> {
        self.sources.get(id.0)
    }

    /// The keywords that belong to no element below them, in order.
    #[must_use]
    pub fn keywords(&self) -> &[Keyword<'t>] {
        &self.keywords
    }

    /// The values of the keyword `key`, in whatever case.
    pub fn keyword(&self, key: &str) -> impl Iterator<Item = &'t [u8]> {
        self.keywords.iter().filter(move |keyword| keyword.is(key)).map(|keyword| keyword.value)
    }

    /// The values of `#+TITLE:`, a blank between them.
    #[must_use]
    pub fn title(&self) -> Option<Cow<'t, [u8]>> {
        join(self.keyword("TITLE"))
    }

    /// The tags of `#+FILETAGS:`, which every heading inherits.
    pub fn file_tags(&self) -> impl Iterator<Item = &'t [u8]> {
        let separates = |byte: &u8| matches!(byte, b':' | b' ' | b'\t');
        self.keyword("FILETAGS")
            .flat_map(move |value| value.split(separates))
            .filter(|t| !t.is_empty())
    }

    /// The value of a property of the file: of the drawer at its top, or of `#+PROPERTY:` lines, the last
    /// of which counts; `#+PROPERTY: NAME+ more` adds to what stands before it.
    #[must_use]
    pub fn file_property(&self, name: &str) -> Option<Cow<'t, [u8]>> {
        let in_drawer = lookup(&self.properties, name);
        in_drawer.or_else(|| set_by_keywords(self.keyword("PROPERTY"), name.as_bytes()))
    }

    /// The lines of the drawer at the top of the file.
    #[must_use]
    pub fn properties(&self) -> &[Property<'t>] {
        &self.properties
    }

    /// The line, from 1, of the byte at `offset`.
    #[must_use]
    pub fn line_at(&self, offset: usize) -> usize {
        self.lines.at(offset) + 1
    }

    /// Inserts `text` behind the line that `span` ends in. `None` when the span is not in this text.
    #[must_use]
    pub fn insert_after(&self, span: Span, text: &[u8]) -> Option<Edit<'t>> {
        (span.start <= span.end && span.end <= self.source.len())
            .then(|| Edit::insert(self.source, span.end, text))
    }

    /// Inserts `text` at the end of the subtree of `heading`. `None` when there is no such heading here.
    /// Whether the text belongs into that subtree, by the stars of its headings, is up to the caller.
    #[must_use]
    pub fn append_subtree(&self, heading: HeadingId, text: &[u8]) -> Option<Edit<'t>> {
        self.insert_after(self.heading(heading)?.subtree, text)
    }
}
