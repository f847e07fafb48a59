//! The walk through a section: which lines begin a block, which keywords belong to it, what is text.
//! Containers are a stack on the heap, items of lists another; nothing recurses.

use super::closers::{Closers, Closes};
use crate::document::{Element, Kind, Opaque};
use crate::heading::HeadingId;
use crate::keyword::{self, Keyword};
use crate::line;
use crate::source::{Header, SourceBlock, SourceId, header};
use crate::text::{Lines, Span};

/// What the walks have found.
pub(super) struct Found<'t> {
    pub(super) elements: Vec<Element>,
    pub(super) sources: Vec<SourceBlock<'t>>,
    pub(super) keywords: Vec<Keyword<'t>>,
}

pub(super) struct Walker<'l, 't> {
    lines: &'l Lines<'t>,
    closers: Closers,
    found: Found<'t>,
    heading: Option<HeadingId>,
    /// Containers that are open, the section first.
    open: Vec<Container>,
    /// Indentations of the items that are open, in all containers together.
    items: Vec<usize>,
    /// Lines of affiliated keywords whose element has not begun; they end where the walk stands.
    waiting: usize,
    before: Before,
}

/// What stands right above the line that is read, as far as it changes what the line means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A paragraph is going on.
    Paragraph,
    /// A table, whose formulas may follow.
    Table,
    Other,
}

struct Container {
    /// The line that closes it, or the one behind it.
    limit: usize,
    last: LastLine,
    /// How many items are open outside of it.
    items: usize,
}

#[derive(PartialEq, Eq)]
enum LastLine {
    Closes,
    IsOutside,
}

impl<'l, 't> Walker<'l, 't> {
    pub(super) fn new(lines: &'l Lines<'t>) -> Self {
        let found = Found { elements: Vec::new(), sources: Vec::new(), keywords: Vec::new() };
        Self {
            lines,
            closers: Closers::new(lines),
            found,
            heading: None,
            open: Vec::new(),
            items: Vec::new(),
            waiting: 0,
            before: Before::Other,
        }
    }

    pub(super) fn finish(self) -> Found<'t> {
        self.found
    }

    /// The heading that what follows is under.
    pub(super) fn under(&mut self, heading: Option<HeadingId>) {
        self.heading = heading;
    }

    /// Adds an element of the lines from `first` to before `end`.
    pub(super) fn push(&mut self, kind: Kind, first: usize, end: usize) {
        let span = self.lines.span(first, end);
        let element = Element { kind, span, line: first + 1, heading: self.heading };
        match self.found.elements.last_mut().filter(|last| last.takes(&element)) {
            Some(last) => last.span.end = span.end,
            None => self.found.elements.push(element),
        }
    }

    /// Walks the lines from `first` to before `end`.
    pub(super) fn section(&mut self, heading: Option<HeadingId>, first: usize, end: usize) {
        self.heading = heading;
        self.before = Before::Other;
        self.items.clear();
        self.open.clear();
        self.enter(end, LastLine::IsOutside);
        let mut at = first;
        while let Some(container) = self.open.last() {
            if at < container.limit {
                at = self.step(at, container.limit);
                continue;
            }
            self.orphan(at);
            self.before = Before::Other;
            if let Some(container) = self.open.pop() {
                self.items.truncate(container.items);
                if container.last == LastLine::Closes {
                    self.push(Kind::End, at, at + 1);
                    at += 1;
                }
            }
        }
    }

    /// Reads what begins at line `at` and returns the line behind it.
    fn step(&mut self, at: usize, limit: usize) -> usize {
        let line = self.lines.content(at);
        if line::is_empty(line) {
            self.orphan(at);
            self.before = Before::Other;
            // Two empty lines end every list.
            if at + 1 < self.lines.count() && line::is_empty(self.lines.content(at + 1)) {
                let outside = self.outside();
                self.items.truncate(outside);
            }
            return self.text(at);
        }
        let is_item = line::is_item(line);
        self.indent(at, line::indentation(line), is_item);
        if is_item {
            self.before = paragraph_if(line::has_text_behind(line, b" \t"));
            return self.text(at);
        }
        if let Some(marked) = line::after_mark(line) {
            return self.marked(at, limit, marked);
        }
        if let Some(name) = line::environment_begin(line) {
            let closes = Closes::Environment(name.to_ascii_lowercase());
            if let Some(last) = self.closers.find(&closes, at, limit) {
                return self.opaque(at, last, Opaque::Environment);
            }
        } else if line::is_drawer(line) && !self.is_end_in_item(line) {
            if let Some(last) = self.closers.find(&Closes::Drawer, at + 1, limit) {
                return self.container(at, last);
            }
        } else if line::is_footnote(line) {
            return self.footnote(at, limit);
        }
        // Behind affiliated keywords even a comment or a clock is a paragraph.
        let unaffiliated = line::is_comment(line) || line::is_clock(line);
        let alone = line::stands_alone(line) || (unaffiliated && self.waiting == 0);
        self.before = if line::is_row(line) { Before::Table } else { paragraph_if(!alone) };
        self.text(at)
    }

    /// Reads a line that begins with `#+`.
    fn marked(&mut self, at: usize, limit: usize, marked: &'t [u8]) -> usize {
        if let Some(name) = line::block_begin(marked) {
            let closes = Closes::Block(name.to_ascii_lowercase());
            if let Some(last) = self.closers.find(&closes, at + 1, limit) {
                return self.block(at, last, name, marked);
            }
            self.before = Before::Paragraph;
            return self.text(at);
        }
        if marked.len() >= 5 && marked[..5].eq_ignore_ascii_case(b"call:") {
            self.before = Before::Other;
            return self.text(at);
        }
        let dynamic = line::dynamic_begin(marked);
        if dynamic
            .is_some_and(|mark| mark == line::Dynamic::Colon || self.before != Before::Paragraph)
        {
            if let Some(last) = self.closers.find(&Closes::Dynamic, at + 1, limit) {
                return self.container(at, last);
            }
            self.before = Before::Paragraph;
            return self.text(at);
        }
        let continues = match self.before {
            Before::Paragraph => keyword::continues_paragraph(marked),
            Before::Table => keyword::is_formula(marked),
            Before::Other => false,
        };
        if continues {
            return self.text(at);
        }
        if keyword::affiliated(marked).is_some() {
            self.before = Before::Other;
            self.waiting += 1;
            return at + 1;
        }
        let keyword = keyword::keyword(marked);
        self.before = paragraph_if(keyword.is_none());
        let Some((key, value)) = keyword else { return self.text(at) };
        self.settle(at);
        self.keyword(at, key, value);
        at + 1
    }

    fn block(&mut self, at: usize, last: usize, name: &[u8], marked: &'t [u8]) -> usize {
        let opaque = match name.to_ascii_lowercase().as_slice() {
            b"src" => return self.source(at, last, &header(&marked[b"begin_src".len()..])),
            b"comment" => Opaque::Comment,
            b"example" => Opaque::Example,
            b"export" => Opaque::Export,
            b"verse" => Opaque::Verse,
            _ => return self.container(at, last),
        };
        self.opaque(at, last, opaque)
    }

    fn source(&mut self, at: usize, last: usize, header: &Header<'t>) -> usize {
        let first = at - std::mem::take(&mut self.waiting);
        let affiliated = (first..at).filter_map(|line| {
            let (key, value) = keyword::affiliated(line::after_mark(self.lines.content(line))?)?;
            Some(Keyword { key, value, line: line + 1, span: self.lines.span(line, line + 1) })
        });
        let block = SourceBlock {
            language: header.language,
            switches: header.switches,
            parameters: header.parameters,
            affiliated: affiliated.collect(),
            heading: self.heading,
            span: self.lines.span(first, last + 1),
            line: at + 1,
            body_span: self.lines.span(at + 1, last),
            source: self.lines.source(),
        };
        let id = SourceId(self.found.sources.len());
        self.found.sources.push(block);
        self.push(Kind::Source(id), first, last + 1);
        self.before = Before::Other;
        last + 1
    }

    fn opaque(&mut self, at: usize, last: usize, opaque: Opaque) -> usize {
        let first = at - std::mem::take(&mut self.waiting);
        self.push(Kind::Opaque(opaque), first, last + 1);
        self.before = Before::Other;
        last + 1
    }

    fn container(&mut self, at: usize, last: usize) -> usize {
        self.settle(at);
        self.push(Kind::Begin, at, at + 1);
        self.before = Before::Other;
        self.enter(last, LastLine::Closes);
        at + 1
    }

    /// A footnote reaches to the next one, or to two empty lines, blocks or not.
    fn footnote(&mut self, at: usize, limit: usize) -> usize {
        self.before = paragraph_if(line::has_text_behind(self.lines.content(at), b"]"));
        let behind = self.text(at);
        let mut end = behind;
        while end < limit && !line::is_footnote(self.lines.content(end)) {
            let next = (end + 1).min(self.lines.count() - 1);
            if end < next
                && [end, next].iter().all(|line| line::is_empty(self.lines.content(*line)))
            {
                break;
            }
            end += 1;
        }
        // Keywords right above the next footnote are its own.
        if end < limit && line::is_footnote(self.lines.content(end)) {
            while end > behind && self.is_affiliated(end - 1) {
                end -= 1;
            }
        }
        self.enter(end, LastLine::IsOutside);
        behind
    }

    fn is_affiliated(&self, at: usize) -> bool {
        line::after_mark(self.lines.content(at)).and_then(keyword::affiliated).is_some()
    }

    fn enter(&mut self, limit: usize, last: LastLine) {
        self.open.push(Container { limit, last, items: self.items.len() });
    }

    /// Ends the items that a line with this indentation is not in.
    fn indent(&mut self, at: usize, column: usize, is_item: bool) {
        let outside = self.outside();
        let before = self.items.len();
        while self.items.len() > outside && self.items.last().is_some_and(|item| column <= *item) {
            self.items.pop();
        }
        if self.items.len() < before {
            self.orphan(at);
            self.before = Before::Other;
        }
        if is_item {
            self.items.push(column);
        }
    }

    /// Whether this is `:END:` in an item. Org, looking for the end of the item, takes it for a drawer that
    /// closes itself, so that no later `:END:` makes it the beginning of one.
    fn is_end_in_item(&self, line: &[u8]) -> bool {
        self.items.len() > self.outside() && line::is_drawer_end(line)
    }

    /// How many items are open outside of the container that the walk is in.
    fn outside(&self) -> usize {
        self.open.last().map_or(0, |container| container.items)
    }

    /// Adds the line as text, the keywords above it included, and returns the next.
    fn text(&mut self, at: usize) -> usize {
        self.settle(at);
        self.push(Kind::Text, at, at + 1);
        at + 1
    }

    /// The waiting keywords belong to something that is no block: they are text.
    fn settle(&mut self, at: usize) {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting > 0 {
            self.push(Kind::Text, at - waiting, at);
        }
    }

    /// Nothing follows the waiting keywords: they belong to the file.
    fn orphan(&mut self, at: usize) {
        for line in at - std::mem::take(&mut self.waiting)..at {
            let marked = line::after_mark(self.lines.content(line));
            if let Some((key, value)) = marked.and_then(keyword::keyword) {
                self.keyword(line, key, value);
            } else {
                self.push(Kind::Text, line, line + 1);
            }
        }
    }

    fn keyword(&mut self, at: usize, key: &'t [u8], value: &'t [u8]) {
        let span: Span = self.lines.span(at, at + 1);
        self.found.keywords.push(Keyword { key, value, line: at + 1, span });
        self.push(Kind::Keyword, at, at + 1);
    }
}

fn paragraph_if(is_paragraph: bool) -> Before {
    if is_paragraph { Before::Paragraph } else { Before::Other }
}
