//! Blocks, drawers and LaTeX environments: what has a first line, a last line, and something between.

use super::{Mode, Parsed, Parser, Place};
use crate::kind::Type;
use crate::line;

impl Parser<'_, '_> {
    pub(super) fn block(&mut self, place: Place, name: &[u8]) -> Parsed {
        let Some(last) = self.closers.block(name, place.at + 1, place.limit) else {
            return self.paragraph(place);
        };
        let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
        match () {
            () if is(b"src") => self.flat(Type::SrcBlock, place, last + 1),
            () if is(b"example") => self.flat(Type::ExampleBlock, place, last + 1),
            () if is(b"export") => self.flat(Type::ExportBlock, place, last + 1),
            () if is(b"comment") => self.flat(Type::CommentBlock, place, last + 1),
            () if is(b"verse") => self.verse(place, last),
            () if is(b"center") => self.container(Type::CenterBlock, place, last),
            () if is(b"quote") => self.container(Type::QuoteBlock, place, last),
            () => self.container(Type::SpecialBlock, place, last),
        }
    }

    pub(super) fn dynamic_block(&mut self, place: Place) -> Parsed {
        match self.closers.dynamic(place.at + 1, place.limit) {
            Some(last) => self.container(Type::DynamicBlock, place, last),
            None => self.paragraph(place),
        }
    }

    pub(super) fn drawer(&mut self, place: Place) -> Parsed {
        match self.closers.drawer(place.at + 1, place.limit) {
            Some(last) => self.container(Type::Drawer, place, last),
            None => self.paragraph(place),
        }
    }

    pub(super) fn environment(&mut self, place: Place) -> Parsed {
        let name = line::environment_begin(self.lines.content(place.at)).unwrap_or_default();
        match self.closers.environment(name, place.at, place.limit) {
            Some(last) => self.flat(Type::LatexEnvironment, place, last + 1),
            None => self.paragraph(place),
        }
    }

    /// A block that holds objects, line by line.
    fn verse(&mut self, place: Place, last: usize) -> Parsed {
        let contents = self.lines.span(place.at + 1, last);
        let node = self.nodes.len();
        let parsed = self.flat(Type::VerseBlock, place, last + 1);
        self.nodes[node] = self.nodes[node].with_contents(contents.start, contents.end);
        parsed
    }

    /// A block or drawer that holds elements.
    fn container(&mut self, kind: Type, place: Place, last: usize) -> Parsed {
        let behind = self.lines.written(last + 1, place.limit);
        let mut node = self.node(kind, place, behind);
        let first = place.at + 1;
        let contents = (first < last).then(|| {
            node = node.with_contents(self.lines.start(first), self.lines.start(last));
            self.frame(first, last, Mode::Any)
        });
        self.nodes.push(node);
        Parsed { behind, contents, kind }
    }
}
