//! Definitions of footnotes: from `[fn:name]` to the next one, or to two empty lines, blocks or not.

use super::{Mode, Parsed, Parser, Place};
use crate::kind::Type;
use crate::lines::Class;

impl Parser<'_, '_> {
    pub(super) fn footnote(&mut self, place: Place) -> Parsed {
        let end = self.footnote_end(place.at, place.limit);
        let mut node = self.node(Type::FootnoteDefinition, place, end);
        let line = self.lines.content(place.at);
        let label = memchr::memchr(b']', line).map_or(line.len(), |close| close + 1);
        let contents = self.contents_behind(place.at, label, end).map(|(offset, mut frame)| {
            frame.limit = self.lines.unblanked(place.at + 1, end);
            frame.mode = Mode::Any;
            node = node.with_contents(offset, self.lines.start(frame.limit));
            frame
        });
        self.nodes.push(node);
        Parsed { behind: end, contents, kind: Type::FootnoteDefinition }
    }

    /// Returns the beginning of the contents behind a mark that ends in column `column` of line `at`: behind the
    /// mark, or on the next line with text.
    pub(super) fn contents_behind(
        &self,
        at: usize,
        column: usize,
        end: usize,
    ) -> Option<(usize, super::ElementFrame)> {
        let line = self.lines.content(at);
        let rest = line.get(column..).unwrap_or_default();
        let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
        if blanks < rest.len() {
            let offset = self.lines.start(at) + column + blanks;
            let mut frame = self.frame(at, end, Mode::Any);
            frame.inside_line = Some(offset);
            return Some((offset, frame));
        }
        let first = self.lines.written(at + 1, end);
        (first < end).then(|| (self.lines.start(first), self.frame(first, end, Mode::Any)))
    }

    fn footnote_end(&self, at: usize, limit: usize) -> usize {
        for index in at + 1..limit {
            if self.lines.class(index) == Class::Footnote {
                // Keywords right above the next footnote are its own.
                let mut end = index;
                while end - 1 > at && self.is_affiliated(end - 1) {
                    end -= 1;
                }
                return end;
            }
            if self.lines.two_blanks(index) {
                return self.lines.written(index, limit);
            }
        }
        limit
    }
}
