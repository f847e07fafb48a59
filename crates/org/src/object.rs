//! Objects: what is inside paragraphs, titles, tags of items and cells, by the rules of Org 9.5.5. Read on demand, one
//! container at a time, with a stack on the heap. Where an object may fail because something that closes it is
//! missing, the search is remembered, so that a container is read in time linear in its length. Called by `Tree`.

mod cursor;
mod emphasis;
mod entities;
mod inline;
mod latex;
mod lex;
mod link;
mod note;
mod pairs;
mod radio;
mod stamp;

use crate::heading;
use crate::item;
use crate::kind::Type;
use crate::line::heading_level;
use crate::lines::{narrow, widen};
use crate::text::{Span, find_pair, is_blank, offset_in};
use crate::tree::{Node, Tree};
use cursor::Cursors;
use pairs::Pairs;

pub(crate) use link::type_at as link_type;
pub(crate) use note::key_of as citation_key;
pub(crate) use radio::Radio;
pub(crate) use stamp::{is_date, stamp_at};

/// A caption: the text behind the colon, and the one in brackets before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caption {
    /// `#+caption: this`.
    pub long: Span,
    /// `#+caption[this]: `.
    pub short: Option<Span>,
}

/// Objects of one container in the order of the text, each before those inside it.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    nodes: Vec<Node>,
}

impl Objects {
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
    }

    /// The objects in order.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Counts the objects inside the one of that number, those further in included.
    #[must_use]
    pub fn inside(&self, index: usize) -> usize {
        self.nodes.get(index).map_or(0, |node| widen(node.next).saturating_sub(index + 1))
    }
}

/// Room for reading objects, to be used again for the next container.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    frames: Vec<Frame>,
    cursors: Cursors,
    braces: Pairs,
    parentheses: Pairs,
    brackets: Pairs,
}

/// Set of the objects that may be in a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Set(u32);

impl Set {
    const fn of(kinds: &[Type]) -> Self {
        let (mut bits, mut index) = (0, 0);
        while index < kinds.len() {
            bits |= 1 << (kinds[index] as u8 - Type::Bold as u8);
            index += 1;
        }
        Self(bits)
    }

    const fn with(self, kinds: &[Type]) -> Self {
        Self(self.0 | Self::of(kinds).0)
    }

    const fn without(self, kinds: &[Type]) -> Self {
        Self(self.0 & !Self::of(kinds).0)
    }

    fn has(self, kind: Type) -> bool {
        self.0 & Self::of(&[kind]).0 != 0
    }
}

const MINIMAL: Set = Set::of(&[
    Type::Bold,
    Type::Code,
    Type::Entity,
    Type::Italic,
    Type::LatexFragment,
    Type::StrikeThrough,
    Type::Subscript,
    Type::Superscript,
    Type::Underline,
    Type::Verbatim,
]);
const STANDARD: Set = Set(u32::MAX).without(&[Type::CitationReference, Type::TableCell]);
const ONE_LINE: Set = STANDARD.without(&[Type::LineBreak]);
const IN_KEYWORD: Set = STANDARD.without(&[Type::FootnoteReference]);
const IN_LINK: Set = MINIMAL.with(&[
    Type::ExportSnippet,
    Type::InlineBabelCall,
    Type::InlineSrcBlock,
    Type::Macro,
    Type::StatisticsCookie,
]);
const IN_CELL: Set = MINIMAL.with(&[
    Type::Citation,
    Type::ExportSnippet,
    Type::FootnoteReference,
    Type::Link,
    Type::Macro,
    Type::RadioTarget,
    Type::Target,
    Type::Timestamp,
]);

fn set_inside(kind: Type) -> Set {
    match kind {
        Type::Link => IN_LINK,
        Type::RadioTarget => MINIMAL,
        Type::Citation => Set::of(&[Type::CitationReference]),
        _ => STANDARD,
    }
}

/// A container of objects that is being read: nothing outside of it is seen.
#[derive(Clone, Copy, Debug)]
struct Frame {
    start: usize,
    end: usize,
    set: Set,
    /// The object that it is the inside of.
    node: Option<usize>,
    /// Place behind the object at which the container outside goes on.
    resume: usize,
}

/// An object that was found.
struct Found {
    kind: Type,
    begin: usize,
    /// Behind the blanks that follow it.
    end: usize,
    contents: Option<(usize, usize)>,
}

struct Reader<'r> {
    /// All of the text up to the end of the container: offsets are those of the text.
    text: &'r [u8],
    /// Beginning of the container.
    start: usize,
    radio: Option<&'r Radio>,
    scratch: &'r mut Scratch,
}

/// Returns the span of the title of a headline.
pub(crate) fn title_span(tree: &Tree<'_>, node: &Node) -> Span {
    let line = line_from(tree, node.span().start);
    let level = heading_level(line).unwrap_or(0);
    let title = heading::title_text(&line[level..], &tree.settings.words);
    let start = node.span().start + offset_in(line, title);
    Span { start, end: start + title.len() }
}

/// Returns the span of the tag of an item.
pub(crate) fn tag_span(tree: &Tree<'_>, node: &Node) -> Option<Span> {
    let start = node.span().start;
    let line = line_from(tree, start);
    // Few items have one: looking for the colons is cheaper than reading the line.
    find_pair(line, b':', b':')?;
    let tag = item::read(line).tag?;
    Some(Span { start: start + tag.start, end: start + tag.end })
}

/// The line that begins at `start`, without its end.
fn line_from<'t>(tree: &Tree<'t>, start: usize) -> &'t [u8] {
    let rest = tree.lines.source().get(start..).unwrap_or_default();
    let Some(newline) = memchr::memchr(b'\n', rest) else { return rest };
    rest[..newline].strip_suffix(b"\r").unwrap_or(&rest[..newline])
}

/// Reads the objects right inside an element.
pub(crate) fn read(tree: &Tree<'_>, node: &Node, scratch: &mut Scratch, objects: &mut Objects) {
    let (span, set) = match node.kind {
        Type::Paragraph | Type::VerseBlock => (node.contents(), STANDARD),
        Type::TableRow => (node.contents(), IN_CELL),
        Type::Headline => (Some(title_span(tree, node)), ONE_LINE),
        Type::Item => (tag_span(tree, node), ONE_LINE),
        _ => return,
    };
    // Most titles and cells, and many paragraphs, have nothing in them.
    let Some(span) = span.filter(|span| may_hold(tree, *span, node.kind)) else { return };
    let text = &tree.lines.source()[..span.end];
    let radio = tree.settings.radio.as_ref();
    let mut reader = Reader { text, start: span.start, radio, scratch };
    if node.kind == Type::TableRow {
        reader.cells(span, &mut objects.nodes);
    } else {
        reader.run(span.start, span.end, set, &mut objects.nodes);
    }
}

/// Reads the objects of the captions above an element.
pub(crate) fn read_captions(
    tree: &Tree<'_>,
    captions: &[Caption],
    scratch: &mut Scratch,
    objects: &mut Objects,
) {
    let spans = captions.iter().flat_map(|caption| caption.short.into_iter().chain([caption.long]));
    for span in spans.filter(|span| may_hold(tree, *span, Type::Keyword)) {
        let text = &tree.lines.source()[..span.end];
        let radio = tree.settings.radio.as_ref();
        let mut reader = Reader { text, start: span.start, radio, scratch: &mut *scratch };
        reader.run(span.start, span.end, IN_KEYWORD, &mut objects.nodes);
    }
}

/// Whether anything in the span could be an object. Rows have cells in any case.
fn may_hold(tree: &Tree<'_>, span: Span, kind: Type) -> bool {
    kind == Type::TableRow
        || tree.settings.radio.is_some()
        || lex::may_begin(span.of(tree.lines.source()))
}

impl Reader<'_> {
    fn run(&mut self, start: usize, end: usize, set: Set, nodes: &mut Vec<Node>) {
        let mut frames = std::mem::take(&mut self.scratch.frames);
        frames.clear();
        self.scratch.cursors.forget();
        self.scratch.braces.forget();
        self.scratch.parentheses.forget();
        self.scratch.brackets.forget();
        frames.push(Frame { start, end, set, node: None, resume: end });
        let mut at = start;
        while let Some(frame) = frames.last_mut() {
            let Some(found) = self.next(at, frame) else {
                at = frame.resume;
                if let Some(node) = frame.node {
                    nodes[node].next = narrow(nodes.len());
                }
                frames.pop();
                continue;
            };
            let index = nodes.len();
            let mut node = Node::new(found.kind, found.begin, found.end);
            node.next = narrow(index + 1);
            at = found.end;
            if let Some((start, end)) = found.contents {
                node = node.with_contents(start, end);
                let (set, resume) = (set_inside(found.kind), found.end);
                frames.push(Frame { start, end, set, node: Some(index), resume });
                at = start;
            }
            if matches!(found.kind, Type::Citation | Type::CitationReference) {
                at = self.around(&found, index, &mut frames);
            }
            nodes.push(node);
        }
        self.scratch.frames = frames;
    }

    /// Reads the text around the keys of a citation, or around the key of a reference, in order. Returns the place
    /// at which to go on.
    fn around(&mut self, found: &Found, index: usize, frames: &mut Vec<Frame>) -> usize {
        let [before, behind] = match found.kind {
            Type::Citation => self.around_keys(found),
            _ => self.around_key(found),
        };
        let frame =
            |(start, end), resume| Frame { start, end, set: MINIMAL, node: Some(index), resume };
        let keys = if found.kind == Type::Citation { frames.pop() } else { None };
        frames.push(frame(behind, found.end));
        let mut next = behind.0;
        if let Some(keys) = keys {
            next = keys.start;
            frames.push(Frame { resume: behind.0, ..keys });
        }
        frames.push(frame(before, next));
        before.0
    }

    /// Reads the cells of a row: they end at `|`, whatever is around it.
    fn cells(&mut self, row: Span, nodes: &mut Vec<Node>) {
        let whole = self.text;
        let mut at = row.start;
        // Growing by doubling would leave up to half of it empty, and a row may be all of a text.
        nodes.reserve(memchr::memchr_iter(b'|', row.of(whole)).count() + 1);
        while at < row.end {
            let index = nodes.len();
            let (close, end) = cell_end(whole, at, row.end);
            let contents = without_blanks(whole, Span { start: at, end: close });
            let cell = Node::new(Type::TableCell, at, end);
            nodes.push(cell.with_contents(contents.start, contents.end));
            let text = contents.of(whole);
            if !text.is_empty() && (self.radio.is_some() || lex::may_begin(text)) {
                self.text = &whole[..contents.end];
                self.start = contents.start;
                self.run(contents.start, contents.end, IN_CELL, nodes);
            }
            nodes[index].next = narrow(nodes.len());
            at = end;
        }
    }
}

/// Returns the end of the text of the cell that begins at `at`, and the end of the cell.
fn cell_end(whole: &[u8], at: usize, row_end: usize) -> (usize, usize) {
    // Empty cells follow one another in rows that are made to be slow on, and a search has a price.
    if whole[at] == b'|' {
        return (at, at + 1);
    }
    let bar = memchr::memchr(b'|', &whole[at..row_end]).map(|bar| at + bar);
    bar.map_or((row_end, row_end), |bar| (bar, bar + 1))
}

/// The span without the blanks at both ends; of one that is blank, its end.
fn without_blanks(whole: &[u8], span: Span) -> Span {
    let bytes = span.of(whole);
    let blanks = bytes.iter().take_while(|byte| is_blank(**byte)).count();
    let tail = bytes[blanks..].iter().rev().take_while(|byte| is_blank(**byte)).count();
    Span { start: span.start + blanks, end: span.end - tail }
}
