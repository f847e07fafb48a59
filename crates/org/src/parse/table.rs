//! Tables, of Org and of `table.el`.

use super::{Parsed, Parser, Place};
use crate::keyword;
use crate::kind::Type;
use crate::line;
use crate::lines::{Class, narrow};
use crate::text::{drop_blanks, skip_blanks};
use crate::tree::Node;

impl Parser<'_, '_> {
    pub(super) fn table(&mut self, place: Place) -> Parsed {
        let mut end = place.at + 1;
        while end < place.limit && self.lines.class(end) == Class::Row {
            end += 1;
        }
        let formulas = self.formulas(end, place.limit);
        let behind = self.lines.written(formulas, place.limit);
        let contents = self.lines.span(place.at, end);
        let table =
            self.node(Type::Table, place, behind).with_contents(contents.start, contents.end);
        self.nodes.push(table);
        for index in place.at..end {
            let row = self.row(index);
            self.nodes.push(row);
        }
        Parsed { behind, contents: None, kind: Type::Table }
    }

    fn row(&self, index: usize) -> Node {
        let span = self.lines.span(index, index + 1);
        let line = self.lines.content(index);
        let inner = skip_blanks(line);
        let mut row = Node::new(Type::TableRow, span.start, span.end);
        row.next = narrow(self.nodes.len() + 1);
        if inner.starts_with(b"|-") {
            return row;
        }
        let begin = span.start + line.len() - inner.len() + 1;
        row.with_contents(begin, (span.start + drop_blanks(line).len()).max(begin))
    }

    /// The line behind the formulas that begin at `from`.
    fn formulas(&self, from: usize, limit: usize) -> usize {
        let is_formula = |index: usize| {
            self.lines.class(index) == Class::Marked
                && line::after_mark(self.lines.content(index)).is_some_and(keyword::is_formula)
        };
        (from..limit).find(|index| !is_formula(*index)).unwrap_or(limit.max(from))
    }

    /// Whether the lines from this rule on are a table of `table.el`: it ends with another rule.
    pub(super) fn is_grid(&mut self, at: usize, limit: usize) -> bool {
        let end = self.grid_end(at, limit);
        end > at + 1 && self.lines.class(end - 1) == Class::Rule
    }

    pub(super) fn grid(&mut self, place: Place) -> Parsed {
        let end = self.grid_end(place.at, place.limit);
        let formulas = self.formulas(end, place.limit);
        self.flat(Type::Table, place, formulas)
    }

    fn grid_end(&mut self, at: usize, limit: usize) -> usize {
        let (first, end, known_limit) = self.grid;
        if (first..end).contains(&at) && known_limit == limit {
            return end;
        }
        let in_grid = |index: usize| {
            matches!(skip_blanks(self.lines.content(index)).first(), Some(b'|' | b'+'))
        };
        let end = (at + 1..limit).find(|index| !in_grid(*index)).unwrap_or(limit);
        self.grid = (at, end, limit);
        end
    }
}
