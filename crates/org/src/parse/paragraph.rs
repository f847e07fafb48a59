//! Paragraphs: what is nothing else, up to the first line that is something.

use super::{Parsed, Parser, Place};
use crate::keyword;
use crate::kind::Type;
use crate::line;
use crate::lines::Class;
use crate::tree::Node;

impl Parser<'_, '_> {
    pub(super) fn paragraph(&mut self, place: Place) -> Parsed {
        // Empty lines at the beginning of a block are a paragraph of their own.
        let blank = self.lines.class(place.at) == Class::Blank;
        let end = if blank { place.at + 1 } else { self.paragraph_end(place.at + 1, place.limit) };
        let behind = self.lines.written(end, place.limit);
        let contents = self.lines.span(place.at, end);
        let node =
            self.node(Type::Paragraph, place, behind).with_contents(contents.start, contents.end);
        self.nodes.push(node);
        Parsed { behind, contents: None, kind: Type::Paragraph }
    }

    /// Reads a paragraph that begins at `offset`, inside of line `at`.
    pub(super) fn paragraph_from(&mut self, offset: usize, at: usize, limit: usize) -> Parsed {
        let end = self.paragraph_end(at + 1, limit);
        let behind = self.lines.written(end, limit);
        let node = Node::new(Type::Paragraph, offset, self.lines.start(behind))
            .with_contents(offset, self.lines.start(end));
        self.nodes.push(node);
        Parsed { behind, contents: None, kind: Type::Paragraph }
    }

    fn paragraph_end(&self, from: usize, limit: usize) -> usize {
        let mut end = from;
        while end < limit && !self.ends_paragraph(end, limit) {
            end += 1;
        }
        end
    }

    /// Whether a paragraph ends before this line. What could begin a block ends it only if it is one.
    fn ends_paragraph(&self, at: usize, limit: usize) -> bool {
        match self.lines.class(at) {
            Class::Text => false,
            Class::Drawer => self.closers.drawer(at, limit).is_some(),
            Class::Environment => {
                let name = line::environment_begin(self.lines.content(at)).unwrap_or_default();
                self.closers.environment(name, at, limit).is_some()
            }
            Class::Marked => self.marked_ends(at, limit),
            _ => true,
        }
    }

    fn marked_ends(&self, at: usize, limit: usize) -> bool {
        let Some(marked) = line::after_mark(self.lines.content(at)) else { return false };
        match line::block_begin(marked) {
            Some(name) => self.closers.block(name, at + 1, limit).is_some(),
            None => keyword::ends_paragraph(marked),
        }
    }
}
