//! From the tree to a document: headings with what is right below them, source blocks, and what each line is.

use super::{Document, Element, Kind, Opaque};
use crate::heading::{Heading, HeadingId, title};
use crate::keyword::{self, Keyword};
use crate::kind::Type;
use crate::line::{self, heading_level};
use crate::property::{Property, pair, planning};
use crate::settings;
use crate::source::{SourceBlock, SourceId, header};
use crate::text::Span;
use crate::tree::{Node, Tree};

pub(super) fn gather(tree: Tree<'_>) -> Document<'_> {
    let mut gathering = Gathering {
        kinds: vec![Kind::Text; tree.lines.count()],
        begins: vec![false; tree.lines.count()],
        headings: headings(&tree),
        sources: Vec::new(),
        properties: Vec::new(),
        tree: &tree,
    };
    gathering.run();
    let Gathering { kinds, begins, headings, sources, properties, .. } = gathering;
    let elements = elements(&tree, &kinds, &begins);
    let keywords = settings::keywords(&tree).collect();
    Document {
        source: tree.whole,
        elements,
        headings,
        sources,
        keywords,
        properties,
        lines: tree.lines,
    }
}

struct Gathering<'g, 't> {
    tree: &'g Tree<'t>,
    kinds: Vec<Kind>,
    /// Whether an element of several lines begins here.
    begins: Vec<bool>,
    headings: Vec<Heading<'t>>,
    sources: Vec<SourceBlock<'t>>,
    properties: Vec<Property<'t>>,
}

impl<'t> Gathering<'_, 't> {
    fn run(&mut self) {
        let mut heading: Option<HeadingId> = None;
        for node in &self.tree.nodes {
            let first = self.tree.lines.at(node.after_affiliated());
            match node.kind {
                Type::Headline => {
                    let id = HeadingId(heading.map_or(0, |HeadingId(last)| last + 1));
                    heading = Some(id);
                    self.kinds[first] = Kind::Heading(id);
                }
                Type::Planning => {
                    self.kinds[first] = Kind::Planning;
                    if let Some(HeadingId(id)) = heading {
                        self.headings[id].planning = Some(planning(&self.tree.lines, first));
                    }
                }
                Type::PropertyDrawer => self.drawer(node, first, heading),
                Type::Keyword => self.kinds[first] = Kind::Keyword,
                Type::SrcBlock => self.source(node, heading),
                Type::ExampleBlock => self.fill(node, Kind::Opaque(Opaque::Example)),
                Type::ExportBlock => self.fill(node, Kind::Opaque(Opaque::Export)),
                Type::CommentBlock => self.fill(node, Kind::Opaque(Opaque::Comment)),
                Type::VerseBlock => self.fill(node, Kind::Opaque(Opaque::Verse)),
                Type::LatexEnvironment => self.fill(node, Kind::Opaque(Opaque::Environment)),
                Type::CenterBlock
                | Type::QuoteBlock
                | Type::SpecialBlock
                | Type::DynamicBlock
                | Type::Drawer => {
                    let last = self.last_line(node);
                    self.kinds[first] = Kind::Begin;
                    self.kinds[last] = Kind::End;
                }
                _ => {}
            }
        }
    }

    /// The last line of a node that is not blank.
    fn last_line(&self, node: &Node) -> usize {
        let Span { start, end } = node.span();
        let first = self.tree.lines.at(start);
        let end = if end >= self.tree.lines.source().len() {
            self.tree.lines.count()
        } else {
            self.tree.lines.at(end)
        };
        self.tree.lines.unblanked(first + 1, end).saturating_sub(1)
    }

    fn fill(&mut self, node: &Node, kind: Kind) {
        let first = self.tree.lines.at(node.span().start);
        let last = self.last_line(node);
        self.begins[first] = true;
        self.kinds[first..=last].fill(kind);
    }

    fn drawer(&mut self, node: &Node, first: usize, heading: Option<HeadingId>) {
        self.fill(node, Kind::Properties);
        let last = self.last_line(node);
        let properties = (first + 1..last).filter_map(|index| {
            let (key, value) = pair(self.tree.lines.content(index))?;
            Some(Property { key, value, line: index + 1 })
        });
        let properties = properties.collect();
        match heading {
            Some(HeadingId(id)) => self.headings[id].properties = properties,
            None => self.properties = properties,
        }
    }

    fn source(&mut self, node: &Node, heading: Option<HeadingId>) {
        let id = SourceId(self.sources.len());
        self.fill(node, Kind::Source(id));
        self.sources.push(source_block(self.tree, node, self.last_line(node), heading));
    }
}

fn source_block<'t>(
    tree: &Tree<'t>,
    node: &Node,
    last: usize,
    heading: Option<HeadingId>,
) -> SourceBlock<'t> {
    let lines = &tree.lines;
    let (first, at) = (lines.at(node.span().start), lines.at(node.after_affiliated()));
    let affiliated = (first..at).filter_map(|index| {
        let (key, value) = keyword::affiliated(line::after_mark(lines.content(index))?)?;
        Some(Keyword { key, value, line: index + 1, span: lines.span(index, index + 1) })
    });
    let marked = line::after_mark(lines.content(at)).unwrap_or_default();
    let header = header(marked.get(b"begin_src".len()..).unwrap_or_default());
    SourceBlock {
        language: header.language,
        switches: header.switches,
        parameters: header.parameters,
        affiliated: affiliated.collect(),
        heading,
        span: lines.span(first, last + 1),
        line: at + 1,
        body_span: lines.span(at + 1, last),
        source: lines.source(),
    }
}

/// The headings with their titles, places, parents and children.
fn headings<'t>(tree: &Tree<'t>) -> Vec<Heading<'t>> {
    let lines = &tree.lines;
    let mut headings: Vec<Heading<'t>> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let end = lines.start(lines.count());
    for node in tree.nodes.iter().filter(|node| node.kind == Type::Headline) {
        let index = lines.at(node.span().start);
        let line = lines.content(index);
        let level = heading_level(line).unwrap_or(1);
        let span = lines.span(index, index + 1);
        if let Some(before) = headings.last_mut() {
            before.section.end = span.start;
        }
        while let Some(last) = open.pop_if(|last| headings[*last].level >= level) {
            headings[last].subtree.end = span.start;
        }
        let parent = open.last().map(|parent| HeadingId(*parent));
        let id = HeadingId(headings.len());
        if let Some(HeadingId(parent)) = parent {
            headings[parent].children.push(id);
        }
        let said = title(&line[level..], &tree.settings.words);
        headings.push(Heading {
            level,
            todo: said.todo,
            priority: said.priority,
            commented: said.commented,
            title: said.title,
            tags: said.tags,
            planning: None,
            properties: Vec::new(),
            line: index + 1,
            span,
            section: Span { start: span.start, end },
            subtree: Span { start: span.start, end },
            parent,
            children: Vec::new(),
        });
        open.push(id.0);
    }
    headings
}

/// Lines of the same kind put together, where they are one element.
fn elements(tree: &Tree<'_>, kinds: &[Kind], begins: &[bool]) -> Vec<Element> {
    let mut elements: Vec<Element> = Vec::new();
    let mut heading = None;
    for (index, kind) in kinds.iter().copied().enumerate() {
        let span = tree.lines.span(index, index + 1);
        if let Kind::Heading(id) = kind {
            heading = Some(id);
        }
        let element = Element { kind, span, line: index + 1, heading };
        match elements.last_mut().filter(|last| !begins[index] && last.takes(&element)) {
            Some(last) => last.span.end = span.end,
            None => elements.push(element),
        }
    }
    elements
}

impl Element {
    /// Whether `next` continues this element.
    fn takes(&self, next: &Self) -> bool {
        let whole =
            matches!(self.kind, Kind::Text | Kind::Properties | Kind::Source(_) | Kind::Opaque(_));
        whole && self.kind == next.kind && self.heading == next.heading
    }
}
